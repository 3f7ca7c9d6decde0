/*
 * Regions of files, as items of a channel's output; see output.h.
 */
#ifndef GY_CHANNEL_FILE_REGION_H
#define GY_CHANNEL_FILE_REGION_H

#include <gyre/channel.h>

#include "buffer/buffer.h"

/* Queues one; see gyre_context_send_file(). */
int gy_region_add(struct gyre_channel *channel, struct gyre_file *file,
		  const struct gyre_file_region *what);
#endif
