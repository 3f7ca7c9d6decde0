/*
 * Chores: what a handler of the library has to do in its channel's run though nothing calls it
 * there: a codec that keeps frames until they are wanted, a timer that has fired. A channel without
 * any does not look for them.
 */
#ifndef GY_CHANNEL_CHORE_H
#define GY_CHANNEL_CHORE_H

#include <stdbool.h>

#include "base/list.h"
#include "loop/wheel.h"

struct gyre_channel;
struct gy_chore;

/*
 * Runs in phase 2, in a run of the channel, before its input is delivered; no longer queued by
 * then, so that it may be queued again. In a channel that ends nothing may be delivered any more;
 * the last call comes when its handlers are gone, and then the chore may not be queued again.
 */
typedef void (*gy_chore_fn)(struct gy_chore *chore);

struct gy_chore {
	struct gy_list item;
	gy_chore_fn run;
	bool queued;
};

/* A chore that is queued when a time is over: a timer fires outside of the channel's run. */
struct gy_chore_timer {
	struct gy_timer timer;
	struct gy_chore chore;
	struct gyre_channel *channel;
};

static inline void gy_chore_init(struct gy_chore *chore, gy_chore_fn run)
{
	gy_list_init(&chore->item);
	chore->run = run;
	chore->queued = false;
}

/* Sees to it that @chore is run; one that is queued stays where it is. Any phase. */
void gy_chore_queue(struct gyre_channel *channel, struct gy_chore *chore);
/* One that is not queued may be dropped too. */
void gy_chore_drop(struct gy_chore *chore);
/* Runs those that are queued now. */
void gy_chores_run(struct gyre_channel *channel);

void gy_chore_timer_init(struct gy_chore_timer *timer, struct gyre_channel *channel,
			 gy_chore_fn run);
/* One that runs is started anew. */
void gy_chore_timer_start(struct gy_chore_timer *timer, uint64_t delay_ns);
/* One that has fired, and whose chore has not run, is stopped too. */
void gy_chore_timer_stop(struct gy_chore_timer *timer);

#endif
