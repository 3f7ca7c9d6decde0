/*
 * The timing wheel on virtual time: never early, at most a tick late, over every level.
 */
#include <criterion/criterion.h>

#include <signal.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/random.h"
#include "loop/wheel.h"

enum { TIMERS = 3000 };

static const uint64_t tick_ns = 1000000;
static const uint64_t year_ns = UINT64_C(365) * 86400 * UINT64_C(1000000000);

struct alarm {
	struct gy_timer timer;
	uint64_t due_ns;
	uint32_t fired;
};

static struct gy_wheel wheel;
static struct alarm alarms[TIMERS];
static uint64_t now_ns;

static void fire(struct gy_timer *timer)
{
	struct alarm *alarm = gy_container_of(timer, struct alarm, timer);

	cr_assert_not(gy_timer_is_started(timer));
	cr_assert_geq(now_ns, alarm->due_ns, "early");
	alarm->fired++;
}

static void setup(void)
{
	now_ns = UINT64_C(123456789012345);
	gy_wheel_init(&wheel, tick_ns, now_ns);
	for (uint32_t i = 0; i < TIMERS; i++) {
		gy_timer_init(&alarms[i].timer, fire);
	}
}

static uint32_t advance_to(uint64_t time_ns)
{
	now_ns = time_ns;
	gy_wheel_advance(&wheel, now_ns);
	return gy_wheel_fire(&wheel);
}

/* From the next reading of the clock, which is now. */
static void start(struct alarm *alarm, uint64_t delay_ns)
{
	alarm->due_ns = gy_time_add(now_ns, delay_ns);
	gy_timer_start(&wheel, &alarm->timer, delay_ns);
	gy_wheel_advance(&wheel, now_ns);
}

/* Sleeps as a loop does, until the wheel wants to be looked at; returns when it has fired. */
static void sleep_until_fired(const struct alarm *alarm)
{
	uint32_t looks = 0;

	while (alarm->fired == 0) {
		uint64_t next_ns = gy_wheel_next_ns(&wheel);

		cr_assert_gt(next_ns, now_ns);
		cr_assert_leq(next_ns, gy_time_add(alarm->due_ns, tick_ns));
		cr_assert_lt(looks++, GY_WHEEL_LEVELS + 1, "one look a level at most");
		(void)advance_to(next_ns);
	}
	cr_assert_leq(now_ns, gy_time_add(alarm->due_ns, tick_ns), "more than a tick late");
}

TestSuite(wheel, .init = setup);

Test(wheel, without_timers_wants_never_to_be_looked_at)
{
	cr_assert_eq(gy_wheel_next_ns(&wheel), UINT64_MAX);
	cr_assert_eq(advance_to(now_ns + 1000 * year_ns / 2), 0);
	cr_assert_eq(gy_wheel_next_ns(&wheel), UINT64_MAX);
}

Test(wheel, fires_across_every_level_never_early_and_at_most_a_tick_late)
{
	for (uint32_t shift = 0; shift < 62; shift++) {
		for (uint64_t around = 0; around < 3; around++) {
			setup();
			alarms[0].fired = 0;
			start(&alarms[0], (UINT64_C(1) << shift) + around - 1);
			(void)gy_wheel_fire(&wheel);
			sleep_until_fired(&alarms[0]);
			cr_assert_eq(wheel.count, 0);
		}
	}
}

Test(wheel, serves_delays_of_a_year_and_of_a_hundred_years)
{
	start(&alarms[0], year_ns);
	start(&alarms[1], 100 * year_ns);
	sleep_until_fired(&alarms[0]);
	cr_assert_eq(alarms[1].fired, 0);
	sleep_until_fired(&alarms[1]);
}

Test(wheel, keeps_a_delay_that_reaches_the_end_of_time_without_firing_it)
{
	start(&alarms[0], UINT64_MAX);
	start(&alarms[1], UINT64_MAX - now_ns);
	cr_assert_eq(advance_to(now_ns + 100 * year_ns), 0);
	cr_assert_gt(gy_wheel_next_ns(&wheel), now_ns);
	gy_timer_stop(&wheel, &alarms[0].timer);
	gy_timer_stop(&wheel, &alarms[1].timer);
	cr_assert_eq(gy_wheel_next_ns(&wheel), UINT64_MAX);
}

Test(wheel, that_starts_at_time_0_knows_the_end_of_time_too)
{
	now_ns = 0;
	gy_wheel_init(&wheel, tick_ns, now_ns);
	start(&alarms[0], UINT64_MAX);
	cr_assert_gt(gy_wheel_next_ns(&wheel), 100 * year_ns);
	cr_assert_eq(advance_to(100 * year_ns), 0);
	cr_assert_gt(gy_wheel_next_ns(&wheel), 100 * year_ns);
}

Test(wheel, fires_thousands_of_random_timers_each_once_in_steps_of_any_length)
{
	uint64_t random = 7;
	uint64_t last_ns = 0;
	uint32_t fired = 0;

	for (uint32_t i = 0; i < TIMERS; i++) {
		uint64_t delay_ns = gy_random_next(&random) >> (20 + i % 30);

		start(&alarms[i], delay_ns);
		last_ns = alarms[i].due_ns > last_ns ? alarms[i].due_ns : last_ns;
		if (i % 16 == 0) {
			fired += advance_to(now_ns + (gy_random_next(&random) >> (35 + i % 20)));
		}
	}
	while (now_ns < last_ns + tick_ns) {
		fired += advance_to(now_ns + now_ns / 3);
	}
	cr_assert_eq(fired, TIMERS);
	for (uint32_t i = 0; i < TIMERS; i++) {
		cr_assert_eq(alarms[i].fired, 1);
	}
}

Test(wheel, with_the_clock_moving_tick_by_tick_is_never_more_than_a_tick_late)
{
	uint64_t random = 11;

	for (uint32_t i = 0; i < 500; i++) {
		start(&alarms[i], gy_random_next(&random) % (5000 * tick_ns));
	}
	for (uint32_t step = 0; step < 5002; step++) {
		(void)advance_to(now_ns + tick_ns);
		for (uint32_t i = 0; i < 500; i++) {
			cr_assert(alarms[i].fired == 1 || alarms[i].due_ns + tick_ns > now_ns);
		}
	}
}

/* ---- fresh timers ---- */

Test(wheel, counts_a_delay_from_the_next_clock_reading)
{
	gy_timer_start(&wheel, &alarms[0].timer, 5 * tick_ns);
	cr_assert_eq(gy_wheel_next_ns(&wheel), 0, "a fresh timer has to be placed at once");
	alarms[0].due_ns = now_ns + 1000 * tick_ns + 5 * tick_ns;
	cr_assert_eq(advance_to(now_ns + 1000 * tick_ns), 0);
	sleep_until_fired(&alarms[0]);
}

Test(wheel, fires_a_delay_of_zero_at_the_next_tick)
{
	start(&alarms[0], 0);
	cr_assert_eq(gy_wheel_fire(&wheel), 1, "the clock stood at a tick");
	now_ns += 1;
	gy_wheel_advance(&wheel, now_ns);
	start(&alarms[1], 0);
	cr_assert_eq(gy_wheel_fire(&wheel), 0);
	cr_assert_eq(advance_to(now_ns - 1 + tick_ns), 1);
}

Test(wheel, that_stops_a_fresh_timer_never_places_it)
{
	gy_timer_start(&wheel, &alarms[0].timer, 0);
	cr_assert(gy_timer_is_started(&alarms[0].timer));
	gy_timer_stop(&wheel, &alarms[0].timer);
	cr_assert_not(gy_timer_is_started(&alarms[0].timer));
	cr_assert_eq(gy_wheel_next_ns(&wheel), UINT64_MAX);
	cr_assert_eq(advance_to(now_ns + year_ns), 0);
}

/* ---- lazy timers ---- */

static void start_lazily(struct alarm *alarm, uint64_t delay_ns)
{
	alarm->due_ns = now_ns + delay_ns;
	gy_timer_start_lazy(&wheel, &alarm->timer, delay_ns);
}

Test(wheel, fires_a_lazy_timer_as_any_other_with_the_delay_it_was_started_with_last)
{
	start_lazily(&alarms[0], 9 * tick_ns);
	gy_timer_stop_lazy(&wheel, &alarms[0].timer);
	cr_assert_not(gy_timer_is_started(&alarms[0].timer));
	start_lazily(&alarms[0], 5 * tick_ns);
	start_lazily(&alarms[1], 5 * tick_ns);
	start_lazily(&alarms[2], 300 * tick_ns);
	cr_assert(gy_timer_is_started(&alarms[0].timer));
	cr_assert_eq(gy_wheel_next_ns(&wheel), 0, "they have to be placed at once");
	gy_wheel_advance(&wheel, now_ns);
	gy_wheel_check(&wheel);
	cr_assert_eq(wheel.count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		sleep_until_fired(&alarms[i]);
	}
	cr_assert_eq(advance_to(now_ns + year_ns), 0);
}

Test(wheel, never_places_a_lazy_timer_that_was_stopped)
{
	for (uint32_t i = 0; i < 1000; i++) {
		start_lazily(&alarms[i % 3], tick_ns);
		gy_timer_stop_lazy(&wheel, &alarms[i % 3].timer);
	}
	gy_wheel_check(&wheel);
	cr_assert_eq(advance_to(now_ns + year_ns), 0);
	cr_assert_eq(wheel.count, 0);
	cr_assert_eq(gy_wheel_next_ns(&wheel), UINT64_MAX);
}

Test(wheel, stops_a_lazy_timer_that_has_its_place_and_starts_it_again)
{
	start_lazily(&alarms[0], 70 * tick_ns);
	start_lazily(&alarms[1], 70 * tick_ns);
	gy_wheel_advance(&wheel, now_ns);
	gy_timer_stop_lazy(&wheel, &alarms[0].timer);
	gy_timer_stop_lazy(&wheel, &alarms[1].timer);
	gy_wheel_check(&wheel);
	cr_assert_eq(gy_wheel_next_ns(&wheel), UINT64_MAX, "no slot may still be marked");
	start_lazily(&alarms[0], 3 * tick_ns);
	gy_wheel_advance(&wheel, now_ns);
	sleep_until_fired(&alarms[0]);
	cr_assert_eq(alarms[1].fired, 0);
}

Test(wheel, counts_a_lazy_delay_from_the_next_clock_reading)
{
	gy_timer_start_lazy(&wheel, &alarms[0].timer, 5 * tick_ns);
	alarms[0].due_ns = now_ns + 1000 * tick_ns + 5 * tick_ns;
	cr_assert_eq(advance_to(now_ns + 1000 * tick_ns), 0);
	sleep_until_fired(&alarms[0]);
}

Test(wheel, gives_away_a_lazy_timer_and_keeps_the_others)
{
	struct gy_wheel other;

	gy_wheel_init(&other, tick_ns, now_ns);
	start_lazily(&alarms[0], 5 * tick_ns);
	start_lazily(&alarms[1], 6 * tick_ns);
	start_lazily(&alarms[2], 7 * tick_ns);
	gy_timer_stop_lazy(&wheel, &alarms[2].timer);
	gy_timer_pack(&wheel, &alarms[2].timer, now_ns);
	gy_timer_pack(&wheel, &alarms[0].timer, now_ns);
	gy_timer_unpack(&other, &alarms[0].timer);
	gy_timer_unpack(&other, &alarms[2].timer);
	gy_wheel_check(&wheel);
	gy_wheel_check(&other);
	cr_assert_eq(wheel.count, 1);
	cr_assert_eq(other.count, 1);
	sleep_until_fired(&alarms[1]);
	cr_assert_eq(alarms[0].fired, 0);
	gy_wheel_advance(&other, now_ns);
	cr_assert_eq(gy_wheel_fire(&other), 1);
	cr_assert_eq(alarms[0].fired, 1);
}

/* ---- absolute deadlines ---- */

Test(wheel, fires_at_a_deadline_and_at_once_when_it_is_past)
{
	alarms[0].due_ns = now_ns + 70 * tick_ns + 1;
	gy_timer_start_at(&wheel, &alarms[0].timer, alarms[0].due_ns);
	gy_timer_start_at(&wheel, &alarms[1].timer, now_ns - 1);
	gy_timer_start_at(&wheel, &alarms[2].timer, 0);
	cr_assert_eq(gy_wheel_next_ns(&wheel), 0);
	cr_assert_eq(gy_wheel_fire(&wheel), 2);
	cr_assert_eq(advance_to(now_ns + 70 * tick_ns), 0);
	cr_assert_eq(advance_to(now_ns + tick_ns), 1);
}

/* ---- stopping ---- */

Test(wheel, stops_a_timer_at_every_level_and_a_stopped_one_again)
{
	for (uint32_t i = 0; i < 60; i++) {
		start(&alarms[i], UINT64_C(1) << i);
	}
	cr_assert_eq(wheel.count, 60);
	for (uint32_t i = 0; i < 60; i++) {
		gy_timer_stop(&wheel, &alarms[i].timer);
		gy_timer_stop(&wheel, &alarms[i].timer);
	}
	cr_assert_eq(wheel.count, 0);
	cr_assert_eq(gy_wheel_next_ns(&wheel), UINT64_MAX, "no slot may still be marked");
	cr_assert_eq(advance_to(now_ns + 100 * year_ns), 0);
}

Test(wheel, starts_a_timer_anew_after_it_was_stopped)
{
	start(&alarms[0], 10 * tick_ns);
	gy_timer_stop(&wheel, &alarms[0].timer);
	start(&alarms[0], 20 * tick_ns);
	cr_assert_eq(advance_to(now_ns + 19 * tick_ns), 0);
	cr_assert_eq(advance_to(now_ns + tick_ns), 1);
	cr_assert_eq(alarms[0].fired, 1);
}

/* ---- from inside a callback ---- */

static void fire_and_stop_next(struct gy_timer *timer)
{
	struct alarm *alarm = gy_container_of(timer, struct alarm, timer);

	alarm->fired++;
	gy_timer_stop(&wheel, &alarm[1].timer);
}

Test(wheel, lets_a_callback_stop_another_timer_that_is_due)
{
	alarms[0].timer.fire = fire_and_stop_next;
	start(&alarms[0], tick_ns);
	start(&alarms[1], tick_ns);
	start(&alarms[2], tick_ns);
	cr_assert_eq(advance_to(now_ns + tick_ns), 2);
	cr_assert_eq(alarms[1].fired, 0);
	cr_assert_eq(alarms[2].fired, 1);
	cr_assert_eq(wheel.count, 0);
}

static void fire_again(struct gy_timer *timer)
{
	struct alarm *alarm = gy_container_of(timer, struct alarm, timer);

	alarm->fired++;
	gy_timer_start_at(&wheel, timer, now_ns);
}

Test(wheel, leaves_what_a_callback_makes_due_to_the_next_firing)
{
	alarms[0].timer.fire = fire_again;
	start(&alarms[0], tick_ns);
	cr_assert_eq(advance_to(now_ns + tick_ns), 1);
	cr_assert_eq(alarms[0].fired, 1);
	cr_assert_eq(gy_wheel_next_ns(&wheel), 0);
	cr_assert_eq(gy_wheel_fire(&wheel), 1);
	gy_timer_stop(&wheel, &alarms[0].timer);
	cr_assert_eq(gy_wheel_fire(&wheel), 0);
}

static void fire_and_restart(struct gy_timer *timer)
{
	struct alarm *alarm = gy_container_of(timer, struct alarm, timer);

	fire(timer);
	alarm->due_ns += 3 * tick_ns;
	gy_timer_start_at(&wheel, timer, alarm->due_ns);
}

Test(wheel, keeps_a_timer_that_restarts_itself_without_drift)
{
	alarms[0].timer.fire = fire_and_restart;
	alarms[0].due_ns = now_ns + 3 * tick_ns + 12345;
	gy_timer_start_at(&wheel, &alarms[0].timer, alarms[0].due_ns);
	for (uint32_t i = 1; i <= 1000; i++) {
		uint64_t due_ns = alarms[0].due_ns;

		while (alarms[0].fired < i) {
			(void)advance_to(gy_wheel_next_ns(&wheel));
		}
		cr_assert_eq(alarms[0].fired, i);
		cr_assert_lt(now_ns - due_ns, tick_ns);
	}
}

/* A timer stands in one list: started twice, it would join two. */
Test(wheel, aborts_when_a_timer_is_started_that_waits_for_its_first_tick, .signal = SIGABRT)
{
	gy_timer_init(&alarms[0].timer, fire);
	gy_timer_start(&wheel, &alarms[0].timer, 1000);
	gy_timer_start(&wheel, &alarms[0].timer, 1000);
}

Test(wheel, aborts_when_a_timer_is_started_that_stands_in_the_wheel, .signal = SIGABRT)
{
	gy_timer_init(&alarms[0].timer, fire);
	gy_timer_start_at(&wheel, &alarms[0].timer, now_ns + 1000 * tick_ns);
	gy_timer_start(&wheel, &alarms[0].timer, 1000);
}

Test(wheel, aborts_when_a_timer_is_started_twice_at_a_time_of_the_clock, .signal = SIGABRT)
{
	gy_timer_init(&alarms[0].timer, fire);
	gy_timer_start_at(&wheel, &alarms[0].timer, now_ns + 1000 * tick_ns);
	gy_timer_start_at(&wheel, &alarms[0].timer, now_ns + 2000 * tick_ns);
}
