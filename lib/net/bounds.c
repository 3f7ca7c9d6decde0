/*
 * What options are refused for. Whoever gets -EINVAL for a struct of a dozen fields is told which
 * of them it was, in the words that the system has for its own options.
 */
#include "net/bounds.h"

#include <errno.h>
#include <inttypes.h>

#include "base/sized.h"

int gy_bounds_check(const struct gy_bound *bounds, size_t count, const struct gy_log *log)
{
	for (size_t i = 0; i < count; i++) {
		if (bounds[i].value <= bounds[i].max) {
			continue;
		}
		if (log != NULL) {
			gy_log(log, GYRE_LOG_ERROR,
			       "%s is %" PRIu64 ": it must be from 0 to %" PRIu64, bounds[i].name,
			       bounds[i].value, bounds[i].max);
		}
		return -EINVAL;
	}
	return 0;
}

int gy_options_refuse(const char *purpose, const char *wrong, const struct gy_log *log)
{
	if (log != NULL) {
		gy_log(log, GYRE_LOG_ERROR, "cannot %s: %s", purpose, wrong);
	}
	return -EINVAL;
}

int gy_options_check_reserved(const struct gyre_channel_options *channel,
			      const struct gyre_spawn_options *place, const struct gy_log *log)
{
	int r = GY_SIZED_RESERVED(gyre_channel_options, channel, log);

	return r < 0 ? r : GY_SIZED_RESERVED(gyre_spawn_options, place, log);
}
