/*
 * What a puppet does.
 */
#include "puppet.h"

#include <errno.h>

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

int puppet_fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

int puppet_trace_wait(struct gyre_stack *stack, char begin, char end, uint64_t ns)
{
	GYRE_BEGIN(stack);
	trace(begin);
	GYRE_AWAIT(stack, gyre_sleep(stack, ns, &puppet_frame(stack)->future));
	trace(end);
	GYRE_END(stack);
}

uint32_t puppet_restarts;

static int count_restart(struct gyre_stack *stack)
{
	puppet_restarts++;
	return gyre_return(stack);
}

struct gyre_class puppet_failing_class = {
	.name = "failing",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = puppet_run,
	.restart = count_restart,
};
