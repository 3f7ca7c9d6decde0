/*
 * Timers of actors on a virtual clock: periods that do not drift, delays of years, and that what
 * was replaced or stopped never speaks, to the tick.
 */
#include "actor/mail/mailbox.h"
#include "model.h"

enum { KEY = 7, PERIODS = 10000, TIMERS = 100 };

static const uint64_t day_ns = GYRE_SECONDS(86400);

static struct gyre_timer_options options;
static struct gyre_address actor;
static uint64_t events;
static uint64_t expirations;

static int count_event(struct gyre_stack *stack)
{
	const struct gyre_timeout *timeout = gyre_message(stack, gyre_timeout);

	expect(timeout != NULL && timeout->expirations > 0);
	events++;
	expirations += timeout->expirations;
	return gyre_return(stack);
}

static struct gyre_class class = {
	.name = "timed",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .event = count_event },
};

static int start(struct gyre_stack *stack)
{
	expect(gyre_timer_start(stack, KEY, &options) == 0);
	return gyre_return(stack);
}

static int stop(struct gyre_stack *stack)
{
	expect(gyre_timer_stop(stack, KEY) == 0);
	return gyre_return(stack);
}

static void open_at(uint64_t offset_ns)
{
	model_open(1);
	model.now_ns += offset_ns;
	actor = model_spawn(&class, 0);
}

static void start_timer(uint64_t delay_ns, uint64_t period_ns)
{
	options = (struct gyre_timer_options){ .delay_ns = delay_ns, .period_ns = period_ns };
	model_call(actor, start);
	model_settle();
}

static void assert_events(uint64_t expected)
{
	cr_assert_eq(events, expected, "%lu events, not %lu", events, expected);
}

/* What runs in the wheel besides the model's own timers. */
static uint64_t timers_running(void)
{
	const struct gy_loop *loop = &model.home[0].loop;

	return loop->wheel.count - gy_timer_is_started(&model.moment[0]) -
	       gy_timer_is_started(&loop->pool_timer);
}

/* ---- periods ---- */

/* Each event comes in the tick in which its period ends, also the ten thousandth. */
static void play_periods(uint64_t offset_ns, uint64_t period_ns)
{
	const uint64_t tick_ns = GYRE_MILLISECONDS(1);
	uint64_t from_ns;

	open_at(offset_ns);
	start_timer(period_ns, period_ns);
	from_ns = model.now_ns;
	for (uint64_t i = 1; i <= PERIODS; i++) {
		uint64_t due_ns = from_ns + i * period_ns;

		/* The last moment before it, and then the end of its tick. */
		model_advance(due_ns - 1 - model.now_ns);
		assert_events(i - 1);
		model_advance(tick_ns);
		assert_events(i);
	}
	cr_assert_eq(expirations, PERIODS);
	model_close();
}

Test(timer, of_a_period_has_not_drifted_after_10000_periods)
{
	play_periods(0, GYRE_MILLISECONDS(7));
}

Test(timer, of_a_period_that_is_no_number_of_ticks_has_not_drifted_after_10000_periods)
{
	play_periods(300001, UINT64_C(7333333));
}

/* In steps that have nothing to do with the period, some far longer. */
Test(timer, of_a_period_counts_all_that_passed_whatever_the_steps_of_the_clock)
{
	const uint64_t period_ns = UINT64_C(3300000);
	uint64_t from_ns;

	open_at(77);
	start_timer(period_ns, period_ns);
	from_ns = model.now_ns;
	for (uint64_t i = 0; i < PERIODS; i++) {
		model_advance(UINT64_C(1000) * (i * 7919 % 20000));
	}
	model_advance(GYRE_MILLISECONDS(1)); /* the last may be one tick late */
	cr_assert_geq(expirations, (model.now_ns - GYRE_MILLISECONDS(1) - from_ns) / period_ns);
	cr_assert_leq(expirations, (model.now_ns - from_ns) / period_ns);
	model_close();
}

/* ---- delays ---- */

static void play_delay(uint64_t delay_ns, uint64_t step_ns)
{
	uint64_t due_ns;

	open_at(0);
	start_timer(delay_ns, 0);
	due_ns = model.now_ns + delay_ns;
	while (due_ns - model.now_ns > step_ns) {
		model_advance(step_ns);
		assert_events(0);
	}
	model_advance(due_ns - model.now_ns - 1);
	assert_events(0);
	model_advance(1);
	assert_events(1);
	model_advance(due_ns);
	assert_events(1);
	cr_assert_eq(timers_running(), 0);
	model_close();
}

Test(timer, of_a_year_fires_after_a_year_and_not_before)
{
	play_delay(365 * day_ns, day_ns);
}

Test(timer, of_a_hundred_years_fires_after_a_hundred_years_and_not_before)
{
	play_delay(36525 * day_ns, 36525 * day_ns);
}

Test(timer, of_a_hundred_years_fires_also_when_each_of_its_months_is_seen)
{
	play_delay(36525 * day_ns, 30 * day_ns + 1);
}

Test(timer, of_no_delay_fires_at_once_on_a_tick)
{
	open_at(0);
	start_timer(0, 0);
	assert_events(1);
	model_close();
}

Test(timer, of_no_delay_fires_at_the_next_tick)
{
	open_at(1);
	start_timer(0, 0);
	assert_events(0);
	model_advance(GYRE_MILLISECONDS(1) - 1);
	assert_events(1);
	model_close();
}

/* ---- what was replaced ---- */

Test(timer, that_is_started_again_counts_from_then_and_speaks_once)
{
	open_at(0);
	start_timer(GYRE_MILLISECONDS(10), 0);
	model_advance(GYRE_MILLISECONDS(6));
	start_timer(GYRE_MILLISECONDS(10), 0);
	cr_assert_eq(timers_running(), 1);
	model_advance(GYRE_MILLISECONDS(9));
	assert_events(0);
	model_advance(GYRE_MILLISECONDS(1));
	assert_events(1);
	model_advance(GYRE_SECONDS(1));
	assert_events(1);
	model_close();
}

Test(timer, of_a_period_that_is_started_again_without_one_fires_once)
{
	open_at(0);
	start_timer(GYRE_MILLISECONDS(1), GYRE_MILLISECONDS(1));
	model_advance(GYRE_MILLISECONDS(1));
	assert_events(1);
	start_timer(GYRE_MILLISECONDS(5), 0);
	model_advance(GYRE_SECONDS(1));
	assert_events(2);
	model_close();
}

static int stop_own(struct gyre_stack *stack)
{
	(void)count_event(stack);
	return stop(stack);
}

Test(timer, of_a_period_may_be_stopped_by_its_own_event)
{
	class.behaviour.event = stop_own;
	open_at(0);
	start_timer(GYRE_MILLISECONDS(1), GYRE_MILLISECONDS(1));
	model_advance(GYRE_MILLISECONDS(1));
	assert_events(1);
	cr_assert_eq(timers_running(), 0);
	model_advance(GYRE_SECONDS(1));
	assert_events(1);
	model_close();
}

static int stop_gone(struct gyre_stack *stack)
{
	expect(gyre_timer_stop(stack, KEY) == -ENOENT);
	return count_event(stack);
}

Test(timer, that_fires_once_is_gone_for_its_own_event)
{
	class.behaviour.event = stop_gone;
	open_at(0);
	start_timer(1, 0);
	model_advance(GYRE_MILLISECONDS(1));
	assert_events(1);
	model_close();
}

/* The notice and the event wait together, and the notice is first. */
static void fire_and_call(gyre_handler_fn function)
{
	open_at(0);
	start_timer(GYRE_MILLISECONDS(10), 0);
	model_call(actor, function);
	model_advance(GYRE_MILLISECONDS(10));
}

Test(timer, that_is_started_again_while_its_event_waits_speaks_only_as_the_new_one)
{
	fire_and_call(start);
	assert_events(0);
	cr_assert_eq(model.lost[GYRE_DROP_CANCELLED], 1);
	model_advance(GYRE_MILLISECONDS(10));
	assert_events(1);
	model_close();
}

static int stop_and_start(struct gyre_stack *stack)
{
	(void)stop(stack);
	return start(stack);
}

Test(timer, that_is_stopped_and_started_while_its_event_waits_speaks_only_as_the_new_one)
{
	fire_and_call(stop_and_start);
	assert_events(0);
	cr_assert_eq(model.lost[GYRE_DROP_CANCELLED], 1);
	model_advance(GYRE_MILLISECONDS(10));
	assert_events(1);
	model_close();
}

/* ---- what ends ---- */

static int start_many(struct gyre_stack *stack)
{
	for (uint64_t i = 0; i < TIMERS; i++) {
		options.period_ns = i % 2 == 0 ? 0 : GYRE_MILLISECONDS(5);
		options.delay_ns = GYRE_MILLISECONDS(10) + i * i * GYRE_MILLISECONDS(100);
		expect(gyre_timer_start(stack, i, &options) == 0);
	}
	return gyre_return(stack);
}

static void open_with_many(void)
{
	open_at(0);
	model_call(actor, start_many);
	model_settle();
	cr_assert_eq(timers_running(), TIMERS);
}

Test(timer, is_cancelled_with_all_others_when_its_actor_stops)
{
	open_with_many();
	gy_house_request_stop(model_house(actor), 0);
	model_settle();
	cr_assert_eq(timers_running(), 0);
	model_advance(day_ns);
	assert_events(0);
	model_close();
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

Test(timer, is_cancelled_with_all_others_when_its_actor_restarts)
{
	open_with_many();
	model_call(actor, fail);
	model_settle();
	cr_assert_eq(timers_running(), 0);
	model_advance(day_ns);
	assert_events(0);
	cr_assert_not_null(model_house(actor));
	model_close();
}

Test(timer, whose_event_waits_when_its_actor_restarts_does_not_speak)
{
	fire_and_call(fail);
	assert_events(0);
	cr_assert_eq(model.lost[GYRE_DROP_CANCELLED], 1);
	model_close();
}

/* The restart starts a timer of the same key; the event that waits is not that one's. */
Test(timer, whose_event_waits_does_not_speak_for_one_that_the_restart_has_started)
{
	class.restart = start;
	fire_and_call(fail);
	assert_events(0);
	cr_assert_eq(model.lost[GYRE_DROP_CANCELLED], 1);
	model_advance(GYRE_MILLISECONDS(10));
	assert_events(1);
	model_close();
}
