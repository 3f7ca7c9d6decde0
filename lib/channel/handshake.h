/*
 * The time that a connection has to show what it is for: see handshake.c.
 */
#ifndef GY_CHANNEL_HANDSHAKE_H
#define GY_CHANNEL_HANDSHAKE_H

#include <stdint.h>

struct gyre_channel;

/* Lets the time run, before handlers are added; 0 is without end. -ENOMEM. */
int gy_handshake_start(struct gyre_channel *channel, uint64_t time_ns);
/* A channel that was not connected then is so now: the time runs from here on. */
void gy_handshake_connected(struct gyre_channel *channel, uint64_t time_ns);
/* It is over, or the channel is. Phase 2. */
void gy_handshake_stop(struct gyre_channel *channel);

#endif
