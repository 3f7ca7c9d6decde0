/*
 * Batches: consecutive messages that a class's filter has chosen reach the handler together, in one
 * stack and in their order. A message that the filter does not choose first sends off those before
 * it. No batch waits to fill: it holds the messages that were there, and may hold only one.
 *
 * Each ask of a batch is answered by itself, or all by one call. An ask that is unanswered when the
 * stack ends fails with -ENOMSG; if the handler fails, all unanswered asks fail with its error.
 */
#ifndef GYRE_BATCH_H
#define GYRE_BATCH_H

#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * gyre_batch_count() - how many messages the batch holds
 * @stack: the stack of a batch handler
 *
 * Return: the number, at least 1; 0 outside of batch handlers.
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API uint32_t gyre_batch_count(const struct gyre_stack *stack);

/**
 * gyre_batch_message() - the payload of a message of the batch
 * @stack: the stack of a batch handler
 * @index: which, below gyre_batch_count(); in the order of arrival
 * @type: the type it must have
 *
 * Mostly called through gyre_batch_get().
 *
 * Return: the payload, or NULL when it is of another type or there is none.
 * Errors:
 *   NULL  there is none of that type
 * Ownership: stays with the stack, until it ends.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API const void *gyre_batch_message(const struct gyre_stack *stack, uint32_t index,
					const struct gyre_type *type);

/** gyre_batch_get() - a message of a batch as const struct NAME *, or NULL */
#define gyre_batch_get(STACK, INDEX, NAME) \
	((const struct NAME *)gyre_batch_message((STACK), (INDEX), &gyre_type_##NAME))

/**
 * gyre_batch_sender() - the sender of a message of the batch
 * @stack: the stack of a batch handler
 * @index: which, below gyre_batch_count()
 *
 * Return: the address; GYRE_NOBODY when no actor sent it, or there is no such message.
 * Ownership: a value.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_address gyre_batch_sender(const struct gyre_stack *stack, uint32_t index);

/**
 * gyre_batch_reply() - answers one ask of the batch
 * @stack: the stack of a batch of asks
 * @index: which, below gyre_batch_count()
 * @mail: the answer
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL    there is no such ask
 *   -EALREADY  it was answered or forwarded before; this answer is dropped and counted
 *   -ENOMEM    @mail is NULL: it could not be made; the asker gets -ENOMEM too
 *   -EPROTO    the question declares another type of answer; the asker gets -EPROTO too
 * Ownership: @mail is taken, whatever is returned.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_batch_reply(struct gyre_stack *stack, uint32_t index, struct gyre_mail *mail);

/**
 * gyre_batch_reply_all() - gives all unanswered asks of the batch the same answer
 * @stack: the stack of a batch of asks
 * @mail: the answer, whose payload is copied for each
 *
 * An answer that owns something and has no function that copies it serves only while a single ask
 * is unanswered.
 *
 * Return: 0, to be returned by the handler, or a negative errno.
 * Errors:
 *   -EINVAL  the stack is not that of a batch of asks, or @mail cannot be copied and not exactly
 *            one ask is unanswered
 *   -ENOMEM  @mail is NULL: it could not be made; or there is none for a copy. Askers without an
 *     answer get -ENOMEM too
 *   -EPROTO  a question declares another type of answer; its asker gets -EPROTO, the others theirs
 * Ownership: @mail is taken, whatever is returned.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_batch_reply_all(struct gyre_stack *stack, struct gyre_mail *mail);

/**
 * gyre_batch_forward() - passes one message of the batch on, as gyre_forward() does
 * @stack: the stack of a batch handler
 * @index: which, below gyre_batch_count()
 * @to: the receiver, as for gyre_forward(); a stale address is allowed
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL    there is no such message, it was taken, or its payload was moved out
 *   -EALREADY  it is an ask that was answered or forwarded before
 * Ownership: the message is taken, unless there is an error: the batch shows it no longer.
 * Context: loop thread, phases 2 and 3, inside a handler. Never blocks on a loop.
 * Since: 0.1
 */
GYRE_API int gyre_batch_forward(struct gyre_stack *stack, uint32_t index, struct gyre_address to);

GYRE_END_DECLS

#endif
