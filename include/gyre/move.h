/*
 * Moving a payload out of a message, to keep it: the handler then owns what the payload owns, and
 * the destructor of the type does not run.
 *
 *	struct file file;
 *
 *	if (gyre_move(stack, file, &file) == 0) {
 *		state->descriptor = file.descriptor;
 *	}
 *
 * Plain messages can be moved too. The message is gone from its stack, as after gyre_take(), but an
 * ask must still be answered, and gyre_sender() still tells who sent it.
 */
#ifndef GYRE_MOVE_H
#define GYRE_MOVE_H

#include <gyre/batch.h>
#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * gyre_message_move() - moves the payload out of the running message
 * @stack: the stack of the running handler, also of a mount
 * @type: the type it must have
 * @ret_payload: room for a payload of that type
 *
 * Mostly called through gyre_move().
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EMSGSIZE  it has a tail: see tail.h
 *   -ENOENT  there is no message, or it is of another type
 * Ownership: what the payload owns is the caller's. The stack shows no message from then on.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_message_move(struct gyre_stack *stack, const struct gyre_type *type,
			       void *ret_payload);

/** gyre_move() - moves the message to where a struct NAME * points; 0 or an errno */
#define gyre_move(STACK, NAME, VALUE) \
	gyre_message_move((STACK), &gyre_type_##NAME, GYRE_POINTER_(NAME, VALUE))

/**
 * gyre_future_move_payload() - moves the payload out of the answer to an ask
 * @future: a future that gyre_ask() has set
 * @type: the type it must have
 * @ret_payload: room for a payload of that type
 *
 * Mostly called through gyre_future_move().
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EMSGSIZE  it has a tail: see tail.h
 *   -ENOENT  there is no answer, or it is of another type
 * Ownership: what the payload owns is the caller's. The future shows no answer, and no error, from
 *   then on.
 * Context: loop thread, phases 2 and 3, inside a handler of the stack that owns it.
 * Since: 0.1
 */
GYRE_API int gyre_future_move_payload(const struct gyre_future *future,
				      const struct gyre_type *type, void *ret_payload);

/** gyre_future_move() - moves an answer to where a struct NAME * points; 0 or an errno */
#define gyre_future_move(FUTURE, NAME, VALUE) \
	gyre_future_move_payload((FUTURE), &gyre_type_##NAME, GYRE_POINTER_(NAME, VALUE))

/**
 * gyre_batch_message_move() - moves the payload out of one message of a batch
 * @stack: the stack of a batch handler
 * @index: which, below gyre_batch_count()
 * @type: the type it must have
 * @ret_payload: room for a payload of that type
 *
 * Mostly called through gyre_batch_move().
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EMSGSIZE  it has a tail: see tail.h
 *   -ENOENT  there is no such message, or it is of another type
 * Ownership: what the payload owns is the caller's. gyre_batch_get() shows nothing from then on.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_batch_message_move(struct gyre_stack *stack, uint32_t index,
				     const struct gyre_type *type, void *ret_payload);

/** gyre_batch_move() - moves a message of a batch to where a struct NAME * points; 0 or an errno */
#define gyre_batch_move(STACK, INDEX, NAME, VALUE) \
	gyre_batch_message_move((STACK), (INDEX), &gyre_type_##NAME, GYRE_POINTER_(NAME, VALUE))

GYRE_END_DECLS

#endif
