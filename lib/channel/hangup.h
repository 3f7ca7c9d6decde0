/*
 * Noticing that a connection is gone while nothing is received from it: see hangup.c.
 */
#ifndef GY_CHANNEL_HANGUP_H
#define GY_CHANNEL_HANGUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "loop/wheel.h"
#include "ring/ring.h"

struct gyre_channel;
struct gy_channels;

/* A channel's part. */
struct gy_hangup {
	struct gy_op poll;
	uint32_t since_ms; /* when the pause began, in 32 bits */
	bool waiting;	   /* in the loop's list, while the pause is short */
	bool cancelled;
	bool heard; /* in this pause: all there is to hear */
};

/* A loop's part: the channels whose pauses are short, by their age. */
struct gy_hangups {
	struct gy_list waiting;
	struct gy_timer timer;
};

void gy_hangups_init(struct gy_hangups *hangups);
void gy_hangup_init(struct gyre_channel *channel);
/* Nothing is received, and will not be for a while. Phase 2. */
void gy_hangup_watch(struct gyre_channel *channel);
/* That is over. What is under way is told to end; whether nothing is. Phase 2. */
bool gy_hangup_stop(struct gyre_channel *channel);

#endif
