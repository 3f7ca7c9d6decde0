/*
 * Large sends of a channel whose bytes the kernel takes from the pages themselves.
 */
#ifndef GY_CHANNEL_OUTPUT_ZERO_COPY_H
#define GY_CHANNEL_OUTPUT_ZERO_COPY_H

#include "channel/channel.h"

void gy_zero_copies_init(struct gy_channels *channels);
/* Whether what is queued may leave without a copy. */
static inline bool gy_zero_copy_is_due(const struct gyre_channel *channel)
{
	return channel->output_bytes >= channel->channels->options.zero_copy_bytes &&
	       !channel->no_zero_copy && !gy_channel_is_pipe(channel);
}

/* Sends what is queued; -EAGAIN when the ring has no room for it, -ENOMEM to send it another way.
 */
int gy_zero_copy_send(struct gyre_channel *channel);
/* The operation that sends for the channel now; NULL when it sends by itself. */
struct gy_op *gy_zero_copy_op(const struct gyre_channel *channel);
/* The channel goes away: those that are still under way do without. */
void gy_zero_copy_leave(struct gyre_channel *channel);

#endif
