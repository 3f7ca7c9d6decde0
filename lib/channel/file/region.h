/*
 * Regions of files in a channel's output: what the other files of the floor call for them.
 */
#ifndef GY_CHANNEL_FILE_REGION_H
#define GY_CHANNEL_FILE_REGION_H

#include <gyre/channel.h>

#include "buffer/buffer.h"

/* A buffer in an output that stands for a region, and is no empty datagram. */
static inline bool gy_region_is(const struct gyre_buffer *buffer)
{
	return buffer->first.page == NULL && buffer->first.bytes != NULL;
}

/* Queues one; see gyre_context_send_file(). */
int gy_region_add(struct gyre_channel *channel, struct gyre_file *file,
		  const struct gyre_file_region *what);
/* Goes on with the region at the front of the output, as gy_output_start(). */
int gy_region_send(struct gyre_channel *channel);
/* One that will not be sent any more. Phase 2. */
void gy_region_drop(struct gyre_channel *channel, struct gyre_buffer *buffer);
/* Tells those who wait of regions that have been sent. Phase 2. */
void gy_regions_tell(struct gyre_channel *channel);

#endif
