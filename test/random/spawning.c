/*
 * Actors that make others, alone and in groups, and make them known.
 */
#include <errno.h>

#include "random.h"

static struct gyre_spawn_options draw_place(struct self *self)
{
	uint32_t loops = gyre_system_loops(self->world->system);

	return (struct gyre_spawn_options){
		.place = (enum gyre_place)draw(&self->random, 3),
		.loop = draw(&self->random, loops),
		.detached = one_in(&self->random, 4),
	};
}

/* A place on a loop that has just retired names none. */
static bool may_be_refused(const struct world *world, int r)
{
	return r == -ESHUTDOWN || (r == -EINVAL && world->plan.resizing) ||
	       (r == -ENOMEM && world->plan.lean);
}

/* Who is not known any more ends, most often. */
static void introduce(struct gyre_stack *stack, struct acquaintance one)
{
	struct self *self = self_of(stack);
	struct acquaintance former = known_add(self->world, &self->random, one);

	if (former.life != 0 && !one_in(&self->random, 4) &&
	    gyre_poison(stack, former.address) == 0) {
		trace(self->life, "poisons", former.life, 0);
		doom(self->world, former.life);
	}
}

void spawn(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	struct gyre_spawn_options options = draw_place(self);
	struct acquaintance child = { .life = life_take(world) };
	uint8_t class = draw_class(&self->random, options.detached);
	struct gyre_mail *mail;
	int r;

	if (child.life == 0 || self->depth > 4) {
		return;
	}
	world->lives[child.life].class = class;
	mail = gyre_new(stack, birth, .world = world, .random = gy_random_next(&self->random),
			.life = child.life, .parent = options.detached ? 0 : self->life,
			.depth = (uint8_t)(self->depth + 1), .class = class);
	if (mail == NULL) {
		must(world, self->life, world->plan.lean);
		return;
	}
	r = gyre_spawn(stack, &classes[class], mail, &options, &child.address);
	trace(self->life, "spawns", child.life, (uint64_t)r);
	must(world, self->life, r == 0 || may_be_refused(world, r), "%d", r);
	if (r == 0) {
		introduce(stack, child);
	}
}

static uint64_t key_of(const struct gyre_type *type, const void *message)
{
	(void)type;
	return ((const struct head *)message)->number % 5;
}

void spawn_group(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	struct gyre_group_options options = {
		.count = draw(&self->random, 4) == 0 ? 0 : 2 + draw(&self->random, 3),
		.routing = (enum gyre_routing)draw(&self->random, GYRE_ROUTING_LESS_LOADED + 1),
		.key = key_of,
		.detached = one_in(&self->random, 4),
	};
	uint32_t number = gy_add_relaxed(&world->groups_count, 1) + 1;
	uint8_t class = draw_class(&self->random, options.detached);
	struct gyre_mail *mail;
	struct group *group;
	int r;

	if (number >= GROUPS_MAX || self->depth > 2) {
		return;
	}
	group = &world->groups[number];
	group->spawned = true;
	group->everyone = options.routing == GYRE_ROUTING_ALL;
	mail = gyre_new(stack, birth, .world = world, .random = gy_random_next(&self->random),
			.parent = options.detached ? 0 : self->life,
			.depth = (uint8_t)(self->depth + 1), .class = class,
			.group = (uint8_t)number);
	if (mail == NULL) {
		must(world, self->life, world->plan.lean);
		return;
	}
	r = gyre_group_spawn(stack, &classes[class], mail, &options, &group->address);
	trace(self->life, "spawns group", number, (uint64_t)r);
	must(world, self->life, r == 0 || may_be_refused(world, r), "%d", r);
	if (r == 0 && group->address.loop >= LOOPS_MAX) { /* one of one member is no group */
		gy_store_release(&world->open_groups[draw(&self->random, GROUPS_OPEN)],
				 (uint8_t)number);
	}
}
