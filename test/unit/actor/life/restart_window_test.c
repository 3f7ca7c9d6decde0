/*
 * The window of restarts: exact for a few, and never early for many.
 */
#include "actor/model.h"

#include "actor/life/restart_window.h"

enum { MANY = 200 };

static const uint64_t window_ns = GYRE_SECONDS(10);
static struct gy_restart_window window;

static uint32_t count_at(uint64_t now_ns)
{
	return gy_restart_window_count(&window, window_ns, now_ns);
}

Test(restart_window, counts_each_restart_for_the_time_of_the_window)
{
	for (uint32_t i = 0; i < GY_RESTART_ENTRIES; i++) {
		cr_assert_eq(count_at(GYRE_SECONDS(i)), i + 1);
	}
	cr_assert_eq(count_at(GYRE_SECONDS(10)), GY_RESTART_ENTRIES + 1, "at its very end");
}

Test(restart_window, forgets_a_restart_right_after_that_time)
{
	cr_assert_eq(count_at(5), 1);
	cr_assert_eq(count_at(7), 2);
	cr_assert_eq(count_at(window_ns + 6), 2);
	cr_assert_eq(count_at(window_ns + 8), 2);
}

Test(restart_window, forgets_none_of_many_early_and_none_late_by_more_than_a_quarter)
{
	for (uint32_t spacing_ms = 30; spacing_ms < 2000; spacing_ms += 70) {
		uint64_t spacing_ns = GYRE_MILLISECONDS(spacing_ms);
		uint64_t least = window_ns / spacing_ns + 1;
		uint64_t most = (window_ns + window_ns / 4) / spacing_ns + 1;

		window = (struct gy_restart_window){ 0 };
		for (uint32_t i = 0; i < MANY * 5; i++) {
			uint32_t count = count_at(i * spacing_ns);

			if (i >= MANY * 4) {
				cr_assert_geq(count, least, "each %u ms", spacing_ms);
				cr_assert_leq(count, most, "each %u ms", spacing_ms);
			}
		}
	}
}

Test(restart_window, of_0_is_a_minute)
{
	cr_assert_eq(gy_restart_window_count(&window, 0, 1), 1);
	cr_assert_eq(gy_restart_window_count(&window, 0, GYRE_SECONDS(60) + 1), 2);
	cr_assert_eq(gy_restart_window_count(&window, 0, GYRE_SECONDS(60) + 2), 2);
}

Test(restart_window, has_delays_that_double_up_to_64_times)
{
	cr_assert_eq(gy_restart_delay(0, 5), 0);
	for (uint32_t i = 1; i < 20; i++) {
		cr_assert_eq(gy_restart_delay(10, i), UINT64_C(10) << (i < 7 ? i - 1 : 6));
	}
	cr_assert_eq(gy_restart_delay(UINT64_MAX / 2 + 2, 2), UINT64_MAX);
}

/* ---- of an actor ---- */

static const uint64_t tick_ns = GYRE_MILLISECONDS(1);

static struct gyre_address actor;

static void fail_once(void)
{
	model_call(actor, puppet_fail);
	model_settle();
}

static bool is_alive(void)
{
	return model_house(actor) != NULL;
}

static void open_limited(uint32_t max, uint64_t limited_ns)
{
	puppet_failing_class.restarts_max = max;
	puppet_failing_class.restart_window_ns = limited_ns;
	model_open(1);
	actor = model_spawn(&puppet_failing_class, 0);
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
	cr_assert_eq(puppet_restarts, 3);
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

Test(restart, that_waits_counts_from_the_failure_for_the_window)
{
	puppet_failing_class.restart_delay_ns = GYRE_SECONDS(8);
	open_limited(1, GYRE_SECONDS(10));
	fail_once();
	model_advance(GYRE_SECONDS(8) - tick_ns);
	cr_assert_eq(puppet_restarts, 0);
	model_advance(tick_ns);
	cr_assert_eq(puppet_restarts, 1);
	model_advance(GYRE_SECONDS(2));
	fail_once();
	cr_assert_not(is_alive());
	model_close();
}
