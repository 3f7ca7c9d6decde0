/*
 * How often an actor may restart, and how long it waits before: windows and delays, to the tick of
 * a virtual clock.
 */
#include "actor/model.h"

enum { TOO_MANY = 20 };

static const uint64_t tick_ns = GYRE_MILLISECONDS(1);

static uint32_t restarts;
static struct gyre_address actor;

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static int count_restart(struct gyre_stack *stack)
{
	restarts++;
	return gyre_return(stack);
}

static struct gyre_class class = {
	.name = "failing",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run },
	.restart = count_restart,
};

static void open_actor(void)
{
	model_open(1);
	actor = model_spawn(&class, 0);
}

static void fail_once(void)
{
	model_call(actor, fail);
	model_settle();
}

static bool is_alive(void)
{
	return model_house(actor) != NULL;
}

/* ---- limits ---- */

static void open_limited(uint32_t max, uint64_t window_ns)
{
	class.restarts_max = max;
	class.restart_window_ns = window_ns;
	open_actor();
}

Test(restart, of_each_failure_is_allowed_without_a_limit)
{
	open_limited(0, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		fail_once();
	}
	cr_assert_eq(restarts, 1000);
	cr_assert(is_alive());
	model_close();
}

Test(restart, is_allowed_as_often_as_the_limit_says_and_not_once_more)
{
	open_limited(3, GYRE_SECONDS(10));
	for (uint32_t i = 0; i < 3; i++) {
		fail_once();
		cr_assert_eq(restarts, i + 1);
		cr_assert(is_alive());
	}
	fail_once();
	cr_assert_eq(restarts, 3);
	cr_assert_not(is_alive());
	cr_assert_eq(model.logged, 5, "each failure, and why it was stopped");
	model_close();
}

Test(restart, at_the_very_end_of_the_window_is_one_too_many)
{
	open_limited(1, GYRE_SECONDS(10));
	fail_once();
	model_advance(GYRE_SECONDS(10));
	fail_once();
	cr_assert_not(is_alive());
	model_close();
}

Test(restart, counts_no_more_when_the_window_has_slid_past_it)
{
	open_limited(2, GYRE_SECONDS(10));
	fail_once();
	model_advance(GYRE_SECONDS(9));
	fail_once();
	model_advance(GYRE_SECONDS(1) + 1); /* the first counts no more */
	fail_once();
	cr_assert(is_alive());
	cr_assert_eq(restarts, 3);
	model_advance(GYRE_SECONDS(5)); /* the other two do */
	fail_once();
	cr_assert_not(is_alive());
	model_close();
}

Test(restart, has_a_window_of_a_minute_by_default)
{
	open_limited(1, 0);
	fail_once();
	model_advance(GYRE_SECONDS(60) + 1);
	fail_once();
	cr_assert(is_alive());
	model_advance(GYRE_SECONDS(60));
	fail_once();
	cr_assert_not(is_alive());
	model_close();
}

/* ---- delays ---- */

/* A failure now restarts after @delay_ns and not before. */
static void assert_delay(uint64_t delay_ns)
{
	uint32_t before = restarts;

	fail_once();
	cr_assert_eq(restarts, before);
	model_advance(delay_ns - tick_ns);
	cr_assert_eq(restarts, before, "restarted before %lu ns", delay_ns);
	model_advance(tick_ns);
	cr_assert_eq(restarts, before + 1, "not restarted after %lu ns", delay_ns);
}

Test(restart, waits_twice_as_long_each_time_up_to_64_times)
{
	class.restart_delay_ns = GYRE_MILLISECONDS(10);
	open_limited(0, GYRE_SECONDS(3600));
	for (uint32_t i = 0; i < TOO_MANY; i++) {
		assert_delay(GYRE_MILLISECONDS(10) << (i < 6 ? i : 6));
	}
	model_close();
}

Test(restart, waits_no_longer_than_at_first_in_a_new_window)
{
	class.restart_delay_ns = GYRE_MILLISECONDS(10);
	open_limited(0, GYRE_SECONDS(10));
	for (uint32_t round = 0; round < 3; round++) {
		assert_delay(GYRE_MILLISECONDS(10));
		assert_delay(GYRE_MILLISECONDS(20));
		assert_delay(GYRE_MILLISECONDS(40));
		model_advance(GYRE_SECONDS(10) + tick_ns);
	}
	model_close();
}

Test(restart, that_waits_counts_from_the_failure_for_the_window)
{
	class.restart_delay_ns = GYRE_SECONDS(8);
	open_limited(1, GYRE_SECONDS(10));
	assert_delay(GYRE_SECONDS(8));
	model_advance(GYRE_SECONDS(2));
	fail_once();
	cr_assert_not(is_alive());
	model_close();
}

/* Nobody waits for so long, but a delay that runs over must not become a short one. */
static int fail_at_once(struct gyre_stack *stack)
{
	class.restart_delay_ns = UINT64_MAX / 2 + 2;
	return gyre_throw(stack, -EIO);
}

Test(restart, whose_doubled_delay_would_run_over_waits_for_ever)
{
	class.restart_delay_ns = tick_ns;
	open_limited(0, GYRE_FOREVER);
	assert_delay(tick_ns);
	model_call(actor, fail_at_once);
	model_settle();
	model_advance(GYRE_SECONDS(3600));
	cr_assert_eq(restarts, 1);
	model_close();
}
