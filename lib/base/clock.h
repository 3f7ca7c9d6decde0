/*
 * The clocks, and the seam through which a simulator puts virtual time in their place: the loops it
 * makes have a struct gy_clock of its own, and its own clock.c answers all others. A loop reads the
 * clock once an iteration and keeps what it read; only where an iteration may be long does it read
 * again.
 */
#ifndef GY_BASE_CLOCK_H
#define GY_BASE_CLOCK_H

#include <stdint.h>

#include "base/macros.h"

struct gy_clock {
	uint64_t (*read_ns)(void *arg);	   /* NULL: the machine's clock */
	uint64_t (*read_ticks)(void *arg); /* NULL: as @read_ns; see ticks.h */
	void *arg;
};

/* The clock of loops: the machine's, or that of a host which is simulated. */
struct gy_clock gy_clock_machine(void);
/* Returns the time of the machine's monotonic clock. Any thread, and a signal handler. */
uint64_t gy_clock_machine_ns(void);
/* Returns the date of the wall clock, in nanoseconds since 1970 in UTC. It can be set back. Any
 * thread. */
uint64_t gy_clock_date_ns(void);
/* Sleeps for @duration_ns of the monotonic clock; signals do not cut it short. Any thread that may
 * wait: not a loop's. */
void gy_clock_sleep(uint64_t duration_ns);

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
