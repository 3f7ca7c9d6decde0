/*
 * The monotonic clock, and the seam through which a simulator puts virtual time in its place. A
 * loop reads the clock once an iteration and keeps what it read; only where an iteration may be
 * long does it read again.
 */
#ifndef GY_BASE_CLOCK_H
#define GY_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "base/macros.h"

struct gy_clock {
	uint64_t (*read_ns)(void *arg);	   /* NULL: the machine's clock */
	uint64_t (*read_ticks)(void *arg); /* NULL: as @read_ns; see ticks.h */
	void *arg;
};

static inline uint64_t gy_clock_machine_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline uint64_t gy_clock_ns(const struct gy_clock *clock)
{
	return gy_likely(clock->read_ns == NULL) ? gy_clock_machine_ns()
						 : clock->read_ns(clock->arg);
}

/* @a + @b, or UINT64_MAX where that would not fit: times far away stay far away. */
static inline uint64_t gy_time_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#endif
