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
