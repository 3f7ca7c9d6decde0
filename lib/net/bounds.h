/*
 * Numbers of options and their upper bounds, for calls that explain in the log what they refuse.
 */
#ifndef GY_NET_BOUNDS_H
#define GY_NET_BOUNDS_H

#include <stddef.h>
#include <stdint.h>

#include <gyre/actor.h>
#include <gyre/channel.h>

#include "base/log/log.h"

struct gy_bound {
	const char *name; /* of the option */
	uint64_t value;
	uint64_t max;
};

/* 0, or -EINVAL; the first that is out of its bounds is a line in @log, unless that is NULL. */
int gy_bounds_check(const struct gy_bound *bounds, size_t count, const struct gy_log *log);

/* -EINVAL; what is wrong with the options for @purpose is a line in @log, unless that is NULL. */
int gy_options_refuse(const char *purpose, const char *wrong, const struct gy_log *log);

/* The reserved members of structures that stand in the options of sockets: 0, or -EINVAL and a line
 * in @log. */
int gy_options_check_reserved(const struct gyre_channel_options *channel,
			      const struct gyre_spawn_options *place, const struct gy_log *log);

#endif
