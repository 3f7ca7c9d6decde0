/*
 * Receiving much at a time: when a channel does so into a page of its own rather than into those of
 * the ring. How, and why not always, stands in large_receive.c.
 */
#ifndef GY_CHANNEL_LARGE_RECEIVE_H
#define GY_CHANNEL_LARGE_RECEIVE_H

#include "channel/channel.h"

/*
 * Tells how much has come at once to a channel that reads all it gets, and frees it at once: if
 * that goes on to be much it receives into a page of its own. Phase 2.
 */
void gy_large_receive_update(struct gyre_channel *channel, size_t bytes);

#endif
