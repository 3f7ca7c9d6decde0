/*
 * Readings of a counter that is cheaper than the clock, for telling how long things took. What a
 * tick is in nanoseconds is only known from two pairs of readings, one of each: so ticks are added
 * up as they are, and whoever looks at the sum converts it.
 *
 * The readings of one thread go forwards as long as it stays on its CPU, or the CPUs' counters run
 * together, which they do on all machines of today.
 */
#ifndef GY_BASE_TICKS_H
#define GY_BASE_TICKS_H

#include "base/clock.h"

static inline uint64_t gy_ticks_machine(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return gy_clock_machine_ns();
#endif
}

static inline uint64_t gy_ticks(const struct gy_clock *clock)
{
	if (gy_likely(clock->read_ns == NULL)) {
		return gy_ticks_machine();
	}
	return clock->read_ticks == NULL ? clock->read_ns(clock->arg)
					 : clock->read_ticks(clock->arg);
}

/* Two readings of the same moment. */
struct gy_tick_pair {
	uint64_t ticks;
	uint64_t ns;
};

static inline struct gy_tick_pair gy_tick_pair_read(const struct gy_clock *clock)
{
	return (struct gy_tick_pair){ gy_ticks(clock), gy_clock_ns(clock) };
}

/*
 * @ticks in nanoseconds, by what passed between @from and @to. The longer that was, the better:
 * after a millisecond it is right to one in ten thousand.
 */
static inline uint64_t gy_ticks_to_ns(uint64_t ticks, const struct gy_tick_pair *from,
				      const struct gy_tick_pair *to)
{
	uint64_t passed = to->ticks - from->ticks;

	if (passed == 0 || to->ticks < from->ticks) {
		return 0;
	}
	return (uint64_t)((unsigned __int128)ticks * (to->ns - from->ns) / passed);
}

#endif
