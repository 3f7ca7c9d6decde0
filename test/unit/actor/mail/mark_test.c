/*
 * The marks of a mailbox: an actor is told once when as much waits as the high one says, and once
 * when no more than the low one says is left.
 */
#include <gyre/counters.h>

#include "actor/script_kit.h"

struct frame {
	struct gyre_future future;
};

static struct gyre_address target;

/* Goes on when all that could run on this loop has run. */
static int turn(struct gyre_stack *stack)
{
	return gyre_sleep(stack, 0, &((struct frame *)gyre_frame(stack))->future);
}

/* A capital letter adds three of its small ones. */
static int note(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	mark(what);
	if (what >= 'A' && what <= 'Z') {
		const char more = (char)(what - 'A' + 'a');

		script_tell_all(stack, gyre_self(stack), (const char[]){ more, more, more, 0 });
	}
	return gyre_return(stack);
}

/* An H or an L, and how many it said were waiting. */
static int note_mark(struct gyre_stack *stack)
{
	const struct gyre_mailbox_mark *event = gyre_message(stack, gyre_mailbox_mark);

	cr_assert(event != NULL && gyre_address_is_nobody(gyre_sender(stack)));
	mark(event->high ? 'H' : 'L');
	mark((char)('0' + event->waiting));
	return gyre_return(stack);
}

static const struct gyre_class marked_class = {
	.name = "marked",
	.behaviour = { .notice = note, .ask = note, .event = note_mark },
	.mailbox_limit = 8,
	.mailbox_high = 6,
	.mailbox_low = 2,
};

/* ---- crossings ---- */

static const char *waves[3];
static uint32_t wave;

static int tell_waves(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	target = script_spawn(stack, &marked_class);
	while (wave < 3 && waves[wave] != NULL) {
		script_tell_all(stack, target, waves[wave++]);
		GYRE_AWAIT(stack, turn(stack));
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

KIT_TEST(mark, that_is_not_reached_is_not_told)
{
	waves[0] = "abcde";
	waves[1] = "abcde";
	script_play(test, tell_waves);
	expect_marks("abcdeabcde");
}

/* Marks are events: they come after the notices of their pass. */
KIT_TEST(mark, is_told_once_when_it_is_reached_and_once_when_the_low_one_is)
{
	waves[0] = "abcdefgh";
	script_play(test, tell_waves);
	expect_marks("abcdefghH6L2");
}

KIT_TEST(mark, is_told_at_every_crossing)
{
	waves[0] = "abcdef";
	waves[1] = "ghijklm";
	waves[2] = "no";
	script_play(test, tell_waves);
	expect_marks("abcdefH6L2ghijklmH6L2no");
}

/* Where three are left three come, so that there are six again; two left are the low mark. */
KIT_TEST(mark, is_not_told_again_before_the_low_one_has_been)
{
	waves[0] = "abXcde";
	script_play(test, tell_waves);
	expect_marks("abXcdeH6xxxL2");
}

static const struct gyre_system_options three_a_run = { .run_budget = 3 };

KIT_TEST_WITH(mark, is_reached_with_a_small_run_budget_too, &three_a_run)
{
	waves[0] = "abcdefgh";
	script_play(test, tell_waves);
	/* The first budget ends among the notices, and the event behind them has the next turn. */
	expect_marks("abcH6defghL2");
}

static int put_first(struct gyre_stack *stack)
{
	script_tell_all(stack, gyre_self(stack), "abcde");
	cr_assert_eq(gyre_notify_self_first(stack, gyre_new(stack, number, 'f')), 0);
	return gyre_return(stack);
}

static int spawn_putting(struct gyre_stack *stack)
{
	static struct gyre_class class;

	GYRE_BEGIN(stack);
	class = marked_class;
	class.mount = put_first;
	(void)script_spawn(stack, &class);
	GYRE_AWAIT(stack, turn(stack));
	return gyre_return(stack);
	GYRE_END(stack);
}

KIT_TEST(mark, counts_what_an_actor_puts_first_for_itself)
{
	script_play(test, spawn_putting);
	expect_marks("fabcdeH6L2");
}

static int ask_and_tell(struct gyre_stack *stack)
{
	struct gyre_future *futures = (struct gyre_future *)gyre_frame(stack);

	if (gyre_stack_state(stack) != 0) {
		return gyre_return(stack);
	}
	target = script_spawn(stack, &marked_class);
	script_tell_all(stack, target, "abc");
	for (uint64_t i = 0; i < 3; i++) {
		cr_assert_eq(
			gyre_ask(stack, target, gyre_new(stack, number, '1' + i), 0, &futures[i]),
			0);
	}
	cr_assert_eq(gyre_sleep(stack, 0, &futures[3]), 0);
	return gyre_suspend(stack, 1);
}

KIT_TEST(mark, counts_asks_and_notices_together)
{
	script_play(test, ask_and_tell);
	expect_marks("123abcH6L2");
}

/* ---- classes ---- */

static uint64_t actors_spawned(struct gyre_stack *stack)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(gyre_system_of(stack), &counters), 0);
	return counters.spawned;
}

static int spawn_wrong(struct gyre_stack *stack)
{
	static const uint32_t wrong[][3] = {
		{ 4, 5, 1 }, /* high above the limit */
		{ 0, 5, 1 }, /* no limit */
		{ 4, 4, 4 }, /* low as high as high */
		{ 4, 3, 4 }, /* and higher */
	};
	struct gyre_address address = { 0 };
	uint64_t spawned = actors_spawned(stack);

	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct gyre_class class = { .name = "wrong",
						  .mailbox_limit = wrong[i][0],
						  .mailbox_high = wrong[i][1],
						  .mailbox_low = wrong[i][2] };
		struct gyre_mail *argument = gyre_new(stack, number, i);

		cr_assert_eq(gyre_spawn(stack, &class, argument, NULL, &address), -EINVAL);
		cr_assert_eq(gyre_system_spawn(gyre_system_of(stack), &class, GYRE_NO_ARGUMENT,
					       NULL, &address),
			     -EINVAL);
	}
	cr_assert_eq(actors_spawned(stack), spawned);
	mark('.');
	return gyre_return(stack);
}

KIT_TEST(mark, of_a_class_must_lie_within_its_limit_and_the_low_one_below_the_high_one)
{
	script_play(test, spawn_wrong);
	expect_marks(".");
}
