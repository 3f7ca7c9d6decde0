/*
 * Deadlines of asks between two nodes are not early either.
 */
#include <errno.h>

#include <gyre/node.h>

#include "fixture.h"
#include "lagging.h"
#include "pair.h"
#include "system/system.h"

static int ask_as_told(struct gyre_stack *stack)
{
	if (gyre_stack_state(stack) == 0) {
		lagging_frame(stack)->to = gyre_message(stack, place)->address;
	}
	return lagging_asks(stack);
}

static const struct gyre_class asker_class = {
	.name = "asker",
	.frame_bytes = sizeof(struct lagging_frame),
	.mount = ask_as_told,
};

static int ask_other(struct gyre_stack *stack)
{
	struct pair_frame *frame = (struct pair_frame *)gyre_frame(stack);
	struct gyre_address asker;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "adder", 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	frame->other = gyre_future_get(&frame->future, gyre_node_found)->address;
	expect(gyre_spawn(stack, &asker_class, gyre_new(stack, place, frame->other),
			  &GYRE_VALUE(gyre_spawn_options, .detached = true), &asker) == 0);
	GYRE_END(stack);
}

Test(deadline, is_not_early_between_two_nodes_when_the_coarse_clock_lags)
{
	pair_play(&(struct pair){ .script = ask_other });
	cr_assert_eq(lagging_early, 0);
}

/* ---- what an ask from another node inherits ---- */

/* The ask of the other node: in it the time is a sixteenth longer, for the clocks of loops. */
enum { ASKED_S = 60, LATER_S = ASKED_S + ASKED_S / 16 + 1 };

static int look_at_time(struct gyre_stack *stack)
{
	uint64_t left_ns = gyre_time_left(stack);

	expect(left_ns > 0 && left_ns <= GYRE_SECONDS(LATER_S));
	expect(gyre_is_awaited(stack));
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static const struct gyre_class looking_class = { .name = "looking", .behaviour.ask = look_at_time };

static int ask_looking(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "other", 0, &frame->future));
	frame->other = gyre_future_get(&frame->future, gyre_node_found)->address;
	GYRE_AWAIT(stack, gyre_ask(stack, frame->other, gyre_new(stack, number, 1),
				   GYRE_SECONDS(ASKED_S), &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(deadline, of_an_asker_on_another_node_is_known_to_who_is_asked)
{
	pair_play(&(struct pair){ .script = ask_looking, .class = &looking_class });
}

/* The second one asks on, with no time-out of its own, where the default is much longer. */
static int look_further(struct gyre_stack *stack)
{
	uint64_t left_ns = gyre_time_left(stack);

	expect(left_ns > 0 && left_ns <= GYRE_SECONDS(LATER_S + LATER_S / 16 + 1));
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static const struct gyre_class far_class = { .name = "far", .behaviour.ask = look_further };

static int ask_on(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	expect(pair_other->options.ask_timeout_ns > GYRE_SECONDS(10 * LATER_S));
	frame->other = spawn_here(stack, &far_class);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->other, gyre_new(stack, number, 1), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	return gyre_reply(stack, gyre_new(stack, number, 1));
	GYRE_END(stack);
}

static const struct gyre_class between_class = { .name = "between",
						 .frame_bytes = sizeof(struct pair_frame),
						 .behaviour.ask = ask_on };

Test(deadline, of_an_asker_on_another_node_is_inherited_by_what_is_asked_on)
{
	pair_play(&(struct pair){ .script = ask_looking, .class = &between_class });
}
