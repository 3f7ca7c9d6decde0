/*
 * The water marks of a channel. They are computed when it is opened and copied into it, so that a
 * write compares with a number beside the queue.
 */
#include "channel/output/water_marks.h"

#include <errno.h>

enum { HIGH_BYTES_MIN = 1024 }; /* as of the system's */

struct gy_water_marks gy_water_marks_of(const struct gy_channels *channels,
					const struct gyre_channel_options *options)
{
	struct gy_water_marks marks = {
		.low_bytes = options->write_low_bytes,
		.high_bytes = options->write_high_bytes,
		.max_bytes = options->write_max_bytes,
	};

	if (marks.low_bytes == 0) {
		marks.low_bytes = channels->options.write_low_bytes;
	}
	if (marks.high_bytes == 0) {
		marks.high_bytes = channels->options.write_high_bytes;
	}
	if (marks.max_bytes == 0) {
		marks.max_bytes = channels->options.write_max_bytes;
	}
	return marks;
}

int gy_water_marks_check(const struct gy_channels *channels,
			 const struct gyre_channel_options *options, const struct gy_log *log)
{
	struct gy_water_marks marks = gy_water_marks_of(channels, options);

	if (marks.high_bytes >= HIGH_BYTES_MIN && marks.max_bytes <= GY_WATER_MARKS_BYTES_MAX &&
	    marks.low_bytes <= marks.high_bytes && marks.high_bytes <= marks.max_bytes) {
		return 0;
	}
	if (log != NULL) {
		gy_log(log, GYRE_LOG_ERROR,
		       "write_low_bytes, write_high_bytes and write_max_bytes of a channel are %u, "
		       "%u and %u: each must be at least the one before, the second at least %d, "
		       "and the last at most %d; what is 0 is the system's",
		       marks.low_bytes, marks.high_bytes, marks.max_bytes, HIGH_BYTES_MIN,
		       GY_WATER_MARKS_BYTES_MAX);
	}
	return -EINVAL;
}
