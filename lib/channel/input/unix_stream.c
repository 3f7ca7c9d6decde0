/*
 * Streams over Unix sockets. Kernels up to 6.18 at least may hide the end of such a stream from a
 * multishot receive: if the end comes with the last bytes, or behind more bytes than the kernel
 * takes in a row, the receive brings the bytes and then waits. So a poll waits for the end beside
 * it. When the poll has fired the rest is received by single reads, which always find the end.
 *
 * If the receive finds the end itself the poll is not needed any more; like every operation it ends
 * before the channel is closed.
 */

#include <poll.h>

#include "channel/channel.h"
#include "channel/input/input.h"
#include "channel/output/output.h"

static const struct gy_channel_kind ending_kind;

/* Phase 1. Whatever it says, a read says the same. */
static void ended(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, end);

	(void)completion;
	channel->kind = &ending_kind;
	gy_input_renew(channel);
	gy_endpoint_ready(&channel->endpoint);
}

static int receive(struct gyre_channel *channel)
{
	struct gy_ring *ring = channel->channels->pools.ring;
	int r = 0;

	if (!channel->end.armed) {
		gy_op_init(&channel->end, ended);
		r = gy_ring_poll(ring, &channel->end, channel->endpoint.fd, POLLRDHUP);
	}
	return r < 0 ? r : gy_ring_receive(ring, &channel->receive, channel->endpoint.fd);
}

/* Cancels the poll before the channel is closed. */
static bool stop(struct gyre_channel *channel)
{
	if (channel->end.armed && channel->kind != &ending_kind) {
		if (gy_ring_cancel(channel->channels->pools.ring, &channel->end) == 0) {
			channel->kind = &ending_kind;
		} else {
			gy_endpoint_ready(&channel->endpoint); /* to be tried again */
		}
	}
	return !channel->end.armed;
}

/* A stream whose end has been seen, or that is being closed. */
static const struct gy_channel_kind ending_kind = {
	.name = "Unix stream at its end",
	.type = GY_CHANNEL_UNIX_STREAM,
	.start = gy_output_start,
	.receive = gy_stream_receive_once,
	.receive_once = gy_stream_receive_once,
	.stop = stop,
	.free = gy_stream_free,
};

const struct gy_channel_kind gy_unix_stream_kind = {
	.name = "Unix stream",
	.type = GY_CHANNEL_UNIX_STREAM,
	.start = gy_output_start,
	.receive = receive,
	.receive_once = gy_stream_receive_once,
	.stop = stop,
	.free = gy_stream_free,
};
