/*
 * The marks of a mailbox: an actor is told once when as much waits as the high one says, and once
 * when no more than the low one says is left.
 */
#include "fixture.h"

#include <string.h>

struct frame {
	struct gyre_future future;
};

static struct gyre_address target;

static void tell_all(struct gyre_stack *stack, struct gyre_address to, const char *letters)
{
	for (; *letters != 0; letters++) {
		expect(gyre_notify(stack, to, gyre_new(stack, number, (uint64_t)*letters)) == 0);
	}
}

/* Goes on when all that could run on this loop has run. */
static int turn(struct gyre_stack *stack)
{
	return gyre_sleep(stack, 0, &((struct frame *)gyre_frame(stack))->future);
}

/* A capital letter adds three of its small ones. */
static int note(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	trace(what);
	if (what >= 'A' && what <= 'Z') {
		const char more = (char)(what - 'A' + 'a');

		tell_all(stack, gyre_self(stack), (const char[]){ more, more, more, 0 });
	}
	return gyre_return(stack);
}

/* An H or an L, and how many it said were waiting. */
static int note_mark(struct gyre_stack *stack)
{
	const struct gyre_mailbox_mark *mark = gyre_message(stack, gyre_mailbox_mark);

	expect(mark != NULL && gyre_address_is_nobody(gyre_sender(stack)));
	trace(mark->high ? 'H' : 'L');
	trace('0' + (char)mark->waiting);
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
	target = spawn_here(stack, &marked_class);
	while (wave < 3 && waves[wave] != NULL) {
		tell_all(stack, target, waves[wave++]);
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(mark, that_is_not_reached_is_not_told)
{
	waves[0] = "abcde";
	waves[1] = "abcde";
	play(1, tell_waves);
	cr_assert_str_eq(traced, "abcdeabcde");
}

/* Marks are events: they come after the notices of their pass. */
Test(mark, is_told_once_when_it_is_reached_and_once_when_the_low_one_is)
{
	waves[0] = "abcdefgh";
	play(1, tell_waves);
	cr_assert_str_eq(traced, "abcdefghH6L2");
}

Test(mark, is_told_at_every_crossing)
{
	waves[0] = "abcdef";
	waves[1] = "ghijklm";
	waves[2] = "no";
	play(1, tell_waves);
	cr_assert_str_eq(traced, "abcdefH6L2ghijklmH6L2no");
}

/* Where three are left three come, so that there are six again; two left are the low mark. */
Test(mark, is_not_told_again_before_the_low_one_has_been)
{
	waves[0] = "abXcde";
	play(1, tell_waves);
	cr_assert_str_eq(traced, "abXcdeH6xxxL2");
}

Test(mark, is_reached_with_a_small_run_budget_too)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = 3 };

	waves[0] = "abcdefgh";
	play_with(&options, tell_waves);
	/* The first budget ends among the notices, and the event behind them has the next turn. */
	cr_assert_str_eq(traced, "abcH6defghL2");
}

static int put_first(struct gyre_stack *stack)
{
	tell_all(stack, gyre_self(stack), "abcde");
	expect(gyre_notify_self_first(stack, gyre_new(stack, number, 'f')) == 0);
	return gyre_return(stack);
}

static int spawn_putting(struct gyre_stack *stack)
{
	static struct gyre_class class;

	GYRE_BEGIN(stack);
	class = marked_class;
	class.mount = put_first;
	(void)spawn_here(stack, &class);
	GYRE_AWAIT(stack, turn(stack));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(mark, counts_what_an_actor_puts_first_for_itself)
{
	play(1, spawn_putting);
	cr_assert_str_eq(traced, "fabcdeH6L2");
}

static int ask_and_tell(struct gyre_stack *stack)
{
	struct gyre_future *futures = (struct gyre_future *)gyre_frame(stack);

	if (gyre_stack_state(stack) != 0) {
		return fixture_end(stack);
	}
	target = spawn_here(stack, &marked_class);
	tell_all(stack, target, "abc");
	for (uint64_t i = 0; i < 3; i++) {
		expect(gyre_ask(stack, target, gyre_new(stack, number, '1' + i), 0, &futures[i]) ==
		       0);
	}
	expect(gyre_sleep(stack, 0, &futures[3]) == 0);
	return gyre_suspend(stack, 1);
}

Test(mark, counts_asks_and_notices_together)
{
	play(1, ask_and_tell);
	cr_assert_str_eq(traced, "123abcH6L2");
}

/* ---- classes ---- */

static int spawn_wrong(struct gyre_stack *stack)
{
	static const uint32_t wrong[][3] = {
		{ 4, 5, 1 }, /* high above the limit */
		{ 0, 5, 1 }, /* no limit */
		{ 4, 4, 4 }, /* low as high as high */
		{ 4, 3, 4 }, /* and higher */
	};
	struct gyre_address address = { 0 };

	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct gyre_class class = { .name = "wrong",
						  .mailbox_limit = wrong[i][0],
						  .mailbox_high = wrong[i][1],
						  .mailbox_low = wrong[i][2] };
		struct gyre_mail *argument = gyre_new(stack, number, i);

		expect(gyre_spawn(stack, &class, argument, NULL, &address) == -EINVAL);
		expect(gyre_system_spawn(gyre_system_of(stack), &class, GYRE_NO_ARGUMENT, NULL,
					 &address) == -EINVAL);
	}
	return fixture_end(stack);
}

Test(mark, of_a_class_must_lie_within_its_limit_and_the_low_one_below_the_high_one)
{
	play(1, spawn_wrong);
	cr_assert_eq(fixture.counters.spawned, 1);
}
