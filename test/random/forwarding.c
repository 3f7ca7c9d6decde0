/*
 * Messages that actors forward, to others and to groups. Whoever gets one sees the first sender;
 * its order is that in which the forwarding actor has forwarded, and an ask owes its answer, still
 * the only one, to the first asker.
 */
#include <errno.h>

#include "random.h"

struct route {
	struct acquaintance to;
	uint8_t group; /* 0 for none; then the life is not known */
};

static struct route draw_route(struct self *self)
{
	struct world *world = self->world;
	struct route route = { .to = { .life = 0 } };

	if (one_in(&self->random, 4)) {
		route.group = group_any(world, &self->random);
		route.to.address = world->groups[route.group].address;
	}
	if (route.group == 0) {
		route.to = known_any(world, &self->random);
	}
	return route;
}

/* What several may get is not told apart, and what was put first stays with who has put it. */
static bool may_be_forwarded(const struct world *world, const struct head *head)
{
	return head->mail != 0 && (head->marks & (MARK_SETTLE | MARK_FIRST)) == 0 &&
	       !world->mails[head->mail].copied;
}

/* An ask without a time-out goes to later lives than its asker alone, so that it makes no cycle. */
static bool may_go(const struct world *world, const struct route *route, uint32_t pledge)
{
	const struct pledge *ask = &world->pledges[pledge];

	return (route->to.life != 0 || route->group != 0) &&
	       (pledge == 0 || ask->inherits || ask->time_ns != GYRE_FOREVER ||
		(route->group == 0 && route->to.life > ask->owner));
}

/* Before it goes: who gets it looks at what is written here. */
static void record(struct self *self, const struct head *head, enum kind kind,
		   const struct route *route)
{
	struct world *world = self->world;
	struct mail_record *mail = &world->mails[head->mail];

	trace(self->life, "forwards", head->mail, route->to.life);
	mail->via = self->life;
	mail->via_number = ++world->lives[self->life].forwarded[kind];
	mail->via_group = route->group;
	mail->copied = world->groups[route->group].everyone;
	gy_store_relaxed(&mail->dispatched, 0);
	gy_store_relaxed(&mail->stashed, 0);
	mail_owe(world, head->mail, kind == KIND_NOTICE ? route->to.life : 0);
}

static void record_ask(struct world *world, uint32_t number, const struct route *route)
{
	struct pledge *pledge = &world->pledges[number];

	must(world, pledge->owner, gy_load_relaxed(&pledge->answered) == 0,
	     "promise %u was answered before it is forwarded", number);
	gy_store_relaxed(&pledge->whom, route->to.life);
	if (world->groups[route->group].everyone) {
		gy_store_relaxed(&pledge->to_all, 1);
	}
}

/* The message is gone, or the ask was answered. */
static void expect_refused(struct gyre_stack *stack, struct gyre_address to)
{
	struct self *self = self_of(stack);
	const struct frame *frame = frame_of(stack);
	int r = gyre_forward(stack, to);

	must(self->world, self->life, r == (frame->forwarded || !frame->gone ? -EALREADY : -EINVAL),
	     "%d", r);
}

void forward(struct gyre_stack *stack, enum kind kind)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	const struct head *head = head_of(stack);
	struct route route = draw_route(self);
	int r;

	if (frame->gone || (kind == KIND_ASK && frame->replied)) {
		expect_refused(stack, route.to.address);
		return;
	}
	if (!may_be_forwarded(self->world, head) || !may_go(self->world, &route, frame->pledge)) {
		return;
	}
	record(self, head, kind, &route);
	if (kind == KIND_ASK) {
		record_ask(self->world, frame->pledge, &route);
		frame->replied = true;
	}
	frame->gone = true;
	frame->forwarded = true;
	r = gyre_forward(stack, route.to.address);
	must(self->world, self->life, r == 0, "%d", r);
	must(self->world, self->life,
	     head_of(stack) == NULL && gyre_address_is_nobody(gyre_sender(stack)) &&
		     gyre_time_left(stack) == GYRE_FOREVER);
}

void forward_of_batch(struct gyre_stack *stack, enum kind kind, uint32_t index)
{
	struct self *self = self_of(stack);
	const struct head *head = batch_head(stack, index);
	uint32_t pledge = batch_pledge(stack, index);
	struct route route = draw_route(self);
	int r;

	if (!may_be_forwarded(self->world, head) || !may_go(self->world, &route, pledge)) {
		return;
	}
	record(self, head, kind, &route);
	if (kind == KIND_ASK) {
		record_ask(self->world, pledge, &route);
	}
	r = gyre_batch_forward(stack, index, route.to.address);
	must(self->world, self->life, r == 0, "%d", r);
	must(self->world, self->life, batch_head(stack, index) == NULL);
	r = gyre_batch_forward(stack, index, route.to.address);
	must(self->world, self->life, r == (kind == KIND_ASK ? -EALREADY : -EINVAL), "%d", r);
}
