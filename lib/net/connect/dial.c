/*
 * One connection of a socket actor, in rounds: make a channel, whose handlers say where it is to be
 * connected to; look up the name, race to the addresses, give the winner's descriptor to the
 * channel. A round fails when its channel ends before it is open; that, or the end of an open one,
 * is followed by a pause and the next round, as long as the options allow.
 *
 * Completions and timers only make the endpoint ready; what follows from them is worked out in
 * process(), by the stage. A dial that is to end cancels what is under way, waits for it, and only
 * then lets its endpoint go. A handler of its own in the pipeline of the channel tells it of the
 * channel's life.
 */
#include "net/connect/dial.h"

#include <errno.h>
#include <string.h>

#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"
#include "base/random.h"
#include "channel/channel_actor.h"

enum { DOUBLINGS_MAX = 1000 }; /* no pause grows for longer */

/* ---- stages ---- */

#define TO(stage)	(1U << GY_DIAL_##stage)
#define TO_END_OF_ROUND (TO(PAUSED) | TO(GIVEN_UP))

/* A round can fail in any stage, and ends with its channel. */
static const uint32_t may_go[GY_DIAL_STAGES] = {
	[GY_DIAL_START] = TO(ORDERED) | TO_END_OF_ROUND,
	[GY_DIAL_ORDERED] = TO(RESOLVING) | TO(CONNECTING) | TO(FAILING) | TO_END_OF_ROUND,
	[GY_DIAL_RESOLVING] = TO(CONNECTING) | TO(FAILING) | TO_END_OF_ROUND,
	[GY_DIAL_CONNECTING] = TO(CONNECTED) | TO(FAILING) | TO_END_OF_ROUND,
	[GY_DIAL_CONNECTED] = TO(OPEN) | TO(FAILING) | TO_END_OF_ROUND,
	[GY_DIAL_FAILING] = TO_END_OF_ROUND,
	[GY_DIAL_OPEN] = TO_END_OF_ROUND,
	[GY_DIAL_PAUSED] = TO(START) | TO(ORDERED),
};

bool gy_dial_stage_is_allowed(enum gy_dial_stage from, enum gy_dial_stage to)
{
	return from < GY_DIAL_STAGES && (may_go[from] >> to & 1U) != 0;
}

static void set_stage(struct gy_dial *dial, enum gy_dial_stage stage)
{
	gy_assert(dial->stage == stage || gy_dial_stage_is_allowed(dial->stage, stage));
	gy_assert(dial->end != GY_DIAL_ENDED);
	dial->stage = stage;
}

/* Its endpoint is closed, then cancels what is under way, then is gone; never back. */
static void set_end(struct gy_dial *dial, enum gy_dial_end end)
{
	gy_assert(end == dial->end + 1);
	dial->end = end;
}

static uint64_t now_of(const struct gy_dial *dial)
{
	return dial->socket->channels->home->loop.now_ns;
}

static void start_timer(struct gy_dial *dial, uint64_t delay_ns)
{
	struct gy_wheel *wheel = &dial->socket->channels->home->loop.wheel;

	gy_timer_stop(wheel, &dial->timer);
	dial->expired = false;
	gy_timer_start(wheel, &dial->timer, delay_ns);
}

static void stop_timer(struct gy_dial *dial)
{
	gy_timer_stop(&dial->socket->channels->home->loop.wheel, &dial->timer);
	dial->expired = false;
}

/* From the actor of the channel, which may outlive the dial. */
static void wake(struct gy_dial *dial)
{
	if (dial->end != GY_DIAL_ENDED) {
		gy_endpoint_ready(&dial->endpoint);
	}
}

static void expired(struct gy_timer *timer)
{
	struct gy_dial *dial = gy_container_of(timer, struct gy_dial, timer);

	dial->expired = true;
	gy_endpoint_ready(&dial->endpoint);
}

/* ---- reports ---- */

static void report(const struct gy_dial *dial, const struct gyre_connection *event)
{
	const struct gyre_connect_options *options = &dial->socket->order->options;
	struct gyre_stack *stack = &dial->socket->channels->stack->head;
	struct gyre_connection whole = *event;
	bool of_channel =
		event->step == GYRE_CONNECTION_OPEN || event->step == GYRE_CONNECTION_CLOSED;

	whole.connection = dial->index;
	whole.failures = dial->failures;
	if (options->report == NULL && gyre_address_is_nobody(options->owner)) {
		return;
	}
	if (of_channel) {
		whole.channel = gyre_channel_address(dial->channel);
	}
	if (options->report != NULL) {
		options->report(stack, &whole, of_channel ? dial->channel : NULL,
				options->report_arg);
	}
	if (!gyre_address_is_nobody(options->owner)) {
		(void)gyre_notify(stack, options->owner,
				  gyre_new_copy(stack, gyre_connection, &whole));
	}
}

/* With the peer as its address, if there has been one in this round. */
static void report_failed(const struct gy_dial *dial, int error)
{
	report(dial, &(struct gyre_connection){ .step = GYRE_CONNECTION_FAILED,
						.reason = error,
						.address = dial->peer });
}

static void attempt_failed(struct gy_happy_eyeballs *happy_eyeballs,
			   const struct gyre_socket_address *address, int error)
{
	report(gy_container_of(happy_eyeballs, struct gy_dial, happy_eyeballs),
	       &(struct gyre_connection){
		       .step = GYRE_CONNECTION_FAILED, .reason = error, .address = *address });
}

/* ---- pauses ---- */

static uint64_t pause_of(struct gy_dial *dial)
{
	const struct gyre_connect_options *options = &dial->socket->order->options;
	uint32_t times = dial->failures > dial->brief ? dial->failures : dial->brief;
	uint64_t pause_ns = options->retry_min_ns;
	uint64_t jitter_ns;

	for (uint32_t i = 1; i < times && i < DOUBLINGS_MAX; i++) {
		if (pause_ns >= options->retry_max_ns) {
			break;
		}
		pause_ns = pause_ns / 100 * options->retry_percent;
	}
	pause_ns = pause_ns < options->retry_max_ns ? pause_ns : options->retry_max_ns;
	jitter_ns = pause_ns / 100 * options->retry_jitter_percent;
	return pause_ns - gy_random_next(&dial->socket->random) % (jitter_ns + 1);
}

static void give_up(struct gy_dial *dial, int reason)
{
	set_stage(dial, GY_DIAL_GIVEN_UP);
	report(dial,
	       &(struct gyre_connection){ .step = GYRE_CONNECTION_GIVEN_UP, .reason = reason });
	gy_socket_gave_up(dial->socket, reason);
}

/* A round has failed, or a connection that was open is lost. */
static void retry_or_give_up(struct gy_dial *dial, int reason)
{
	uint32_t retries_max = dial->socket->order->options.retries_max;
	uint64_t pause_ns;

	stop_timer(dial);
	if (retries_max == 0 ||
	    (retries_max != GYRE_RETRIES_UNLIMITED && dial->failures > retries_max)) {
		give_up(dial, reason);
		return;
	}
	pause_ns = pause_of(dial);
	dial->pause_ns = pause_ns;
	set_stage(dial, GY_DIAL_PAUSED);
	start_timer(dial, pause_ns);
	report(dial, &(struct gyre_connection){ .step = GYRE_CONNECTION_PAUSE,
						.reason = reason,
						.pause_ns = pause_ns });
}

static void round_failed(struct gy_dial *dial, int reason)
{
	dial->failures += dial->failures < UINT32_MAX;
	retry_or_give_up(dial, reason);
}

/* ---- the channel ---- */

static int channel_added(struct gyre_handler_context *ctx)
{
	((struct gy_dial *)gyre_context_arg(ctx))->connector.follower = ctx;
	return 0;
}

static void tell_connected(const struct gy_dial *dial)
{
	const struct gy_socket *socket = dial->socket;

	if (socket->order->awaited && !socket->connected) {
		gy_socket_connected(dial->socket,
				    &(struct gyre_connected){
					    .channel = gyre_channel_address(dial->channel),
					    .actor = gyre_channel_actor(dial->channel),
					    .connection = dial->index,
					    .peer = dial->peer,
				    });
	}
}

static void channel_active(struct gyre_handler_context *ctx)
{
	struct gy_dial *dial = (struct gy_dial *)gyre_context_arg(ctx);

	/* And not failing by now, or open already; and the actor that connects does not stop. */
	if (dial->stage == GY_DIAL_CONNECTED && dial->end == GY_DIAL_RUNNING) {
		stop_timer(dial);
		set_stage(dial, GY_DIAL_OPEN);
		dial->failures = 0;
		dial->opened_ns = now_of(dial);
		report(dial, &(struct gyre_connection){ .step = GYRE_CONNECTION_OPEN,
							.address = dial->peer });
		tell_connected(dial);
	}
	gyre_context_fire_active(ctx);
}

static void channel_removed(struct gyre_handler_context *ctx)
{
	struct gy_dial *dial = (struct gy_dial *)gyre_context_arg(ctx);

	dial->reason = gyre_channel_reason(gyre_context_channel(ctx));
	gy_socket_file_remove(&dial->happy_eyeballs.file);
	if (dial->stage == GY_DIAL_OPEN) {
		report(dial, &(struct gyre_connection){ .step = GYRE_CONNECTION_CLOSED,
							.reason = dial->reason,
							.address = dial->peer });
	}
	dial->channel = NULL;
	wake(dial);
}

static const struct gyre_handler channel_handler = { .added = channel_added,
						     .active = channel_active,
						     .removed = channel_removed };

static int add_handlers(struct gyre_channel *channel, struct gy_dial *dial)
{
	const struct gyre_connect_options *options = &dial->socket->order->options;
	int r = gyre_pipeline_add(channel, GYRE_FIRST, &channel_handler, dial);

	if (r < 0) {
		return r;
	}
	dial->channel = channel;
	return options->init_channel(channel, options->init_arg);
}

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return add_handlers(channel, (struct gy_dial *)arg);
}

/* Connections that are lost at once count as failures for the pause: a server that accepts and then
 * closes would be dialled at the shortest pause for ever. */
static void channel_lost(struct gy_dial *dial)
{
	bool brief = now_of(dial) - dial->opened_ns < dial->pause_ns;

	dial->brief = brief ? dial->brief + (dial->brief < UINT32_MAX) : 1;
	retry_or_give_up(dial, dial->reason);
}

static void channel_ended(struct gy_dial *dial)
{
	if (dial->stage == GY_DIAL_OPEN) {
		channel_lost(dial);
		return;
	}
	gy_happy_eyeballs_forget(&dial->happy_eyeballs);
	if (dial->stage != GY_DIAL_FAILING) {
		/* The channel was connected, and a handler ended it without an error. */
		dial->reason = dial->reason == 0 ? -ECONNABORTED : dial->reason;
		report_failed(dial, dial->reason);
	}
	round_failed(dial, dial->reason);
}

/* The failure has been reported; the round ends with the channel. */
static void fail(struct gy_dial *dial, int error)
{
	set_stage(dial, GY_DIAL_FAILING);
	gy_channel_fail(dial->channel, error);
}

/* ---- orders of the channel's head ---- */

static struct gy_dial *dial_of(struct gy_connector *connector)
{
	return gy_container_of(connector, struct gy_dial, connector);
}

/* NULL is any address. */
static int set_local(struct gy_dial *dial, const char *text)
{
	struct gyre_socket_address local = { 0 };
	int r = text == NULL ? 0 : gyre_socket_address_parse(text, &local);

	if (r == 0 && text != NULL && local.type != SOCK_STREAM) {
		r = -EINVAL;
	}
	if (r < 0) {
		return r;
	}
	dial->race_options.local = local;
	dial->connector.local = NULL;
	if (text != NULL) {
		(void)gyre_socket_address_format(&local, sizeof(dial->local), dial->local);
		dial->connector.local = dial->local;
	}
	return 0;
}

static int ordered_bind(struct gy_connector *connector, const char *local)
{
	return set_local(dial_of(connector), local);
}

static int ordered_connect(struct gy_connector *connector, const char *to, const char *local)
{
	struct gy_dial *dial = dial_of(connector);
	struct gy_socket_text parts;
	int r = gy_socket_text_parse(to, &parts);

	if (r == 0 && parts.type != SOCK_STREAM) {
		r = -EINVAL;
	}
	if (r == 0) {
		r = set_local(dial, local);
	}
	if (r == 0) {
		dial->to = parts;
		gy_endpoint_ready(&dial->endpoint);
	}
	return r;
}

static const struct gy_connector_ops connector_ops = { .bind = ordered_bind,
						       .connect = ordered_connect };

/* ---- rounds ---- */

/* Takes the descriptor. */
static void connected(struct gy_dial *dial, int fd)
{
	set_stage(dial, GY_DIAL_CONNECTED);
	gy_assert(fd >= 0);
	(void)gy_socket_address_of_peer(fd, &dial->peer);
	gy_count(&dial->socket->channels->counters.connected, 1);
	gy_stream_connected(dial->channel, fd);
}

static void race_step(struct gy_dial *dial)
{
	int r = gy_happy_eyeballs_process(&dial->happy_eyeballs);

	if (r == -EINPROGRESS && dial->expired) {
		gy_happy_eyeballs_abandon(&dial->happy_eyeballs, -ETIMEDOUT);
		(void)gy_happy_eyeballs_end(&dial->happy_eyeballs);
		r = -ETIMEDOUT;
	}
	if (r >= 0) {
		(void)gy_happy_eyeballs_end(&dial->happy_eyeballs);
		connected(dial, r);
	} else if (r != -EINPROGRESS) {
		fail(dial, r);
	}
}

static void start_race(struct gy_dial *dial, const struct gyre_socket_address *addresses,
		       uint32_t count)
{
	set_stage(dial, GY_DIAL_CONNECTING);
	gy_happy_eyeballs_start(&dial->happy_eyeballs, addresses, count);
	race_step(dial);
}

static void lookup_step(struct gy_dial *dial)
{
	struct gy_resolve *resolve = &dial->resolve;
	int error;

	gy_resolve_process(resolve);
	if (!resolve->done && !dial->expired) {
		return;
	}
	error = resolve->done ? resolve->error : -ETIMEDOUT;
	(void)gy_resolve_end(resolve);
	if (error < 0) {
		report_failed(dial, error);
		fail(dial, error);
	} else {
		start_race(dial, resolve->addresses, resolve->count);
	}
}

static void expire(struct gy_dial *dial)
{
	report_failed(dial, -ETIMEDOUT);
	fail(dial, -ETIMEDOUT);
}

/* The handlers may still have the order. */
static void order_step(struct gy_dial *dial)
{
	if (dial->expired) {
		expire(dial);
	} else if (dial->connector.step != GY_CONNECTOR_ORDERED) {
		return;
	} else if (dial->to.address.bytes != 0) {
		start_race(dial, &dial->to.address, 1);
	} else {
		set_stage(dial, GY_DIAL_RESOLVING);
		gy_resolve_start(&dial->resolve, dial->to.host, dial->to.port, dial->to.type,
				 dial->socket->order->options.name_servers);
		lookup_step(dial);
	}
}

/* Each round begins with what the options say. */
static void prepare(struct gy_dial *dial)
{
	const struct gy_connect_order *order = dial->socket->order;

	dial->peer.bytes = 0;
	dial->connector = (struct gy_connector){
		.ops = &connector_ops,
		.local = order->options.local,
		.to = order->options.to,
	};
	dial->race_options = (struct gy_happy_eyeballs_options){
		.channel = &order->options.channel,
		.failed = attempt_failed,
	};
}

/* The channel of a round that an actor of the program is to own. */
struct ordered {
	struct gy_dial *dial;
	const struct gy_channel_order *order;
};

static int init_ordered(struct gyre_channel *channel, void *arg)
{
	const struct ordered *ordered = (const struct ordered *)arg;

	gy_channel_attach(channel, ordered->order);
	return add_handlers(channel, ordered->dial);
}

/* The order has come to its end: the round goes on, or fails for @reason with its channel. */
static void carried_out(struct gy_dial *dial, int reason)
{
	dial->ordered = false;
	dial->reason = reason;
	wake(dial);
}

static int open_ordered(const struct gy_channel_order *order, struct gy_stack *stack)
{
	struct gy_dial *dial = (struct gy_dial *)order->maker;
	struct ordered ordered = { .dial = dial, .order = order };
	const struct gy_channel_opening opening = {
		.options = &dial->socket->order->options.channel,
		.init = init_ordered,
		.init_arg = &ordered,
	};
	int r = dial->end == GY_DIAL_RUNNING
			? gy_stream_open(stack->house, stack, &opening, &dial->connector)
			: -ESHUTDOWN;

	carried_out(dial, r);
	return r;
}

static void drop_ordered(const struct gy_channel_order *order)
{
	carried_out((struct gy_dial *)order->maker, -ENOMEM);
}

static const struct gy_channel_order_ops order_ops = { .open = open_ordered, .drop = drop_ordered };

/* The channel is opened when the actor is mounted. */
static void spawn_owner(struct gy_dial *dial)
{
	const struct gyre_connect_options *options = &dial->socket->order->options;
	const struct gy_channel_order order = { .ops = &order_ops,
						.maker = dial,
						.arg = options->init_arg,
						.fd = -1,
						.bond = options->bond };
	int r;

	dial->ordered = true;
	r = gy_channel_actor_spawn(dial->socket->channels->stack, options->actor_class, &order);
	if (r < 0) {
		carried_out(dial, r);
	}
}

static void open_channel(struct gy_dial *dial)
{
	const struct gy_channel_opening opening = {
		.options = &dial->socket->order->options.channel,
		.init = init_channel,
		.init_arg = dial,
	};
	int r = gy_stream_open(dial->endpoint.owner->house, dial->socket->channels->stack, &opening,
			       &dial->connector);

	if (r < 0 && dial->channel == NULL) {
		report_failed(dial, r);
		round_failed(dial, r);
	}
}

/* Once nothing of the last round is left. */
static void start_round(struct gy_dial *dial)
{
	const struct gyre_connect_options *options = &dial->socket->order->options;
	bool looked_up = gy_resolve_end(&dial->resolve);

	if (!gy_happy_eyeballs_end(&dial->happy_eyeballs) || !looked_up) {
		set_stage(dial, GY_DIAL_START);
		return;
	}
	start_timer(dial, options->connect_timeout_ns);
	prepare(dial);
	set_stage(dial, GY_DIAL_ORDERED);
	if (options->actor_class != NULL) {
		spawn_owner(dial);
	} else {
		open_channel(dial);
	}
}

/* ---- the endpoint ---- */

static void step_ending(struct gy_dial *dial)
{
	bool looked_up = gy_resolve_end(&dial->resolve);

	stop_timer(dial);
	if (gy_happy_eyeballs_end(&dial->happy_eyeballs) && looked_up) {
		set_end(dial, GY_DIAL_ENDED);
		gy_socket_drained(dial->socket);
		gy_endpoint_closed(&dial->endpoint);
	}
}

/* Frees what the race and the lookup of this round do not need any more. */
static void release_round(struct gy_dial *dial)
{
	if (dial->stage > GY_DIAL_CONNECTING) {
		(void)gy_happy_eyeballs_end(&dial->happy_eyeballs);
		(void)gy_resolve_end(&dial->resolve);
	} else if (dial->stage == GY_DIAL_CONNECTING) {
		(void)gy_resolve_end(&dial->resolve);
	}
}

static void process_stage(struct gy_dial *dial)
{
	switch (dial->stage) {
	case GY_DIAL_START:
		start_round(dial);
		break;
	case GY_DIAL_ORDERED:
		order_step(dial);
		break;
	case GY_DIAL_RESOLVING:
		lookup_step(dial);
		break;
	case GY_DIAL_CONNECTING:
		race_step(dial);
		break;
	case GY_DIAL_CONNECTED:
		if (dial->expired) {
			expire(dial);
		}
		break;
	case GY_DIAL_PAUSED:
		if (dial->expired) {
			start_round(dial);
		}
		break;
	case GY_DIAL_FAILING:
	case GY_DIAL_OPEN:
	case GY_DIAL_GIVEN_UP:
	case GY_DIAL_STAGES:
		break;
	}
}

static bool has_channel(const struct gy_dial *dial)
{
	return dial->stage > GY_DIAL_START && dial->stage < GY_DIAL_PAUSED;
}

static void process(struct gy_endpoint *endpoint)
{
	struct gy_dial *dial = gy_container_of(endpoint, struct gy_dial, endpoint);

	endpoint->ready = false;
	if (dial->end == GY_DIAL_ENDING) {
		step_ending(dial);
		return;
	}
	if (dial->ordered) {
		return; /* until the actor has been mounted */
	}
	if (has_channel(dial) && dial->channel == NULL) {
		channel_ended(dial);
	} else {
		process_stage(dial);
	}
	release_round(dial);
}

static void drain(struct gy_endpoint *endpoint)
{
	struct gy_dial *dial = gy_container_of(endpoint, struct gy_dial, endpoint);

	if (dial->end == GY_DIAL_RUNNING) {
		set_end(dial, GY_DIAL_ENDING);
		gy_happy_eyeballs_forget(&dial->happy_eyeballs);
		gy_endpoint_ready(endpoint);
	}
}

static const struct gy_endpoint_ops endpoint_ops = {
	.process = process,
	.drain = drain,
};

int gy_dial_init(struct gy_dial *dial, struct gy_socket *socket, struct gy_house *house,
		 uint32_t index)
{
	int r;

	*dial = (struct gy_dial){
		.endpoint = { .ops = &endpoint_ops, .fd = -1 },
		.socket = socket,
		.index = index,
	};
	gy_timer_init(&dial->timer, expired);
	gy_resolve_init(&dial->resolve, &dial->endpoint, socket->channels);
	gy_happy_eyeballs_init(&dial->happy_eyeballs, &dial->endpoint, socket->channels,
			       &dial->race_options);
	r = gy_endpoint_add(&dial->endpoint, house);
	if (r == 0) {
		gy_endpoint_ready(&dial->endpoint);
	}
	return r;
}
