/*
 * Deadlines of asks between two nodes are not early either.
 */
#include <errno.h>

#include <gyre/node.h>

#include "fixture.h"
#include "lagging.h"
#include "pair.h"

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
