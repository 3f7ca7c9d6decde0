/*
 * Watching for resets. Every operation that is under way reports a reset. Where there is none,
 * because nobody wants input or all of it has come, a channel would hold on to a dead peer until it
 * is used again. So while nothing is received a poll waits for an error, or for the end of both
 * directions.
 *
 * Most pauses are too short for that to be of use, and should cost no operation. So a channel that
 * stops receiving only joins a list of its loop; a timer of the loop, which runs while the list is
 * not empty, arms the polls of channels that have been there for some time. The poll is cancelled
 * when the channel receives again, since the receive reports the same in order, and before the
 * channel closes.
 *
 * A connection that is gone may have left bytes behind. Handlers get these first, when they ask for
 * them, and hear of the end behind them.
 *
 * While a send is under way, as under back-pressure, the send reports the reset, and no poll is
 * needed. Pipes and datagrams have no connection that could be reset.
 */
#include "channel/input/reset_watch.h"

#include "channel/channel.h"
#include "channel/half_close.h"
#include "ring/socket.h"

enum { SHORT_PAUSE_MS = 10 };

/* ---- the poll ---- */

/* Phase 1: the connection is gone. A peer that has ended before may have closed in good order. */
static void end_input(struct gyre_channel *channel)
{
	int error = gy_socket_error(channel->endpoint.fd);

	if (error < 0) {
		gy_half_close_input_failed(channel, error);
	} else {
		gy_half_close_peer_ended(channel);
	}
}

/* Whether something has come before that, which the handlers are to have first. */
static bool has_unread(const struct gyre_channel *channel)
{
	return channel->input.first != NULL || gy_socket_unread_bytes(channel->endpoint.fd) > 0;
}

/* Phase 1. */
static void polled(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, reset_watch.poll);

	channel->reset_watch.reported = !channel->reset_watch.cancelled && completion->result >= 0;
	if (channel->reset_watch.reported && !channel->receive.armed &&
	    (channel->state & GY_CHANNEL_ENDING) == 0 && !has_unread(channel)) {
		end_input(channel);
	}
	channel->reset_watch.cancelled = false;
	gy_endpoint_ready(&channel->endpoint);
}

/* ---- the loop's list ---- */

static uint32_t now_ms(const struct gy_channels *channels)
{
	return (uint32_t)(channels->home->loop.now_ns / GYRE_MILLISECONDS(1));
}

static void start_timer(struct gy_channels *channels, uint32_t delay_ms)
{
	struct gy_timer *timer = &channels->reset_watches.timer;

	if (!gy_timer_is_started(timer)) {
		gy_timer_start(&channels->home->loop.wheel, timer, GYRE_MILLISECONDS(delay_ms));
	}
}

static void leave_list(struct gyre_channel *channel)
{
	struct gy_channels *channels = channel->channels;

	gy_assert(channel->reset_watch.waiting);
	channel->reset_watch.waiting = false;
	gy_list_remove(&channel->waiter);
	if (gy_list_empty(&channels->reset_watches.waiting)) {
		gy_timer_stop(&channels->home->loop.wheel, &channels->reset_watches.timer);
	}
}

/* Whether the poll is armed, which it cannot be while the ring has no room. */
static bool arm(struct gyre_channel *channel)
{
	return gy_ring_poll(channel->channels->pools.ring, &channel->reset_watch.poll,
			    channel->endpoint.fd, 0) == 0;
}

static void arm_polls(struct gy_timer *timer)
{
	struct gy_channels *channels =
		gy_container_of(timer, struct gy_channels, reset_watches.timer);
	struct gy_list *waiting = &channels->reset_watches.waiting;

	while (!gy_list_empty(waiting)) {
		struct gyre_channel *channel =
			gy_container_of(waiting->next, struct gyre_channel, waiter);
		uint32_t age_ms = now_ms(channels) - channel->reset_watch.since_ms;

		if (age_ms < SHORT_PAUSE_MS) {
			start_timer(channels, SHORT_PAUSE_MS - age_ms);
			return;
		}
		if (!arm(channel)) {
			start_timer(channels, SHORT_PAUSE_MS);
			return;
		}
		leave_list(channel);
	}
}

void gy_reset_watches_init(struct gy_reset_watches *reset_watches)
{
	gy_list_init(&reset_watches->waiting);
	gy_timer_init(&reset_watches->timer, arm_polls);
}

/* ---- a channel ---- */

/* Whether another poll would only say the same. */
static bool is_known(const struct gyre_channel *channel)
{
	return channel->reset_watch.reported &&
	       ((channel->state & GY_INPUT_ENDED) != 0 || has_unread(channel));
}

void gy_reset_watch_init(struct gyre_channel *channel)
{
	gy_op_init(&channel->reset_watch.poll, polled);
}

void gy_reset_watch_start(struct gyre_channel *channel)
{
	struct gy_channels *channels = channel->channels;
	struct gy_reset_watch *reset_watch = &channel->reset_watch;

	if (reset_watch->waiting || reset_watch->poll.armed || channel->send.armed ||
	    is_known(channel) || gy_channel_is_pipe(channel) || gy_channel_is_datagram(channel) ||
	    (channel->state & (GY_CHANNEL_ENDING | GY_NO_READ_WAITS_FOR_BUFFER)) != 0) {
		return;
	}
	reset_watch->reported = false;
	gy_assert(!channel->receive.armed);
	reset_watch->waiting = true;
	reset_watch->since_ms = now_ms(channels);
	gy_list_append(&channels->reset_watches.waiting, &channel->waiter);
	start_timer(channels, SHORT_PAUSE_MS);
}

bool gy_reset_watch_stop(struct gyre_channel *channel)
{
	struct gy_reset_watch *reset_watch = &channel->reset_watch;

	reset_watch->reported = false;
	if (reset_watch->waiting) {
		leave_list(channel);
	}
	if (reset_watch->poll.armed && !reset_watch->cancelled) {
		reset_watch->cancelled =
			gy_ring_cancel(channel->channels->pools.ring, &reset_watch->poll) == 0;
		if (!reset_watch->cancelled) {
			gy_endpoint_ready(&channel->endpoint); /* to be tried again */
		}
	}
	return !reset_watch->poll.armed;
}
