/*
 * One pass over a mailbox: the order of its lanes, the snapshot, the budget, and which of two ready
 * actors goes first. All on one loop, where what is queued when is certain.
 */
#include "fixture.h"

#include <string.h>

struct frame {
	struct gyre_future future;
	struct gyre_future other;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static struct gyre_address target;

static void tell(struct gyre_stack *stack, struct gyre_address to, char what)
{
	expect(gyre_notify(stack, to, gyre_new(stack, number, (uint64_t)what)) == 0);
}

static int ask(struct gyre_stack *stack, struct gyre_address to, char what,
	       struct gyre_future *ret_future)
{
	return gyre_ask(stack, to, gyre_new(stack, number, (uint64_t)what), 0, ret_future);
}

/* Notices and asks leave their character in the trace; a full stop ends the test. */
static int note(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	if (what == '.') {
		return fixture_end(stack);
	}
	trace(what);
	return gyre_return(stack);
}

static const struct gyre_class noting_class = {
	.name = "noting",
	.behaviour = { .notice = note, .ask = note },
};

/* ---- all five lanes ---- */

enum { BUSY_ACTORS = 20 };

static const struct gyre_class deaf_class = { .name = "deaf" };

static struct gyre_address busy[BUSY_ACTORS];
static struct gyre_address adder;
static struct gyre_address deaf;

static void be_busy(struct gyre_stack *stack)
{
	uint64_t end_ns = gyre_now(stack) + GYRE_MILLISECONDS(20);

	while (gyre_now(stack) < end_ns) {
	}
}

/*
 * Leaves mail in every lane of the actor before its next pass. Those it asked are queued before
 * itself, and phase 3 ends after the sixteenth of the others, so that its timer fires first too.
 */
static int fill_lanes(struct gyre_stack *stack)
{
	const struct gyre_timer_options at_once = { 0 };

	for (uint32_t i = 0; i < BUSY_ACTORS; i++) {
		tell(stack, busy[i], 'x');
	}
	expect(gyre_timer_start(stack, 1, &at_once) == 0);
	tell(stack, gyre_self(stack), 'n');
	expect(ask(stack, gyre_self(stack), 'a', &frame_of(stack)->future) == 0);
	be_busy(stack);
	return gyre_suspend(stack, 1);
}

static int wait_for(struct gyre_stack *stack, struct gyre_address to, char what)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask(stack, to, 'q', &frame_of(stack)->future));
	trace(what);
	GYRE_END(stack);
}

static int take_notice(struct gyre_stack *stack)
{
	switch ((char)gyre_message(stack, number)->value) {
	case 'r':
		return wait_for(stack, adder, 'r');
	case 'x':
		return wait_for(stack, deaf, 'x');
	case 'f':
		return gyre_stack_state(stack) == 0 ? fill_lanes(stack) : gyre_return(stack);
	default:
		return note(stack);
	}
}

static int take_event(struct gyre_stack *stack)
{
	trace('e');
	return fixture_end(stack);
}

static const struct gyre_class laned_class = {
	.name = "laned",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = take_notice, .ask = note, .event = take_event },
};

static int fill(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < BUSY_ACTORS; i++) {
		busy[i] = spawn_here(stack, &sink_class);
	}
	adder = spawn_here(stack, &adder_class);
	deaf = spawn_here(stack, &deaf_class);
	target = spawn_here(stack, &laned_class);
	/* All are mounted when this goes on. */
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame_of(stack)->future));
	tell(stack, target, 'x');
	tell(stack, target, 'r');
	tell(stack, target, 'f');
	GYRE_END(stack);
}

Test(dispatch, takes_replies_then_exceptions_asks_notices_and_events)
{
	play(1, fill);
	cr_assert_str_eq(traced, "rxane");
}

/* ---- order within a kind ---- */

static int mix(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	if (gyre_stack_state(stack) != 0) {
		return gyre_return(stack);
	}
	target = spawn_here(stack, &noting_class);
	tell(stack, target, '1');
	expect(ask(stack, target, 'a', &frame->future) == 0);
	tell(stack, target, '2');
	expect(ask(stack, target, 'b', &frame->other) == 0);
	tell(stack, target, '3');
	tell(stack, target, '.');
	return gyre_suspend(stack, 1);
}

Test(dispatch, lets_asks_overtake_notices_and_keeps_the_order_of_each_kind)
{
	play(1, mix);
	cr_assert_str_eq(traced, "ab123");
}

/* ---- the snapshot ---- */

static int echo_inside(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	trace(what);
	if (what == 'a' && gyre_stack_state(stack) == 0) {
		tell(stack, gyre_self(stack), '2');
		expect(ask(stack, gyre_self(stack), 'b', &frame_of(stack)->future) == 0);
		return gyre_suspend(stack, 1);
	}
	return what == '2' ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class echo_class = {
	.name = "echo",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = echo_inside, .ask = echo_inside },
};

static int send_two(struct gyre_stack *stack)
{
	if (gyre_stack_state(stack) != 0) {
		return gyre_return(stack);
	}
	target = spawn_here(stack, &echo_class);
	tell(stack, target, '1');
	expect(ask(stack, target, 'a', &frame_of(stack)->future) == 0);
	return gyre_suspend(stack, 1);
}

Test(dispatch, leaves_what_arrives_during_a_pass_to_the_next_one)
{
	play(1, send_two);
	/* In the second pass the ask made in the first is run, then the notice; the third resumes.
	 */
	cr_assert_eq(strncmp(traced, "a1b2", 4), 0, "%s", traced);
}

/* ---- the budget ---- */

static int budgeted(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	if (what == 'A') {
		tell(stack, gyre_self(stack), 'z');
		what = 'a';
	}
	trace(what);
	return what == '.' ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class budgeted_class = { .name = "budgeted",
						  .behaviour.notice = budgeted };

static int send_ten_each(struct gyre_stack *stack)
{
	struct gyre_address other = spawn_here(stack, &budgeted_class);

	target = spawn_here(stack, &budgeted_class);
	for (uint32_t i = 0; i < 10; i++) {
		tell(stack, target, i == 0 ? 'A' : 'a');
		tell(stack, other, i == 9 ? '.' : 'b');
	}
	return gyre_return(stack);
}

Test(dispatch, hands_over_to_the_next_actor_when_the_run_budget_is_used)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = 4 };

	play_with(&options, send_ten_each);
	cr_assert_str_eq(traced, "bbbbaaaabbbbaaaab.aaz");
}

static int send_many_events(struct gyre_stack *stack)
{
	target = spawn_here(stack, &noting_class);
	for (uint32_t i = 0; i < 1000; i++) {
		tell(stack, target, 'm');
	}
	tell(stack, target, '.');
	return gyre_return(stack);
}

Test(dispatch, of_a_budget_of_one_still_handles_everything)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = 1 };

	play_with(&options, send_many_events);
	cr_assert_eq(strlen(traced), 1000);
}

/* ---- priority ---- */

static int note_after_asking(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	if (gyre_message(stack, number)->value != 'w') {
		return note(stack);
	}
	GYRE_AWAIT(stack,
		   ask(stack, spawn_here(stack, &mute_class), 'q', &frame_of(stack)->future));
	GYRE_END(stack);
}

static const struct gyre_class waiting_class = {
	.name = "waiting",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = note_after_asking,
};

static int prefer(struct gyre_stack *stack)
{
	static struct gyre_address waiting;

	GYRE_BEGIN(stack);
	waiting = spawn_here(stack, &waiting_class);
	target = spawn_here(stack, &noting_class);
	tell(stack, waiting, 'w');
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame_of(stack)->future));
	tell(stack, waiting, '1');
	tell(stack, target, '2');
	tell(stack, waiting, '.');
	GYRE_END(stack);
}

Test(dispatch, prefers_an_actor_that_waits_for_no_answer_to_one_that_does)
{
	play(1, prefer);
	cr_assert_str_eq(traced, "21");
}
