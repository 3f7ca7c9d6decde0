/*
 * One pass over a mailbox: the order of its lanes, the snapshot, the budget, and which of two ready
 * actors goes first. All on one loop, where what is queued when is certain.
 */
#include <string.h>

#include <gyre/timer.h>

#include "actor/script_kit.h"

struct frame {
	struct gyre_future future;
	struct gyre_future other;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static struct gyre_address target;

static int ask(struct gyre_stack *stack, struct gyre_address to, char what,
	       struct gyre_future *ret_future)
{
	return gyre_ask(stack, to, gyre_new(stack, number, (uint64_t)what), 0, ret_future);
}

/* Notices and asks leave their marks. */
static int note(struct gyre_stack *stack)
{
	mark((char)gyre_message(stack, number)->value);
	return gyre_return(stack);
}

static const struct gyre_class noting_class = {
	.name = "noting",
	.behaviour = { .notice = note, .ask = note },
};

/* ---- all five lanes ---- */

enum { BUSY_ACTORS = 20 };

static const struct gyre_class deaf_class = { .name = "deaf" };

static int ignore(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static const struct gyre_class sink_class = { .name = "sink", .behaviour.notice = ignore };

static struct gyre_address busy[BUSY_ACTORS];
static struct gyre_address answering;
static struct gyre_address deaf;

static struct gyre_test *tested;

/*
 * Leaves mail in every lane of the actor before its next pass. Those it asked are queued before
 * itself, and phase 3 ends after the sixteenth of the others, so that its timer fires first too.
 */
static int fill_lanes(struct gyre_stack *stack)
{
	const struct gyre_timer_options at_once = { 0 };

	for (uint32_t i = 0; i < BUSY_ACTORS; i++) {
		script_tell(stack, busy[i], 'x');
	}
	cr_assert(gyre_timer_start(stack, 1, &at_once) == 0);
	script_tell(stack, gyre_self(stack), 'n');
	cr_assert(ask(stack, gyre_self(stack), 'a', &frame_of(stack)->future) == 0);
	gyre_test_advance(tested, GYRE_MILLISECONDS(20));
	return gyre_suspend(stack, 1);
}

static int wait_for(struct gyre_stack *stack, struct gyre_address to, char what)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask(stack, to, 'q', &frame_of(stack)->future));
	mark(what);
	GYRE_END(stack);
}

static int take_notice(struct gyre_stack *stack)
{
	switch ((char)gyre_message(stack, number)->value) {
	case 'r':
		return wait_for(stack, answering, 'r');
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
	mark('e');
	return gyre_return(stack);
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
		busy[i] = script_spawn(stack, &sink_class);
	}
	answering = script_spawn(stack, &script_answering_class);
	deaf = script_spawn(stack, &deaf_class);
	target = script_spawn(stack, &laned_class);
	/* All are mounted when this goes on. */
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame_of(stack)->future));
	script_tell(stack, target, 'x');
	script_tell(stack, target, 'r');
	script_tell(stack, target, 'f');
	GYRE_END(stack);
}

KIT_TEST(dispatch, takes_replies_then_exceptions_asks_notices_and_events)
{
	tested = test;
	script_play(test, fill);
	expect_marks("rxane");
	(void)gyre_test_expect_dead_letter(test, number, GYRE_DROP_UNHANDLED, 0); /* to the deaf */
}

/* ---- order within a kind ---- */

static int mix(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	if (gyre_stack_state(stack) != 0) {
		return gyre_return(stack);
	}
	target = script_spawn(stack, &noting_class);
	script_tell(stack, target, '1');
	cr_assert(ask(stack, target, 'a', &frame->future) == 0);
	script_tell(stack, target, '2');
	cr_assert(ask(stack, target, 'b', &frame->other) == 0);
	script_tell(stack, target, '3');
	return gyre_suspend(stack, 1);
}

KIT_TEST(dispatch, lets_asks_overtake_notices_and_keeps_the_order_of_each_kind)
{
	script_play(test, mix);
	expect_marks("ab123");
}

/* ---- the snapshot ---- */

static int echo_inside(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	mark(what);
	if (what == 'a' && gyre_stack_state(stack) == 0) {
		script_tell(stack, gyre_self(stack), '2');
		cr_assert(ask(stack, gyre_self(stack), 'b', &frame_of(stack)->future) == 0);
		return gyre_suspend(stack, 1);
	}
	return gyre_return(stack);
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
	target = script_spawn(stack, &echo_class);
	script_tell(stack, target, '1');
	cr_assert(ask(stack, target, 'a', &frame_of(stack)->future) == 0);
	return gyre_suspend(stack, 1);
}

KIT_TEST(dispatch, leaves_what_arrives_during_a_pass_to_the_next_one)
{
	script_play(test, send_two);
	/* In the second pass the ask made in the first is run, then the notice; the third resumes.
	 */
	cr_assert_eq(strncmp(marked(), "a1b2", 4), 0, "%s", marked());
}

/* ---- the budget ---- */

static int budgeted(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	if (what == 'A') {
		script_tell(stack, gyre_self(stack), 'z');
		what = 'a';
	}
	mark(what);
	return gyre_return(stack);
}

static const struct gyre_class budgeted_class = { .name = "budgeted",
						  .behaviour.notice = budgeted };

static int send_ten_each(struct gyre_stack *stack)
{
	struct gyre_address other = script_spawn(stack, &budgeted_class);

	target = script_spawn(stack, &budgeted_class);
	for (uint32_t i = 0; i < 10; i++) {
		script_tell(stack, target, i == 0 ? 'A' : 'a');
		script_tell(stack, other, i == 9 ? '.' : 'b');
	}
	return gyre_return(stack);
}

static const struct gyre_system_options four_a_run = { .run_budget = 4 };

KIT_TEST_WITH(dispatch, hands_over_to_the_next_actor_when_the_run_budget_is_used, &four_a_run)
{
	script_play(test, send_ten_each);
	expect_marks("bbbbaaaabbbbaaaab.aaz");
}

static uint32_t counted;

static int count(struct gyre_stack *stack)
{
	counted++;
	return gyre_return(stack);
}

static const struct gyre_class counting_class = { .name = "counting", .behaviour.notice = count };

static int send_many(struct gyre_stack *stack)
{
	target = script_spawn(stack, &counting_class);
	for (uint32_t i = 0; i < 1000; i++) {
		script_tell(stack, target, i);
	}
	return gyre_return(stack);
}

static const struct gyre_system_options one_a_run = { .run_budget = 1 };

KIT_TEST_WITH(dispatch, of_a_budget_of_one_still_handles_everything, &one_a_run)
{
	script_play(test, send_many);
	cr_assert_eq(counted, 1000);
}

/* ---- priority ---- */

static int note_after_asking(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	if (gyre_message(stack, number)->value != 'w') {
		return note(stack);
	}
	GYRE_AWAIT(stack, ask(stack, script_spawn(stack, &script_mute_class), 'q',
			      &frame_of(stack)->future));
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
	waiting = script_spawn(stack, &waiting_class);
	target = script_spawn(stack, &noting_class);
	script_tell(stack, waiting, 'w');
	script_tell(stack, target, '0'); /* what an actor is worth is looked at after each run */
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame_of(stack)->future));
	script_tell(stack, waiting, '1');
	script_tell(stack, target, '2');
	GYRE_END(stack);
}

KIT_TEST(dispatch, prefers_an_actor_that_waits_for_no_answer_to_one_that_does)
{
	script_play(test, prefer);
	expect_marks("021");
}

/* ---- a flood of one kind ---- */

enum { FLOOD_NOTICES = 3, FLOOD_TIMER = 7 };

static uint32_t flood_asked;
static uint32_t flood_noticed;
static bool flood_over;

static int flooded_ask(struct gyre_stack *stack)
{
	flood_asked++;
	return gyre_reply(stack, gyre_new(stack, number, 0));
}

static int flooded_notice(struct gyre_stack *stack)
{
	flood_noticed++;
	return gyre_return(stack);
}

/* Reached only if neither asks nor notices shut the event out. */
static int flooded_event(struct gyre_stack *stack)
{
	cr_assert_eq(flood_noticed, FLOOD_NOTICES);
	flood_over = true;
	return gyre_return(stack);
}

static int flooded_mount(struct gyre_stack *stack)
{
	const struct gyre_timer_options options = { .delay_ns = 0 };

	for (uint32_t i = 0; i < FLOOD_NOTICES; i++) {
		cr_assert(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, i)) == 0);
	}
	cr_assert(gyre_timer_start(stack, FLOOD_TIMER, &options) == 0);
	return gyre_return(stack);
}

static const struct gyre_class flooded_class = {
	.name = "flooded",
	.mount = flooded_mount,
	.behaviour = { .notice = flooded_notice, .ask = flooded_ask, .event = flooded_event },
};

struct place {
	struct gyre_address address;
};
GYRE_MESSAGE(place, 0x1002);

struct flood_frame {
	struct gyre_future futures[8];
};

/* Keeps eight asks outstanding, twice what a run may handle, until the event has come. */
static int flood(struct gyre_stack *stack)
{
	struct flood_frame *frame = (struct flood_frame *)gyre_frame(stack);
	struct gyre_address to = *(struct gyre_address *)gyre_state(stack);

	if (flood_over) {
		return gyre_return(stack);
	}
	for (uint32_t i = 0; i < 8; i++) {
		if (gyre_stack_state(stack) == 0 || gyre_future_error(&frame->futures[i]) == 0) {
			cr_assert(gyre_ask(stack, to, gyre_new(stack, number, i), 0,
					   &frame->futures[i]) == 0);
		}
	}
	return gyre_suspend(stack, gyre_stack_state(stack) == 1 ? 2 : 1);
}

static int flood_mount(struct gyre_stack *stack)
{
	*(struct gyre_address *)gyre_state(stack) = gyre_message(stack, place)->address;
	return flood(stack);
}

static const struct gyre_class flood_class = {
	.name = "flood",
	.state_bytes = sizeof(struct gyre_address),
	.frame_bytes = sizeof(struct flood_frame),
	.mount = flood_mount,
};

static int start_floods(struct gyre_stack *stack)
{
	struct gyre_address flooded = script_spawn(stack, &flooded_class);

	for (uint32_t i = 0; i < 4; i++) {
		struct gyre_address address;

		cr_assert(gyre_spawn(stack, &flood_class, gyre_new(stack, place, flooded), NULL,
				     &address) == 0);
	}
	return gyre_return(stack);
}

KIT_TEST_WITH(dispatch, lets_no_flood_of_one_kind_shut_out_those_behind_it, &four_a_run)
{
	script_play(test, start_floods);
	cr_assert(flood_over);
}
