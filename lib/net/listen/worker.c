/*
 * The worker: the channels actor that owns the connections of its loop. It takes each from the
 * acceptor as an ask, makes a channel of it and lets the user's initialiser give it handlers. One
 * that the initialiser refuses is closed, and no other is touched.
 */
#include "net/listen/worker.h"

#include <errno.h>

#include <gyre/move.h>

#include "actor/stack/stack.h"
#include "channel/channel.h"
#include "net/listen/accepted.h"
#include "net/listen/admission.h"
#include "net/listen/listener.h"
#include "net/pending_open.h"
#include "net/stream.h"

/* The worker was never mounted. */
void gy_worker_argument_destroy(struct gy_worker_argument *argument)
{
	gy_admission_unref(argument->admission);
	argument->admission = NULL;
	if (argument->listener != NULL) {
		gy_listener_lost_worker(argument->listener, argument->home);
		argument->listener = NULL;
	}
}

static int mount(struct gyre_stack *stack)
{
	struct gy_worker_argument *worker = (struct gy_worker_argument *)gyre_state(stack);
	int r = gyre_message_move(stack, &gyre_type_gy_worker_argument, worker);

	if (r == 0) {
		struct gy_homes *homes = worker->listener->homes;

		gy_store_relaxed(&worker->listener->lacking, 0);
		gy_listener_unref(worker->listener);
		worker->listener = NULL;
		gy_pending_open_end(homes);
	}
	return r;
}

static void clean(void *state)
{
	gy_admission_unref(((struct gy_worker_argument *)state)->admission);
}

/* Takes the descriptor; -1 is one that was closed on the way. */
static int open_channel(struct gy_stack *stack, const struct gy_channel_opening *opening)
{
	int r;

	if (opening->fd < 0) {
		return -ECANCELED;
	}
	r = gy_stream_size(opening->fd, opening->options);
	if (r < 0) {
		gy_channels_drop(gy_channels_of(stack->home), opening->fd);
		return r;
	}
	return gy_channel_open(stack->house, stack, opening);
}

/* A channel that is counted, or reported. */
struct counted {
	const struct gy_worker_argument *worker;
	bool followed; /* its pipeline counts it out */
};

static int init_counted(struct gyre_channel *channel, void *arg)
{
	struct counted *counted = (struct counted *)arg;
	int r = gy_admission_update(counted->worker->admission, channel);

	if (r < 0) {
		return r;
	}
	counted->followed = true;
	return counted->worker->init_channel(channel, counted->worker->init_arg);
}

/* Takes the descriptor, as open_channel() does. */
static int open_counted(struct gy_stack *stack, const struct gy_worker_argument *worker, int fd)
{
	struct counted counted = { .worker = worker };
	const struct gy_channel_opening opening = {
		.fd = fd, .options = &worker->channel, .init = init_counted, .init_arg = &counted
	};
	int r = open_channel(stack, &opening);

	if (!counted.followed) {
		gy_admission_leave(worker->admission, stack->home->loop.index, stack->home);
	}
	return r;
}

/* Takes the descriptor, likewise. */
static int open_plain(struct gy_stack *stack, const struct gy_worker_argument *worker, int fd)
{
	const struct gy_channel_opening opening = { .fd = fd,
						    .options = &worker->channel,
						    .init = worker->init_channel,
						    .init_arg = worker->init_arg };

	return open_channel(stack, &opening);
}

static int ask(struct gyre_stack *stack)
{
	const struct gy_worker_argument *worker =
		(const struct gy_worker_argument *)gyre_state(stack);
	const struct gy_take_connection *handover = gyre_message(stack, gy_take_connection);
	struct gy_stack *s = gy_stack_of(stack);
	struct gyre_mail *answer;
	int fd;
	int r;

	if (handover == NULL) {
		return gyre_throw(stack, -EPROTO);
	}
	if (gy_channels_of(s->home)->leaving &&
	    handover->accepted->channels != gy_channels_of(s->home)) {
		return gyre_throw(stack, -ESRCH); /* the acceptor finds another loop for it */
	}
	answer = gyre_new(stack, gy_taken, 0);
	if (answer == NULL) {
		return gyre_throw(stack, -ENOMEM); /* the acceptor still has it */
	}
	fd = gy_accepted_take(handover->accepted);
	r = worker->admission == NULL ? open_plain(s, worker, fd) : open_counted(s, worker, fd);
	gy_accepted_free(gy_channels_of(s->home), handover->accepted);
	((struct gy_taken *)gyre_payload(answer))->error = r;
	return gyre_reply(stack, answer);
}

const struct gyre_class gy_worker_class = {
	.name = "worker",
	.state_bytes = sizeof(struct gy_worker_argument),
	.behaviour = { .ask = ask },
	.mount = mount,
	.clean = clean,
};
