/*
 * What is special about streams over Unix sockets: see local.c.
 */
#ifndef GY_CHANNEL_LOCAL_H
#define GY_CHANNEL_LOCAL_H

#include <stdbool.h>

struct gyre_channel;
struct gy_channel_kind;

extern const struct gy_channel_kind gy_local_kind;

/* The channel is to be closed. Whether its poll is over, which is told to end. Phase 2. */
bool gy_local_stop(struct gyre_channel *channel);

#endif
