/*
 * Turns at receive buffers, where there are fewer than channels with something to receive: see
 * turns.c. All of it on the thread of the loop.
 */
#ifndef GY_CHANNEL_TURNS_H
#define GY_CHANNEL_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "loop/loop.h"
#include "ring/ring.h"

struct gyre_channel;
struct gy_channels;

/* Of a loop. */
struct gy_turns {
	struct gy_list waiting; /* channels with GY_CHANNEL_PARKED */
	struct gy_list *behind; /* the last of those that go before the rest, or @waiting */
	uint64_t enters;	/* calls of the kernel when the turn began */
	uint32_t taken;		/* so many receive again in it */
	uint32_t keep_reading;	/* so many of those that wait have that option */
	struct gy_later later;	/* the next turn, be there completions or not */
	bool goes_on;		/* that is queued */
};

void gy_turns_init(struct gy_turns *turns);
/* Arms the receive, at once if nobody waits; -EAGAIN when the ring has no room for it. */
int gy_turns_receive(struct gyre_channel *channel);
/* A receive has ended with @completion. */
void gy_turns_received(struct gyre_channel *channel, const struct gy_completion *completion);
/* Whether a channel whose receive goes on overtakes others with it. */
bool gy_turns_overtakes(const struct gyre_channel *channel);
/* A receive has found no buffer. */
void gy_turns_await(struct gyre_channel *channel);
/* A channel does not wait any more. */
void gy_turns_leave(struct gyre_channel *channel);
/* Channels that wait have the buffers that there are. */
void gy_turns_next(struct gy_channels *channels);

#endif
