/*
 * Suspending: until all promises have completed, until any has, in straight lines and in loops; and
 * what becomes of promises whose stack ends first.
 */
#include "fixture.h"

enum { MANY = 5000 };

struct frame {
	struct gyre_future future;
	struct gyre_future others[4];
	struct gyre_address to;
	uint64_t sum;
	uint32_t i;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int ask_number(struct gyre_stack *stack, struct gyre_address to, uint64_t value)
{
	return gyre_ask(stack, to, gyre_new(stack, number, value), 0, &frame_of(stack)->future);
}

/* ---- all and any ---- */

static int wait_for_all(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	if (gyre_stack_state(stack) == 0) {
		frame->to = spawn_on(stack, &adder_class, 1);
		for (uint64_t i = 0; i < 3; i++) {
			expect(gyre_ask(stack, frame->to, gyre_new(stack, number, i), 0,
					&frame->others[i]) == 0);
		}
		expect(gyre_sleep(stack, GYRE_MILLISECONDS(3), &frame->others[3]) == 0);
		return gyre_suspend(stack, 9);
	}
	trace('w');
	expect(gyre_stack_state(stack) == 9);
	for (uint64_t i = 0; i < 3; i++) {
		expect(gyre_future_get(&frame->others[i], number)->value == i + 1);
	}
	expect(gyre_future_error(&frame->others[3]) == 0);
	expect(gyre_future_get(&frame->others[3], number) == NULL);
	return fixture_end(stack);
}

Test(suspend, resumes_once_when_no_promise_is_outstanding)
{
	play(2, wait_for_all);
	cr_assert_str_eq(traced, "w");
}

static int wait_for_any(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	if (gyre_stack_state(stack) == 0) {
		for (uint32_t i = 0; i < 4; i++) {
			expect(gyre_sleep(stack, GYRE_MILLISECONDS(3 * (4 - i)),
					  &frame->others[i]) == 0);
		}
		return gyre_suspend_any(stack, 1);
	}
	frame->i++;
	/* The state stays the same, so that what has completed may still be read. */
	for (uint32_t i = 0; i < 4; i++) {
		expect(gyre_future_error(&frame->others[i]) ==
		       (i < 4 - frame->i ? -EINPROGRESS : 0));
	}
	return frame->i == 4 ? fixture_end(stack) : gyre_suspend_any(stack, 1);
}

Test(suspend, for_any_resumes_at_each_completion)
{
	play_steady(wait_for_any);
}

static int any_then_all(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	switch (gyre_stack_state(stack)) {
	case 0:
		expect(gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->others[0]) == 0);
		expect(gyre_sleep(stack, GYRE_MILLISECONDS(30), &frame->others[1]) == 0);
		expect(gyre_sleep(stack, GYRE_MILLISECONDS(40), &frame->others[2]) == 0);
		return gyre_suspend_any(stack, 1);
	case 1:
		trace('1');
		expect(gyre_future_error(&frame->others[0]) == 0);
		return gyre_suspend(stack, 2);
	default:
		trace('2');
		expect(gyre_future_error(&frame->others[0]) == -ESTALE);
		expect(gyre_future_error(&frame->others[1]) == 0);
		expect(gyre_future_error(&frame->others[2]) == 0);
		return fixture_end(stack);
	}
}

Test(suspend, may_turn_from_any_to_all_and_a_change_of_state_recycles_what_was_complete)
{
	play_steady(any_then_all);
	cr_assert_str_eq(traced, "12");
}

/* ---- mistakes ---- */

static int suspend_for_nothing(struct gyre_stack *stack)
{
	expect(gyre_suspend(stack, 1) == -EDEADLK);
	expect(gyre_suspend_any(stack, 1) == -EDEADLK);
	return gyre_suspend(stack, 1);
}

static const struct gyre_class hopeless_class = { .name = "hopeless",
						  .behaviour.ask = suspend_for_nothing };

static int ask_hopeless(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask_number(stack, spawn_here(stack, &hopeless_class), 1));
	expect(gyre_future_error(&frame->future) == -EDEADLK);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(suspend, with_no_promise_outstanding_fails_the_message)
{
	play(1, ask_hopeless);
	cr_assert_eq(fixture.counters.failed, 1);
}

static int suspend_in_state_0(struct gyre_stack *stack)
{
	expect(gyre_sleep(stack, 0, &frame_of(stack)->future) == 0);
	expect(gyre_suspend(stack, 0) == -EINVAL);
	return fixture_end(stack);
}

Test(suspend, in_state_0_is_refused)
{
	play(1, suspend_in_state_0);
}

static int suspend_and_throw(struct gyre_stack *stack)
{
	expect(gyre_stack_state(stack) == 0);
	expect(gyre_sleep(stack, 0, &frame_of(stack)->future) == 0);
	(void)gyre_suspend(stack, 1);
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class undecided_class = {
	.name = "undecided",
	.frame_bytes = sizeof(struct frame),
	.behaviour.ask = suspend_and_throw,
};

static int ask_undecided(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask_number(stack, spawn_here(stack, &undecided_class), 1));
	expect(gyre_future_error(&frame->future) == -EIO);
	/* Longer than what the other one did not wait for. */
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(3), &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(suspend, does_not_count_when_the_handler_returns_something_else)
{
	play(1, ask_undecided);
}

/* ---- straight on ---- */

static int add_up(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &adder_class, 1);
	for (frame->i = 0; frame->i < 100; frame->i++) {
		GYRE_AWAIT(stack, ask_number(stack, frame->to, frame->i));
		frame->sum += gyre_future_get(&frame->future, number)->value;
	}
	expect(frame->sum == 5050);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, NULL, 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -ENOMEM);
	trace('t');
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(suspend, by_await_works_in_a_loop_and_goes_on_at_once_where_nothing_could_be_asked)
{
	play(2, add_up);
	cr_assert_str_eq(traced, "t");
	cr_assert_eq(fixture.counters.sent, 200);
}

static struct gyre_future first_future;

static int outlive(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &adder_class);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	first_future = frame->future;
	expect(gyre_future_get(&first_future, number)->value == 2);
	for (frame->i = 0; frame->i < 100; frame->i++) {
		GYRE_AWAIT(stack, ask_number(stack, frame->to, 10));
		expect(gyre_future_error(&first_future) == -ESTALE);
		expect(gyre_future_get(&first_future, number) == NULL);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(suspend, by_await_makes_the_futures_of_before_stale)
{
	play(1, outlive);
}

enum { KEPT = 16 };

static struct gyre_future kept[KEPT];

static void look_at_kept(void)
{
	for (uint32_t i = 0; i < KEPT; i++) {
		expect(gyre_future_error(&kept[i]) == -ESTALE);
	}
}

/*
 * Uses each promise's memory again, in an actor whose own count of promises is the same as the
 * first's was. The message tells which actor this is, and how many promises it makes beforehand. */
static int ask_in_turn(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	uint64_t number = gyre_message(stack, number)->value;

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &adder_class);
	for (uint64_t i = 0; i < number; i++) {
		expect(gyre_sleep(stack, 0, &frame->others[i]) == 0);
	}
	for (frame->i = 0; frame->i < KEPT; frame->i++) {
		GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
		if (gyre_message(stack, number)->value == 0) {
			kept[frame->i] = frame->future;
		} else {
			look_at_kept();
		}
	}
	return gyre_reply(stack, gyre_new(stack, number, 0));
	GYRE_END(stack);
}

static const struct gyre_class turn_class = {
	.name = "turn",
	.frame_bytes = sizeof(struct frame),
	.behaviour.ask = ask_in_turn,
};

static int compare_futures(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	for (frame->i = 0; frame->i < 4; frame->i++) {
		GYRE_AWAIT(stack, ask_number(stack, spawn_here(stack, &turn_class), frame->i));
		expect(gyre_future_error(&frame->future) == 0);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(suspend, leaves_a_stale_future_stale_when_another_actor_makes_as_many_promises)
{
	play(1, compare_futures);
}

/* ---- many at once ---- */

static struct gyre_address answerer;
static uint32_t resumed;

static int wait_one_of_many(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	uint64_t value = gyre_message(stack, number)->value;

	GYRE_BEGIN(stack);
	expect(frame->sum == 0 && frame->i == 0);
	frame->sum = value;
	frame->i = 1;
	GYRE_AWAIT(stack, ask_number(stack, answerer, value));
	expect(frame->sum == value);
	expect(gyre_future_get(&frame->future, number)->value == value + 1);
	if (++resumed == MANY) {
		return fixture_end(stack);
	}
	GYRE_END(stack);
}

static const struct gyre_class many_class = {
	.name = "many",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = wait_one_of_many,
};

static int suspend_many(struct gyre_stack *stack)
{
	struct gyre_address many = spawn_here(stack, &many_class);

	answerer = spawn_on(stack, &adder_class, 1);
	for (uint64_t i = 0; i < MANY; i++) {
		expect(gyre_notify(stack, many, gyre_new(stack, number, i)) == 0);
	}
	return gyre_return(stack);
}

Test(suspend, keeps_thousands_of_stacks_of_one_actor_apart_each_with_a_frame_zeroed_at_first)
{
	play(2, suspend_many);
	cr_assert_eq(resumed, MANY);
	cr_assert_eq(fixture.counters.sent, 3 * MANY);
}

/* ---- the end of a stack ---- */

static int leave_early(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	/* The adder's answer finds nobody, the sleep must not fire, and the mute one is never
	 * heard. */
	expect(ask_number(stack, answerer, 1) == 0);
	expect(gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->others[0]) == 0);
	return gyre_return(stack);
}

static const struct gyre_class leaving_class = {
	.name = "leaving",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = leave_early,
};

static int watch_leaving(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	answerer = spawn_here(stack, &adder_class);
	expect(gyre_notify(stack, spawn_here(stack, &leaving_class), gyre_new(stack, number, 1)) ==
	       0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(5), &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(suspend, is_not_needed_to_end_and_the_end_of_a_stack_cancels_its_promises)
{
	play_steady(watch_leaving);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
	/* The notice, the ask, its answer, and the script's own sleep: no sleep of the other. */
	cr_assert_eq(fixture.counters.sent, 4);
}
