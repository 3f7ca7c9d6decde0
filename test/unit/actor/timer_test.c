/*
 * Timers of actors: when they fire, how often, and that what was stopped or replaced never speaks.
 */
#include "base/clock.h"
#include "fixture.h"
#include "system/system.h"

#include <time.h>

enum { KEYS = 1000, LAST = 99 };

static uint64_t started_ns;
static uint64_t events;
static uint64_t told; /* expirations */

static int start(struct gyre_stack *stack, uint64_t key, uint64_t delay_ns, uint64_t period_ns)
{
	const struct gyre_timer_options options = { .delay_ns = delay_ns, .period_ns = period_ns };

	return gyre_timer_start(stack, key, &options);
}

static const struct gyre_timeout *timeout_of(struct gyre_stack *stack)
{
	const struct gyre_timeout *timeout = gyre_message(stack, gyre_timeout);

	expect(timeout != NULL && timeout->expirations > 0);
	expect(gyre_address_is_nobody(gyre_sender(stack)));
	events++;
	told += timeout->expirations;
	return timeout;
}

static void play_timers(gyre_handler_fn mount, gyre_handler_fn event)
{
	const struct gyre_class class = { .name = "timed",
					  .mount = mount,
					  .behaviour.event = event };

	fixture_open_with(&(struct gyre_system_options){ .loops = 1, .spin_ns = GYRE_SPIN_NEVER });
	fixture_steady();
	(void)spawn_outside(&class, 0);
	fixture_run();
	fixture_close();
}

/* ---- when ---- */

static int start_delays(struct gyre_stack *stack)
{
	started_ns = gyre_now(stack);
	expect(start(stack, 0, 0, 0) == 0);
	expect(start(stack, 1, 1, 0) == 0);
	expect(start(stack, 5, GYRE_MILLISECONDS(5), 0) == 0);
	expect(start(stack, 70, GYRE_MILLISECONDS(70), 0) == 0);
	expect(start(stack, UINT64_MAX, GYRE_SECONDS(86400) * 36525, 0) == 0);
	expect(start(stack, UINT64_MAX - 1, UINT64_MAX, 0) == 0);
	return gyre_return(stack);
}

static int check_delay(struct gyre_stack *stack)
{
	const struct gyre_timeout *timeout = timeout_of(stack);

	expect(timeout->expirations == 1);
	expect(timeout->key <= 70);
	if (timeout->key > 1) {
		expect(gyre_now(stack) - started_ns >= GYRE_MILLISECONDS(timeout->key));
	}
	return timeout->key == 70 ? fixture_end(stack) : gyre_return(stack);
}

Test(timer, fires_once_after_its_delay_and_never_early)
{
	play_timers(start_delays, check_delay);
	cr_assert_eq(events, 4);
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * GYRE_SECONDS(1) + (uint64_t)now.tv_nsec;
}

static uint64_t date_ns;

static int start_dates(struct gyre_stack *stack)
{
	struct gyre_timer_options options = { .delay_ns = GYRE_SECONDS(100) };

	options.date_ns = 1;
	expect(gyre_timer_start(stack, 1, &options) == 0);
	date_ns = wall_ns() + GYRE_MILLISECONDS(40);
	options.date_ns = date_ns;
	expect(gyre_timer_start(stack, 2, &options) == 0);
	return gyre_return(stack);
}

static int check_date(struct gyre_stack *stack)
{
	const struct gyre_timeout *timeout = timeout_of(stack);

	trace('0' + (char)timeout->key);
	if (timeout->key == 1) {
		return gyre_return(stack);
	}
	expect(wall_ns() >= date_ns);
	return fixture_end(stack);
}

Test(timer, fires_at_a_date_or_at_once_when_the_date_is_past)
{
	play_timers(start_dates, check_date);
	cr_assert_str_eq(traced, "12");
}

/* A clock whose reader is held up after the reading, as a thread that loses its CPU is. */
static uint64_t read_and_lose_time(void *arg)
{
	bool *held_up = (bool *)arg;
	uint64_t now_ns = gy_clock_machine_ns();

	while (*held_up && gy_clock_machine_ns() - now_ns < GYRE_MILLISECONDS(15)) {
	}
	return now_ns;
}

static bool held_up;

static int start_dates_held_up(struct gyre_stack *stack)
{
	held_up = true;
	(void)start_dates(stack);
	held_up = false;
	return gyre_return(stack);
}

Test(timer, fires_not_before_its_date_even_if_its_start_is_held_up)
{
	const struct gyre_class class = { .name = "timed",
					  .mount = start_dates_held_up,
					  .behaviour.event = check_date };

	fixture_open(1);
	fixture.system->homes.homes[0].loop.clock =
		(struct gy_clock){ .read_ns = read_and_lose_time, .arg = &held_up };
	(void)spawn_outside(&class, 0);
	fixture_run();
	fixture_close();
	cr_assert_str_eq(traced, "12");
}

static int start_thousand(struct gyre_stack *stack)
{
	for (uint64_t key = 0; key < KEYS; key++) {
		expect(start(stack, key * key, GYRE_MICROSECONDS(10 * key), 0) == 0);
	}
	return gyre_return(stack);
}

static int count_thousand(struct gyre_stack *stack)
{
	(void)timeout_of(stack);
	return events == KEYS ? fixture_end(stack) : gyre_return(stack);
}

Test(timer, is_one_of_a_thousand_of_one_actor_and_each_fires_once)
{
	play_timers(start_thousand, count_thousand);
	cr_assert_eq(told, KEYS);
}

/* ---- how often ---- */

static int start_period(struct gyre_stack *stack)
{
	started_ns = gyre_now(stack);
	expect(start(stack, 3, GYRE_MILLISECONDS(4), GYRE_MILLISECONDS(2)) == 0);
	return gyre_return(stack);
}

static int check_period(struct gyre_stack *stack)
{
	const struct gyre_timeout *timeout = timeout_of(stack);
	uint64_t now_ns = gyre_now(stack);

	/* Not one more than there have been. */
	expect(now_ns - started_ns >= GYRE_MILLISECONDS(4 + 2 * (told - 1)));
	if (events == 5) {
		while (gyre_now(stack) - now_ns < GYRE_MILLISECONDS(25)) {
		}
	}
	/* Nor one less: what passed while the actor was busy is told. */
	expect(events != 6 || timeout->expirations >= 12);
	return events == 20 ? fixture_end(stack) : gyre_return(stack);
}

Test(timer, of_a_period_tells_every_expiration_and_none_early)
{
	play_timers(start_period, check_period);
	cr_assert_geq(told, 31);
}

/* A clock that only moves when it is read, by half a millisecond. */
static uint64_t read_stepping(void *arg)
{
	*(uint64_t *)arg += GYRE_MICROSECONDS(500);
	return *(uint64_t *)arg;
}

static int check_drift(struct gyre_stack *stack)
{
	uint64_t nominal_ns;

	(void)timeout_of(stack);
	nominal_ns = started_ns + GYRE_MILLISECONDS(4 + 2 * (told - 1));
	/* At most the next period, a tick, and a few readings; and no more of that in the end. */
	expect(gyre_now(stack) >= nominal_ns);
	expect(gyre_now(stack) - nominal_ns < GYRE_MILLISECONDS(8));
	return events == 100 ? fixture_end(stack) : gyre_return(stack);
}

Test(timer, of_a_period_does_not_drift)
{
	const struct gyre_system_options options = { .loops = 1, .spin_ns = GYRE_SPIN_NEVER };
	const struct gyre_class class = { .name = "timed",
					  .mount = start_period,
					  .behaviour.event = check_drift };
	uint64_t steps_ns;

	fixture_open_with(&options);
	steps_ns = gy_clock_machine_ns(); /* not less than what the loop has read */
	fixture.system->homes.homes[0].loop.clock =
		(struct gy_clock){ .read_ns = read_stepping, .arg = &steps_ns };
	(void)spawn_outside(&class, 0);
	fixture_run();
	fixture_close();
	cr_assert_geq(events, 100);
}

/* ---- stopped and replaced ---- */

static int start_stopped(struct gyre_stack *stack)
{
	expect(gyre_timer_stop(stack, 1) == -ENOENT);
	expect(gyre_timer_start(stack, 1, NULL) == -EINVAL);
	expect(gyre_timer_stop(stack, 1) == -ENOENT);
	expect(start(stack, 1, GYRE_MILLISECONDS(2), 0) == 0);
	expect(gyre_timer_stop(stack, 1) == 0);
	expect(gyre_timer_stop(stack, 1) == -ENOENT);
	expect(start(stack, 2, GYRE_MILLISECONDS(2), 0) == 0);
	expect(start(stack, 2, GYRE_SECONDS(3600), 0) == 0);
	expect(start(stack, 3, GYRE_SECONDS(3600), 0) == 0);
	expect(start(stack, 3, GYRE_MILLISECONDS(3), 0) == 0);
	expect(start(stack, 4, GYRE_MILLISECONDS(2), GYRE_MILLISECONDS(2)) == 0);
	expect(start(stack, 4, GYRE_MILLISECONDS(5), 0) == 0);
	expect(start(stack, LAST, GYRE_MILLISECONDS(20), 0) == 0);
	return gyre_return(stack);
}

static int trace_keys(struct gyre_stack *stack)
{
	const struct gyre_timeout *timeout = timeout_of(stack);

	if (timeout->key == LAST) {
		return fixture_end(stack);
	}
	trace('0' + (char)timeout->key);
	return gyre_return(stack);
}

Test(timer, that_is_stopped_or_started_anew_before_it_fires_is_replaced)
{
	play_timers(start_stopped, trace_keys);
	cr_assert_str_eq(traced, "34");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_CANCELLED], 0);
}

static int start_stopping(struct gyre_stack *stack)
{
	expect(start(stack, 1, GYRE_MILLISECONDS(1), GYRE_MILLISECONDS(1)) == 0);
	expect(start(stack, 2, GYRE_MILLISECONDS(4), 0) == 0);
	expect(start(stack, LAST, GYRE_MILLISECONDS(20), 0) == 0);
	return gyre_return(stack);
}

static int stop_oneself(struct gyre_stack *stack)
{
	uint64_t key = timeout_of(stack)->key;

	/* One that fires once has ended; one of a period has not. */
	expect(gyre_timer_stop(stack, key) == (key == 1 ? 0 : -ENOENT));
	if (key == LAST) {
		return fixture_end(stack);
	}
	trace('0' + (char)key);
	return gyre_return(stack);
}

Test(timer, may_be_stopped_from_inside_its_own_event)
{
	play_timers(start_stopping, stop_oneself);
	cr_assert_str_eq(traced, "12");
}

static int restart_oneself(struct gyre_stack *stack)
{
	uint64_t key = timeout_of(stack)->key;

	expect(key == 1);
	if (events == 5) {
		return fixture_end(stack);
	}
	expect(start(stack, 1, GYRE_MILLISECONDS(1), 0) == 0);
	return gyre_return(stack);
}

static int start_one(struct gyre_stack *stack)
{
	expect(start(stack, 1, 0, 0) == 0);
	return gyre_return(stack);
}

Test(timer, may_be_started_anew_from_inside_its_own_event)
{
	play_timers(start_one, restart_oneself);
	cr_assert_eq(told, 5);
}

/* ---- an event that waits already ---- */

/* All four are due at the same reading of the clock, so that their events wait side by side. */
static int start_together(struct gyre_stack *stack)
{
	for (uint64_t key = 1; key <= 4; key++) {
		expect(start(stack, key, 0, key == 4 ? GYRE_SECONDS(50) : 0) == 0);
	}
	started_ns = gyre_now(stack);
	while (gyre_now(stack) - started_ns < GYRE_MILLISECONDS(5)) {
	}
	return gyre_return(stack);
}

static int silence_others(struct gyre_stack *stack)
{
	uint64_t key = timeout_of(stack)->key;

	if (events == 1) {
		expect(key == 1);
		expect(gyre_timer_stop(stack, 2) == 0);
		expect(start(stack, 3, GYRE_MILLISECONDS(2), 0) == 0);
		expect(gyre_timer_stop(stack, 4) == 0);
		expect(start(stack, 4, GYRE_SECONDS(50), 0) == 0);
	}
	trace('0' + (char)key);
	return key == 3 ? fixture_end(stack) : gyre_return(stack);
}

Test(timer, that_is_stopped_or_restarted_while_its_event_waits_does_not_speak)
{
	play_timers(start_together, silence_others);
	cr_assert_str_eq(traced, "13");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_CANCELLED], 3);
	cr_assert_eq(fixture.letters[0].type, GYRE_ID(gyre_timeout));
}

/* ---- the end of the actor ---- */

static int start_and_stop(struct gyre_stack *stack)
{
	for (uint64_t key = 0; key < KEYS; key++) {
		expect(start(stack, key, GYRE_MILLISECONDS(1), GYRE_MILLISECONDS(1)) == 0);
	}
	return gyre_stop(stack, gyre_self(stack));
}

static int must_not_come(struct gyre_stack *stack)
{
	expect(gyre_message_id(stack) == 0);
	return gyre_return(stack);
}

static int outlive_timed(struct gyre_stack *stack)
{
	static const struct gyre_class class = { .name = "timed",
						 .mount = start_and_stop,
						 .behaviour.event = must_not_come };
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	(void)spawn_here(stack, &class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(timer, ends_with_its_actor)
{
	play_steady(outlive_timed);
}

static int end_soon(struct gyre_stack *stack)
{
	const struct gyre_timer_options at_once = { 0 };
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	expect(gyre_timer_start(stack, 1, &at_once) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(timer, of_an_actor_without_a_handler_for_events_is_counted_as_unhandled)
{
	play_steady(end_soon);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_UNHANDLED], 1);
}
