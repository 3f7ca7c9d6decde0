/*
 * The life of a datagram channel. It begins, and notifies its handlers, as every channel does; its
 * end is simpler than a stream's. There is no peer to wait for: a closing channel stops receiving,
 * sends all that is queued, and closes. A Unix socket may have to wait for a peer that reads
 * nothing, which the linger time bounds as it does for a stream.
 */
#include "channel/datagram/datagram.h"
#include "actor/stack/stack.h"
#include "channel/input/input.h"

#include <errno.h>

enum { SEGMENT_BYTES_MAX = 1452 }; /* in a packet of 1500 bytes, over IPv6 */

/* Whether handlers are to be told something in another run. */
static bool needs_run(const struct gyre_channel *channel)
{
	return (channel->state & GY_EVENT_MARK_CROSSED) != 0 || gy_channel_has_deferred(channel);
}

/* Closes the socket when no operation is under way any more; those that are are told to end. */
static void close_when_idle(struct gy_datagram *datagram, bool input_stopped)
{
	struct gyre_channel *channel = &datagram->channel;

	if (!gy_datagram_cancel(datagram) || !input_stopped) {
		return;
	}
	gy_datagram_notify_failures(datagram);
	gy_datagram_clear(datagram);
	if (datagram->closes != NULL) {
		datagram->closes(datagram->ended_arg, channel->endpoint.fd);
	}
	gy_channel_finish(channel);
}

/* The channel is draining, closing or aborted. */
static void update_ending(struct gy_datagram *datagram)
{
	struct gyre_channel *channel = &datagram->channel;
	bool input_stopped = gy_input_stop(channel);
	bool all_sent = gy_datagram_has_sent_all(datagram);

	gy_assert(!gy_channel_is_closed(channel));
	if (gy_channel_is_aborted(channel) || (gy_channel_is_ending(channel) && all_sent)) {
		close_when_idle(datagram, input_stopped);
		return;
	}
	gy_linger_watch(channel);
	if (needs_run(channel) || gy_input_is_deliverable(channel)) {
		gy_endpoint_ready(&channel->endpoint);
	}
}

/* Reads go on until another loop has the socket; then the channel ends. */
static void update_leaving(struct gyre_channel *channel)
{
	if (!channel->receive.armed && channel->input.first == NULL) {
		gy_channel_drain(&channel->endpoint);
	}
}

/* Does to the operations what the state calls for. */
static void update(struct gy_datagram *datagram)
{
	struct gyre_channel *channel = &datagram->channel;

	if (gy_unlikely(gy_datagram_start(channel) < 0)) {
		gy_endpoint_ready(&channel->endpoint);
	}
	if (gy_unlikely((channel->state & GY_CHANNEL_DISCARDING) != 0)) {
		update_ending(datagram);
		return;
	}
	if (gy_unlikely(datagram->leaving)) {
		/* A handler may have asked for more since. */
		gy_channel_add_no_read(channel, GY_NO_READ_STARVED);
	}
	if (gy_input_update_receive(channel) < 0 || needs_run(channel)) {
		gy_endpoint_ready(&channel->endpoint);
	} else if (gy_unlikely(datagram->leaving)) {
		update_leaving(channel);
	}
}

static void process(struct gy_endpoint *endpoint)
{
	struct gyre_channel *channel = gy_container_of(endpoint, struct gyre_channel, endpoint);
	struct gy_datagrams *datagrams = channel->channels->datagrams;

	gy_walk(gy_channel_check(channel));
	gy_datagram_notify_failures(gy_datagram_of(channel));
	if (gy_channel_notify_handlers(channel)) {
		update(gy_datagram_of(channel));
	}
	if (gy_unlikely(!gy_list_empty(&datagrams->waiters)) &&
	    datagrams->lent < datagrams->count) {
		gy_datagrams_wake_waiter(datagrams);
	}
}

static void set_busy(struct gy_endpoint *endpoint, bool busy)
{
	struct gyre_channel *channel = gy_container_of(endpoint, struct gyre_channel, endpoint);

	if (!gy_datagram_of(channel)->leaving) {
		gy_channel_set_busy(endpoint, busy);
	}
}

/* Datagrams that the socket holds now are for the loop that takes it over. */
static void leave(struct gy_endpoint *endpoint)
{
	struct gyre_channel *channel = gy_container_of(endpoint, struct gyre_channel, endpoint);
	struct gy_datagram *datagram = gy_datagram_of(channel);

	if (datagram->leave != NULL && !datagram->leaving &&
	    (channel->state & GY_CHANNEL_ENDING) == 0) {
		datagram->leave(datagram->ended_arg, endpoint->fd);
		datagram->leaving = true;
		gy_channel_add_no_read(channel, GY_NO_READ_STARVED);
		gy_channel_ready(channel);
	}
}

static const struct gy_endpoint_ops endpoint_ops = {
	.process = process,
	.drain = gy_channel_drain,
	.abort = gy_channel_abort,
	.set_busy = set_busy,
	.leave = leave,
};

static void free_datagram(struct gyre_channel *channel)
{
	struct gy_datagram *datagram = gy_datagram_of(channel);
	struct gy_channels *channels = channel->channels;

	gy_assert(gy_list_empty(&datagram->sends));
	if (datagram->peer != 0) {
		gy_address_table_unref(&channels->pools.addresses, datagram->peer);
	}
	if (datagram->ended != NULL) {
		datagram->ended(datagram->ended_arg);
	}
	gy_pool_put(&channels->datagrams->channels, datagram);
}

static const struct gy_channel_kind kind = {
	.name = "datagram",
	.type = GY_CHANNEL_DATAGRAM,
	.add = gy_datagram_add,
	.take = gy_datagram_take,
	.check_write = gy_datagram_check_write,
	.count_output = gy_datagram_count_output,
	.start = gy_datagram_start,
	.receive = gy_datagram_receive,
	.free = free_datagram,
};

/* ---- before its handlers have had their orders ---- */

static void end_unconnected(struct gy_datagram *datagram)
{
	struct gyre_channel *channel = &datagram->channel;

	channel->endpoint.ops = &endpoint_ops;
	gy_datagram_clear(datagram);
	if (datagram->closes != NULL) {
		datagram->closes(datagram->ended_arg, channel->endpoint.fd);
	}
	gy_connector_end(channel);
	gy_channel_close(channel);
}

static void tell_begun(const struct gy_datagram *datagram)
{
	if (datagram->begins != NULL) {
		datagram->begins(datagram->ended_arg);
	}
}

static void process_unconnected(struct gy_endpoint *endpoint)
{
	struct gyre_channel *channel = gy_container_of(endpoint, struct gyre_channel, endpoint);

	if (gy_datagram_of(channel)->leaving) {
		gy_channel_drain(endpoint);
	}
	gy_connector_run(channel);
	if (endpoint->ready) {
		return;
	}
	if (gy_connector_ends(channel)) {
		end_unconnected(gy_datagram_of(channel));
	} else if (channel->connector->step == GY_CONNECTOR_ORDERED) {
		endpoint->ops = &endpoint_ops;
		channel->kind = &kind;
		tell_begun(gy_datagram_of(channel));
		gy_connector_done(channel);
	}
}

static const struct gy_endpoint_ops unconnected_ops = {
	.process = process_unconnected,
	.drain = gy_channel_drain,
	.abort = gy_channel_abort,
	.set_busy = set_busy,
	.leave = leave,
};

static const struct gy_channel_kind unconnected_kind = {
	.name = "unconnected datagram",
	.type = GY_CHANNEL_DATAGRAM,
	.add = gy_datagram_add,
	.take = gy_datagram_take,
	.check_write = gy_datagram_check_write,
	.count_output = gy_datagram_count_output,
	.start = gy_connector_start_nothing,
	.free = free_datagram,
};

/* ---- opening ---- */

static void init(struct gy_datagram *datagram, struct gy_channels *channels,
		 const struct gy_datagram_opening *opening)
{
	bool unconnected = opening->connector != NULL;

	*datagram = (struct gy_datagram){
		.channel = { .endpoint = { .ops = unconnected ? &unconnected_ops : &endpoint_ops,
					   .fd = opening->channel.fd },
			     .channels = channels,
			     .state = gy_channel_first_state(opening->channel.options) |
				      GY_TRAIT_BY_KIND,
			     .kind = unconnected ? &unconnected_kind : &kind,
			     .unconnected = unconnected,
			     .connector = opening->connector },
		.begins = opening->begins,
		.closes = opening->closes,
		.ended = opening->ended,
		.ended_arg = opening->ended_arg,
		.leave = opening->leave,
		.segment_bytes_max = opening->batched ? SEGMENT_BYTES_MAX : 0,
		.connected = opening->connected,
	};
	gy_datagram_input_init(datagram);
	gy_datagram_output_init(datagram, opening->is_unix);
}

int gy_datagram_open(struct gy_house *house, struct gy_stack *stack,
		     const struct gy_datagram_opening *opening)
{
	struct gy_channels *channels = gy_channels_of(house->home);
	struct gy_datagrams *datagrams = gy_datagrams_of(channels);
	struct gy_datagram *datagram = NULL;
	int r = -ENOMEM;

	if (datagrams != NULL) {
		datagram = (struct gy_datagram *)gy_pool_get(&datagrams->channels);
	}
	if (datagram != NULL) {
		init(datagram, channels, opening);
		r = gy_endpoint_add(&datagram->channel.endpoint, house);
	}
	if (r < 0) {
		if (datagram != NULL) {
			gy_pool_put(&datagrams->channels, datagram);
		}
		if (opening->closes != NULL) {
			opening->closes(opening->ended_arg, opening->channel.fd);
		}
		gy_channels_close(channels, opening->channel.fd);
		return r;
	}
	r = gy_channel_begin(&datagram->channel, stack, &opening->channel);
	if (r == 0 && opening->connector == NULL) {
		tell_begun(datagram);
	}
	if (r == 0 && channels->leaving) {
		leave(&datagram->channel.endpoint);
	}
	return r;
}
