/*
 * Requests: messages that are asked, and say of what type their answer is.
 *
 *	struct price { int cents; };
 *	GYRE_MESSAGE(price, 0x0102);
 *
 *	struct price_of { int item; };
 *	GYRE_REQUEST(price_of, 0x0101, price);
 *
 *	return gyre_reply_to(stack, price_of, .cents = 90);
 *
 *	cents = gyre_future_answer_to(&frame->price, price_of)->cents;
 *
 * Both ends name the question, and the compiler knows the answer. An answer of another type, by
 * gyre_reply(), is refused at run time: gyre_reply() returns -EPROTO, the asker gets -EPROTO, and
 * the log names the actor. A library built with -Dassertions=full ends the program there.
 */
#ifndef GYRE_REQUEST_H
#define GYRE_REQUEST_H

#include <gyre/batch.h>
#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * GYRE_REQUEST() - declares struct NAME as a message whose answer is a struct ANSWER
 * @NAME: as for GYRE_MESSAGE()
 * @ID: its type id, at least 0x100
 * @ANSWER: the tag of a struct that was declared as a message before
 */
#define GYRE_REQUEST(NAME, ID, ANSWER)                            \
	GYRE_TYPE_(NAME, ID, NULL, &gyre_type_##ANSWER, 0, NULL); \
	GYRE_ANSWER_(NAME, ANSWER)

/**
 * GYRE_REQUEST_OWNING() - GYRE_REQUEST() for a question that owns something
 * @NAME: as for GYRE_MESSAGE()
 * @ID: its type id, at least 0x100
 * @ANSWER: the tag of a struct that was declared as a message before
 * @DESTROY: as for GYRE_MESSAGE_OWNING()
 */
#define GYRE_REQUEST_OWNING(NAME, ID, ANSWER, DESTROY)                           \
	GYRE_DESTROY_(NAME, DESTROY)                                             \
	GYRE_TYPE_(NAME, ID, gyre_destroy_##NAME, &gyre_type_##ANSWER, 0, NULL); \
	GYRE_ANSWER_(NAME, ANSWER)

/* The answer stands in a struct that is named after the question. It is the last member of that,
 * and so may have a tail. */
#define GYRE_ANSWER_(NAME, ANSWER)                                                          \
	__extension__ struct gyre_answer_to_##NAME {                                        \
		struct ANSWER value;                                                        \
	};                                                                                  \
	static inline __attribute__((unused)) struct gyre_mail *gyre_fill_answer_##NAME(    \
		struct gyre_mail *mail, GYRE_BY_ADDRESS_(gyre_answer_to_##NAME, answer))    \
	{                                                                                   \
		return gyre_put_##ANSWER(mail, &GYRE_ADDRESS_OF_(answer)->value);           \
	}                                                                                   \
	static inline __attribute__((unused))                                               \
	const struct ANSWER *gyre_future_answer_to_##NAME(const struct gyre_future *future) \
	{                                                                                   \
		return gyre_future_get(future, ANSWER);                                     \
	}                                                                                   \
	struct gyre_needs_a_semicolon

/** gyre_new_answer() - a mail with the answer to a NAME: (stack, price_of, .cents = 90) */
#define gyre_new_answer(STACK, ...) GYRE_NEW_ANSWER_(STACK, __VA_ARGS__, )

#define GYRE_NEW_ANSWER_(STACK, NAME, ...)                                          \
	gyre_fill_answer_##NAME(gyre_mail_create((STACK), gyre_type_##NAME.answer), \
				GYRE_PASS_(GYRE_VALUE(gyre_answer_to_##NAME, { __VA_ARGS__ })))

/** gyre_reply_to() - answers the running ask, of a NAME: (stack, price_of, .cents = 90) */
#define gyre_reply_to(STACK, ...) gyre_reply((STACK), gyre_new_answer(STACK, __VA_ARGS__))

/** gyre_batch_reply_to() - answers one ask of a batch: (stack, index, price_of, .cents = 90) */
#define gyre_batch_reply_to(STACK, INDEX, ...) \
	gyre_batch_reply((STACK), (INDEX), gyre_new_answer(STACK, __VA_ARGS__))

/** gyre_future_answer_to() - the answer to an ask of a NAME, typed, or NULL: see
 * gyre_future_answer() */
#define gyre_future_answer_to(FUTURE, NAME) gyre_future_answer_to_##NAME(FUTURE)

GYRE_END_DECLS

#endif
