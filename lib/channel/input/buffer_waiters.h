/*
 * Turns at receive buffers, where there are fewer than channels with something to receive: see
 * buffer_waiters.c. All of it on the thread of the loop.
 */
#ifndef GY_CHANNEL_INPUT_BUFFER_WAITERS_H
#define GY_CHANNEL_INPUT_BUFFER_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "loop/loop.h"
#include "ring/ring.h"

struct gyre_channel;
struct gy_channels;

/* The waiters of one loop. */
struct gy_buffer_waiters {
	struct gy_list
		*waiting; /* channels with GY_NO_READ_WAITS_FOR_BUFFER, in the pools of buffers */
	struct gy_list *behind; /* the last of those that go before the rest, or @waiting */
	uint64_t enters;	/* calls of the kernel when the round began */
	uint32_t taken;		/* so many receive again in it */
	uint32_t keep_reading;	/* so many of those that wait have that option */
	struct gy_later later;	/* the next round, be there completions or not */
	bool goes_on;		/* that is queued */
};

void gy_buffer_waiters_init(struct gy_channels *channels);
/* Arms the receive, at once if nobody waits; -EAGAIN when the ring has no room for it. */
int gy_buffer_waiters_receive(struct gyre_channel *channel);
/* A receive has ended with @completion. */
void gy_buffer_waiters_received(struct gyre_channel *channel,
				const struct gy_completion *completion);
/* A receive has brought something and goes on. Whether it is to end, since it overtakes others. */
bool gy_buffer_waiters_overtake(struct gyre_channel *channel);
/* A receive has found no buffer. */
void gy_buffer_waiters_join(struct gyre_channel *channel);
/* A channel does not wait any more. */
void gy_buffer_waiters_leave(struct gyre_channel *channel);
/* Channels that wait have the buffers that there are. */
void gy_buffer_waiters_wake(struct gy_channels *channels);

#endif
