/*
 * Actors that make others, alone, in places and with names of their own, and in groups, and make
 * them known.
 */
#include <errno.h>

#include "random.h"

/* ---- places and names ---- */

uint32_t first_pinned(const struct world *world)
{
	return world->plan.resizing ? LOOPS_MAX : world->plan.loops;
}

struct gyre_spawn_options draw_options(struct world *world, uint64_t *random, uint8_t *ret_name)
{
	*ret_name = one_in(random, 6) ? (uint8_t)(1 + draw(random, NAMES)) : 0;
	return (struct gyre_spawn_options){
		.place = one_in(random, 8) ? GYRE_PLACE_PINNED
					   : (enum gyre_place)draw(random, GYRE_PLACE_PINNED),
		.loop = draw(random, gyre_system_loops(world->system)),
		.detached = one_in(random, 4),
		.name = *ret_name == 0 ? NULL : names_known[*ret_name - 1],
	};
}

/* A place on a loop that has just retired names none. */
static bool may_be_refused(const struct world *world, const struct gyre_spawn_options *options,
			   int r)
{
	switch (r) {
	case -EEXIST:
		return options->name != NULL;
	case -EINVAL:
		return world->plan.resizing;
	case -ENOBUFS: /* who tries, and who has one, are counted before they have it */
		return options->place == GYRE_PLACE_PINNED &&
		       gy_load_relaxed(&world->pinned_tried) > world->plan.pinned;
	case -ENOMEM:
		return world->plan.lean;
	default:
		return r == 0 || r == -ESHUTDOWN;
	}
}

void spawn_begins(struct world *world, const struct gyre_spawn_options *options)
{
	if (options->place == GYRE_PLACE_PINNED) {
		(void)gy_add_relaxed(&world->pinned_tried, 1);
	}
}

void expect_spawned(struct world *world, uint32_t life, const struct gyre_spawn_options *options,
		    int r, struct gyre_address address)
{
	must(world, life, may_be_refused(world, options, r), "%d", r);
	must(world, life, (r != 0 && r != -EEXIST) || !gyre_address_is_nobody(address));
	if (r < 0 && options->place == GYRE_PLACE_PINNED) {
		(void)gy_add_relaxed(&world->pinned_tried, -1U);
	}
}

/* It is where it was to be, and none that lives shares a loop of its own. */
void expect_place(struct world *world, uint32_t life, const struct birth *birth,
		  struct gyre_address self)
{
	uint32_t first = first_pinned(world);
	uint32_t former;

	switch (birth->place) {
	case GYRE_PLACE_HERE:
	case GYRE_PLACE_LOOP:
		must(world, life, self.loop == birth->loop, "on loop %u, not %u", self.loop,
		     birth->loop);
		break;
	case GYRE_PLACE_PINNED:
		must(world, life, self.loop >= first && self.loop < first + world->plan.pinned,
		     "on loop %u", self.loop);
		former = gy_exchange(&world->pinned[self.loop - first], life);
		must(world, life, former == 0 || gy_load_relaxed(&world->lives[former].ended) != 0,
		     "life %u has loop %u", former, self.loop);
		break;
	default:
		must(world, life, self.loop < first, "on loop %u", self.loop);
	}
}

/* A new actor has its name before anything of it runs. */
void expect_first_name(struct gyre_stack *stack, uint8_t name)
{
	struct self *self = self_of(stack);
	struct gyre_address found = GYRE_NOBODY;
	int r;

	if (name != 0) {
		name_is_taken(self, name - 1U);
		r = gyre_name_lookup(stack, names_known[name - 1], &found);
		must(self->world, self->life, r == 0 && gyre_address_equal(found, gyre_self(stack)),
		     "its first name leads elsewhere (%d)", r);
	}
}

/* Before it has run nobody else can have its name; and who has one itself gives it to no other. */
static void expect_name(struct gyre_stack *stack, struct acquaintance child, uint8_t name, int r)
{
	struct self *self = self_of(stack);
	const struct world *world = self->world;
	const struct life *life = &world->lives[child.life];
	bool own = name != 0 && (self->names >> (name - 1) & 1) != 0;
	struct gyre_address found = GYRE_NOBODY;
	bool leads;

	if (name == 0 || (r != 0 && r != -EEXIST)) {
		return;
	}
	must(self->world, self->life,
	     !own || (r == -EEXIST && gyre_address_equal(child.address, gyre_self(stack))),
	     "another has got its name");
	if (r == 0) {
		leads = gyre_name_lookup(stack, names_known[name - 1], &found) == 0 &&
			gyre_address_equal(found, child.address);
		must(self->world, self->life,
		     leads || world->plan.lean || world->plan.resizing ||
			     gy_load_relaxed(&world->stopped) != 0 ||
			     gy_load_relaxed(&life->alive) != 0 ||
			     gy_load_relaxed(&life->ended) != 0,
		     "the name of life %u leads elsewhere", child.life);
	}
}

/* ---- alone ---- */

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
	uint8_t name;
	struct gyre_spawn_options options = draw_options(world, &self->random, &name);
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
			.depth = (uint8_t)(self->depth + 1), .class = class,
			.place = (uint8_t)options.place, .name = name,
			.loop = options.place == GYRE_PLACE_HERE ? gyre_self(stack).loop
								 : (uint16_t)options.loop);
	if (mail == NULL) {
		must(world, self->life, world->plan.lean);
		return;
	}
	spawn_begins(world, &options);
	r = gyre_spawn(stack, &classes[class], mail, &options, &child.address);
	trace(self->life, "spawns", child.life, (uint64_t)r);
	expect_spawned(world, self->life, &options, r, child.address);
	expect_name(stack, child, name, r);
	if (r == 0) {
		introduce(stack, child);
	}
}

/* ---- at the end ---- */

static int spawn_pinned(struct world *world, struct gyre_address *ret_address)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_PINNED };

	return gyre_system_spawn(
		world->system, &classes[0],
		gyre_system_new(world->system, birth, .world = world, .place = GYRE_PLACE_PINNED),
		&options, ret_address);
}

/* Which loops for one actor are free, but for those that were filled: a bit each. An actor that is
 * on its way to one is not seen yet. */
static uint32_t free_pinned(const struct world *world, uint32_t filled)
{
	uint32_t some = 0;

	for (uint32_t i = 0; i < world->plan.pinned; i++) {
		uint32_t life = gy_load_relaxed(&world->pinned[i]);

		if (life == 0 || gy_load_relaxed(&world->lives[life].alive) == 0) {
			some |= 1U << i;
		}
	}
	return some & ~filled;
}

void fill_pinned(struct world *world, uint64_t limit_ns)
{
	struct gyre_address address = GYRE_NOBODY;
	uint32_t filled = 0;
	int r = 0;

	if (gy_load_relaxed(&world->lives_count) + PINNED_MAX >= LIVES_MAX) {
		return; /* there are no lives for them */
	}
	while (free_pinned(world, filled) != 0) {
		must(world, 0, now_ns() < limit_ns, "loops for one actor are not free: 0x%x",
		     free_pinned(world, filled));
		r = spawn_pinned(world, &address);
		must(world, 0, r == 0 || r == -ENOBUFS, "%d", r);
		if (r == 0) {
			filled |= 1U << (address.loop - first_pinned(world));
		} else {
			drive_ns(world, 500000); /* the last of its actor may be under way */
		}
	}
	r = spawn_pinned(world, &address);
	must(world, 0, r == -ENOBUFS, "two actors have one loop: %d", r);
}

/* ---- groups ---- */

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
	const struct gyre_spawn_options anywhere = { .place = GYRE_PLACE_ROUND_ROBIN };
	bool elastic = one_in(&self->random, 3);
	uint32_t number = gy_add_relaxed(&world->groups_count, 1) + 1;
	uint8_t class = draw_class(&self->random, options.detached);
	struct gyre_mail *mail;
	struct group *group;
	int r;

	if (number >= GROUPS_MAX || self->depth > 2) {
		return;
	}
	group = &world->groups[number];
	if (elastic) { /* it shrinks as soon as it can */
		options.count_max = 5;
		options.grow_above = 1;
		options.shrink_after_ns = 1;
	}
	group->spawned = true;
	group->elastic = elastic;
	group->everyone = options.routing == GYRE_ROUTING_ALL;
	mail = gyre_new(stack, birth, .world = world, .random = gy_random_next(&self->random),
			.parent = options.detached ? 0 : self->life,
			.depth = (uint8_t)(self->depth + 1), .class = class,
			.group = (uint8_t)number, .place = GYRE_PLACE_ROUND_ROBIN);
	if (mail == NULL) {
		must(world, self->life, world->plan.lean);
		return;
	}
	r = gyre_group_spawn(stack, &classes[class], mail, &options, &group->address);
	trace(self->life, "spawns group", number, (uint64_t)r);
	must(world, self->life, may_be_refused(world, &anywhere, r), "%d", r);
	if (r == 0 && group->address.loop >= PLACES_MAX) { /* one of one member is no group */
		gy_store_release(&world->open_groups[draw(&self->random, GROUPS_OPEN)],
				 (uint8_t)number);
	}
}
