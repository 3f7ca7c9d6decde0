/*
 * The worker: the channels actor that owns the connections of its loop. It takes each from the
 * acceptor as an ask, makes a channel of it and lets the user's initialiser give it handlers. One
 * that the initialiser refuses is closed, and no other is touched.
 *
 * With a class of the program the worker spawns an actor for the connection, which makes the
 * channel when it is mounted; until then the descriptor counts among those of the loop that have no
 * owner yet.
 *
 * A worker outlives its listener, until its last connection has gone.
 */
#include "net/listen/worker.h"

#include <errno.h>

#include <gyre/move.h>

#include "actor/house_extra.h"
#include "actor/life/children.h"
#include "actor/life/graceful_stop.h"
#include "actor/stack/stack.h"
#include "channel/channel.h"
#include "channel/channel_actor.h"
#include "channel/endpoint.h"
#include "net/listen/accepted.h"
#include "net/listen/admission.h"
#include "net/listen/listener.h"
#include "net/pending_open.h"
#include "net/stream.h"

/* No worker has taken it. */
void gy_take_connection_destroy(struct gy_take_connection *take)
{
	gy_accepted_let_go(NULL, take->accepted);
}

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
	/* Which the end needs. */
	int r = gy_house_extra_get(gy_stack_of(stack)->house) == NULL ? -ENOMEM : 0;

	if (r == 0) {
		r = gyre_message_move(stack, &gyre_type_gy_worker_argument, worker);
	}
	if (r == 0) {
		struct gy_homes *homes = worker->listener->homes;

		gy_store_relaxed(&worker->listener->lacking, 0);
		gy_listener_unref(worker->listener, !worker->home->draining);
		worker->listener = NULL;
		gy_pending_open_end(homes);
	}
	return r;
}

/* The listener has ended, and the worker has no connections. Actors that handlers have spawned
 * count as connections do; those on other loops may be there until the system ends. */
static void emptied(struct gy_house *house)
{
	const struct gy_endpoints *endpoints = house->extra->endpoints;

	if (house->status != GY_HOUSE_STOPPING && !house->home->draining &&
	    (endpoints == NULL || endpoints->count == 0) && !gy_children_may_be_left(house)) {
		gy_house_order_graceful_stop(house, GYRE_FOREVER);
	}
}

void gy_worker_end(struct gy_house *house)
{
	house->extra->emptied = emptied;
	emptied(house);
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

/* A channel that is counted, or reported, or that an actor of the program is to own. */
struct special {
	const struct gy_worker_argument *worker;
	const struct gy_channel_order *order; /* to that actor; NULL for none */
	bool followed;			      /* its pipeline counts it out */
};

static int init_special(struct gyre_channel *channel, void *arg)
{
	struct special *special = (struct special *)arg;
	const struct gy_worker_argument *worker = special->worker;
	int r = 0;

	if (special->order != NULL) {
		gy_channel_attach(channel, special->order);
	}
	if (worker->admission != NULL) {
		r = gy_admission_update(worker->admission, channel);
		special->followed = r == 0;
	}
	return r < 0 ? r : worker->init_channel(channel, worker->init_arg);
}

static void count_out(const struct gy_worker_argument *worker)
{
	if (worker->admission != NULL) {
		gy_admission_leave(worker->admission, worker->home->loop.index, worker->home);
	}
}

/* Takes the descriptor, as open_channel() does. */
static int open_special(struct gy_stack *stack, struct special *special, int fd)
{
	const struct gy_channel_opening opening = { .fd = fd,
						    .options = &special->worker->channel,
						    .init = init_special,
						    .init_arg = special };
	int r = open_channel(stack, &opening);

	if (!special->followed) {
		count_out(special->worker);
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

/* ---- actors of the program ---- */

static int open_ordered(const struct gy_channel_order *order, struct gy_stack *stack)
{
	struct special special = { .worker = (const struct gy_worker_argument *)order->maker,
				   .order = order };

	gy_channels_of(stack->home)->unclaimed--;
	return open_special(stack, &special, order->fd);
}

static void drop_ordered(const struct gy_channel_order *order)
{
	const struct gy_worker_argument *worker = (const struct gy_worker_argument *)order->maker;
	struct gy_channels *channels = gy_channels_of(worker->home);

	channels->unclaimed--;
	gy_channels_drop(channels, order->fd);
	count_out(worker);
}

static const struct gy_channel_order_ops order_ops = { .open = open_ordered, .drop = drop_ordered };

/* Takes the descriptor, likewise. */
static int spawn_owner(struct gy_stack *stack, struct gy_worker_argument *worker, int fd)
{
	const struct gy_channel_order order = { .ops = &order_ops,
						.maker = worker,
						.arg = worker->init_arg,
						.fd = fd,
						.bond = worker->bond };

	gy_channels_of(stack->home)->unclaimed++;
	return gy_channel_actor_spawn(stack, worker->actor_class, &order);
}

/* ---- the worker's own ---- */

/* Takes the descriptor, likewise; -1 is one that was closed on the way. */
static int take(struct gy_stack *stack, struct gy_worker_argument *worker, int fd)
{
	struct special counted = { .worker = worker };

	if (worker->actor_class != NULL && fd >= 0) {
		return spawn_owner(stack, worker, fd);
	}
	return worker->admission == NULL ? open_plain(stack, worker, fd)
					 : open_special(stack, &counted, fd);
}

static int ask(struct gyre_stack *stack)
{
	struct gy_worker_argument *worker = (struct gy_worker_argument *)gyre_state(stack);
	const struct gy_take_connection *asked = gyre_message(stack, gy_take_connection);
	struct gy_stack *s = gy_stack_of(stack);
	const struct gy_channels *channels = gy_channels_of(s->home);
	struct gy_take_connection handover;
	struct gyre_mail *answer;

	if (asked == NULL) {
		return gyre_throw(stack, -ENOSYS);
	}
	if (channels->leaving && asked->accepted->channels != channels) {
		return gyre_throw(stack, -ESRCH); /* the acceptor finds another loop for it */
	}
	answer = gyre_new(stack, gy_taken, 0);
	if (answer == NULL) {
		return gyre_throw(stack, -ENOMEM); /* the acceptor still has it */
	}
	(void)gyre_move(stack, gy_take_connection, &handover);
	((struct gy_taken *)gyre_payload(answer))->error =
		take(s, worker, gy_accepted_take(handover.accepted));
	gy_accepted_let_go(channels, handover.accepted);
	return gyre_reply(stack, answer);
}

const struct gyre_class gy_worker_class = {
	.name = "worker",
	.state_bytes = sizeof(struct gy_worker_argument),
	.behaviour = { .ask = ask },
	.mount = mount,
	.clean = clean,
	.keep_children = true,
	.supervision.decision = GYRE_DECISION_STOP,
};
