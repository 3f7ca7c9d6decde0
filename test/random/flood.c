/*
 * What a class says of a full mailbox and of urgent mail, made to happen by an actor that writes to
 * itself: all that it sends in one handler waits together, and nothing of it is dispatched before
 * the handler has ended. So it is known what must be dropped, and what must come first.
 */
#include <errno.h>

#include "random.h"

static uint32_t send_to_self(struct gyre_stack *stack, uint16_t marks, uint32_t after)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	struct head head = head_make(world, self->life, KIND_NOTICE, marks, 0);
	const struct gyre_class *class = &classes[self->class];
	int r;

	if (head.mail != 0) {
		world->mails[head.mail].after = after;
		mail_owe(world, head.mail, self->life);
	}
	r = gyre_notify(stack, gyre_self(stack), gyre_new(stack, letter, .head = head));
	must(world, self->life,
	     r == 0 || (r == -ENOMEM && world->plan.lean) ||
		     (r == -ENOBUFS && class->mailbox_limit != 0 &&
		      class->overflow == GYRE_OVERFLOW_REFUSE),
	     "%d", r);
	if (r < 0) {
		mail_owe(world, head.mail, 0);
	}
	return head.mail;
}

/*
 * One more than may wait. Where the newest is dropped, what has no room is the end of the flood:
 * the last never comes, and none comes before the one that was sent before it. Where the oldest is
 * dropped, the first never comes; but what is urgent stays, and comes before all that has room.
 */
void flood(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	const struct gyre_class *class = &classes[self->class];
	bool newest = class->overflow == GYRE_OVERFLOW_DROP_NEWEST;
	uint32_t urgent;
	uint32_t first = 0;
	uint32_t last = 0;

	if (class->overflow == GYRE_OVERFLOW_REFUSE || world->plan.lean) {
		return;
	}
	urgent = newest ? 0 : send_to_self(stack, MARK_URGENT, 0);
	for (uint32_t i = 0; i <= class->mailbox_limit; i++) {
		last = send_to_self(stack, 0, newest ? last : urgent);
		if (last == 0) {
			return; /* there are too many to be told apart */
		}
		first = first == 0 ? last : first;
	}
	trace(self->life, "floods itself", first, last);
	gy_store_relaxed(&world->mails[newest ? last : first].dropped, 1);
}

/* A notice that is not urgent, and then one that is, which comes first. */
void send_urgent_pair(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint32_t slow;
	uint32_t fast;

	if (classes[self->class].urgent == NULL || classes[self->class].mailbox_limit != 0 ||
	    self->world->plan.lean) {
		return;
	}
	slow = send_to_self(stack, 0, 0);
	fast = send_to_self(stack, MARK_URGENT, 0);
	if (slow != 0) {
		self->world->mails[slow].after = fast;
	}
}

void expect_room(struct self *self, const struct head *head)
{
	struct world *world = self->world;
	uint32_t after = world->mails[head->mail].after;

	must(world, self->life, gy_load_relaxed(&world->mails[head->mail].dropped) == 0,
	     "there was no room for mail %u", head->mail);
	must(world, self->life, after == 0 || gy_load_relaxed(&world->mails[after].came) != 0,
	     "mail %u came before mail %u, which comes first", head->mail, after);
}
