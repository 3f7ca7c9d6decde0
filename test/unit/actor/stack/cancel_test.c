/*
 * Cancelling: one promise ends at once for its stack, and what comes of it later is dropped.
 */
#include <errno.h>

#include "fixture.h"

struct frame {
	struct gyre_future future;
	struct gyre_future other;
	struct gyre_address to;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int ask(struct gyre_stack *stack, struct gyre_future *ret_future)
{
	return gyre_ask(stack, frame_of(stack)->to, gyre_new(stack, number, 1), 0, ret_future);
}

static int cancel_ask(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &adder_class, gyre_system_loops(gyre_system_of(stack)) - 1);
	expect(ask(stack, &frame->future) == 0);
	expect(gyre_cancel(stack, &frame->future) == 0);
	expect(gyre_future_error(&frame->future) == -ECANCELED);
	expect(gyre_future_get(&frame->future, number) == NULL);
	expect(gyre_cancel(stack, &frame->future) == -EALREADY);
	GYRE_AWAIT(stack, ask(stack, &frame->other));
	expect(gyre_future_error(&frame->other) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(cancel, of_an_ask_shows_at_once_and_its_answer_is_late)
{
	play(1, cancel_ask);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
}

Test(cancel, of_an_ask_to_another_loop_shows_at_once_and_its_answer_is_late)
{
	play(2, cancel_ask);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
}

static int cancel_sleep(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future) == 0);
	expect(gyre_cancel(stack, &frame->future) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(5), &frame->other));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(cancel, of_a_sleep_leaves_nothing_behind)
{
	play_steady(cancel_sleep);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 0);
}

/* The sleep has fired in the same turn in which the other does: its mail is under way. */
static int cancel_what_is_due(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->other) == 0);
	expect(gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future) == 0);
	GYRE_AWAIT_ANY(stack, &frame->other, &frame->future);
	expect(gyre_cancel(stack, &frame->future) == 0 || gyre_cancel(stack, &frame->other) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(5), &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(cancel, of_what_has_ended_but_was_not_told_drops_it)
{
	play_steady(cancel_what_is_due);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
}

static int cancel_in_vain(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_cancel(stack, NULL) == -EINVAL);
	expect(gyre_ask(stack, GYRE_NOBODY, NULL, 0, &frame->future) == -ENOMEM);
	expect(gyre_cancel(stack, &frame->future) == -EALREADY);
	expect(gyre_future_error(&frame->future) == -ENOMEM);
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame->future));
	expect(gyre_cancel(stack, &frame->future) == -EALREADY);
	expect(gyre_future_error(&frame->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(cancel, of_what_has_ended_is_refused_and_changes_nothing)
{
	play(1, cancel_in_vain);
}

/* ---- futures in the state of an actor ---- */

struct shared {
	struct gyre_future future;
};

static int share_or_cancel(struct gyre_stack *stack)
{
	struct shared *shared = (struct shared *)gyre_state(stack);

	GYRE_BEGIN(stack);
	if (gyre_message(stack, number)->value == 1) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, &shared->future));
		return gyre_throw(stack, -EIO);
	}
	expect(gyre_cancel(stack, &shared->future) == -EINVAL);
	expect(gyre_future_error(&shared->future) == -EINPROGRESS);
	return fixture_end(stack);
	GYRE_END(stack);
}

static const struct gyre_class sharing_class = {
	.name = "sharing",
	.state_bytes = sizeof(struct shared),
	.behaviour.notice = share_or_cancel,
};

static int notify_twice(struct gyre_stack *stack)
{
	struct gyre_address to = spawn_here(stack, &sharing_class);

	expect(gyre_notify(stack, to, gyre_new(stack, number, 1)) == 0);
	expect(gyre_notify(stack, to, gyre_new(stack, number, 2)) == 0);
	return gyre_return(stack);
}

Test(cancel, of_what_another_stack_waits_for_is_refused)
{
	play(1, notify_twice);
}
