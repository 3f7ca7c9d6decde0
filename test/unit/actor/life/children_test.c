/*
 * Families: parents and children, and in what order they end. Whoever is cleaned leaves the letter
 * of its state in the trace.
 */
#include "fixture.h"

#include <string.h>

#include "base/atomic.h"

enum { LOOPS = 2, CHILDREN = 1000, DEPTH = 20000 };

struct state {
	char letter;
	uint64_t below; /* generations to spawn */
};

struct plan {
	char letter;
	uint64_t children; /* each on the next loop, with the next letter */
	uint64_t below;	   /* generations under each */
	bool detached;
};
GYRE_MESSAGE(plan, 0x1101);

struct frame {
	struct gyre_future future;
	struct gyre_address to;
};

static struct gyre_address last_child;
static uint32_t mounted;
static uint32_t cleaned;

static int spawn_children(struct gyre_stack *stack);

static void note_letter(void *state)
{
	(void)gy_fetch_add(&cleaned, 1);
	trace(((struct state *)state)->letter);
}

static int parent_of(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, place, gyre_parent(stack)));
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class member_class = {
	.name = "member",
	.state_bytes = sizeof(struct state),
	.frame_bytes = sizeof(struct frame),
	.mount = spawn_children,
	.behaviour = { .ask = parent_of, .notice = fail },
	.clean = note_letter,
	.strategy = GYRE_STRATEGY_STOP,
};

static struct gyre_address spawn_member(struct gyre_stack *stack, struct plan plan, uint32_t loop)
{
	const struct gyre_spawn_options options = {
		.place = GYRE_PLACE_LOOP,
		.loop = loop,
		.detached = plan.detached,
	};
	struct gyre_address address = { 0 };

	expect(gyre_spawn(
		       stack, &member_class,
		       gyre_new(stack, plan, plan.letter, plan.children, plan.below, plan.detached),
		       &options, &address) == 0);
	return address;
}

static int spawn_children(struct gyre_stack *stack)
{
	const struct plan *plan = gyre_message(stack, plan);
	struct plan child = { .letter = (char)(plan->letter + 1), .detached = plan->detached };

	((struct state *)gyre_state(stack))->letter = plan->letter;
	if (plan->below > 0) {
		child.children = plan->children;
		child.below = plan->below - 1;
	}
	for (uint64_t i = 0; i < plan->children; i++) {
		last_child = spawn_member(stack, child,
					  (gyre_self(stack).loop + (uint32_t)i) %
						  gyre_system_loops(gyre_system_of(stack)));
	}
	(void)gy_fetch_add(&mounted, 1);
	return gyre_return(stack);
}

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int turn(struct gyre_stack *stack)
{
	return gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame_of(stack)->future);
}

/* ---- order of the end ---- */

static struct plan next_plan;
static uint32_t members;

static int stop_a_family(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	frame_of(stack)->to = spawn_member(stack, next_plan, 0);
	while (gy_load_acquire(&mounted) < members) {
		GYRE_AWAIT(stack, turn(stack));
	}
	expect(gyre_stop(stack, frame_of(stack)->to) == 0);
	while (gy_load_acquire(&cleaned) < members) {
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

/* Each generation has one letter, so that the trace must be sorted backwards. */
static void assert_children_came_first(void)
{
	for (size_t i = 1; i < strlen(traced); i++) {
		cr_assert_geq(traced[i - 1], traced[i], "%s", traced);
	}
}

static void stop_family_of(uint32_t loops, struct plan plan, uint32_t count)
{
	next_plan = plan;
	members = count;
	play(loops, stop_a_family);
	cr_assert_eq(cleaned, count);
}

Test(children, of_a_stopped_actor_ends_before_it)
{
	stop_family_of(1, (struct plan){ .letter = 'a', .children = 3 }, 4);
	cr_assert_str_eq(traced, "bbba");
}

Test(children, on_other_loops_ends_before_it_too)
{
	stop_family_of(LOOPS, (struct plan){ .letter = 'a', .children = 4 }, 5);
	cr_assert_str_eq(traced, "bbbba");
}

Test(children, of_a_child_ends_before_that)
{
	stop_family_of(1, (struct plan){ .letter = 'a', .children = 1, .below = 3 }, 5);
	cr_assert_str_eq(traced, "edcba");
}

Test(children, of_many_on_two_loops_ends_with_its_ancestor)
{
	stop_family_of(LOOPS, (struct plan){ .letter = 'a', .children = CHILDREN }, CHILDREN + 1);
	assert_children_came_first();
}

Test(children, of_many_generations_ends_without_recursion)
{
	stop_family_of(1, (struct plan){ .letter = 'a', .children = 1, .below = DEPTH }, DEPTH + 2);
}

Test(children, of_many_generations_on_alternate_loops_ends_too)
{
	stop_family_of(70, (struct plan){ .letter = 'a', .children = 1, .below = 100 }, 102);
}

/* ---- who is a child ---- */

static int ask_for_parents(struct gyre_stack *stack)
{
	const struct gyre_address *parent;

	GYRE_BEGIN(stack);
	expect(gyre_address_is_nobody(gyre_parent(stack)));
	frame_of(stack)->to = spawn_member(stack, next_plan, 1);
	GYRE_AWAIT(stack, gyre_ask(stack, frame_of(stack)->to, gyre_new(stack, number, 0), 0,
				   &frame_of(stack)->future));
	parent = &gyre_future_get(&frame_of(stack)->future, place)->address;
	expect(gyre_address_equal(*parent, next_plan.detached ? GYRE_NOBODY : gyre_self(stack)));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(children, shows_the_child_its_parent)
{
	next_plan = (struct plan){ .letter = 'a' };
	play(LOOPS, ask_for_parents);
}

Test(children, has_no_member_that_is_detached)
{
	next_plan = (struct plan){ .letter = 'a', .detached = true };
	play(LOOPS, ask_for_parents);
}

static int stop_a_detached_parent(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	frame_of(stack)->to = spawn_member(
		stack, (struct plan){ .letter = 'a', .children = 1, .detached = true }, 0);
	while (gy_load_acquire(&mounted) < 2) {
		GYRE_AWAIT(stack, turn(stack));
	}
	expect(gyre_stop(stack, frame_of(stack)->to) == 0);
	while (gy_load_acquire(&cleaned) < 1) {
		GYRE_AWAIT(stack, turn(stack));
	}
	GYRE_AWAIT(stack, gyre_ask(stack, last_child, gyre_new(stack, number, 0), 0,
				   &frame_of(stack)->future));
	expect(gyre_future_error(&frame_of(stack)->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(children, does_not_take_a_detached_actor_with_it)
{
	play(1, stop_a_detached_parent);
	cr_assert_str_eq(traced, "ab");
}

/* ---- other ends ---- */

static int fail_a_child(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	frame_of(stack)->to = spawn_member(stack, (struct plan){ .letter = 'a', .children = 1 }, 0);
	while (gy_load_acquire(&mounted) < 2) {
		GYRE_AWAIT(stack, turn(stack));
	}
	expect(gyre_notify(stack, last_child, gyre_new(stack, number, 0)) == 0);
	while (gy_load_acquire(&cleaned) < 1) {
		GYRE_AWAIT(stack, turn(stack));
	}
	GYRE_AWAIT(stack, gyre_ask(stack, frame_of(stack)->to, gyre_new(stack, number, 0), 0,
				   &frame_of(stack)->future));
	expect(gyre_future_error(&frame_of(stack)->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(children, outlives_a_child_that_has_failed)
{
	play(1, fail_a_child);
	cr_assert_str_eq(traced, "ba");
}

static int fail_the_parent(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	frame_of(stack)->to = spawn_member(stack, (struct plan){ .letter = 'a', .children = 2 }, 1);
	while (gy_load_acquire(&mounted) < 3) {
		GYRE_AWAIT(stack, turn(stack));
	}
	expect(gyre_notify(stack, frame_of(stack)->to, gyre_new(stack, number, 0)) == 0);
	while (gy_load_acquire(&cleaned) < 3) {
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(children, ends_with_a_parent_that_has_failed)
{
	play(LOOPS, fail_the_parent);
	cr_assert_str_eq(traced, "bba");
}

static int end_the_system(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	(void)spawn_member(stack, (struct plan){ .letter = 'a', .children = 2, .below = 5 }, 0);
	while (gy_load_acquire(&mounted) < 127) {
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(children, ends_in_the_same_order_with_the_system)
{
	play(LOOPS, end_the_system);
	cr_assert_eq(strlen(traced), 127);
	cr_assert_eq(traced[126], 'a');
}

static int spawn_and_fail_to_mount(struct gyre_stack *stack)
{
	(void)spawn_member(stack, (struct plan){ .letter = 'c' }, 0);
	(void)spawn_member(stack, (struct plan){ .letter = 'b' }, 1);
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class stillborn_class = {
	.name = "stillborn",
	.mount = spawn_and_fail_to_mount,
};

static int mount_in_vain(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	(void)spawn_here(stack, &stillborn_class);
	while (gy_load_acquire(&cleaned) < 2) {
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(children, of_a_parent_that_cannot_be_mounted_ends)
{
	play(LOOPS, mount_in_vain);
	cr_assert_eq(fixture.counters.spawned, 4);
}
