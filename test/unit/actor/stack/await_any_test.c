/*
 * Waiting for one of some futures: until the first of them has ended, while the others go on.
 */
#include <errno.h>

#include "fixture.h"

enum { SOME = 4, ROUNDS = 100 };

struct frame {
	struct gyre_future futures[SOME];
	struct gyre_address to;
	uint32_t runs; /* of the handler */
	uint32_t round;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* Makes a sleep for each, of so many milliseconds. */
static void sleep_for(struct gyre_stack *stack, const uint64_t *delays_ms)
{
	for (uint32_t i = 0; i < SOME; i++) {
		expect(gyre_sleep(stack, GYRE_MILLISECONDS(delays_ms[i]),
				  &frame_of(stack)->futures[i]) == 0);
	}
}

static bool are(struct gyre_stack *stack, int a, int b, int c, int d)
{
	const struct gyre_future *futures = frame_of(stack)->futures;

	return gyre_future_error(&futures[0]) == a && gyre_future_error(&futures[1]) == b &&
	       gyre_future_error(&futures[2]) == c && gyre_future_error(&futures[3]) == d;
}

static int wait_for_first(struct gyre_stack *stack)
{
	static const uint64_t delays_ms[SOME] = { 30, 10, 20, 1 };
	struct frame *frame = frame_of(stack);

	frame->runs++;
	GYRE_BEGIN(stack);
	sleep_for(stack, delays_ms);
	GYRE_AWAIT_ANY(stack, &frame->futures[0], &frame->futures[1], &frame->futures[2]);
	expect(frame->runs == 2);
	expect(are(stack, -EINPROGRESS, 0, -EINPROGRESS, 0));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await_any, resumes_once_when_the_first_of_those_named_has_ended_whatever_else_does)
{
	play_steady(wait_for_first);
}

static int wait_for_each(struct gyre_stack *stack)
{
	static const uint64_t delays_ms[SOME] = { 30, 10, 20, 1000 };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	sleep_for(stack, delays_ms);
	GYRE_AWAIT_ANY(stack, &frame->futures[0], &frame->futures[1], &frame->futures[2]);
	expect(are(stack, -EINPROGRESS, 0, -EINPROGRESS, -EINPROGRESS));
	GYRE_AWAIT_ANY(stack, &frame->futures[0], &frame->futures[2]);
	expect(gyre_future_error(&frame->futures[1]) == -ESTALE);
	expect(gyre_future_error(&frame->futures[2]) == 0);
	GYRE_AWAIT_ALL(stack, &frame->futures[0], &frame->futures[2]);
	expect(gyre_future_error(&frame->futures[0]) == 0);
	expect(gyre_future_error(&frame->futures[2]) == 0);
	expect(gyre_future_error(&frame->futures[3]) == -EINPROGRESS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await_any, may_be_followed_by_any_and_by_all_of_the_rest)
{
	play_steady(wait_for_each);
}

static int any_then_all(struct gyre_stack *stack)
{
	static const uint64_t delays_ms[SOME] = { 10, 20, 30, 40 };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	sleep_for(stack, delays_ms);
	GYRE_AWAIT_ANY(stack, &frame->futures[0], &frame->futures[1], &frame->futures[2],
		       &frame->futures[3]);
	expect(are(stack, 0, -EINPROGRESS, -EINPROGRESS, -EINPROGRESS));
	/* The marks of the first wait must not count: 2 and 3 of them have to end. */
	GYRE_AWAIT_ALL(stack, &frame->futures[1], &frame->futures[2]);
	expect(are(stack, -ESTALE, 0, 0, -EINPROGRESS));
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame->futures[0]));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await_any, leaves_no_marks_that_another_wait_counts)
{
	play_steady(any_then_all);
}

static int do_not_wait(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	frame->runs++;
	GYRE_BEGIN(stack);
	expect(gyre_sleep(stack, GYRE_FOREVER, &frame->futures[0]) == 0);
	expect(gyre_ask(stack, GYRE_NOBODY, NULL, 0, &frame->futures[1]) == -ENOMEM);
	GYRE_AWAIT_ANY(stack, &frame->futures[0], &frame->futures[1]);
	expect(frame->runs == 1);
	expect(gyre_future_error(&frame->futures[1]) == -ENOMEM);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await_any, goes_on_at_once_if_one_has_ended)
{
	play(1, do_not_wait);
}

static int race(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &adder_class, 1);
	expect(gyre_sleep(stack, GYRE_FOREVER, &frame->futures[3]) == 0);
	for (; frame->round < ROUNDS; frame->round++) {
		for (uint32_t i = 0; i < 3; i++) {
			expect(gyre_ask(stack, frame->to, gyre_new(stack, number, frame->round + i),
					0, &frame->futures[i]) == 0);
		}
		GYRE_AWAIT_ANY(stack, &frame->futures[0], &frame->futures[1], &frame->futures[2]);
		expect(gyre_future_get(&frame->futures[0], number)->value == frame->round + 1);
		expect(gyre_cancel(stack, &frame->futures[1]) == 0 ||
		       gyre_future_error(&frame->futures[1]) == 0);
		expect(gyre_cancel(stack, &frame->futures[2]) == 0 ||
		       gyre_future_error(&frame->futures[2]) == 0);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await_any, with_a_cancel_of_the_others_works_in_a_loop)
{
	play(2, race);
}

static int misuse(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	const struct gyre_future *futures[] = { &frame->futures[0], NULL };

	expect(gyre_sleep(stack, 0, &frame->futures[0]) == 0);
	expect(gyre_await_any(stack, 0, futures, 1) == -EINVAL);
	expect(gyre_await_any(stack, 1, NULL, 1) == -EINVAL);
	expect(gyre_await_any(stack, 1, futures, 0) == -EINVAL);
	expect(gyre_await_any(stack, 1, futures, 2) == -EINVAL);
	expect(gyre_await_any(stack, 1, futures, GYRE_AWAIT_ALL_MAX + 1) == -EINVAL);
	return fixture_end(stack);
}

Test(await_any, of_nothing_or_in_state_0_is_refused)
{
	play(1, misuse);
}

static int await_nothing(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	frame->runs++;
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, 0);
	GYRE_AWAIT(stack, -ENOMEM);
	expect(gyre_sleep(stack, GYRE_FOREVER, &frame->futures[0]) == 0);
	GYRE_AWAIT(stack, gyre_cancel(stack, &frame->futures[0]));
	expect(gyre_future_error(&frame->futures[0]) == -ECANCELED);
	expect(frame->runs == 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(await_any, of_a_wait_with_nothing_outstanding_goes_on)
{
	play(1, await_nothing);
	cr_assert_eq(fixture.warnings, 0);
}
