/*
 * Names and groups: what actors do to be found, and to find others.
 */
#include <errno.h>

#include "random.h"

const char *const names_known[NAMES] = { "anna", "bert", "cleo", "dirk", "emma", "fred" };

void name_is_taken(struct self *self, uint32_t number)
{
	struct world *world = self->world;
	uint32_t former = gy_exchange(&world->names[number], self->life);

	if (former != 0) { /* it must have stopped, and is about to be cleaned */
		gy_store_relaxed(&world->lives[former].lost_name, 1);
	}
	self->names |= 1U << number;
}

void register_name(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	uint32_t number = draw(&self->random, NAMES);
	struct gyre_address found = GYRE_NOBODY;
	int r = gyre_name_register(stack, names_known[number]);

	trace(self->life, "registers", number, (uint64_t)r);
	must(world, self->life, r == 0 || r == -EEXIST || (r == -ENOMEM && world->plan.lean), "%d",
	     r);
	if (r != 0) {
		return;
	}
	name_is_taken(self, number);
	r = gyre_name_lookup(stack, names_known[number], &found);
	must(world, self->life, r == 0 && gyre_address_equal(found, gyre_self(stack)),
	     "its new name leads elsewhere (%d)", r);
}

void unregister_name(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint32_t number = draw(&self->random, NAMES);
	bool has = (self->names >> number & 1) != 0;
	int r;

	if (has) {
		must(self->world, self->life,
		     gy_exchange(&self->world->names[number], 0) == self->life);
		self->names &= ~(1U << number);
	}
	r = gyre_name_unregister(stack, names_known[number]);
	trace(self->life, "unregisters", number, (uint64_t)r);
	must(self->world, self->life, r == (has ? 0 : -ENOENT), "%d", r);
}

void look_up(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint32_t number = draw(&self->random, NAMES);
	struct gyre_address found = GYRE_NOBODY;
	int r = gyre_name_lookup(stack, names_known[number], &found);

	must(self->world, self->life, r == 0 || r == -ENOENT, "%d", r);
	must(self->world, self->life,
	     (r == 0 && gyre_address_equal(found, gyre_self(stack))) ==
		     ((self->names >> number & 1) != 0),
	     "name %u", number);
	if (r == 0) {
		send_letter(stack, (struct acquaintance){ .address = found }, 0);
	}
}

void join(struct gyre_stack *stack, bool leaves)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	uint8_t number = group_any(world, &self->random);
	bool in = (self->groups >> number & 1) != 0;
	int r;

	if (number == 0) {
		return;
	}
	self->meant |= 1U << number;
	r = leaves ? gyre_group_leave(stack, world->groups[number].address)
		   : gyre_group_join(stack, world->groups[number].address);
	trace(self->life, leaves ? "leaves" : "joins", number, (uint64_t)r);
	if (r == 0 && leaves == in) {
		(void)gy_add_relaxed(&world->groups[number].joined, leaves ? -1U : 1U);
		self->groups ^= 1U << number;
		if (leaves && number == self->born_in) {
			(void)gy_add_relaxed(&world->groups[number].born, -1U);
			self->born_in = 0;
		}
	}
	must(world, self->life,
	     leaves ? r == (in ? 0 : -ENOENT) || world->groups[number].spawned
		    : r == 0 || (r == -ESRCH && world->groups[number].spawned) ||
			      (r == -ENOMEM && world->plan.lean),
	     "%d", r);
}

void notify_group(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint8_t number = group_any(self->world, &self->random);

	if (number != 0) {
		send_letter(stack,
			    (struct acquaintance){ .address = self->world->groups[number].address },
			    number);
	}
}

bool ask_group(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint8_t number = group_any(self->world, &self->random);

	return number != 0 && !self->world->groups[number].everyone &&
	       await_ask(stack,
			 (struct acquaintance){ .address = self->world->groups[number].address },
			 number);
}
