/*
 * The stash: messages that an actor has laid aside, in a list in the order of their coming. What is
 * stashed has been handled once; what goes back counts as sent anew.
 */
#include <errno.h>

#include "actor/house_extra.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"

enum { COUNT_DEFAULT = 1024 };

static bool may_be_stashed(const struct gy_stack *stack)
{
	const struct gyre_mail *mail = stack->mail;

	/* A message whose payload was moved out is no message any more; a request of a channel's
	 * peer is no mail of the actor. */
	return stack->head.message != NULL && stack->batch == NULL && !stack->hook &&
	       !stack->request &&
	       (mail->node.kind == GY_MAIL_NOTICE ||
		(mail->node.kind == GY_MAIL_ASK && mail->ask_id != 0));
}

int gyre_stash(struct gyre_stack *stack)
{
	struct gy_stack *s = gy_stack_of(stack);
	uint32_t max = s->house->class_info->class->stash_max;
	struct gy_house_extra *extra;

	if (!may_be_stashed(s)) {
		return -EINVAL;
	}
	extra = gy_house_extra_get(s->house);
	if (extra == NULL) {
		return -ENOMEM;
	}
	if (extra->stash.count >= (max == 0 ? COUNT_DEFAULT : max)) {
		return -ENOBUFS;
	}
	s->mail->node.next = NULL;
	if (extra->stash.count++ == 0) {
		extra->stash.first = &s->mail->node;
	} else {
		extra->stash.last->next = &s->mail->node;
	}
	extra->stash.last = &s->mail->node;
	s->mail = NULL;
	s->given = true;
	s->owed = 0;
	stack->message = NULL;
	stack->type = NULL;
	return 0;
}

static struct gyre_mail *take_first(struct gy_house *house)
{
	struct gy_stash *stash = &house->extra->stash;
	struct gy_node *node = stash->first;

	gy_assert(stash->count > 0 && (node == stash->last) == (stash->count == 1));
	stash->first = node->next;
	stash->count--;
	gy_count(&house->home->counters.sent, 1);
	return gy_mail_of(node);
}

uint32_t gy_house_unstash(struct gy_house *house, uint32_t count_max)
{
	struct gy_node *first[2] = { NULL, NULL };
	struct gy_node *last[2] = { NULL, NULL };
	uint32_t count = 0;

	while (count < count_max && house->extra != NULL && house->extra->stash.count > 0) {
		struct gyre_mail *mail = take_first(house);
		uint32_t notice = mail->node.kind == GY_MAIL_NOTICE;

		if (first[notice] == NULL) {
			first[notice] = &mail->node;
		} else {
			last[notice]->next = &mail->node;
		}
		last[notice] = &mail->node;
		mail->node.next = NULL;
		count++;
	}
	if (first[0] != NULL) {
		gy_house_put_first(house, GY_LANE_ASK, first[0], last[0]);
	}
	if (first[1] != NULL) {
		gy_house_put_first(house, GY_LANE_NOTICE, first[1], last[1]);
	}
	return count;
}

void gy_stash_drop(struct gy_house *house, enum gyre_drop reason)
{
	while (house->extra != NULL && house->extra->stash.count > 0) {
		gy_drop(house->home, take_first(house), gy_house_address(house), reason,
			-ESHUTDOWN);
	}
}

uint32_t gyre_unstash(struct gyre_stack *stack, uint32_t count_max)
{
	return gy_house_unstash(gy_stack_of(stack)->house, count_max);
}

uint32_t gyre_stashed(const struct gyre_stack *stack)
{
	const struct gy_house_extra *extra = gy_stack_of_const(stack)->house->extra;

	return extra == NULL ? 0 : extra->stash.count;
}
