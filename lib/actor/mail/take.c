/*
 * Taking a whole mail from the place where a handler was shown it, to pass it on or to keep it: the
 * only way for a payload with a tail, which no struct has room for. A mail that was taken is as
 * good as new, so it can be given to every call that takes one.
 *
 * Nothing is copied and no memory is needed, so that taking cannot fail. The mail stays in its
 * pool, which a handler returns it to. Whoever keeps one beyond the life of its actor's handlers
 * has it moved to the heap, from where anybody can free it.
 */
#include <gyre/move.h>

#include "actor/mail/tail.h"
#include "actor/stack/promise_places.h"
#include "actor/stack/stack.h"

struct gyre_mail *gyre_take(struct gyre_stack *stack)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gyre_mail *mail = s->mail;

	if (stack->message == NULL || mail->node.kind != GY_MAIL_NOTICE) {
		return NULL;
	}
	s->mail = NULL;
	s->given = true;
	gy_mail_renew(mail);
	s->home->steps++; /* now that the message does not tell this call from others */
	stack->message = NULL;
	stack->type = NULL;
	return mail;
}

struct gyre_mail *gyre_future_take(const struct gyre_future *future)
{
	struct gy_promise *promise = future->promise;
	struct gyre_mail *mail;

	if (gyre_future_error(future) < 0 || promise == NULL || promise->sleeps) {
		return NULL;
	}
	gy_assert(gy_promise_is_done(promise));
	mail = promise->answer;
	if (mail != NULL) {
		promise->answer = NULL;
		gy_mail_renew(mail);
	}
	return mail;
}

struct gyre_mail *gyre_batch_take(struct gyre_stack *stack, uint32_t index)
{
	struct gy_batch *batch = gy_stack_of(stack)->batch;
	struct gyre_mail *mail;

	if (batch == NULL || batch->asks || index >= batch->count) {
		return NULL;
	}
	mail = batch->mails[index];
	if (mail == NULL || mail->node.kind == GY_MAIL_MOVED) {
		return NULL;
	}
	gy_assert(mail->node.kind == GY_MAIL_NOTICE);
	batch->mails[index] = NULL;
	gy_mail_renew(mail);
	return mail;
}

struct gyre_mail *gyre_mail_keep(struct gyre_stack *stack, struct gyre_mail *mail)
{
	struct gy_home *home = gy_stack_of(stack)->home;

	return gy_mail_is_missing(mail) ? NULL : gy_mail_carry_out(home, gy_mail_given(home, mail));
}
