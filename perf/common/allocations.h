/*
 * What the library has allocated, which in the steady state is to stand still.
 */
#ifndef PERF_COMMON_ALLOCATIONS_H
#define PERF_COMMON_ALLOCATIONS_H

#include <gyre/gyre.h>

/* How often, by all loops, since the system was made. */
static inline uint64_t perf_allocations(struct gyre_stack *stack)
{
	struct gyre_counters counters;

	(void)gyre_system_counters(gyre_system_of(stack), &counters);
	return counters.allocations;
}

#endif
