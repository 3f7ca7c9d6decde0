/*
 * How a channel comes to be connected. In its first run it is registered; then it orders itself to
 * be bound, and to be connected, each order going from the tail to the head. A handler may keep an
 * order, so the next one waits until the head has had the one before. The connector carries out the
 * orders that reach the head, and reports their results.
 *
 * Until then a process function of its own serves the channel's endpoint, so that a connected
 * channel need not ask whether it is. The descriptor comes in a run of whoever has connected it; if
 * that is not the channel's own actor the handlers hear of it in the next run of that, on whose
 * stack they run. Bytes that are written meanwhile are queued and not sent; mail arrives, and
 * timers of handlers fire, since an order that is kept may wait for these.
 *
 * Handlers that pass orders on are found by looking at each, and have no bit in the masks of
 * places: this happens once in the life of a client, and never in that of an accepted connection.
 */
#include "channel/connector.h"

#include <string.h>

#include "actor/stack/stack.h"
#include "channel/channel.h"
#include "channel/input/input.h"
#include "channel/output/output.h"

/* ---- orders ---- */

/* The next place towards the head that does one of the two; the head does both. */
static struct gy_context *next_that_binds(const struct gy_context *context)
{
	do {
		context = context->previous;
	} while (context->removed || context->handler->bind == NULL);
	return gy_context_of((struct gyre_handler_context *)(uintptr_t)&context->head);
}

static struct gy_context *next_that_connects(const struct gy_context *context)
{
	do {
		context = context->previous;
	} while (context->removed || context->handler->connect == NULL);
	return gy_context_of((struct gyre_handler_context *)(uintptr_t)&context->head);
}

int gyre_context_bind(struct gyre_handler_context *ctx, const char *local)
{
	struct gy_context *to;

	if (ctx == NULL || local == NULL) {
		return -EINVAL;
	}
	to = next_that_binds(gy_context_of(ctx));
	return to->handler->bind(&to->head, local);
}

/*
 * A handler that passes on another target will have to talk before those behind it can. If several
 * do the one nearest to the tail counts, whose order gets here last.
 */
static void place_follower(struct gyre_handler_context *ctx, const char *to)
{
	const struct gyre_channel *channel = ctx->channel;
	const struct gy_connector *connector = channel->unconnected ? channel->connector : NULL;

	if (connector != NULL && connector->follower != NULL &&
	    ctx != &channel->pipeline.tail.head && strcmp(to, connector->to) != 0) {
		gy_pipeline_move_behind(gy_context_of(connector->follower), gy_context_of(ctx));
	}
}

int gyre_context_connect(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	struct gy_context *next;
	int r;

	if (ctx == NULL || to == NULL) {
		return -EINVAL;
	}
	next = next_that_connects(gy_context_of(ctx));
	r = next->handler->connect(&next->head, to, local);
	if (r == 0) {
		place_follower(ctx, to);
	}
	return r;
}

/* 0, or why the head must not do now what comes at @step. */
static int check_step(const struct gyre_channel *channel, enum gy_connector_step step)
{
	if (gy_connector_ends(channel)) {
		return -EPIPE;
	}
	if (!channel->unconnected) {
		return -EISCONN;
	}
	if (channel->connector->step != step) {
		return channel->connector->step < step ? -EINVAL : -EALREADY;
	}
	return 0;
}

int gy_connector_bind(struct gyre_handler_context *ctx, const char *local)
{
	struct gy_connector *connector = ctx->channel->connector;
	int r = check_step(ctx->channel, GY_CONNECTOR_BINDING);

	if (r == 0) {
		r = connector->ops->bind(connector, local);
	}
	if (r == 0) {
		connector->step = GY_CONNECTOR_BOUND;
		gy_channel_ready(ctx->channel);
	}
	return r;
}

int gy_connector_connect(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	struct gy_connector *connector = ctx->channel->connector;
	int r = check_step(ctx->channel, GY_CONNECTOR_CONNECTING);

	if (r == 0) {
		r = connector->ops->connect(connector, to, local);
	}
	if (r == 0) {
		connector->step = GY_CONNECTOR_ORDERED;
		gy_channel_ready(ctx->channel);
	}
	return r;
}

static void order_bind(struct gyre_channel *channel, struct gy_connector *connector)
{
	int r;

	if (connector->local == NULL) {
		connector->step = GY_CONNECTOR_BOUND;
		return;
	}
	connector->step = GY_CONNECTOR_BINDING;
	r = gyre_context_bind(gyre_channel_tail(channel), connector->local);
	if (r < 0) {
		gy_channel_fail(channel, r);
	}
}

static void order_connect(struct gyre_channel *channel, struct gy_connector *connector)
{
	int r;

	if (connector->to == NULL) {
		connector->step = GY_CONNECTOR_ORDERED;
		return;
	}
	connector->step = GY_CONNECTOR_CONNECTING;
	r = gyre_context_connect(gyre_channel_tail(channel), connector->to, connector->local);
	if (r < 0) {
		gy_channel_fail(channel, r);
	}
}

static void order(struct gyre_channel *channel)
{
	struct gy_connector *connector = channel->connector;

	if (connector->step == GY_CONNECTOR_REGISTERED && !gy_connector_ends(channel)) {
		order_bind(channel, connector);
	}
	if (connector->step == GY_CONNECTOR_BOUND && !gy_connector_ends(channel)) {
		order_connect(channel, connector);
	}
}

/* ---- life ---- */

int gy_connector_start_nothing(struct gyre_channel *channel)
{
	(void)channel;
	return 0;
}

void gy_connector_run(struct gyre_channel *channel)
{
	struct gy_connector *connector = channel->connector;

	if (connector->step == GY_CONNECTOR_NEW) {
		connector->step = GY_CONNECTOR_REGISTERED;
		if (!channel->dismissed) {
			gyre_context_fire_registered(&channel->pipeline.head.head);
		}
	}
	if (!gy_connector_ends(channel)) {
		gy_deferred_run_all(channel);
	}
	if (channel->mailbox != NULL) {
		gy_channel_mailbox_run(channel);
	}
	order(channel);
	if ((channel->state & GY_INPUT_DRAINED) != 0) {
		gy_channel_fail(channel, -ESHUTDOWN);
	}
	gy_pipeline_sweep(&channel->pipeline);
	channel->endpoint.ready = false;
	if (channel->mailbox != NULL) {
		gy_channel_mailbox_reschedule(channel);
	}
	if (gy_channel_has_deferred(channel)) {
		gy_endpoint_ready(&channel->endpoint);
	}
}

void gy_connector_done(struct gyre_channel *channel)
{
	uint64_t handshake_ns = channel->connector->handshake_ns;

	gy_assert(channel->unconnected && !gy_connector_ends(channel));
	channel->unconnected = false;
	/* In the place of the connector. */
	channel->end = (struct gy_op){ .generation = channel->reset_watch.poll.generation };
	gy_channel_set_events(channel, 0, GY_EVENT_ACTIVE);
	gy_channel_set_stage(channel, GY_CHANNEL_OPEN);
	gy_handshake_connected(channel, handshake_ns);
	gy_channel_mailbox_connected(channel);
	gyre_context_fire_active(&channel->pipeline.head.head);
	gy_channel_ready(channel);
}

void gy_connector_end(struct gyre_channel *channel)
{
	struct gy_connector *connector = channel->connector;

	gy_assert(channel->unconnected && gy_channel_is_ending(channel));
	gy_channel_set_reason(channel, -ECANCELED);
	gy_channel_end(channel, false);
	if (connector->ops->failed != NULL) {
		connector->ops->failed(connector, channel->reason);
	}
}

/* ---- streams ---- */

static void begin_stream(struct gyre_channel *channel)
{
	gy_channel_become_stream(channel);
	gy_connector_done(channel);
}

static void process(struct gy_endpoint *endpoint)
{
	struct gyre_channel *channel = gy_container_of(endpoint, struct gyre_channel, endpoint);

	gy_walk(gy_channel_check(channel));
	gy_connector_run(channel);
	if (!gy_connector_ends(channel)) {
		if (endpoint->fd >= 0) {
			begin_stream(channel);
		}
	} else if (!endpoint->ready) {
		gy_channels_drop(channel->channels, endpoint->fd);
		endpoint->fd = -1;
		gy_connector_end(channel);
		gy_endpoint_closed(endpoint);
		channel->kind->free(channel);
	}
}

static const struct gy_endpoint_ops unconnected_ops = {
	.process = process,
	.drain = gy_channel_drain,
	.abort = gy_channel_abort,
	.set_busy = gy_channel_set_busy,
};

/* A channel that never was connected does not count as closed. */
static void free_unconnected(struct gyre_channel *channel)
{
	gy_pool_put(&channel->channels->channels, channel);
}

static const struct gy_channel_kind unconnected_kind = {
	.name = "unconnected stream",
	.type = GY_CHANNEL_STREAM,
	.start = gy_connector_start_nothing,
	.free = free_unconnected,
};

int gy_stream_open(struct gy_house *house, struct gy_stack *stack,
		   const struct gy_channel_opening *opening, struct gy_connector *connector)
{
	struct gy_channels *channels = gy_channels_of(house->home);
	struct gyre_channel *channel = (struct gyre_channel *)gy_pool_get(&channels->channels);
	int r;

	if (channel == NULL) {
		return -ENOMEM;
	}
	*channel = (struct gyre_channel){
		.endpoint = { .ops = &unconnected_ops, .fd = -1 },
		.channels = channels,
		.state = gy_channel_first_state(opening->options),
		.kind = &unconnected_kind,
		.unconnected = true,
		.connector = connector,
	};
	connector->handshake_ns = opening->options->handshake_ns;
	r = gy_endpoint_add(&channel->endpoint, house);
	if (r < 0) {
		gy_pool_put(&channels->channels, channel);
		return r;
	}
	gy_input_init(channel);
	gy_output_init(channel);
	return gy_channel_begin(channel, stack, opening);
}

void gy_stream_connected(struct gyre_channel *channel, int fd)
{
	gy_assert(channel->unconnected && channel->connector->step == GY_CONNECTOR_ORDERED);
	if (gy_connector_ends(channel)) {
		gy_channels_drop(channel->channels, fd);
		return;
	}
	gy_assert(channel->endpoint.fd < 0 && fd >= 0);
	channel->endpoint.fd = fd;
	if (channel->channels->stack->house == channel->endpoint.owner->house) {
		begin_stream(channel);
	} else {
		gy_channel_ready(channel);
	}
}
