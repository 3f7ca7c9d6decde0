/*
 * The worker: the channels actor that owns the connections of its loop. It takes each from the
 * acceptor as an ask, makes a channel of it and lets the user's initialiser give it handlers. One
 * that the initialiser refuses is closed, and no other is touched.
 */
#include <errno.h>

#include "actor/stack.h"
#include "channel/channel.h"
#include "net/net.h"

static int mount(struct gyre_stack *stack)
{
	*(struct gy_worker_argument *)gyre_state(stack) = *gyre_message(stack, gy_worker_argument);
	return gyre_return(stack);
}

static int ask(struct gyre_stack *stack)
{
	const struct gy_worker_argument *worker =
		(const struct gy_worker_argument *)gyre_state(stack);
	const struct gy_handover *handover = gyre_message(stack, gy_handover);
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_channel_opening opening = { .options = &worker->channel,
					      .init = worker->init_channel,
					      .init_arg = worker->init_arg };
	struct gyre_mail *answer;
	int r = -ECANCELED;

	if (handover == NULL) {
		return gyre_throw(stack, -EPROTO);
	}
	answer = gyre_new(stack, gy_taken, 0);
	if (answer == NULL) {
		return gyre_throw(stack, -ENOMEM); /* the acceptor still has it */
	}
	opening.fd = gy_accepted_take(handover->accepted);
	if (opening.fd >= 0) {
		r = gy_channel_open(s->house, s, &opening);
	}
	gy_accepted_free(gy_channels_of(s->home), handover->accepted);
	((struct gy_taken *)gyre_payload(answer))->error = r;
	return gyre_reply(stack, answer);
}

const struct gyre_class gy_worker_class = {
	.name = "worker",
	.state_bytes = sizeof(struct gy_worker_argument),
	.behaviour = { .ask = ask },
	.mount = mount,
};
