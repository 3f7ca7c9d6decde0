/*
 * The water marks and the hard cap of a channel's output: its own, and the system's where it has
 * none.
 */
#ifndef GY_CHANNEL_OUTPUT_WATER_MARKS_H
#define GY_CHANNEL_OUTPUT_WATER_MARKS_H

#include <gyre/channel.h>

#include "base/log/log.h"
#include "channel/channels.h"

enum { GY_WATER_MARKS_BYTES_MAX = 1 << 30 }; /* of each */

struct gy_water_marks {
	uint32_t low_bytes;
	uint32_t high_bytes;
	uint32_t max_bytes;
};

struct gy_water_marks gy_water_marks_of(const struct gy_channels *channels,
					const struct gyre_channel_options *options);
/*
 * 0, or -EINVAL for a mark that is out of its bounds, or below the one before; then one line goes
 * to @log, unless that is NULL.
 */
int gy_water_marks_check(const struct gy_channels *channels,
			 const struct gyre_channel_options *options, const struct gy_log *log);

#endif
