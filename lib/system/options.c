/*
 * The options of a system, checked and with the defaults that were chosen when gyre was built. A
 * bad one is refused before anything is made, by name and with its bounds.
 */
#include "system/options.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <gyre/offload.h>

#include "base/log/log.h"
#include "system/engine.h"
#include "system/tunables.h"

static const uint32_t offload_threads_max = 256;
static const uint32_t offload_queue_max_max = 1000000;

static int resolve_one(const struct gy_log *log, const struct gy_tunable *tunable,
		       struct gyre_system_options *options)
{
	int64_t value = gy_tunable_read(options, tunable);

	if (value == 0) {
		gy_tunable_write(options, tunable, tunable->preset);
		return 0;
	}
	if (value < tunable->min || value > tunable->max) {
		gy_log(log, GYRE_LOG_ERROR,
		       "%s is %" PRId64 ": it must be from %" PRId64 " to %" PRId64, tunable->name,
		       value, tunable->min, tunable->max);
		return -EINVAL;
	}
	return 0;
}

static int check_power(const struct gy_log *log, const char *name, uint32_t value)
{
	if ((value & (value - 1)) != 0) {
		gy_log(log, GYRE_LOG_ERROR, "%s is %u: it must be a power of two", name, value);
		return -EINVAL;
	}
	return 0;
}

static int check_marks(const struct gy_log *log, const struct gyre_system_options *options)
{
	if (options->write_low_bytes > options->write_high_bytes ||
	    options->write_high_bytes > options->write_max_bytes) {
		gy_log(log, GYRE_LOG_ERROR,
		       "write_low_bytes, write_high_bytes and write_max_bytes are %u, %u and %u: "
		       "each must be at least the one before",
		       options->write_low_bytes, options->write_high_bytes,
		       options->write_max_bytes);
		return -EINVAL;
	}
	return 0;
}

static int check_loops(const struct gy_log *log, const struct gyre_system_options *options)
{
	if (options->loops_max != 0 && options->loops > options->loops_max) {
		gy_log(log, GYRE_LOG_ERROR,
		       "loops is %u: it must be at most loops_max, which is %u", options->loops,
		       options->loops_max);
		return -EINVAL;
	}
	return 0;
}

/* Options that are -1, or at least so much: more than the bounds of tunables can say. */
static const struct least {
	const char *name;
	const char *never; /* what -1 stands for */
	int64_t min;
} leasts[] = {
	{ "log_buffer_bytes", "no buffer", 4096 },	  /* several of the longest lines fit */
	{ "min_wait_ns", "never", GYRE_MICROSECONDS(1) }, /* what the kernel counts */
	{ "stall_ns", "never", GYRE_MILLISECONDS(1) },	  /* the watchdog's own pace */
};

static int check_least(const struct gy_log *log, const struct gyre_system_options *options,
		       const struct least *least)
{
	const struct gy_tunable *tunable = gy_tunable_find(least->name, strlen(least->name));
	int64_t value = gy_tunable_read(options, tunable);

	if (value == -1 || value >= least->min) {
		return 0;
	}
	gy_log(log, GYRE_LOG_ERROR,
	       "%s is %" PRId64 ": it must be -1 for %s, or from %" PRId64 " to %" PRId64,
	       least->name, value, least->never, least->min, tunable->max);
	return -EINVAL;
}

static int check_leasts(const struct gy_log *log, const struct gyre_system_options *options)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < gy_countof(leasts); i++) {
		r = check_least(log, options, &leasts[i]);
	}
	return r;
}

static int check_loop_data(const struct gy_log *log, const struct gyre_system_options *options)
{
	if (options->loop_fini != NULL && options->loop_init == NULL) {
		gy_log(log, GYRE_LOG_ERROR,
		       "loop_fini is set and loop_init is not: there is "
		       "nothing to be freed");
		return -EINVAL;
	}
	return 0;
}

static bool has_good_name(const struct gyre_offload_pool *pools, uint32_t i)
{
	const char *name = pools[i].name;
	size_t bytes = name == NULL ? 0 : strnlen(name, GYRE_OFFLOAD_POOL_NAME_MAX + 1);

	if (bytes == 0 || bytes > GYRE_OFFLOAD_POOL_NAME_MAX) {
		return false;
	}
	for (uint32_t before = 0; before < i; before++) {
		if (strcmp(pools[before].name, name) == 0) {
			return false;
		}
	}
	return true;
}

static int check_pool(const struct gy_log *log, const struct gyre_offload_pool *pools, uint32_t i)
{
	const struct gyre_offload_pool *pool = &pools[i];

	if (!has_good_name(pools, i)) {
		gy_log(log, GYRE_LOG_ERROR,
		       "offload_pools[%u] has no name of 1 to %u bytes that no other has", i,
		       GYRE_OFFLOAD_POOL_NAME_MAX);
		return -EINVAL;
	}
	if (pool->threads > offload_threads_max || pool->queue_max > offload_queue_max_max) {
		gy_log(log, GYRE_LOG_ERROR,
		       "pool %s has %u threads and %u pieces that may wait: these must be at most "
		       "%u and %u",
		       pool->name, pool->threads, pool->queue_max, offload_threads_max,
		       offload_queue_max_max);
		return -EINVAL;
	}
	return (pool->reserved[0] | pool->reserved[1]) != 0 ? -EINVAL : 0;
}

static int check_pools(const struct gy_log *log, const struct gyre_system_options *options)
{
	uint32_t count = options->offload_pools_count;
	int r = 0;

	if (count > GYRE_OFFLOAD_POOLS_MAX || (count > 0 && options->offload_pools == NULL)) {
		gy_log(log, GYRE_LOG_ERROR,
		       "offload_pools_count is %u: it must be the number of offload_pools, and at "
		       "most %u",
		       count, GYRE_OFFLOAD_POOLS_MAX);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < count && r == 0; i++) {
		r = check_pool(log, options->offload_pools, i);
	}
	return r;
}

static int check_embedded(const struct gy_log *log, const struct gyre_system_options *options)
{
	if (options->embedded && options->handover != NULL) {
		gy_log(log, GYRE_LOG_ERROR,
		       "embedded and handover are both set: an embedded system cannot be "
		       "succeeded");
		return -EINVAL;
	}
	return 0;
}

static int resolve_level(const struct gy_log *log, struct gyre_system_options *options)
{
	unsigned level = (unsigned)options->log_level;

	if (level == GYRE_LOG_DEFAULT) {
		options->log_level = GYRE_LOG_WARNING;
	} else if (level > GYRE_LOG_ERROR) {
		gy_log(log, GYRE_LOG_ERROR, "log_level is %u: it must be from %d to %d", level,
		       GYRE_LOG_DEBUG, GYRE_LOG_ERROR);
		return -EINVAL;
	}
	return 0;
}

int gy_options_resolve(const struct gyre_system_options *options,
		       struct gyre_system_options *ret_options)
{
	struct gyre_system_options resolved = { 0 };
	struct gy_log log;
	int r;

	if (options != NULL) {
		resolved = *options;
	}
	log = (struct gy_log){ .write = resolved.log,
			       .arg = resolved.log_arg,
			       .level = GYRE_LOG_ERROR };
	r = resolve_level(&log, &resolved);
	if (r == 0) {
		r = gy_engine_from_environment(&log, &resolved.engine);
	}
	for (size_t i = 0; i < gy_tunables_count && r == 0; i++) {
		r = resolve_one(&log, &gy_tunables[i], &resolved);
	}
	if (r == 0) {
		r = check_power(&log, "ring_entries", resolved.ring_entries);
	}
	if (r == 0) {
		r = check_power(&log, "buffer_count", resolved.buffer_count);
	}
	if (r == 0) {
		r = check_loops(&log, &resolved);
	}
	if (r == 0) {
		r = check_power(&log, "datagram_buffer_count", resolved.datagram_buffer_count);
	}
	if (r == 0) {
		r = check_marks(&log, &resolved);
	}
	if (r == 0) {
		r = check_leasts(&log, &resolved);
	}
	if (r == 0) {
		r = check_loop_data(&log, &resolved);
	}
	if (r == 0) {
		r = check_embedded(&log, &resolved);
	}
	if (r == 0) {
		r = check_pools(&log, &resolved);
	}
	if (r == 0) {
		*ret_options = resolved;
	}
	return r;
}
