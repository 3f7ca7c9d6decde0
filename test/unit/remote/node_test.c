/*
 * Two nodes in one process: messages, watches and names between them.
 */
#include <stdio.h>

#include <gyre/name.h>
#include <gyre/node.h>
#include <gyre/watch.h>

#include "fixture.h"
#include "pair.h"

static int asks_the_other(struct gyre_stack *stack)
{
	struct pair_frame *frame = (struct pair_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "adder", 0, &frame->future));
	expect(gyre_error(&frame->future) == 0);
	frame->other = gyre_get(&frame->future, gyre_node_found)->address;
	expect(frame->other.node == 2);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->other, gyre_new(stack, number, 41), 0, &frame->future));
	expect(gyre_error(&frame->future) == 0);
	expect(gyre_get(&frame->future, number)->value == 42);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, finds_an_actor_of_another_by_its_name_and_asks_it)
{
	pair_play(&(struct pair){ .script = asks_the_other });
}
