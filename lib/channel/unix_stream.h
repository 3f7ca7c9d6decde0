/*
 * What is special about streams over Unix sockets: see unix_stream.c.
 */
#ifndef GY_CHANNEL_UNIX_STREAM_H
#define GY_CHANNEL_UNIX_STREAM_H

#include <stdbool.h>

struct gyre_channel;
struct gy_channel_kind;

extern const struct gy_channel_kind gy_local_kind;

/* The channel is to be closed. Whether its poll is over, which is told to end. Phase 2. */
bool gy_unix_stream_stop(struct gyre_channel *channel);

#endif
