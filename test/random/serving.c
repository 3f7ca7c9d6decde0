/*
 * Services: actors join and leave them, look for members, pick one, and watch. An actor finds
 * itself where it has joined, and nowhere else; listings come only of what it watches, in order.
 */
#include <errno.h>

#include <gyre/outside.h>

#include "random.h"

/* As many as an actor looks at. */
enum { MEMBERS_SEEN = LIVES_MAX };

static struct gyre_service key_of(const uint32_t *service)
{
	static const char *const names[] = { "a", "b", "b" };

	return (struct gyre_service){ names[*service], *service + 1, 0, NULL };
}

static bool finds_itself(struct gyre_stack *stack, const struct gyre_service *service)
{
	struct self *self = self_of(stack);
	struct gyre_address members[MEMBERS_SEEN];
	uint32_t count = 0;
	int r = gyre_service_find(stack, service, MEMBERS_SEEN, members, &count);

	must(self->world, self->life, r == 0 && count <= MEMBERS_SEEN, "%d, %u members", r, count);
	for (uint32_t i = 0; i < count && i < MEMBERS_SEEN; i++) {
		if (gyre_address_equal(members[i], gyre_self(stack))) {
			return true;
		}
	}
	return false;
}

void join_service(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint32_t number = draw(&self->random, SERVICES);
	const struct gyre_service service = key_of(&number);
	int r = gyre_service_join(stack, &service);

	trace(self->life, "serves", number, (uint64_t)r);
	must(self->world, self->life, r == 0 || (r == -ENOMEM && self->world->plan.lean), "%d", r);
	if (r == 0) {
		self->services |= 1U << number;
	}
	must(self->world, self->life,
	     finds_itself(stack, &service) == ((self->services >> number & 1) != 0));
}

void leave_service(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint32_t number = draw(&self->random, SERVICES);
	const struct gyre_service service = key_of(&number);
	bool has = (self->services >> number & 1) != 0;
	int r = gyre_service_leave(stack, &service);

	trace(self->life, "serves no more", number, (uint64_t)r);
	must(self->world, self->life, r == (has ? 0 : -ENOENT), "%d", r);
	self->services &= ~(1U << number);
	must(self->world, self->life, !finds_itself(stack, &service));
}

/* Whom it picks it writes to, who may have ended meanwhile. */
void pick_service(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint32_t number = draw(&self->random, SERVICES);
	const struct gyre_service service = key_of(&number);
	struct gyre_address picked = GYRE_NOBODY;
	int r = gyre_service_pick(stack, &service, draw(&self->random, GYRE_PICK_NEAR + 1),
				  &picked);

	must(self->world, self->life,
	     r == 0 || (r == -ENOENT && (self->services >> number & 1) == 0), "%d", r);
	if (r == 0) {
		send_letter(stack, (struct acquaintance){ .address = picked }, 0);
	}
}

void watch_service(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint32_t number = draw(&self->random, SERVICES);
	const struct gyre_service service = key_of(&number);
	bool has = (self->listed >> number & 1) != 0;
	int r;

	if (one_in(&self->random, 3)) {
		r = gyre_service_unwatch(stack, &service);
		must(self->world, self->life, r == (has ? 0 : -ENOENT), "%d", r);
		self->listed &= ~(1U << number);
		self->versions[number] = 0;
		return;
	}
	r = gyre_service_watch(stack, &service, number);
	trace(self->life, "watches service", number, (uint64_t)r);
	must(self->world, self->life, r == 0 || (r == -ENOMEM && self->world->plan.lean), "%d", r);
	if (r == 0) {
		self->listed |= 1U << number;
	}
}

void expect_listing(struct self *self, const struct gyre_listing *listing)
{
	trace(self->life, "sees a listing", listing->tag, listing->total);
	must(self->world, self->life,
	     listing->tag < SERVICES && listing->service_id == listing->tag + 1 &&
		     (self->listed >> listing->tag & 1) != 0);
	must(self->world, self->life,
	     listing->count == listing->total && (self->versions[listing->tag] == 0 ||
						  listing->version > self->versions[listing->tag]));
	self->versions[listing->tag] = listing->version;
}

void expect_no_service(struct world *world)
{
	for (uint32_t number = 0; number < SERVICES; number++) {
		const struct gyre_service service = key_of(&number);
		uint32_t count = 0;

		(void)gyre_system_service_find(world->system, &service, 0, NULL, &count);
		must(world, 0, count == 0, "service %u has %u members", number, count);
	}
}
