/*
 * Sleeping: never too short, side by side, and without end.
 */
#include "actor/script_kit.h"

struct frame {
	struct gyre_future future;
	struct gyre_future others[4];
	uint64_t from_ns;
	uint64_t delay_ns;
	uint64_t sent;
	uint32_t i;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* ---- how long ---- */

static int sleep_and_look(struct gyre_stack *stack)
{
	static const uint64_t delays_ns[] = { 0,       1,	999999,	  1000000, 1000001,
					      3500000, 7000000, 20000000, 65000000 };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->sent = script_messages_sent(stack);
	for (frame->i = 0; frame->i < sizeof(delays_ns) / sizeof(delays_ns[0]); frame->i++) {
		frame->delay_ns = delays_ns[frame->i];
		frame->from_ns = gyre_now(stack);
		GYRE_AWAIT(stack, gyre_sleep(stack, frame->delay_ns, &frame->future));
		cr_assert_eq(gyre_future_error(&frame->future), 0);
		cr_assert_geq(gyre_now(stack) - frame->from_ns, frame->delay_ns);
	}
	cr_assert_eq(script_messages_sent(stack) - frame->sent, 9);
	mark('.');
	GYRE_END(stack);
}

KIT_TEST(sleep, is_never_shorter_than_asked_for)
{
	script_play(test, sleep_and_look);
	expect_marks(".");
}

static const struct gyre_system_options coarse = { .timer_tick_ns = 7000000 };

KIT_TEST_WITH(sleep, is_never_shorter_than_asked_for_with_a_coarse_tick, &coarse)
{
	script_play(test, sleep_and_look);
	expect_marks(".");
}

static struct gyre_test *tested;

static int sleep_after_work(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	/* The loop's idea of the time is old then: the sleep must not count from there. */
	gyre_test_advance(tested, GYRE_MILLISECONDS(15));
	frame->from_ns = gyre_now(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), &frame->future));
	cr_assert_geq(gyre_now(stack) - frame->from_ns, GYRE_MILLISECONDS(10));
	mark('.');
	GYRE_END(stack);
}

KIT_TEST(sleep, counts_from_the_call_also_when_the_loop_read_its_clock_long_before)
{
	tested = test;
	script_play(test, sleep_after_work);
	expect_marks(".");
}

/* ---- side by side ---- */

static int sleep_by_number(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	uint64_t number = gyre_message(stack, number)->value;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(5 * number), &frame->future));
	mark((char)('0' + number));
	GYRE_END(stack);
}

static const struct gyre_class sleeper_class = {
	.name = "sleeper",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = sleep_by_number,
};

static int start_sleepers(struct gyre_stack *stack)
{
	static const uint64_t order[] = { 4, 2, 5, 1, 3 };
	struct gyre_address to = script_spawn(stack, &sleeper_class);

	for (uint32_t i = 0; i < 5; i++) {
		script_tell(stack, to, order[i]);
	}
	return gyre_return(stack);
}

KIT_TEST(sleep, ends_in_the_order_of_its_lengths)
{
	script_play(test, start_sleepers);
	expect_marks("12345");
}

/* ---- without end ---- */

static int sleep_long(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	cr_assert_eq(gyre_sleep(stack, GYRE_FOREVER, &frame->others[0]), 0);
	cr_assert_eq(gyre_sleep(stack, GYRE_FOREVER - 1, &frame->others[1]), 0);
	cr_assert_eq(gyre_sleep(stack, GYRE_SECONDS(86400) * 36525, &frame->others[2]), 0);
	cr_assert_eq(gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->others[3]), 0);
	return gyre_suspend_any(stack, 1);
case 1:
	cr_assert_eq(gyre_future_error(&frame->others[0]), -EINPROGRESS);
	cr_assert_eq(gyre_future_error(&frame->others[1]), -EINPROGRESS);
	cr_assert_eq(gyre_future_error(&frame->others[2]), -EINPROGRESS);
	cr_assert_eq(gyre_future_error(&frame->others[3]), 0);
	mark('.');
	GYRE_END(stack);
}

KIT_TEST(sleep, may_last_a_hundred_years_or_for_ever)
{
	script_play(test, sleep_long);
	expect_marks(".");
}
