/*
 * The messages by which a graph is started.
 */
#ifndef GY_STREAM_START_H
#define GY_STREAM_START_H

#include "stream/island.h"

void gy_stream_argument_fini(struct gy_stream_argument *argument);
GYRE_OWN_MESSAGE_OWNING_(gy_stream_argument, 0x80, gy_stream_argument_fini);

/* Answered when the graph has ended. */
struct gy_stream_wait {
	uint32_t reserved;
};
GYRE_OWN_MESSAGE_(gy_stream_wait, 0x89);

#endif
