/*
 * Noticing that a connection is gone while nothing is received from it: see reset_watch.c.
 */
#ifndef GY_CHANNEL_INPUT_RESET_WATCH_H
#define GY_CHANNEL_INPUT_RESET_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "loop/wheel.h"
#include "ring/ring.h"

struct gyre_channel;
struct gy_channels;

/* A channel's part. */
struct gy_reset_watch {
	struct gy_op poll;
	uint32_t since_ms; /* when the pause began, in 32 bits */
	bool waiting;	   /* in the loop's list, while the pause is short */
	bool cancelled;
	bool reported; /* in this pause: all there is to hear */
};

/* A loop's part: the channels whose pauses are short, by their age. */
struct gy_reset_watches {
	struct gy_list waiting;
	struct gy_timer timer;
};

void gy_reset_watches_init(struct gy_reset_watches *reset_watches);
void gy_reset_watch_init(struct gyre_channel *channel);
/* Nothing is received, and will not be for a while. Phase 2. */
void gy_reset_watch_start(struct gyre_channel *channel);
/* Stops watching; an armed poll is cancelled. Returns whether none is under way. Phase 2. */
bool gy_reset_watch_stop(struct gyre_channel *channel);

#endif
