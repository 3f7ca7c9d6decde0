/*
 * Classes as they come in: what is reserved in them is refused, and a loop looks at a class only
 * while it has no actor of it.
 */
#include "fixture.h"

#include <errno.h>
#include <string.h>

#include <gyre/behaviour.h>
#include <gyre/watch.h>

static struct gyre_route routes[] = {
	GYRE_ROUTE(number, NULL),
	GYRE_ROUTE(place, NULL),
	GYRE_ROUTE_END,
};
static struct gyre_class class = { .name = "reserved" };

static int spawn(struct gyre_stack *stack, uint32_t loop, const struct gyre_spawn_options *given)
{
	const struct gyre_spawn_options there = { .place = GYRE_PLACE_LOOP, .loop = loop };
	struct gyre_address address;

	return gyre_spawn(stack, &class, GYRE_NO_ARGUMENT, given == NULL ? &there : given,
			  &address);
}

/* It is refused from both sides, and the log names what is reserved. */
static void expect_refused(struct gyre_stack *stack, const char *name)
{
	struct gyre_address address;

	expect(spawn(stack, 0, NULL) == -EINVAL);
	expect(strstr(fixture.line, name) != NULL);
	expect(gyre_system_spawn(fixture.system, &class, GYRE_NO_ARGUMENT, NULL, &address) ==
	       -EINVAL);
	expect(fixture.errors == 2);
	fixture.errors = 0;
}

static int set_what_is_reserved(struct gyre_stack *stack)
{
	struct gyre_spawn_options options = { .place = GYRE_PLACE_HERE };

	class.behaviour.reserved[1] = &class;
	expect_refused(stack, "struct gyre_behaviour");
	class.behaviour.reserved[1] = NULL;
	class.behaviour.event_routes = routes;
	routes[1].reserved = 1;
	expect_refused(stack, "struct gyre_route");
	routes[1].reserved = 0;
	routes[2].reserved = 1;
	expect_refused(stack, "struct gyre_route");
	routes[2].reserved = 0;
	expect(spawn(stack, 0, NULL) == 0);

	options.reserved[1] = 1;
	expect(spawn(stack, 0, &options) == -EINVAL);
	expect(fixture.errors == 1);
	fixture.errors = 0;
	return fixture_end(stack);
}

Test(class_sized, refuses_what_is_reserved_in_a_class_its_routes_and_options)
{
	play(1, set_what_is_reserved);
}

/* Nobody may change a class that has actors: here, to see that it is not looked at. */
static int change_a_class_that_has_an_actor(struct gyre_stack *stack)
{
	expect(spawn(stack, 0, NULL) == 0);
	class.behaviour.reserved[0] = &class;
	expect(spawn(stack, 0, NULL) == 0);
	(void)spawn_here(stack, &sink_class);
	expect(spawn(stack, 0, NULL) == -EINVAL);
	fixture.errors = 0;
	return fixture_end(stack);
}

Test(class_sized, is_not_checked_again_while_the_loop_spawns_it_and_has_actors_of_it)
{
	play(1, change_a_class_that_has_an_actor);
}

static struct gyre_address only;

static int note_end(struct gyre_stack *stack)
{
	class.behaviour.reserved[0] = &class;
	expect(spawn(stack, 0, NULL) == -EINVAL);
	fixture.errors = 0;
	return fixture_end(stack);
}

static int watch_its_end(struct gyre_stack *stack)
{
	expect(gyre_spawn(stack, &class, GYRE_NO_ARGUMENT, NULL, &only) == 0);
	expect(gyre_watch(stack, only) == 0);
	expect(gyre_stop(stack, only) == 0);
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher",
	.mount = watch_its_end,
	.behaviour.event = note_end,
};

static int spawn_the_watcher(struct gyre_stack *stack)
{
	(void)spawn_here(stack, &watcher_class);
	return gyre_return(stack);
}

Test(class_sized, is_checked_anew_when_its_last_actor_has_ended)
{
	play(1, spawn_the_watcher);
}

/* Loop 1 has an actor of the class, and loop 0, which spawns, has none. */
static int spawn_elsewhere(struct gyre_stack *stack)
{
	expect(spawn(stack, 1, NULL) == 0);
	class.behaviour.reserved[0] = &class;
	expect(spawn(stack, 1, NULL) == -EINVAL);
	class.behaviour.reserved[0] = NULL;
	fixture.errors = 0;
	return fixture_end(stack);
}

Test(class_sized, is_checked_by_a_loop_that_spawns_on_another_one)
{
	play(2, spawn_elsewhere);
}
