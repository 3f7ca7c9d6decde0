/*
 * Mistakes of handlers: each is a line with the class and the message, of a class at most ten a
 * second, over all loops, and the rest is counted.
 */
#include <string.h>

#include <gyre/batch.h>
#include <gyre/counters.h>
#include <gyre/timer.h>

#include "actor/puppet_kit.h"

struct number {
	uint64_t value;
};
GYRE_MESSAGE(number, 0x1001);

static struct gyre_address target;
static int answer_error;
static int last_result;

static void says(const char *words)
{
	cr_assert(strstr(heard_last(), words) != NULL, "\"%s\" is not in: %s", words, heard_last());
}

/* ---- mistakes ---- */

static int handle_nothing(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static int return_7(struct gyre_stack *stack)
{
	(void)stack;
	return 7;
}

static int reply_twice(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_reply(stack, gyre_new(stack, number, 1)), 0);
	last_result = gyre_reply(stack, gyre_new(stack, number, 2));
	return gyre_return(stack);
}

static int await_nothing(struct gyre_stack *stack)
{
	return gyre_suspend(stack, 1);
}

static bool all(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static int answer_first(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_batch_reply(stack, 0, gyre_new(stack, number, 1)), 0);
	return gyre_return(stack);
}

static const struct gyre_class quiet_class = {
	.name = "quiet", .behaviour = { .ask = handle_nothing, .notice = return_7 }
};
static const struct gyre_class eager_class = { .name = "eager", .behaviour.ask = reply_twice };
static const struct gyre_class waiter_class = { .name = "waiter",
						.behaviour.notice = await_nothing };
static const struct gyre_class deaf_class = { .name = "deaf" };
static const struct gyre_class some_class = { .name = "some",
					      .batch_asks = all,
					      .behaviour.ask_batch = answer_first };

static int ask_target(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, target, gyre_new(stack, number, 1), 0, &frame->future));
	answer_error = gyre_future_error(&frame->future);
	GYRE_END(stack);
}

static int ask_target_twice(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, target, gyre_new(stack, number, 1), 0, &frame->future) +
			   gyre_ask(stack, target, gyre_new(stack, number, 2), 0, &frame->other));
	answer_error = gyre_future_error(&frame->other);
	GYRE_END(stack);
}

static void have_asked(struct gyre_test *test, const struct gyre_class *class, gyre_handler_fn ask)
{
	target = puppet_spawn(test, class, 0);
	puppet_call(test, puppet_spawn(test, &puppet_class, 0), ask);
}

/* So many notices at once. */
static void notify(struct gyre_test *test, struct gyre_address to, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(gyre_system_notify(gyre_test_system(test), to,
						gyre_test_new(test, number, i)),
			     0);
	}
	gyre_test_advance(test, GYRE_MILLISECONDS(1));
}

static void expect_lost(struct gyre_test *test, enum gyre_drop reason, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		(void)gyre_test_expect_dead_letter(test, number, reason, 0);
	}
}

KIT_TEST_WITH(misuse, of_an_ask_that_nobody_answered_names_the_ask, &two_loops)
{
	have_asked(test, &quiet_class, ask_target);
	cr_assert_eq(answer_error, -ENOMSG);
	cr_assert_eq(heard.count, 1);
	says("actor quiet: ended the ask number without an answer");
}

KIT_TEST_WITH(misuse, of_a_batch_counts_the_asks_that_nobody_answered, &two_loops)
{
	have_asked(test, &some_class, ask_target_twice);
	cr_assert_eq(answer_error, -ENOMSG);
	cr_assert_eq(heard.count, 1);
	says("actor some: ended a batch with 1 of 2 asks unanswered, a number first");
}

KIT_TEST_WITH(misuse, of_a_second_reply_names_question_and_answer, &two_loops)
{
	have_asked(test, &eager_class, ask_target);
	cr_assert_eq(answer_error, 0);
	cr_assert_eq(last_result, -EALREADY);
	expect_lost(test, GYRE_DROP_SECOND, 1);
	cr_assert_eq(heard.count, 1);
	says("actor eager: answered the ask number a second time, with number");
}

KIT_TEST_WITH(misuse, of_a_handler_that_returns_a_positive_number_fails_the_message, &two_loops)
{
	struct gyre_counters counters;

	notify(test, puppet_spawn(test, &quiet_class, 0), 1);
	cr_assert_eq(heard.count, 2);
	says("actor quiet /user/quiet-1: its handler of number failed: Invalid argument");
	cr_assert_eq(gyre_system_counters(gyre_test_system(test), &counters), 0);
	cr_assert_eq(counters.failed, 1);
}

static void notify_and_look(struct gyre_test *test, const struct gyre_class *class,
			    const char *words)
{
	notify(test, puppet_spawn(test, class, 0), 1);
	cr_assert_eq(heard_with(words), 1);
}

KIT_TEST_WITH(misuse, of_a_handler_that_returns_a_positive_number_names_the_message, &two_loops)
{
	notify_and_look(test, &quiet_class, "actor quiet: its handler returned 7 for number");
}

KIT_TEST_WITH(misuse, of_a_wait_for_nothing_names_the_message, &two_loops)
{
	notify_and_look(test, &waiter_class,
			"actor waiter: its handler waits with number, but no ask");
}

KIT_TEST_WITH(misuse, of_a_notice_to_a_class_without_a_handler_names_both, &two_loops)
{
	notify(test, puppet_spawn(test, &deaf_class, 0), 1);
	expect_lost(test, GYRE_DROP_UNHANDLED, 1);
	cr_assert_eq(heard.count, 1);
	says("actor deaf: its behaviour has no handler for the notice number from [");
}

KIT_TEST_WITH(misuse, of_an_ask_to_a_class_without_a_handler_names_both, &two_loops)
{
	have_asked(test, &deaf_class, ask_target);
	cr_assert_eq(answer_error, -ENOSYS);
	expect_lost(test, GYRE_DROP_UNHANDLED, 1);
	cr_assert_eq(heard.count, 1);
	says("actor deaf: its behaviour has no handler for the ask number from [");
	says("the asker gets ENOSYS");
}

static int start_timer(struct gyre_stack *stack)
{
	return gyre_timer_start(stack, 1, &(struct gyre_timer_options){ 0 });
}

static const struct gyre_class timed_class = { .name = "timed", .mount = start_timer };

KIT_TEST_WITH(misuse, is_no_event_that_nobody_handles, &two_loops)
{
	(void)puppet_spawn(test, &timed_class, 0);
	gyre_test_advance(test, GYRE_MILLISECONDS(3));
	(void)gyre_test_expect_dead_letter(test, gyre_timeout, GYRE_DROP_UNHANDLED, 0);
	cr_assert_eq(heard.count, 0);
}

/* ---- how often ---- */

enum { AT_ONCE = 50 }; /* as the testkit keeps no more than 64 dead letters */

static void make_mistakes(struct gyre_test *test, uint32_t count)
{
	notify(test, target, count);
	expect_lost(test, GYRE_DROP_UNHANDLED, count);
}

static void make_many(struct gyre_test *test, void *arg)
{
	(void)arg;
	target = puppet_spawn(test, &deaf_class, 0);
	make_mistakes(test, AT_ONCE);
	make_mistakes(test, AT_ONCE);
	cr_assert_eq(heard.count, 10);
	gyre_test_advance(test, GYRE_SECONDS(1) + GYRE_MILLISECONDS(2));
	cr_assert_eq(heard.count, 11);
	says("actor deaf: and 90 more lines");
	make_mistakes(test, AT_ONCE);
	make_mistakes(test, AT_ONCE);
	cr_assert_eq(heard.count, 21);
}

/* What was not logged is told at the end of the system. */
Test(misuse, is_logged_ten_times_a_second_and_then_counted)
{
	kit_play(make_many, &two_loops);
	cr_assert_eq(heard.count, 22);
	says("actor deaf: and 90 more lines");
}

static void make_some_on_each_loop(struct gyre_test *test, void *arg)
{
	(void)arg;
	for (uint32_t loop = 0; loop < 2; loop++) {
		target = puppet_spawn(test, &deaf_class, loop);
		make_mistakes(test, 7);
	}
	cr_assert_eq(heard.count, 10);
}

Test(misuse, is_counted_over_all_loops_together)
{
	kit_play(make_some_on_each_loop, &two_loops);
	cr_assert_eq(heard.count, 11);
	says("actor deaf: and 4 more lines");
}

KIT_TEST_WITH(misuse, of_one_class_leaves_room_for_those_of_others, &two_loops)
{
	target = puppet_spawn(test, &deaf_class, 0);
	make_mistakes(test, AT_ONCE);
	have_asked(test, &quiet_class, ask_target);
	cr_assert_eq(heard.count, 11);
	says("actor quiet: ended the ask number without an answer");
}

static int fail_always(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class brief_class = {
	.name = "brief",
	.strategy = GYRE_STRATEGY_RESTART,
	.restarts_max = 1,
	.behaviour.notice = fail_always,
};

KIT_TEST_WITH(misuse, of_actors_that_fail_too_often_fills_no_log, &two_loops)
{
	for (uint32_t i = 0; i < 20; i++) {
		notify(test, puppet_spawn(test, &brief_class, 0), 2);
	}
	cr_assert_eq(heard.count, 10);
}
