/*
 * The receive time-out: an event for having nothing to do.
 */
#include <errno.h>

#include <gyre/stack.h>
#include <gyre/timer.h>

#include "kit_test.h"

#define TIMEOUT_NS GYRE_MILLISECONDS(20)
/* As late as it may be: a tick, and some time to be handled. */
#define LATE_NS GYRE_MICROSECONDS(1100)

/* What an idler is told, and what it tells its probe. */
struct word {
	uint64_t value;
};
GYRE_MESSAGE(word, 0x1001);

struct idle {
	uint64_t since_ns; /* the last message */
	uint64_t idle_ns;  /* as the event says */
};
GYRE_MESSAGE(idle, 0x1002);

static struct gyre_test *tested;
static struct gyre_probe *probe;
static uint64_t last_ns;

/* ---- idlers ---- */

static int begin(struct gyre_stack *stack)
{
	last_ns = gyre_now(stack);
	return gyre_receive_timeout_start(stack, TIMEOUT_NS);
}

static int be_active(struct gyre_stack *stack)
{
	last_ns = gyre_now(stack);
	switch (gyre_message(stack, word)->value) {
	case 's':
		cr_expect_eq(gyre_receive_timeout_stop(stack), 0);
		cr_expect_eq(gyre_receive_timeout_stop(stack), -ENOENT);
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
	return gyre_reply(stack, gyre_new(stack, word, 0));
}

static int be_idle(struct gyre_stack *stack)
{
	const struct gyre_receive_timeout *event = gyre_message(stack, gyre_receive_timeout);

	if (event == NULL) {
		return gyre_return(stack); /* a timer, which is no activity */
	}
	return gyre_notify(stack, gyre_probe_address(probe),
			   gyre_new(stack, idle, gyre_now(stack) - last_ns, event->idle_ns));
}

static const struct gyre_class idler_class = {
	.name = "idler",
	.mount = begin,
	.behaviour = { .notice = be_active, .ask = answer, .event = be_idle },
};

static struct gyre_address spawn(struct gyre_test *test, const struct gyre_class *class)
{
	tested = test;
	probe = gyre_probe_create(test);
	return gyre_test_spawn(test, class, GYRE_NO_ARGUMENT);
}

/* The event comes within @within_ns, and is not early. */
static void expect_idle(uint64_t within_ns)
{
	const struct idle *idle = gyre_probe_expect(probe, idle, within_ns);

	cr_assert_geq(idle->since_ns, idle->idle_ns);
	cr_assert_geq(idle->idle_ns, TIMEOUT_NS);
}

static void tell(struct gyre_test *test, struct gyre_address to, char what)
{
	cr_assert_eq(gyre_probe_notify(probe, to, gyre_test_new(test, word, (uint64_t)what)), 0);
}

/* ---- when ---- */

KIT_TEST(receive_timeout, tells_an_actor_that_nothing_comes)
{
	(void)spawn(test, &idler_class);
	(void)gyre_probe_expect_none(probe, TIMEOUT_NS - LATE_NS);
	expect_idle(2 * LATE_NS);
}

KIT_TEST(receive_timeout, tells_it_again_each_time)
{
	(void)spawn(test, &idler_class);
	for (int i = 0; i < 3; i++) {
		expect_idle(TIMEOUT_NS + LATE_NS);
		(void)gyre_probe_expect_none(probe, TIMEOUT_NS - LATE_NS);
	}
}

KIT_TEST(receive_timeout, is_never_early_while_messages_come)
{
	struct gyre_address idler = spawn(test, &idler_class);

	for (int i = 0; i < 50; i++) {
		tell(test, idler, 'x');
		(void)gyre_probe_expect_none(probe, GYRE_MILLISECONDS(1));
		(void)gyre_probe_ask(probe, idler, gyre_test_new(test, word, 0), 0);
		(void)gyre_probe_expect(probe, word, GYRE_MILLISECONDS(1));
	}
	(void)gyre_probe_expect_none(probe, TIMEOUT_NS - LATE_NS);
	expect_idle(2 * LATE_NS);
}

static int take_time(struct gyre_stack *stack)
{
	gyre_test_advance(tested, GYRE_MILLISECONDS(1));
	last_ns = gyre_now(stack);
	return gyre_return(stack);
}

static const struct gyre_class slow_class = {
	.name = "slow",
	.mount = begin,
	.behaviour = { .notice = take_time, .event = be_idle },
};

enum { MANY = 60 };

/* All of them are dispatched in one run. */
static int tell_many(struct gyre_stack *stack, void *to)
{
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(gyre_notify(stack, *(const struct gyre_address *)to,
					 gyre_new(stack, word, 'x')),
			     0);
	}
	return 0;
}

KIT_TEST(receive_timeout, is_never_early_after_a_run_that_took_longer)
{
	struct gyre_address slow = spawn(test, &slow_class);

	(void)gyre_probe_do(probe, tell_many, &slow);
	(void)gyre_probe_expect_none(probe, GYRE_MILLISECONDS(MANY) + TIMEOUT_NS - LATE_NS);
	expect_idle(2 * LATE_NS);
}

static int begin_with_timer(struct gyre_stack *stack)
{
	const struct gyre_timer_options often = { .period_ns = TIMEOUT_NS / 8 };

	cr_assert_eq(gyre_timer_start(stack, 1, &often), 0);
	return begin(stack);
}

static const struct gyre_class ticking_class = {
	.name = "ticking",
	.mount = begin_with_timer,
	.behaviour.event = be_idle,
};

KIT_TEST(receive_timeout, does_not_count_events)
{
	(void)spawn(test, &ticking_class);
	expect_idle(TIMEOUT_NS + LATE_NS);
}

/* ---- no more ---- */

KIT_TEST(receive_timeout, that_is_stopped_tells_nothing)
{
	tell(test, spawn(test, &idler_class), 's');
	(void)gyre_probe_expect_none(probe, GYRE_SECONDS(60));
}

KIT_TEST(receive_timeout, ends_with_a_restart)
{
	tell(test, spawn(test, &idler_class), 'f');
	(void)gyre_probe_expect_none(probe, GYRE_SECONDS(60));
}

KIT_TEST(receive_timeout, of_an_actor_that_takes_no_events_for_a_while_waits_but_once)
{
	static struct gyre_class class;
	struct gyre_counters counters;

	class = idler_class;
	class.restart_delay_ns = 8 * TIMEOUT_NS;
	tell(test, spawn(test, &class), 'f');
	(void)gyre_probe_expect_none(probe, 10 * TIMEOUT_NS);
	cr_assert_eq(gyre_system_counters(gyre_test_system(test), &counters), 0);
	cr_assert_eq(counters.restarted, 1);
	cr_assert_eq(counters.dropped[GYRE_DROP_CANCELLED], 1);
}

static int refuse_zero(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	cr_expect_eq(gyre_receive_timeout_start(stack, 0), -EINVAL);
	cr_expect_eq(gyre_receive_timeout_stop(stack), -ENOENT);
	return gyre_receive_timeout_start(stack, GYRE_FOREVER);
}

KIT_TEST(receive_timeout, of_no_time_is_refused_and_one_without_end_is_not)
{
	cr_assert_eq(gyre_probe_do(gyre_probe_create(test), refuse_zero, NULL), 0);
}

/* ---- started in the middle of a run ---- */

static uint32_t heard;

/* The first message starts the time-out, and those behind take time. */
static int start_or_take_time(struct gyre_stack *stack)
{
	if (heard++ == 0) {
		return gyre_receive_timeout_start(stack, TIMEOUT_NS);
	}
	gyre_test_advance(tested, TIMEOUT_NS / 4);
	last_ns = gyre_now(stack);
	return gyre_return(stack);
}

static int answer_too(struct gyre_stack *stack)
{
	cr_assert_eq(start_or_take_time(stack), 0);
	return gyre_reply(stack, gyre_new(stack, word, 0));
}

static const struct gyre_class late_class = {
	.name = "late",
	.behaviour = { .notice = start_or_take_time, .ask = answer_too, .event = be_idle },
};

static struct gyre_address late;

static int tell_late(struct gyre_stack *stack)
{
	return gyre_notify(stack, late, gyre_new(stack, word, 'x'));
}

/* Both wait for the receiver before it runs. */
static int send_two_notices(struct gyre_stack *stack)
{
	cr_assert_eq(tell_late(stack), 0);
	return tell_late(stack);
}

static int send_ask_and_notice(struct gyre_stack *stack)
{
	if (gyre_stack_state(stack) != 0) {
		return gyre_return(stack);
	}
	cr_assert_eq(gyre_ask(stack, late, gyre_new(stack, word, 0), 0,
			      (struct gyre_future *)gyre_frame(stack)),
		     0);
	cr_assert_eq(tell_late(stack), 0);
	return gyre_suspend(stack, 1);
}

static const struct gyre_class two_notices_class = {
	.name = "two notices",
	.mount = send_two_notices,
};
static const struct gyre_class ask_and_notice_class = {
	.name = "ask and notice",
	.frame_bytes = sizeof(struct gyre_future),
	.mount = send_ask_and_notice,
};

static void expect_idle_since_run(struct gyre_test *test, const struct gyre_class *sender)
{
	late = spawn(test, &late_class);
	(void)gyre_test_spawn(test, sender, GYRE_NO_ARGUMENT);
	(void)gyre_probe_expect_none(probe, TIMEOUT_NS / 4 + TIMEOUT_NS - LATE_NS);
	cr_assert_eq(heard, 2);
	expect_idle(2 * LATE_NS);
}

KIT_TEST(receive_timeout, counts_from_the_last_notice_of_the_run_that_starts_it)
{
	expect_idle_since_run(test, &two_notices_class);
}

KIT_TEST(receive_timeout, counts_from_the_last_lane_of_the_run_that_starts_it)
{
	expect_idle_since_run(test, &ask_and_notice_class);
}

static int begin_with_event(struct gyre_stack *stack)
{
	const struct gyre_timer_options once = { .delay_ns = TIMEOUT_NS / 2 };

	cr_assert_eq(gyre_timer_start(stack, 1, &once), 0);
	return begin(stack);
}

static const struct gyre_class prompt_class = { .name = "prompt",
						.mount = begin_with_event,
						.behaviour.event = be_idle };

KIT_TEST(receive_timeout, of_a_mount_does_not_count_the_first_run_with_nothing_but_an_event)
{
	(void)spawn(test, &prompt_class);
	(void)gyre_probe_expect_none(probe, TIMEOUT_NS - LATE_NS);
	expect_idle(2 * LATE_NS);
}
