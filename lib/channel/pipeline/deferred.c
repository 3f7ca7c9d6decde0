/*
 * The queue of a channel's deferred calls. A run takes all queued calls off it first, so that a
 * call that queues itself again is made in the next run.
 */
#include "channel/pipeline/deferred.h"

#include "channel/channel.h"

void gy_deferred_queue(struct gyre_channel *channel, struct gy_deferred *deferred)
{
	if (!deferred->queued) {
		deferred->queued = true;
		gy_list_append(&channel->deferred_list, &deferred->item);
		gy_channel_set_events(channel, GY_EVENT_DEFERRED, 0);
		gy_channel_ready(channel);
	}
}

void gy_deferred_drop(struct gy_deferred *deferred)
{
	if (deferred->queued) {
		deferred->queued = false;
		gy_list_remove(&deferred->item);
	}
}

void gy_deferred_run_all(struct gyre_channel *channel)
{
	struct gy_list now;

	gy_list_init(&now);
	gy_list_splice(&now, &channel->deferred_list);
	while (!gy_list_empty(&now)) {
		struct gy_deferred *deferred = gy_container_of(now.next, struct gy_deferred, item);

		gy_assert(deferred->queued);
		gy_deferred_drop(deferred);
		deferred->run(deferred);
	}
}

/* ---- timers ---- */

static void fired(struct gy_timer *timer)
{
	struct gy_deferred_timer *it = gy_container_of(timer, struct gy_deferred_timer, timer);

	gy_deferred_queue(it->channel, &it->deferred);
}

void gy_deferred_timer_init(struct gy_deferred_timer *timer, struct gyre_channel *channel,
			    gy_deferred_fn run)
{
	gy_timer_init(&timer->timer, fired);
	gy_deferred_init(&timer->deferred, run);
	timer->channel = channel;
}

void gy_deferred_timer_start(struct gy_deferred_timer *timer, uint64_t delay_ns)
{
	gy_deferred_timer_stop(timer);
	gy_timer_start(&timer->channel->channels->home->loop.wheel, &timer->timer, delay_ns);
}

void gy_deferred_timer_stop(struct gy_deferred_timer *timer)
{
	gy_timer_stop(&timer->channel->channels->home->loop.wheel, &timer->timer);
	gy_deferred_drop(&timer->deferred);
}
