/*
 * How often an actor may restart, and how long it waits before, to the tick of a virtual clock. To
 * the nanosecond, windows are looked at in restart_window_test.c.
 */
#include "actor/puppet_kit.h"

#include <gyre/timer.h>

enum { TOO_MANY = 20 };

static const uint64_t tick_ns = GYRE_MILLISECONDS(1);
static const uint64_t little_ns = GYRE_MICROSECONDS(100);

static struct gyre_address actor;

static void fail_once(struct gyre_test *test)
{
	puppet_call(test, actor, puppet_fail);
}

/* ---- limits ---- */

static void open_limited(struct gyre_test *test, uint32_t max, uint64_t window_ns)
{
	puppet_failing_class.restarts_max = max;
	puppet_failing_class.restart_window_ns = window_ns;
	actor = puppet_spawn(test, &puppet_failing_class, 0);
}

KIT_TEST_WITH(restart, of_each_failure_is_allowed_without_a_limit, &two_loops)
{
	open_limited(test, 0, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		fail_once(test);
	}
	cr_assert_eq(puppet_restarts, 1000);
	expect_alive(test, actor);
}

KIT_TEST_WITH(restart, is_allowed_as_often_as_the_limit_says_and_not_once_more, &two_loops)
{
	open_limited(test, 3, GYRE_SECONDS(10));
	for (uint32_t i = 0; i < 3; i++) {
		fail_once(test);
		cr_assert_eq(puppet_restarts, i + 1);
		expect_alive(test, actor);
	}
	fail_once(test);
	cr_assert_eq(puppet_restarts, 3);
	expect_ended(test, actor);
	cr_assert_eq(heard.count, 5, "each failure, and why it was stopped");
}

/* ---- delays ---- */

/* A failure now restarts after @delay_ns and not before. */
static void assert_delay(struct gyre_test *test, uint64_t delay_ns)
{
	uint32_t before = puppet_restarts;

	fail_once(test);
	pass_since_call(test, delay_ns - little_ns);
	cr_assert_eq(puppet_restarts, before, "restarted before %lu ns", delay_ns);
	gyre_test_advance(test, tick_ns + 2 * little_ns);
	cr_assert_eq(puppet_restarts, before + 1, "not restarted after %lu ns", delay_ns);
}

KIT_TEST_WITH(restart, waits_twice_as_long_each_time_up_to_64_times, &two_loops)
{
	puppet_failing_class.restart_delay_ns = GYRE_MILLISECONDS(10);
	open_limited(test, 0, GYRE_SECONDS(3600));
	for (uint32_t i = 0; i < TOO_MANY; i++) {
		assert_delay(test, GYRE_MILLISECONDS(10) << (i < 6 ? i : 6));
	}
}

KIT_TEST_WITH(restart, waits_no_longer_than_at_first_in_a_new_window, &two_loops)
{
	puppet_failing_class.restart_delay_ns = GYRE_MILLISECONDS(10);
	open_limited(test, 0, GYRE_SECONDS(10));
	for (uint32_t round = 0; round < 3; round++) {
		assert_delay(test, GYRE_MILLISECONDS(10));
		assert_delay(test, GYRE_MILLISECONDS(20));
		assert_delay(test, GYRE_MILLISECONDS(40));
		gyre_test_advance(test, GYRE_SECONDS(10));
	}
}

/* Nobody waits for so long, but a delay that runs over must not become a short one. */
static int fail_at_once(struct gyre_stack *stack)
{
	puppet_failing_class.restart_delay_ns = UINT64_MAX / 2 + 2;
	return gyre_throw(stack, -EIO);
}

KIT_TEST_WITH(restart, whose_doubled_delay_would_run_over_waits_for_ever, &two_loops)
{
	puppet_failing_class.restart_delay_ns = GYRE_MILLISECONDS(10);
	open_limited(test, 0, GYRE_FOREVER);
	assert_delay(test, GYRE_MILLISECONDS(10));
	puppet_call(test, actor, fail_at_once);
	gyre_test_advance(test, GYRE_SECONDS(3000));
	cr_assert_eq(puppet_restarts, 1);
}
