/*
 * Handshake time: a channel that has one is closed unless its handlers have declared in time that
 * the peer speaks their protocol. A handler that will declare it says so when it is added, and
 * these are counted; if there is none the first bytes count as the declaration.
 *
 * A channel without such a time, or whose handshake is over, has only a NULL pointer of this.
 */

#include <errno.h>

#include "channel/channel.h"

struct gy_handshake {
	struct gyre_channel *channel;
	struct gy_timer timer;
	uint32_t expected; /* handlers that are to say that theirs is done */
};

static struct gy_sizes *parts_of(const struct gyre_channel *channel)
{
	return &channel->channels->home->parts;
}

static void expired(struct gy_timer *timer)
{
	struct gyre_channel *channel = gy_container_of(timer, struct gy_handshake, timer)->channel;

	if ((channel->state & GY_CHANNEL_ENDING) == 0) {
		gy_count(&channel->channels->counters.handshake_timeouts, 1);
		gy_channel_fail(channel, -ETIMEDOUT);
	}
}

int gy_handshake_start(struct gyre_channel *channel, uint64_t time_ns)
{
	struct gy_handshake *handshake;

	if (time_ns == 0 || gy_channel_is_datagram(channel)) {
		return 0;
	}
	handshake = (struct gy_handshake *)gy_sizes_new(parts_of(channel), sizeof(*handshake));
	if (handshake == NULL) {
		return -ENOMEM;
	}
	*handshake = (struct gy_handshake){ .channel = channel };
	gy_timer_init(&handshake->timer, expired);
	gy_assert(channel->handshake == NULL);
	channel->handshake = handshake;
	gy_channel_set_input(channel, GY_INPUT_AWAITED, 0);
	if (!channel->unconnected) {
		gy_handshake_connected(channel, time_ns);
	}
	return 0;
}

void gy_handshake_connected(struct gyre_channel *channel, uint64_t time_ns)
{
	if (channel->handshake != NULL) {
		gy_timer_start(&channel->channels->home->loop.wheel, &channel->handshake->timer,
			       time_ns);
	}
}

void gy_handshake_stop(struct gyre_channel *channel)
{
	struct gy_handshake *handshake = channel->handshake;

	gy_channel_set_input(channel, 0, GY_INPUT_AWAITED);
	if (handshake != NULL) {
		channel->handshake = NULL;
		gy_timer_stop(&channel->channels->home->loop.wheel, &handshake->timer);
		gy_sizes_delete(parts_of(channel), handshake, sizeof(*handshake));
	}
}

bool gyre_channel_handshake_begin(struct gyre_channel *channel)
{
	if (channel->handshake == NULL) {
		return false;
	}
	gy_channel_set_input(channel, 0, GY_INPUT_AWAITED);
	channel->handshake->expected++;
	return true;
}

void gyre_channel_handshake_done(struct gyre_channel *channel)
{
	struct gy_handshake *handshake = channel->handshake;

	if (handshake == NULL) {
		return;
	}
	if (handshake->expected > 1) {
		handshake->expected--;
	} else {
		gy_handshake_stop(channel);
	}
}
