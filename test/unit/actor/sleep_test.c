/*
 * Sleeping: never too short, side by side, and without end.
 */
#include "fixture.h"

struct frame {
	struct gyre_future future;
	struct gyre_future others[4];
	uint64_t from_ns;
	uint64_t delay_ns;
	uint32_t i;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int sleep_and_look(struct gyre_stack *stack)
{
	static const uint64_t delays_ns[] = { 0,       1,	999999,	  1000000, 1000001,
					      3500000, 7000000, 20000000, 65000000 };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	for (frame->i = 0; frame->i < sizeof(delays_ns) / sizeof(delays_ns[0]); frame->i++) {
		frame->delay_ns = delays_ns[frame->i];
		frame->from_ns = gyre_now(stack);
		GYRE_AWAIT(stack, gyre_sleep(stack, frame->delay_ns, &frame->future));
		expect(gyre_future_error(&frame->future) == 0);
		expect(gyre_now(stack) - frame->from_ns >= frame->delay_ns);
	}
	trace('.');
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(sleep, is_never_shorter_than_asked_for)
{
	play(1, sleep_and_look);
	cr_assert_str_eq(traced, ".");
	cr_assert_eq(fixture.counters.sent, 9);
}

Test(sleep, is_never_shorter_than_asked_for_with_a_coarse_tick)
{
	const struct gyre_system_options options = { .loops = 1, .timer_tick_ns = 7000000 };

	play_with(&options, sleep_and_look);
	cr_assert_str_eq(traced, ".");
}

static int sleep_after_work(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	/* The loop's idea of the time is old now: the sleep must not count from there. */
	frame->from_ns = gyre_now(stack);
	while (gyre_now(stack) - frame->from_ns < GYRE_MILLISECONDS(15)) {
	}
	frame->from_ns = gyre_now(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), &frame->future));
	expect(gyre_now(stack) - frame->from_ns >= GYRE_MILLISECONDS(10));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(sleep, counts_from_the_call_also_when_the_loop_read_its_clock_long_before)
{
	play(1, sleep_after_work);
}

static int sleeper(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	uint64_t number = gyre_message(stack, number)->value;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(5 * number), &frame->future));
	trace('0' + (char)number);
	if (number == 5) {
		return fixture_end(stack);
	}
	GYRE_END(stack);
}

static const struct gyre_class sleeper_class = {
	.name = "sleeper",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = sleeper,
};

static int start_sleepers(struct gyre_stack *stack)
{
	static const uint64_t order[] = { 4, 2, 5, 1, 3 };
	struct gyre_address to = spawn_here(stack, &sleeper_class);

	for (uint32_t i = 0; i < 5; i++) {
		expect(gyre_notify(stack, to, gyre_new(stack, number, order[i])) == 0);
	}
	return gyre_return(stack);
}

Test(sleep, ends_in_the_order_of_its_lengths)
{
	play_steady(start_sleepers);
	cr_assert_str_eq(traced, "12345");
}

static int sleep_long(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_sleep(stack, GYRE_FOREVER, &frame->others[0]) == 0);
	expect(gyre_sleep(stack, GYRE_FOREVER - 1, &frame->others[1]) == 0);
	expect(gyre_sleep(stack, GYRE_SECONDS(86400) * 36525, &frame->others[2]) == 0);
	expect(gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->others[3]) == 0);
	return gyre_suspend_any(stack, 1);
case 1:
	expect(gyre_future_error(&frame->others[0]) == -EINPROGRESS);
	expect(gyre_future_error(&frame->others[1]) == -EINPROGRESS);
	expect(gyre_future_error(&frame->others[2]) == -EINPROGRESS);
	expect(gyre_future_error(&frame->others[3]) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(sleep, may_last_a_hundred_years_or_for_ever)
{
	play_steady(sleep_long);
}
