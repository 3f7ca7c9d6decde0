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
 *
 * A payload with a tail has no fixed size, so it stays in its mail, which is taken as a whole:
 *
 *	GYRE_AWAIT(stack, gyre_ask(stack, store, gyre_new(stack, page_of, 7), 0, &frame->page));
 *	return gyre_notify(stack, printer, gyre_future_take(&frame->page));
 *
 * A mail that was taken is the handler's, like one of gyre_new(). gyre_mail_get() reads it. Every
 * message and every answer has one owner: where several get the same, as the members of a group or
 * the askers of a batch, each gets a copy. So what one of them moves or takes, no other misses.
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

/* ---- whole mails ---- */

/**
 * gyre_future_take() - takes the mail of the answer to an ask, to pass it on or to keep it
 * @future: a future that gyre_ask() has set
 *
 * Takes an answer of any type and size, without copying it. The payload may be changed through
 * gyre_payload() before the mail is given away. A mail that a handler leaves behind, in a frame or
 * a state, is for gyre_mail_keep().
 *
 * Return: the mail, or NULL, which every call that takes a mail answers with -ENOMEM.
 * Errors:
 *   NULL  there is no answer: the ask is outstanding or has failed, the answer was taken or moved
 *         out before, or @future is that of a sleep
 * Ownership: the caller's, until it is given away or gyre_mail_destroy() takes it. The future shows
 *   no answer, and no error, from then on.
 * Context: loop thread, phases 2 and 3, inside a handler of the stack that owns it.
 * Since: 0.1
 */
GYRE_API struct gyre_mail *gyre_future_take(const struct gyre_future *future);

/**
 * gyre_batch_take() - takes the mail of one notice of a batch, to pass it on or to keep it
 * @stack: the stack of a batch handler
 * @index: which, below gyre_batch_count()
 *
 * As gyre_take(), for a batch. The number of messages in the batch stays.
 *
 * Return: the mail, or NULL, which every call that takes a mail answers with -ENOMEM.
 * Errors:
 *   NULL  there is no such message, it is an ask, or it was taken or moved out before
 * Ownership: the caller's, until it is given away or gyre_mail_destroy() takes it.
 *   gyre_batch_get() and gyre_batch_sender() show nothing from then on.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_mail *gyre_batch_take(struct gyre_stack *stack, uint32_t index);

/**
 * gyre_mail_keep() - makes a mail one that may be left in a frame or a state
 * @stack: the stack of the running handler
 * @mail: a mail that was made or taken, and not given away; or NULL
 *
 * The mails of gyre_new() and of the calls that take come from a pool of the loop, to which only a
 * handler can return them. Those of this call are free of it: gyre_mail_destroy() with NULL for
 * the stack frees them anywhere, so also in the @clean and @frame_clean of a class. Otherwise they
 * are mails like any other, and may be given away. A mail above 16 KiB is of the heap already, and
 * not copied.
 *
 * Return: the mail, at another address; or NULL, which every call that takes a mail answers with
 *   -ENOMEM.
 * Errors:
 *   NULL  there is no memory, and the message is destroyed; or @mail is NULL or GYRE_NO_ARGUMENT
 * Ownership: @mail is taken, whatever is returned. What is returned is the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_mail *gyre_mail_keep(struct gyre_stack *stack, struct gyre_mail *mail);

GYRE_END_DECLS

#endif
