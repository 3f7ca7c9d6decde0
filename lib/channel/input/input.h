/*
 * The input of a channel: what it receives, keeps, and gives to its handlers; see input.c.
 */
#ifndef GY_CHANNEL_INPUT_INPUT_H
#define GY_CHANNEL_INPUT_INPUT_H

#include "channel/channel.h"

/* Whether there is a use for input, be it only to throw it away. */
static inline bool gy_input_is_wanted(const struct gyre_channel *channel)
{
	uint32_t state = channel->state;

	if (gy_likely((state & GY_CHANNEL_DISCARDING) == 0)) {
		return (state & GY_CHANNEL_NO_RECEIVE) == 0;
	}
	return (state & GY_CHANNEL_NO_DISCARD) == 0 && !gy_channel_is_aborted(channel);
}
/* Whether input waits that handlers may have now. */
static inline bool gy_input_is_deliverable(const struct gyre_channel *channel)
{
	return channel->input.first != NULL && (channel->state & GY_CHANNEL_NO_DELIVERY) == 0;
}
/* The completion of a receive. */
void gy_input_received(struct gy_op *op, const struct gy_completion *completion);
/*
 * Comes before gy_input_received() where the bytes are in @page, which is taken, and not in a page
 * of the ring.
 */
void gy_input_received_page(struct gyre_channel *channel, struct gy_page *page, int32_t result);
void gy_input_init(struct gyre_channel *channel);
/* Frees what handlers have not had. */
void gy_input_clear(struct gyre_channel *channel);
/* Gives the handlers what has been received, as far as they may have it now. */
void gy_input_deliver(struct gyre_channel *channel);
/* Arms, or disarms, the receive as the flags say; -EAGAIN when the ring has no room for it. */
int gy_input_update_receive(struct gyre_channel *channel);
/* Ends the armed receive, so that it is armed again in the way of the present kind. */
void gy_input_renew(struct gyre_channel *channel);
/* Sees to it that nothing is received any more; whether that is so already. */
bool gy_input_stop(struct gyre_channel *channel);

#endif
