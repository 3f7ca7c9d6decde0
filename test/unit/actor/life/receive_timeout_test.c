/*
 * The receive time-out: an event for having nothing to do.
 */
#include "actor/model.h"

enum { TIMEOUT_NS = 20000000 };

struct frame {
	struct gyre_future future;
	struct gyre_address to;
	uint64_t rounds;
};

static uint64_t last_ns;
static uint32_t told;
static uint32_t wanted = 1;
static bool early;

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int begin(struct gyre_stack *stack)
{
	last_ns = gyre_now(stack);
	return gyre_receive_timeout_start(stack, TIMEOUT_NS);
}

static int be_active(struct gyre_stack *stack)
{
	last_ns = gyre_now(stack);
	switch (gyre_message(stack, number)->value) {
	case 's':
		expect(gyre_receive_timeout_stop(stack) == 0);
		expect(gyre_receive_timeout_stop(stack) == -ENOENT);
		return gyre_return(stack);
	case 'f':
		return gyre_throw(stack, -EIO);
	default:
		return gyre_return(stack);
	}
}

static int answer(struct gyre_stack *stack)
{
	last_ns = gyre_now(stack);
	return gyre_reply(stack, gyre_new(stack, number, 0));
}

static int be_idle(struct gyre_stack *stack)
{
	const struct gyre_receive_timeout *idle = gyre_message(stack, gyre_receive_timeout);

	if (idle == NULL) {
		return gyre_return(stack); /* a timer, which is no activity */
	}
	early = early || gyre_now(stack) - last_ns < idle->idle_ns || idle->idle_ns < TIMEOUT_NS;
	return ++told == wanted ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class idler_class = {
	.name = "idler",
	.mount = begin,
	.behaviour = { .notice = be_active, .ask = answer, .event = be_idle },
};

static int tell(struct gyre_stack *stack, char what)
{
	return gyre_notify(stack, frame_of(stack)->to, gyre_new(stack, number, (uint64_t)what));
}

static int leave_alone(struct gyre_stack *stack)
{
	(void)spawn_here(stack, &idler_class);
	return gyre_return(stack);
}

Test(receive_timeout, tells_an_actor_that_nothing_comes)
{
	play_steady(leave_alone);
	cr_assert_eq(told, 1);
	cr_assert_not(early);
}

Test(receive_timeout, tells_it_again_each_time)
{
	wanted = 3;
	play_steady(leave_alone);
	cr_assert_not(early);
}

static int keep_busy(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &idler_class);
	for (frame->rounds = 0; frame->rounds < 50; frame->rounds++) {
		expect(tell(stack, 'x') == 0);
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
		GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, number, 0), 0,
					   &frame->future));
	}
	GYRE_END(stack);
}

Test(receive_timeout, is_never_early_while_messages_come)
{
	play_steady(keep_busy);
	cr_assert_not(early);
}

static int take_time(struct gyre_stack *stack)
{
	uint64_t until_ns = gyre_now(stack) + GYRE_MILLISECONDS(1);

	do {
		last_ns = gyre_now(stack);
	} while (last_ns < until_ns);
	return gyre_return(stack);
}

static const struct gyre_class slow_class = {
	.name = "slow",
	.mount = begin,
	.behaviour = { .notice = take_time, .event = be_idle },
};

/* All of them are dispatched in one run. */
static int keep_busy_for_long(struct gyre_stack *stack)
{
	frame_of(stack)->to = spawn_here(stack, &slow_class);
	for (uint32_t i = 0; i < 3 * TIMEOUT_NS / GYRE_MILLISECONDS(1); i++) {
		expect(tell(stack, 'x') == 0);
	}
	return gyre_return(stack);
}

Test(receive_timeout, is_never_early_after_a_run_that_took_longer)
{
	play(1, keep_busy_for_long);
	cr_assert_not(early);
}

static int begin_with_timer(struct gyre_stack *stack)
{
	expect(gyre_timer_start(stack, 1,
				&(struct gyre_timer_options){ .period_ns = TIMEOUT_NS / 8 }) == 0);
	return begin(stack);
}

static const struct gyre_class ticking_class = {
	.name = "ticking",
	.mount = begin_with_timer,
	.behaviour.event = be_idle,
};

static int leave_ticking(struct gyre_stack *stack)
{
	(void)spawn_here(stack, &ticking_class);
	return gyre_return(stack);
}

Test(receive_timeout, does_not_count_events)
{
	play_steady(leave_ticking);
	cr_assert_eq(told, 1);
	cr_assert_not(early);
}

static int end_it(struct gyre_stack *stack, char by)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &idler_class);
	expect(tell(stack, by) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, UINT64_C(3) * TIMEOUT_NS, &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

static int stop_it(struct gyre_stack *stack)
{
	return end_it(stack, 's');
}

static int restart_it(struct gyre_stack *stack)
{
	return end_it(stack, 'f');
}

Test(receive_timeout, that_is_stopped_tells_nothing)
{
	play_steady(stop_it);
	cr_assert_eq(told, 0);
}

Test(receive_timeout, ends_with_a_restart)
{
	play_steady(restart_it);
	cr_assert_eq(told, 0);
}

static int restart_it_late(struct gyre_stack *stack)
{
	static struct gyre_class class;
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	class = idler_class;
	class.restart_delay_ns = UINT64_C(8) * TIMEOUT_NS;
	frame->to = spawn_here(stack, &class);
	expect(tell(stack, 'f') == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, UINT64_C(10) * TIMEOUT_NS, &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(receive_timeout, of_an_actor_that_takes_no_events_for_a_while_waits_but_once)
{
	play_steady(restart_it_late);
	cr_assert_eq(told, 0);
	cr_assert_eq(fixture.counters.restarted, 1);
	cr_assert_eq(fixture.lost[GYRE_DROP_CANCELLED], 1);
}

static int refuse_zero(struct gyre_stack *stack)
{
	expect(gyre_receive_timeout_start(stack, 0) == -EINVAL);
	expect(gyre_receive_timeout_stop(stack) == -ENOENT);
	expect(gyre_receive_timeout_start(stack, GYRE_FOREVER) == 0);
	return fixture_end(stack);
}

Test(receive_timeout, of_no_time_is_refused_and_one_without_end_is_not)
{
	play(1, refuse_zero);
}

/* ---- started in the middle of a run ---- */

static uint32_t heard;

/* The first message starts the time-out, and those behind take time. */
static int start_or_take_time(struct gyre_stack *stack)
{
	if (heard++ == 0) {
		return gyre_receive_timeout_start(stack, TIMEOUT_NS);
	}
	model.now_ns += TIMEOUT_NS / 4;
	last_ns = model.now_ns;
	return gyre_return(stack);
}

static int answer_too(struct gyre_stack *stack)
{
	expect(start_or_take_time(stack) == 0);
	return gyre_reply(stack, gyre_new(stack, number, 0));
}

static int note_idle(struct gyre_stack *stack)
{
	const struct gyre_receive_timeout *idle = gyre_message(stack, gyre_receive_timeout);

	if (idle != NULL) {
		told++;
		early = early || idle->idle_ns > model.now_ns - last_ns;
	}
	return gyre_return(stack);
}

static const struct gyre_class late_class = {
	.name = "late",
	.behaviour = { .notice = start_or_take_time, .ask = answer_too, .event = note_idle },
};

static void expect_idle_since_run(enum gy_lane first, enum gy_lane second)
{
	struct gyre_address actor;

	model_open(1);
	actor = model_spawn(&late_class, 0);
	model_put(actor, first, 1);
	model_put(actor, second, 2);
	model_settle();
	cr_assert_eq(heard, 2);
	model_advance(TIMEOUT_NS - GYRE_MILLISECONDS(1));
	cr_expect_eq(told, 0);
	model_advance(GYRE_MILLISECONDS(2));
	cr_expect_eq(told, 1);
	cr_expect_not(early);
	model_close();
}

Test(receive_timeout, counts_from_the_last_notice_of_the_run_that_starts_it)
{
	expect_idle_since_run(GY_LANE_NOTICE, GY_LANE_NOTICE);
}

Test(receive_timeout, counts_from_the_last_lane_of_the_run_that_starts_it)
{
	expect_idle_since_run(GY_LANE_ASK, GY_LANE_NOTICE);
}

static int start_at_mount(struct gyre_stack *stack)
{
	return gyre_receive_timeout_start(stack, TIMEOUT_NS);
}

static const struct gyre_class prompt_class = { .name = "prompt",
						.mount = start_at_mount,
						.behaviour.event = note_idle };

Test(receive_timeout, of_a_mount_does_not_count_the_first_run_with_nothing_but_an_event)
{
	struct gyre_address actor;

	model_open(1);
	actor = model_spawn(&prompt_class, 0);
	model_advance(TIMEOUT_NS / 2);
	model_put(actor, GY_LANE_EVENT, 1);
	model_settle();
	model_advance(TIMEOUT_NS / 2 + GYRE_MILLISECONDS(2));
	cr_expect_eq(told, 1);
	model_close();
}
