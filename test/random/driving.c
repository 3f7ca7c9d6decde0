/*
 * How the driver of a program waits. Where the system is embedded it turns the first loop
 * meanwhile: in calls that wait themselves, or as a program with a main loop does it, only when the
 * descriptor is readable. If that ever failed to show what is to be done, the program would not
 * calm down.
 */
#include <gyre/embed.h>

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "random.h"

static bool becomes_readable(struct world *world, uint64_t timeout_ns)
{
	const struct timespec time = { .tv_sec = (time_t)(timeout_ns / 1000000000),
				       .tv_nsec = (long)(timeout_ns % 1000000000) };
	struct pollfd polled = { .fd = gyre_system_descriptor(world->system), .events = POLLIN };

	must(world, 0, polled.fd >= 0, "%d", polled.fd);
	return ppoll(&polled, 1, &time, NULL) > 0;
}

/* False when there is nothing more to turn. */
static bool turn(struct world *world, uint64_t timeout_ns)
{
	int r;

	if (world->plan.embedded == EMBEDDED_POLL) {
		if (!becomes_readable(world, timeout_ns)) {
			return true;
		}
		timeout_ns = 0;
	}
	r = gyre_system_turn(world->system, timeout_ns);
	must(world, 0,
	     r == 0 || r == 1 || (r == -ESHUTDOWN && gy_load_relaxed(&world->stopped) != 0),
	     "a turn: %d", r);
	return r >= 0;
}

void drive_ns(struct world *world, uint64_t ns)
{
	uint64_t end_ns = now_ns() + ns;
	bool turns = world->plan.embedded != EMBEDDED_NOT;

	for (uint64_t now = end_ns - ns; now < end_ns; now = now_ns()) {
		if (turns) {
			turns = turn(world, end_ns - now);
		} else {
			pause_ns(end_ns - now);
		}
	}
}
