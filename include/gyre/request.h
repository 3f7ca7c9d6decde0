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
 * Both ends name the question, and the compiler knows the answer: in handlers, in batches, in work
 * off the loops (offload.h) and in asks from outside (outside.h). An answer of another type, by
 * gyre_reply(), is refused at run time: gyre_reply() returns -EPROTO, the asker gets -EPROTO, and
 * the log names the actor. A library built with -Dassertions=full ends the program there.
 */
#ifndef GYRE_REQUEST_H
#define GYRE_REQUEST_H

#include <gyre/batch.h>
#include <gyre/move.h>
#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * GYRE_REQUEST() - declares struct NAME as a message whose answer is a struct ANSWER
 * @NAME: as for GYRE_MESSAGE()
 * @ID: its type id, at least 0x100
 * @ANSWER: the tag of a struct that was declared as a message before
 */
#define GYRE_REQUEST(NAME, ID, ANSWER)                                  \
	GYRE_TYPE_(NAME, ID, NULL, NULL, &gyre_type_##ANSWER, 0, NULL); \
	GYRE_ANSWER_(NAME, ANSWER)

/**
 * GYRE_REQUEST_OWNING() - GYRE_REQUEST() for a question that owns something
 * @NAME: as for GYRE_MESSAGE()
 * @ID: its type id, at least 0x100
 * @ANSWER: the tag of a struct that was declared as a message before
 * @...: the destructor, and perhaps a function that copies, as for GYRE_MESSAGE_OWNING()
 */
#define GYRE_REQUEST_OWNING(NAME, ID, ANSWER, ...)                                  \
	GYRE_OWNING_(NAME, __VA_ARGS__)                                             \
	GYRE_TYPE_(NAME, ID, gyre_destroy_##NAME, GYRE_COPY_OF_(NAME, __VA_ARGS__), \
		   &gyre_type_##ANSWER, 0, NULL);                                   \
	GYRE_ANSWER_(NAME, ANSWER)

/* What finds the answer to a request in templates of C++. */
#ifdef __cplusplus
#define GYRE_ANSWER_FOR_(NAME, ANSWER)                        \
	extern "C++" {                                        \
	static inline __attribute__((unused)) struct ANSWER * \
	gyre_answer_for(const struct NAME *const *)           \
	{                                                     \
		return nullptr;                               \
	}                                                     \
	}
#else
#define GYRE_ANSWER_FOR_(NAME, ANSWER)
#endif

/* The answer stands in a struct that is named after the question. It is the last member of that,
 * and so may have a tail. */
#define GYRE_ANSWER_(NAME, ANSWER)                                                               \
	__extension__ struct gyre_answer_to_##NAME {                                             \
		struct ANSWER value;                                                             \
	};                                                                                       \
	enum {                                                                                   \
		gyre_is_request_##NAME = 1,                                                      \
		gyre_has_answer_##NAME = 1,                                                      \
	};                                                                                       \
	GYRE_ANSWER_FOR_(NAME, ANSWER)                                                           \
	static inline __attribute__((unused)) struct gyre_mail *gyre_copy_answer_##NAME(         \
		struct gyre_stack *stack, struct gyre_system *system, const struct ANSWER *from) \
	{                                                                                        \
		return gyre_copy_##ANSWER(stack, system, from);                                  \
	}                                                                                        \
	static inline __attribute__((unused)) struct gyre_mail *gyre_fill_answer_##NAME(         \
		struct gyre_mail *mail, GYRE_BY_ADDRESS_(gyre_answer_to_##NAME, answer))         \
	{                                                                                        \
		return gyre_put_##ANSWER(mail, &GYRE_ADDRESS_OF_(answer)->value);                \
	}                                                                                        \
	static inline __attribute__((unused))                                                    \
	const struct ANSWER *gyre_future_answer_to_##NAME(const struct gyre_future *future)      \
	{                                                                                        \
		return gyre_future_get(future, ANSWER);                                          \
	}                                                                                        \
	struct gyre_needs_a_semicolon

/* The struct of the answer to a NAME. */
#define GYRE_ANSWER_TYPE_(NAME) __typeof__(((struct gyre_answer_to_##NAME *)NULL)->value)

/* Pointers to that struct: another one is an error in C too, where an argument would only be warned
 * of. */
#ifdef __cplusplus
#define GYRE_ANSWER_TO_READ_(NAME, FROM)   (FROM)
#define GYRE_ANSWER_TO_WRITE_(NAME, VALUE) static_cast<GYRE_ANSWER_TYPE_(NAME) *>(VALUE)
#else
#define GYRE_ANSWER_TO_READ_(NAME, FROM)                   \
	_Generic((FROM), GYRE_ANSWER_TYPE_(NAME) *         \
		 : (FROM), const GYRE_ANSWER_TYPE_(NAME) * \
		 : (FROM))
#define GYRE_ANSWER_TO_WRITE_(NAME, VALUE) _Generic((VALUE), GYRE_ANSWER_TYPE_(NAME) * : (VALUE))
#endif

/* ---- answering ---- */

/** gyre_new_answer() - a mail with the answer to a NAME: (stack, price_of, .cents = 90) */
#define gyre_new_answer(STACK, ...) GYRE_NEW_ANSWER_(gyre_mail_make, STACK, __VA_ARGS__, )

/** gyre_system_new_answer() - that mail made outside of any actor: (system, price_of, ...) */
#define gyre_system_new_answer(SYSTEM, ...) \
	GYRE_NEW_ANSWER_(gyre_system_mail_create, SYSTEM, __VA_ARGS__, )

#define GYRE_NEW_ANSWER_(MAKE, FROM, NAME, ...)                          \
	GYRE_IF_ANSWERED_(NAME,                                          \
			  gyre_fill_answer_##NAME(                       \
				  MAKE((FROM), gyre_type_##NAME.answer), \
				  GYRE_PASS_(GYRE_VALUE(gyre_answer_to_##NAME, { __VA_ARGS__ }))))

/**
 * gyre_new_answer_copy() - a mail with a copy of a struct, as the answer to a NAME
 * @STACK: the stack of the running handler
 * @NAME: the tag of the question
 * @FROM: a pointer to a struct of the type that the question declares; with a tail, all elements
 *   are copied
 *
 * As gyre_new_copy(): what the struct owns is the mail's.
 */
#define gyre_new_answer_copy(STACK, NAME, FROM) \
	GYRE_IF_ANSWERED_(                      \
		NAME, gyre_copy_answer_##NAME((STACK), NULL, GYRE_ANSWER_TO_READ_(NAME, FROM)))

/** gyre_system_new_answer_copy() - gyre_new_answer_copy() outside of any actor */
#define gyre_system_new_answer_copy(SYSTEM, NAME, FROM) \
	GYRE_IF_ANSWERED_(                              \
		NAME, gyre_copy_answer_##NAME(NULL, (SYSTEM), GYRE_ANSWER_TO_READ_(NAME, FROM)))

/** gyre_reply_to() - answers the running ask, of a NAME: (stack, price_of, .cents = 90) */
#define gyre_reply_to(STACK, ...) gyre_reply((STACK), gyre_new_answer(STACK, __VA_ARGS__))

/** gyre_reply_copy_to() - answers the running ask with a copy: (stack, price_of, &known) */
#define gyre_reply_copy_to(STACK, NAME, FROM) \
	gyre_reply((STACK), gyre_new_answer_copy(STACK, NAME, FROM))

/** gyre_batch_reply_to() - answers one ask of a batch: (stack, index, price_of, .cents = 90) */
#define gyre_batch_reply_to(STACK, INDEX, ...) \
	gyre_batch_reply((STACK), (INDEX), gyre_new_answer(STACK, __VA_ARGS__))

/** gyre_batch_reply_all_to() - answers all unanswered asks of a batch: (stack, price_of, ...) */
#define gyre_batch_reply_all_to(STACK, ...) \
	gyre_batch_reply_all((STACK), gyre_new_answer(STACK, __VA_ARGS__))

/* ---- being answered; for asks from outside see outside.h ---- */

/** gyre_future_answer_to() - the answer to an ask of a NAME, typed, or NULL: see
 * gyre_future_answer() */
#define gyre_future_answer_to(FUTURE, NAME) \
	GYRE_IF_ANSWERED_(NAME, gyre_future_answer_to_##NAME(FUTURE))

/** gyre_future_move_answer_to() - moves that answer to where VALUE points; 0 or an errno */
#define gyre_future_move_answer_to(FUTURE, NAME, VALUE)                                     \
	GYRE_IF_ANSWERED_(NAME, gyre_future_move_payload((FUTURE), gyre_type_##NAME.answer, \
							 GYRE_ANSWER_TO_WRITE_(NAME, VALUE)))

GYRE_END_DECLS

#endif
