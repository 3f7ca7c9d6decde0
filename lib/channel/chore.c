/*
 * The queue of a channel's chores. A run takes all that are queued off it first, so that one which
 * queues itself again has its turn in the next run.
 */
#include "channel/chore.h"

#include "channel/channel.h"

void gy_chore_queue(struct gyre_channel *channel, struct gy_chore *chore)
{
	if (!chore->queued) {
		chore->queued = true;
		gy_list_append(&channel->chores, &chore->item);
		channel->flags |= GY_CHANNEL_SWEEP;
		gy_channel_ready(channel);
	}
}

void gy_chore_drop(struct gy_chore *chore)
{
	if (chore->queued) {
		chore->queued = false;
		gy_list_remove(&chore->item);
	}
}

void gy_chores_run(struct gyre_channel *channel)
{
	struct gy_list now;

	gy_list_init(&now);
	gy_list_splice(&now, &channel->chores);
	while (!gy_list_empty(&now)) {
		struct gy_chore *chore = gy_container_of(now.next, struct gy_chore, item);

		gy_chore_drop(chore);
		chore->run(chore);
	}
}

/* ---- timers ---- */

static void fired(struct gy_timer *timer)
{
	struct gy_chore_timer *it = gy_container_of(timer, struct gy_chore_timer, timer);

	gy_chore_queue(it->channel, &it->chore);
}

void gy_chore_timer_init(struct gy_chore_timer *timer, struct gyre_channel *channel,
			 gy_chore_fn run)
{
	gy_timer_init(&timer->timer, fired);
	gy_chore_init(&timer->chore, run);
	timer->channel = channel;
}

void gy_chore_timer_start(struct gy_chore_timer *timer, uint64_t delay_ns)
{
	gy_chore_timer_stop(timer);
	gy_timer_start(&timer->channel->channels->home->loop.wheel, &timer->timer, delay_ns);
}

void gy_chore_timer_stop(struct gy_chore_timer *timer)
{
	gy_timer_stop(&timer->channel->channels->home->loop.wheel, &timer->timer);
	gy_chore_drop(&timer->chore);
}
