/*
 * Forwarding: the mail of a message goes on as it came, so that its sender, its asker and the id of
 * the ask stay what they are, and the answer goes straight home. The stack that had it has no
 * message any more, and owes nothing.
 *
 * A deadline is by the clock of the loop that the forwarding actor lives on. On that loop it goes
 * along as it is. To anywhere else goes the time that is left, which becomes a deadline there: each
 * such step may add to the time, and takes nothing from it. See mail.h and loop.h for why the time
 * that is left is told by @sure_ns.
 */
#include <gyre/batch.h>

#include <errno.h>

#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "actor/stack/budget.h"
#include "actor/stack/stack.h"

/* Marks the mail as given away, as gy_mail_given() does for one that is new. */
static inline struct gyre_mail *given(struct gy_home *home, struct gyre_mail *mail)
{
#if GY_ASSERT_LEVEL >= 2
	const uint8_t kind = mail->node.kind;

	gy_mail_renew(mail);
	mail = gy_mail_given(home, mail);
	mail->node.kind = kind;
#else
	(void)home;
#endif
	return mail;
}

/* To another loop or node, to a group or a channel, or to nobody. */
static void pass_away(const struct gy_stack *stack, struct gyre_mail *mail, struct gyre_address to)
{
	struct gy_home *home = stack->home;

	if (mail->node.kind == GY_MAIL_ASK && !gy_budget_to_patience(stack, &mail->deadline)) {
		gy_count(&home->counters.sent, 1);
		gy_drop(home, mail, to, GYRE_DROP_EXPIRED, -ETIMEDOUT);
	} else if (!gy_is_of_node(home->node, to) && home->options.remote != NULL) {
		home->options.remote->forward(home, stack->house->self.loop, to, mail);
	} else {
		(void)gy_send_away(home, to, mail);
	}
}

static void pass(const struct gy_stack *stack, struct gyre_mail *mail, struct gyre_address to)
{
	struct gy_home *home = stack->home;
	enum gy_lane lane = gy_mail_lane(mail);
	struct gy_house *house =
		gy_is_here(home, to) ? gy_house_find_recent(home, stack->house, to) : NULL;

	mail = given(home, mail);
	if (house == NULL) {
		pass_away(stack, mail, to);
		return;
	}
	gy_count(&home->counters.sent, 1);
	if (gy_unlikely(house->limit != 0)) {
		(void)gy_send_bounded(home, house, mail, lane);
	} else {
		gy_house_put(home, house, mail, lane);
	}
}

static bool may_be_forwarded(const struct gyre_mail *mail)
{
	return mail->node.kind == GY_MAIL_ASK || mail->node.kind == GY_MAIL_NOTICE;
}

int gyre_forward(struct gyre_stack *stack, struct gyre_address to)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gyre_mail *mail = s->mail;

	if (mail == NULL || stack->message == NULL || !may_be_forwarded(mail)) {
		return s->forwarded ? -EALREADY : -EINVAL;
	}
	/* An answer that could not be made is owed in another way. */
	if (mail->node.kind == GY_MAIL_ASK && (mail->ask_id == 0 || s->owed != ENOMSG)) {
		return -EALREADY;
	}
	s->mail = NULL;
	s->owed = 0;
	s->dirty = true;
	s->forwarded = true;
	s->home->steps++; /* now that the message does not tell this call from others */
	stack->message = NULL;
	stack->type = NULL;
	pass(s, mail, to);
	return 0;
}

int gyre_batch_forward(struct gyre_stack *stack, uint32_t index, struct gyre_address to)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_batch *batch = s->batch;
	struct gyre_mail *mail;

	if (batch == NULL || index >= batch->count) {
		return -EINVAL;
	}
	mail = batch->mails[index];
	if (mail == NULL) {
		return batch->asks ? -EALREADY : -EINVAL;
	}
	if (batch->asks && (mail->ask_id == 0 || (s->owed != 0 && mail->deadline != 0))) {
		return -EALREADY;
	}
	if (!may_be_forwarded(mail)) {
		return -EINVAL; /* its payload was moved out */
	}
	batch->mails[index] = NULL;
	pass(s, mail, to);
	return 0;
}
