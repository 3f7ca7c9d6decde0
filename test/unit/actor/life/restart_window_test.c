/*
 * The window of restarts: exact for a few, and never early for many.
 */
#include <criterion/criterion.h>

#include <gyre/timer.h>

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
