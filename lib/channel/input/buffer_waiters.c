/*
 * Rounds at receive buffers. Buffers that receives share are few, so that bytes are passed on while
 * they are in the cache; so at times more channels have something to receive than there are
 * buffers. Then a receive finds none and ends, and its channel joins a queue.
 *
 * After each system call there are buffers again, and a round begins: the first channels of the
 * queue receive anew. While others wait each receives once and goes to the end of the queue, even
 * if more is to come: a multishot receive would overtake the waiters with its next bytes. A
 * multishot receive that was armed before anybody waited is cancelled when it brings something. So
 * all wait equally long. A channel may have nothing to receive, and must not hold up those behind
 * it; so the loop does not sleep while channels wait and there are buffers.
 *
 * There are three exceptions. A channel that was served, and finds that others took all buffers,
 * goes back to its place. A channel whose receive was cut short by the end of a buffer gets the
 * rest at once, so that a request does not wait twice. A channel that has more to receive than a
 * buffer holds receives all there is in each of its next rounds, has each of them for itself, and
 * has several in a row: much that comes from one peer costs least when it is passed on together. In
 * such a round its peer may send on and on, so after some reads that overtake the waiters its
 * receive is cancelled, and it goes to the end of the queue. It has no rounds in a row while a
 * channel waits that reads whatever its output does (keep_reading): its bytes may be the ones that
 * let others go on, such as the credit of a link.
 */
#include "channel/input/buffer_waiters.h"

#include "channel/channel.h"
#include "channel/input/input.h"

enum {
	LONG_ROUNDS = 128, /* and reads that overtake; then it is looked at again */
	ROUNDS_IN_A_ROW = 16,
	READS_IN_A_ROW = 8, /* of a receive that goes on while others wait */
};

/* A round goes from one call of the kernel to the next. */
static struct gy_buffer_waiters *this_round(struct gy_channels *channels)
{
	struct gy_buffer_waiters *buffer_waiters = &channels->buffer_waiters;
	uint64_t enters = gy_ring_counters(channels->pools.ring)->enters;

	if (buffer_waiters->enters != enters) {
		buffer_waiters->enters = enters;
		buffer_waiters->taken = 0;
		buffer_waiters->behind = buffer_waiters->waiting;
	}
	return buffer_waiters;
}

/* Most leave a part of a shared buffer to others. More receives than that, and those for whom
 * something comes just now, while it is in the cache, would find none. */
static uint32_t places(const struct gy_channels *channels)
{
	uint32_t buffers = gy_ring_buffers_on_offer(channels->pools.ring);

	return channels->pages_are_shared ? buffers + buffers / 2 : buffers;
}

/* The next after @before. */
static void join(struct gyre_channel *channel, struct gy_list *before)
{
	gy_assert(!channel->reset_watch.waiting && !channel->receive.armed);
	gy_assert((channel->state & GY_NO_READ_WAITS_FOR_BUFFER) == 0);
	gy_channel_add_no_read(channel, GY_NO_READ_WAITS_FOR_BUFFER);
	channel->channels->buffer_waiters.keep_reading += channel->keep_reading;
	gy_list_append(before->next, &channel->waiter);
}

static void join_last(struct gyre_channel *channel)
{
	join(channel, channel->channels->pools.waiting.previous);
}

/* Whether it was served in the round before, and others took all there was. */
static bool came_to_nothing(const struct gyre_channel *channel,
			    const struct gy_buffer_waiters *buffer_waiters)
{
	return channel->input.first == NULL &&
	       (uint16_t)((uint16_t)buffer_waiters->enters - channel->last_round) == 1;
}

/* Whether it got something in a long round, and has the next one too. */
static bool has_next(const struct gyre_channel *channel)
{
	return channel->input.first != NULL && channel->long_rounds % ROUNDS_IN_A_ROW != 0 &&
	       channel->channels->buffer_waiters.keep_reading == 0;
}

/* Before all others, also before those with several rounds in a row. */
static void join_first(struct gyre_channel *channel, struct gy_buffer_waiters *buffer_waiters)
{
	join(channel, buffer_waiters->waiting);
	if (buffer_waiters->behind == buffer_waiters->waiting) {
		buffer_waiters->behind = &channel->waiter;
	}
}

/* Behind those that keep their places, before the rest. */
static void join_ahead(struct gyre_channel *channel, struct gy_buffer_waiters *buffer_waiters)
{
	join(channel, buffer_waiters->behind);
	buffer_waiters->behind = &channel->waiter;
}

void gy_buffer_waiters_join(struct gyre_channel *channel)
{
	struct gy_buffer_waiters *buffer_waiters = this_round(channel->channels);
	bool robbed = came_to_nothing(channel, buffer_waiters);

	gy_count(&channel->channels->counters.buffer_stalls, 1);
	if (!gy_input_is_wanted(channel)) {
		return;
	}
	if (robbed && channel->keep_reading) {
		join_first(channel, buffer_waiters);
	} else if (robbed || has_next(channel)) {
		join_ahead(channel, buffer_waiters);
	} else {
		join_last(channel);
	}
}

void gy_buffer_waiters_leave(struct gyre_channel *channel)
{
	struct gy_buffer_waiters *buffer_waiters = &channel->channels->buffer_waiters;

	gy_assert((channel->state & GY_NO_READ_WAITS_FOR_BUFFER) != 0);
	if (buffer_waiters->behind == &channel->waiter) {
		buffer_waiters->behind = channel->waiter.previous;
	}
	gy_assert(buffer_waiters->keep_reading >= channel->keep_reading);
	buffer_waiters->keep_reading -= channel->keep_reading;
	gy_channel_remove_no_read(channel, GY_NO_READ_WAITS_FOR_BUFFER);
	gy_list_remove(&channel->waiter);
}

void gy_buffer_waiters_received(struct gyre_channel *channel,
				const struct gy_completion *completion)
{
	channel->cut = completion->result > 0 && completion->nonempty;
	if (channel->cut && (uint32_t)completion->result >=
				    gy_ring_buffer_bytes(channel->channels->pools.ring) / 2) {
		channel->long_rounds = LONG_ROUNDS;
	}
}

bool gy_buffer_waiters_overtake(struct gyre_channel *channel)
{
	if (gy_list_empty(&channel->channels->pools.waiting) ||
	    channel->kind->receive_once == NULL) {
		return false;
	}
	if (channel->long_rounds > 0) {
		channel->long_rounds--;
	}
	return channel->long_rounds % READS_IN_A_ROW == 0;
}

int gy_buffer_waiters_receive(struct gyre_channel *channel)
{
	struct gy_channels *channels = channel->channels;

	if (gy_likely(gy_list_empty(&channels->pools.waiting)) ||
	    channel->kind->receive_once == NULL) {
		return channel->kind->receive(channel);
	}
	if (channel->cut) {
		channel->cut = false;
		this_round(channels)->taken++;
		return channel->kind->receive_once(channel);
	}
	join_last(channel);
	return 0;
}

/* Arms all that comes, for a round that the channel has for itself. */
static bool receive_long(struct gyre_channel *channel)
{
	channel->long_rounds--;
	return channel->kind->receive(channel) == 0;
}

/* Arms one read, or all that comes where nobody else waits. */
static bool receive_short(struct gyre_channel *channel)
{
	bool alone = gy_list_empty(&channel->channels->pools.waiting);

	return (alone || channel->kind->receive_once == NULL
			? channel->kind->receive(channel)
			: channel->kind->receive_once(channel)) == 0;
}

/* Serves @channel, which has left the list. Returns how many of a round's places it takes. */
static uint32_t serve(struct gyre_channel *channel)
{
	if (!gy_input_is_wanted(channel) || channel->receive.armed) {
		return 0;
	}
	if (channel->long_rounds > 0) {
		return receive_long(channel) ? places(channel->channels) : 0;
	}
	return receive_short(channel) ? 1 : 0;
}

/* The system call that ends the round must not wait. */
static void go_on(struct gy_channels *channels)
{
	if (!channels->buffer_waiters.goes_on) {
		channels->buffer_waiters.goes_on = true;
		gy_loop_later(&channels->home->loop, &channels->buffer_waiters.later);
	}
}

void gy_buffer_waiters_wake(struct gy_channels *channels)
{
	struct gy_buffer_waiters *buffer_waiters = this_round(channels);

	while (buffer_waiters->taken < places(channels) &&
	       !gy_list_empty(buffer_waiters->waiting)) {
		struct gyre_channel *channel =
			gy_container_of(buffer_waiters->waiting->next, struct gyre_channel, waiter);
		uint32_t taken;

		gy_buffer_waiters_leave(channel);
		taken = serve(channel);
		if (taken > 0) {
			channel->last_round = (uint16_t)buffer_waiters->enters;
			buffer_waiters->taken += taken;
		} else {
			gy_channel_ready(channel);
		}
	}
	if (buffer_waiters->taken > 0 && !gy_list_empty(buffer_waiters->waiting)) {
		go_on(channels);
	}
}

static void wake(struct gy_buffer_pools *pools)
{
	gy_buffer_waiters_wake(gy_container_of(pools, struct gy_channels, pools));
}

static void later(struct gy_loop *loop, struct gy_later *later)
{
	struct gy_buffer_waiters *buffer_waiters =
		gy_container_of(later, struct gy_buffer_waiters, later);

	(void)loop;
	buffer_waiters->goes_on = false;
	if (!gy_list_empty(buffer_waiters->waiting)) {
		gy_buffer_waiters_wake(
			gy_container_of(buffer_waiters, struct gy_channels, buffer_waiters));
	}
}

void gy_buffer_waiters_init(struct gy_channels *channels)
{
	struct gy_buffer_waiters *buffer_waiters = &channels->buffer_waiters;

	buffer_waiters->waiting = &channels->pools.waiting;
	buffer_waiters->behind = buffer_waiters->waiting;
	buffer_waiters->later.run = later;
	channels->pools.available = wake;
}
