/*
 * Messages with a tail: structs that end in an array, of as many elements as each message needs.
 *
 *	struct line {
 *		uint32_t number;
 *		uint32_t bytes;
 *		char text[];
 *	};
 *	GYRE_MESSAGE_TAIL(line, 0x0103, text, bytes);
 *
 *	mail = gyre_new_tail(stack, line, strlen(text), .number = 7);
 *	gyre_notify(stack, printer, gyre_tail_fill(line, mail, text));
 *
 * The tail stands in the mail itself: it needs no memory of its own and no destructor, and it
 * travels between nodes as its bytes. The receiver reads the struct as any other, and the count
 * tells how many elements there are.
 *
 * Until the mail is given away, its owner may write the elements, through gyre_tail_fill() or
 * gyre_payload(), and may lower the count. A count that is higher than what the mail was made for
 * is a mistake: with `assertions` at cheap or full, the call that is given such a mail ends the
 * program. gyre_new() does not compile for such messages, gyre_new_copy() and gyre_reply_copy_to()
 * copy all elements, and gyre_reply_to() answers without any.
 *
 * A payload with a tail has no fixed size, so it cannot be moved out into a struct: gyre_move() and
 * its like refuse with -EMSGSIZE. Whoever wants to keep one takes its mail: see gyre_take() and
 * move.h.
 */
#ifndef GYRE_TAIL_H
#define GYRE_TAIL_H

#include <gyre/message.h>
#include <gyre/request.h>

GYRE_BEGIN_DECLS

/**
 * GYRE_MESSAGE_TAIL() - declares struct NAME as a message with a tail
 * @NAME: as for GYRE_MESSAGE()
 * @ID: its type id, at least 0x100
 * @TAIL: the last member of the struct, an array without a length
 * @COUNT: the member that counts its elements, a uint32_t
 */
#define GYRE_MESSAGE_TAIL(NAME, ID, TAIL, COUNT) \
	GYRE_NOTICE_(NAME)                       \
	GYRE_TAIL_TYPE_(NAME, ID, TAIL, COUNT, NULL, NULL, NULL, 0, NULL)

/**
 * GYRE_MESSAGE_TAIL_OWNING() - GYRE_MESSAGE_TAIL() for a message that owns something
 * @NAME: as for GYRE_MESSAGE()
 * @ID: its type id, at least 0x100
 * @TAIL: the last member of the struct, an array without a length
 * @COUNT: the member that counts its elements, a uint32_t
 * @...: the destructor, and perhaps a function that copies, as for GYRE_MESSAGE_OWNING(); they deal
 *   with what the counted elements own, too
 *
 * Elements that were never written are all zero; the destructor must accept them.
 */
#define GYRE_MESSAGE_TAIL_OWNING(NAME, ID, TAIL, COUNT, ...)        \
	GYRE_OWNING_(NAME, __VA_ARGS__)                             \
	GYRE_NOTICE_(NAME)                                          \
	GYRE_TAIL_TYPE_(NAME, ID, TAIL, COUNT, gyre_destroy_##NAME, \
			GYRE_COPY_OF_(NAME, __VA_ARGS__), NULL, 0, NULL)

/**
 * GYRE_REQUEST_TAIL() - GYRE_REQUEST() for a question with a tail
 * @NAME: as for GYRE_MESSAGE()
 * @ID: its type id, at least 0x100
 * @ANSWER: the tag of a struct that was declared as a message before, with or without a tail; or
 *   NAME itself
 * @TAIL: the last member of the struct, an array without a length
 * @COUNT: the member that counts its elements, a uint32_t
 */
#define GYRE_REQUEST_TAIL(NAME, ID, ANSWER, TAIL, COUNT)                                  \
	GYRE_TAIL_TYPE_(NAME, ID, TAIL, COUNT, NULL, NULL, &gyre_type_##ANSWER, 0, NULL); \
	GYRE_ANSWER_(NAME, ANSWER)

/**
 * GYRE_MESSAGE_TAIL_VERSIONED() - GYRE_MESSAGE_TAIL() with an encoding that only has a version
 * @NAME: as for GYRE_MESSAGE()
 * @ID: its type id, at least 0x100
 * @TAIL: the last member of the struct, an array without a length
 * @COUNT: the member that counts its elements, a uint32_t
 * @ENCODING: the name of a static const struct gyre_encoding
 *
 * Nodes do not understand each other's messages where versions, the size of the struct, or size and
 * place of its elements differ. A tail always travels as its bytes: the encoding has no functions.
 */
#define GYRE_MESSAGE_TAIL_VERSIONED(NAME, ID, TAIL, COUNT, ENCODING) \
	GYRE_NOTICE_(NAME)                                           \
	GYRE_TAIL_TYPE_(NAME, ID, TAIL, COUNT, NULL, NULL, NULL, sizeof(ENCODING), &(ENCODING))

/** GYRE_TAIL_MAX() - how many elements the tail of a NAME can have: a constant */
#define GYRE_TAIL_MAX(NAME) gyre_tail_max_##NAME

/**
 * gyre_mail_create_tail() - makes a mail for a message with a tail
 * @stack: the stack of the handler that makes it
 * @type: its type, which has a tail
 * @count: how many elements; any number
 *
 * Mostly called through gyre_new_tail(). The payload is undefined but for its count; that of a type
 * which owns something is zero otherwise.
 *
 * Return: the mail, or NULL, which every call that takes a mail answers with -ENOMEM.
 * Errors:
 *   NULL  there is no memory, the payload would be larger than GYRE_MESSAGE_BYTES_MAX, or @type is
 *         NULL or has no tail
 * Ownership: the caller's, until it is given away or gyre_mail_destroy() takes it.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_mail *gyre_mail_create_tail(struct gyre_stack *stack,
						 const struct gyre_type *type, size_t count);

/**
 * gyre_system_mail_create_tail() - makes a mail for a message with a tail outside of any actor
 * @system: the system it will be sent in
 * @type: its type, which has a tail
 * @count: how many elements; any number
 *
 * Mostly called through gyre_system_new_tail(). The mail comes from the heap; its payload is as by
 * gyre_mail_create_tail().
 *
 * Return: the mail, or NULL, which every call that takes a mail answers with -ENOMEM.
 * Errors:
 *   NULL  there is no memory, the payload would be larger than GYRE_MESSAGE_BYTES_MAX, @system is
 *         NULL, or @type is NULL or has no tail
 * Ownership: the caller's, until it is given away or gyre_mail_destroy() takes it.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_mail *gyre_system_mail_create_tail(struct gyre_system *system,
							const struct gyre_type *type, size_t count);

/**
 * gyre_new_tail() - a mail with a message and room for its tail: (stack, line, bytes, .number = 7)
 * @STACK: the stack of the running handler
 * @...: the tag of the struct, the number of elements, and members of the struct as for gyre_new();
 *   the count is set to that number
 */
#define gyre_new_tail(STACK, ...) GYRE_NEW_TAIL_(gyre_mail_create_tail, STACK, __VA_ARGS__, )

/** gyre_system_new_tail() - gyre_new_tail() outside of any actor: (system, line, bytes, ...) */
#define gyre_system_new_tail(SYSTEM, ...) \
	GYRE_NEW_TAIL_(gyre_system_mail_create_tail, SYSTEM, __VA_ARGS__, )

/**
 * gyre_tail_fill() - copies elements into the tail of a mail that was not sent: (line, mail, text)
 * @NAME: the tag of the struct
 * @MAIL: a mail of that type, or NULL; used once
 * @ELEMENTS: a pointer to as many elements as the mail counts; used once
 *
 * The value is MAIL.
 */
#define gyre_tail_fill(NAME, MAIL, ELEMENTS) gyre_fill_elements_##NAME((MAIL), (ELEMENTS))

GYRE_END_DECLS

#endif
