/*
 * What a puppet does.
 */
#include "puppet.h"

#include "fixture.h"

int puppet_run(struct gyre_stack *stack)
{
	const struct call *call = gyre_message(stack, call);

	expect(call != NULL);
	return call->function(stack);
}

struct puppet_frame *puppet_frame(struct gyre_stack *stack)
{
	return (struct puppet_frame *)gyre_frame(stack);
}

const struct gyre_class puppet_class = {
	.name = "puppet",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .ask = puppet_run },
};
