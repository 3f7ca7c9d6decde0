/*
 * Lingering: how a closing channel sees its output arrive.
 *
 * A TCP socket that is closed with unread input, or that gets input later, answers with a reset,
 * and a reset may overtake bytes that the peer has not read yet. So a closing channel sends all
 * that is queued, shuts its side down, and goes on receiving and throwing away until the peer ends
 * or an error comes; only then is the descriptor closed. Discarded bytes go back to the ring in
 * phase 1 and reach no handler. If the peer had ended before, none of this is needed: nothing can
 * come that would be answered with a reset.
 *
 * The linger time bounds the wait. It counts from the last progress, which is an acknowledgement of
 * output by the peer's kernel, whether the output was queued here or in our kernel; input is no
 * progress. A slow reader is waited for. A reader that takes nothing is cut off with -ETIMEDOUT,
 * and a peer that has everything and does not close is closed in good order. Bytes that were sent
 * without a copy are always waited for: the kernel has our pages until they are acknowledged.
 *
 * When the system or the actor ends (a drain), thousands of idle peers could each keep their
 * channel open for that time. So a draining channel is closed as soon as its shutdown is done, the
 * peer has acknowledged everything, our end included, no input is unread, and none came since the
 * last check. A peer whose next bytes cross with that close may be reset, but only behind our end:
 * it reads all that we sent, and then the end.
 */
#include <errno.h>

#include "channel/channel.h"
#include "ring/socket.h"

enum { CHECKS = 8 }; /* at the peer's progress, in one linger time */

static const uint64_t drain_check_ns = GYRE_MILLISECONDS(20);

uint64_t gy_channel_untaken_bytes(const struct gyre_channel *channel)
{
	return channel->output_bytes + channel->region_bytes +
	       gy_socket_unsent_bytes(channel->endpoint.fd);
}

static void start_timer(struct gyre_channel *channel)
{
	struct gy_loop *loop = &channel->channels->home->loop;
	uint64_t check_ns = channel->channels->options.linger_ns / CHECKS;
	uint64_t left_ns = channel->linger_end_ns - loop->now_ns;

	gy_assert(channel->linger_end_ns >= loop->now_ns);
	if ((channel->state & GY_INPUT_DRAINED) != 0 && check_ns > drain_check_ns) {
		check_ns = drain_check_ns;
	}
	gy_timer_start(&loop->wheel, &channel->linger, check_ns < left_ns ? check_ns : left_ns);
}

static void expire(struct gyre_channel *channel, uint64_t untaken)
{
	if (untaken > 0) {
		gy_count(&channel->channels->counters.linger_timeouts, 1);
	}
	gy_channel_fail(channel, untaken > 0 ? -ETIMEDOUT : 0);
}

static void check_progress(struct gy_timer *timer)
{
	struct gyre_channel *channel = gy_container_of(timer, struct gyre_channel, linger);
	uint64_t now_ns = channel->channels->home->loop.now_ns;
	uint64_t untaken = gy_channel_untaken_bytes(channel);

	if (gy_channel_is_aborted(channel)) {
		return; /* it ends without */
	}
	/* Where it has grown, handlers were let write again: that is progress too. */
	if ((uint32_t)untaken != channel->untaken_bytes) {
		channel->untaken_bytes = (uint32_t)untaken;
		channel->linger_end_ns = now_ns + channel->channels->options.linger_ns;
	}
	if (now_ns >= channel->linger_end_ns) {
		expire(channel, untaken);
		return;
	}
	if ((channel->state & GY_INPUT_DISCARDED) == 0) {
		gy_channel_ready(channel); /* it may be quiet by now */
	}
	gy_channel_set_input(channel, 0, GY_INPUT_DISCARDED);
	start_timer(channel);
}

void gy_linger_init(struct gyre_channel *channel)
{
	gy_timer_init(&channel->linger, check_progress);
}

void gy_linger_stop(struct gyre_channel *channel)
{
	gy_timer_stop(&channel->channels->home->loop.wheel, &channel->linger);
}

/* Whether the peer has all of a draining channel, and sends nothing. */
static bool is_quiet(const struct gyre_channel *channel)
{
	const uint32_t wanted = GY_INPUT_DRAINED | GY_OUTPUT_SHUTDOWN_DONE;

	return (channel->state & (wanted | GY_INPUT_DISCARDED)) == wanted &&
	       gy_channel_untaken_bytes(channel) == 0 &&
	       gy_socket_unread_bytes(channel->endpoint.fd) == 0;
}

void gy_linger_watch(struct gyre_channel *channel)
{
	gy_assert((channel->state & GY_CHANNEL_DISCARDING) != 0 && !gy_channel_is_aborted(channel));
	if (!gy_timer_is_started(&channel->linger)) {
		channel->untaken_bytes = (uint32_t)gy_channel_untaken_bytes(channel);
		channel->linger_end_ns =
			channel->channels->home->loop.now_ns + channel->channels->options.linger_ns;
		start_timer(channel);
	}
}

bool gy_linger_is_over(struct gyre_channel *channel)
{
	gy_assert(gy_channel_stage(channel) == GY_CHANNEL_CLOSING);
	if (channel->output.first == NULL && channel->zero_copies == NULL &&
	    ((channel->state & GY_INPUT_PEER_ENDED) != 0 || channel->no_linger ||
	     is_quiet(channel))) {
		return true;
	}
	gy_linger_watch(channel);
	return false;
}
