/*
 * Timers whose events find no memory: they are told later, and those of a period go on.
 */
#include "kit_test.h"

#include <string.h>

#include <gyre/timer.h>

enum { TIMERS = 600, PERIOD_MS = 10, PERIODS = 4 };

static uint64_t told[2 * TIMERS]; /* expirations; those of a period first */

static int start_all(struct gyre_stack *stack)
{
	for (uint64_t key = 0; key < 2ULL * TIMERS; key++) {
		const struct gyre_timer_options options = {
			.delay_ns = GYRE_MILLISECONDS(PERIOD_MS),
			.period_ns = key < TIMERS ? GYRE_MILLISECONDS(PERIOD_MS) : 0,
		};

		cr_assert_eq(gyre_timer_start(stack, key, &options), 0);
	}
	return gyre_return(stack);
}

static int count_event(struct gyre_stack *stack)
{
	const struct gyre_timeout *timeout = gyre_message(stack, gyre_timeout);

	told[timeout->key] += timeout->expirations;
	return gyre_return(stack);
}

static const struct gyre_class timed_class = { .name = "timed",
					       .mount = start_all,
					       .behaviour.event = count_event };

static void fire_without_memory(struct gyre_test *test, void *arg)
{
	struct kit_sweep *sweep = (struct kit_sweep *)arg;

	memset(told, 0, sizeof(told));
	(void)gyre_test_spawn(test, &timed_class, GYRE_NO_ARGUMENT);
	gyre_test_advance(test, GYRE_MILLISECONDS(PERIOD_MS / 2));
	gyre_test_fail_allocation(test, sweep->number);
	gyre_test_advance(test, GYRE_MILLISECONDS(PERIOD_MS));
	sweep->failed = gyre_test_recover(test);
	gyre_test_advance(test, GYRE_MILLISECONDS((PERIODS - 1) * PERIOD_MS));
	for (uint32_t i = 0; i < TIMERS; i++) {
		cr_assert_eq(told[i], PERIODS, "allocation %lu: the periods of timer %u",
			     (unsigned long)sweep->number, i);
		cr_assert_eq(told[TIMERS + i], 1, "allocation %lu: timer %u",
			     (unsigned long)sweep->number, TIMERS + i);
	}
}

Test(timer_memory, comes_for_each_event_and_for_the_periods_after_it)
{
	kit_sweep(fire_without_memory, &(struct gyre_test_options){ 0 });
}
