/*
 * Deferred calls: work that a handler of the library has to do in its channel's run though nothing
 * calls it there: a codec that keeps frames until they are wanted, a timer that has fired. A
 * channel without any does not look for them.
 */
#ifndef GY_CHANNEL_PIPELINE_DEFERRED_H
#define GY_CHANNEL_PIPELINE_DEFERRED_H

#include <stdbool.h>

#include "base/list.h"
#include "loop/wheel.h"

struct gyre_channel;
struct gy_deferred;

/*
 * Runs in phase 2, in a run of the channel, before its input is delivered; no longer queued by
 * then, so that it may be queued again. In a channel that ends nothing may be delivered any more;
 * the last call comes when its handlers are gone, and then the call may not be queued again.
 */
typedef void (*gy_deferred_fn)(struct gy_deferred *deferred);

struct gy_deferred {
	struct gy_list item;
	gy_deferred_fn run;
	bool queued;
};

/* A deferred call that is queued when a time is over: a timer fires outside of the channel's run.
 */
struct gy_deferred_timer {
	struct gy_timer timer;
	struct gy_deferred deferred;
	struct gyre_channel *channel;
};

static inline void gy_deferred_init(struct gy_deferred *deferred, gy_deferred_fn run)
{
	gy_list_init(&deferred->item);
	deferred->run = run;
	deferred->queued = false;
}

/* Sees to it that @deferred is run; one that is queued stays where it is. Any phase. */
void gy_deferred_queue(struct gyre_channel *channel, struct gy_deferred *deferred);
/* A call that is not queued may be dropped too. */
void gy_deferred_drop(struct gy_deferred *deferred);
/* Runs those that are queued now. */
void gy_deferred_run_all(struct gyre_channel *channel);

void gy_deferred_timer_init(struct gy_deferred_timer *timer, struct gyre_channel *channel,
			    gy_deferred_fn run);
/* A running timer is started anew. */
void gy_deferred_timer_start(struct gy_deferred_timer *timer, uint64_t delay_ns);
/* A timer that has fired, and whose call has not run, is stopped too. */
void gy_deferred_timer_stop(struct gy_deferred_timer *timer);

#endif
