/*
 * Urgent mail: what the filter of a class chooses is dispatched before what waits, in its own
 * order, also where it comes in the middle of a run or before the actor is there.
 */
#include <ctype.h>
#include <string.h>

#include <gyre/batch.h>
#include <gyre/watch.h>

#include "fixture.h"

struct frame {
	struct gyre_future future;
	struct gyre_future asks[6];
};

static struct gyre_address target;
static const char *told_meanwhile; /* to the running actor itself, at the first mail */

static bool is_upper(const struct gyre_type *type, const void *message)
{
	(void)type;
	return isupper((int)((const struct number *)message)->value) != 0;
}

static void tell_all(struct gyre_stack *stack, struct gyre_address to, const char *letters)
{
	for (; *letters != 0; letters++) {
		expect(gyre_notify(stack, to, gyre_new(stack, number, (uint64_t)*letters)) == 0);
	}
}

/* Traces the letter; '.' ends the system. */
static int hear(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;
	const char *letters = told_meanwhile;

	trace(what);
	if (letters != NULL) {
		told_meanwhile = NULL;
		tell_all(stack, gyre_self(stack), letters);
	}
	return what == '.' ? fixture_end(stack) : gyre_return(stack);
}

static int hear_and_answer(struct gyre_stack *stack)
{
	trace((char)gyre_message(stack, number)->value);
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static const struct gyre_class hurried_class = {
	.name = "hurried",
	.behaviour = { .notice = hear, .ask = hear_and_answer },
	.urgent = is_upper,
};

static const struct gyre_class *class_told = &hurried_class;
static const char *letters_told;
static uint32_t loop_told;

static int tell_some(struct gyre_stack *stack)
{
	target = spawn_on(stack, class_told, loop_told);
	tell_all(stack, target, letters_told);
	return gyre_return(stack);
}

static void play_letters(const struct gyre_system_options *options, const char *letters,
			 const char *meanwhile)
{
	letters_told = letters;
	told_meanwhile = meanwhile;
	loop_told = options->loops - 1;
	play_with(options, tell_some);
}

Test(urgent, mail_is_dispatched_before_what_waits_and_in_its_order)
{
	play_letters(&(struct gyre_system_options){ .loops = 1 }, "abAcBCd.", NULL);
	cr_assert_str_eq(traced, "ABCabcd.");
}

Test(urgent, mail_that_comes_in_a_run_is_dispatched_after_that_run)
{
	play_letters(&(struct gyre_system_options){ .loops = 1 }, "abAc", "xXyY.");
	cr_assert_str_eq(traced, "AabcXYxy.");
}

Test(urgent, mail_of_a_run_that_is_cut_off_stays_before_what_came_in_it)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = 2 };

	play_letters(&options, "aABCDb", "xXyY.");
	cr_assert_str_eq(traced, "ABCDXYabxy.");
}

Test(urgent, mail_that_comes_in_a_run_is_before_the_rest_of_that_run)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = 2 };

	play_letters(&options, "abcdA", "xXyY.");
	cr_assert_str_eq(traced, "AaXYbcdxy.");
}

Test(urgent, mail_of_runs_that_are_cut_off_again_and_again_comes_once)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = 3 };

	play_letters(&options, "aAbBcCdD", "xXyYzZ.");
	cr_assert_str_eq(traced, "ABCDXYZabcdxyz.");
}

Test(urgent, mail_that_overtakes_the_spawn_on_another_loop_comes_once)
{
	play_letters(&(struct gyre_system_options){ .loops = 2 }, "abAcB.", NULL);
	cr_assert_eq(strlen(traced), 6, "%s", traced);
	cr_assert_lt(strchr(traced, 'A'), strchr(traced, 'B'));
	cr_assert_lt(strchr(traced, 'a'), strchr(traced, 'b'));
}

static int ask_some(struct gyre_stack *stack)
{
	static const char letters[] = "abAcBC";
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	target = spawn_here(stack, &hurried_class);
	for (uint32_t i = 0; i < 6; i++) {
		expect(gyre_ask(stack, target, gyre_new(stack, number, (uint64_t)letters[i]), 0,
				&frame->asks[i]) == 0);
	}
	GYRE_AWAIT(stack, 0);
	for (uint32_t i = 0; i < 6; i++) {
		expect(gyre_future_error(&frame->asks[i]) == 0);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(urgent, asks_are_answered_before_the_others)
{
	play(1, ask_some);
	cr_assert_str_eq(traced, "ABCabc");
}

static int put_first(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	trace(what);
	if (what == 'a') {
		tell_all(stack, gyre_self(stack), "bB");
		expect(gyre_notify_self_first(stack, gyre_new(stack, number, 'f')) == 0);
		tell_all(stack, gyre_self(stack), "cC.");
	}
	return what == '.' ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class first_class = { .name = "first",
					       .behaviour.notice = put_first,
					       .urgent = is_upper };

Test(urgent, mail_is_behind_what_the_actor_puts_first)
{
	class_told = &first_class;
	play_letters(&(struct gyre_system_options){ .loops = 1 }, "a", NULL);
	cr_assert_str_eq(traced, "afBCbc.");
}

static int hear_batch(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < gyre_batch_count(stack); i++) {
		trace((char)gyre_batch_get(stack, i, number)->value);
	}
	trace('|');
	return gyre_return(stack);
}

static bool is_no_end(const struct gyre_type *type, const void *message)
{
	(void)type;
	return ((const struct number *)message)->value != '.';
}

static const struct gyre_class batching_class = {
	.name = "batching",
	.behaviour = { .notice = hear, .notice_batch = hear_batch },
	.batch_notices = is_no_end,
	.urgent = is_upper,
	.batch_max = 3,
};

Test(urgent, mail_leads_the_batches)
{
	class_told = &batching_class;
	play_letters(&(struct gyre_system_options){ .loops = 1 }, "abAcB.", NULL);
	cr_assert_str_eq(traced, "ABa|bc|.");
}

static int poison(struct gyre_stack *stack)
{
	target = spawn_here(stack, &hurried_class);
	expect(gyre_watch(stack, target) == 0);
	tell_all(stack, target, "a");
	expect(gyre_poison(stack, target) == 0);
	tell_all(stack, target, "bB");
	return gyre_return(stack);
}

static int end(struct gyre_stack *stack)
{
	return fixture_end(stack);
}

static const struct gyre_class watcher_class = { .name = "watcher",
						 .mount = poison,
						 .behaviour.event = end };

static int spawn_watcher(struct gyre_stack *stack)
{
	(void)spawn_here(stack, &watcher_class);
	return gyre_return(stack);
}

Test(urgent, mail_overtakes_poison_too)
{
	play(1, spawn_watcher);
	cr_assert_str_eq(traced, "Ba");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 1);
}
