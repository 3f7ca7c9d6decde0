/*
 * Moving a payload out of its mail, to a handler that keeps it. The envelope stays where it is, for
 * an ask is still to be answered; it only ceases to show a message.
 */
#include <gyre/move.h>

#include <errno.h>
#include <string.h>

#include <gyre/watch.h>

#include "actor/stack/stack.h"

/* An end may have a cause behind its payload, which stays for gyre_terminated_cause(). */
static int move_message(struct gyre_mail *mail, void *ret_payload)
{
	if (mail->type->id == GYRE_ID(gyre_terminated)) {
		memcpy(ret_payload, mail->payload, mail->type->bytes);
		return 0;
	}
	return gy_mail_move_out(mail, ret_payload);
}

int gyre_message_move(struct gyre_stack *stack, const struct gyre_type *type, void *ret_payload)
{
	int r;

	if (stack->message == NULL || !gy_type_equal(stack->type, type)) {
		return -ENOENT;
	}
	r = move_message(gy_stack_of(stack)->mail, ret_payload);
	if (r == 0) {
		stack->message = NULL;
		stack->type = NULL;
	}
	return r;
}

int gyre_future_move_payload(const struct gyre_future *future, const struct gyre_type *type,
			     void *ret_payload)
{
	struct gy_promise *promise = future->promise;
	int r;

	if (gyre_future_answer(future, type) == NULL) {
		return -ENOENT;
	}
	r = gy_mail_move_out(promise->answer, ret_payload);
	if (r == 0) {
		gy_mail_put(promise->stack->home, promise->answer);
		promise->answer = NULL;
	}
	return r;
}

int gyre_batch_message_move(struct gyre_stack *stack, uint32_t index, const struct gyre_type *type,
			    void *ret_payload)
{
	struct gyre_mail *mail;
	int r;

	if (gyre_batch_message(stack, index, type) == NULL) {
		return -ENOENT;
	}
	mail = gy_stack_of(stack)->batch->mails[index];
	r = gy_mail_move_out(mail, ret_payload);
	if (r == 0) {
		mail->node.kind = GY_MAIL_MOVED;
	}
	return r;
}
