/*
 * Mistakes of handlers: each is a line with the class and the message, of a class at most ten a
 * second, over all loops, and the rest is counted.
 */
#include "model.h"

#include <string.h>

#include <gyre/batch.h>

static struct gyre_address target;
static int answer_error;
static int last_result;

static void says(const char *words)
{
	cr_assert(strstr(model.line, words) != NULL, "\"%s\" is not in: %s", words, model.line);
}

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
	expect(gyre_reply(stack, gyre_new(stack, number, 1)) == 0);
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
	expect(gyre_batch_reply(stack, 0, gyre_new(stack, number, 1)) == 0);
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

static void have_asked(const struct gyre_class *class, gyre_handler_fn ask)
{
	struct gyre_address puppet = model_spawn(&puppet_class, 0);

	target = model_spawn(class, 0);
	model_call(puppet, ask);
	model_settle();
}

Test(misuse, of_an_ask_that_nobody_answered_names_the_ask)
{
	model_open(1);
	have_asked(&quiet_class, ask_target);
	cr_assert_eq(answer_error, -ENOMSG);
	cr_assert_eq(model.logged, 1);
	says("actor quiet: ended the ask number without an answer");
	model_close();
}

Test(misuse, of_a_batch_counts_the_asks_that_nobody_answered)
{
	model_open(1);
	have_asked(&some_class, ask_target_twice);
	cr_assert_eq(answer_error, -ENOMSG);
	cr_assert_eq(model.logged, 1);
	says("actor some: ended a batch with 1 of 2 asks unanswered, a number first");
	model_close();
}

Test(misuse, of_a_second_reply_names_question_and_answer)
{
	model_open(1);
	have_asked(&eager_class, ask_target);
	cr_assert_eq(answer_error, 0);
	cr_assert_eq(last_result, -EALREADY);
	cr_assert_eq(model.lost[GYRE_DROP_SECOND], 1);
	cr_assert_eq(model.logged, 1);
	says("actor eager: answered the ask number a second time, with number");
	model_close();
}

Test(misuse, of_a_handler_that_returns_a_positive_number_fails_the_message)
{
	model_open(1);
	target = model_spawn(&quiet_class, 0);
	model_put(target, GY_LANE_NOTICE, 1);
	model_settle();
	cr_assert_eq(model.logged, 2);
	says("actor quiet /user/quiet-1: its handler of number failed: Invalid argument");
	model_close();
	cr_assert_eq(model.counters.failed, 1);
}

static const char *looked_for;
static uint32_t lines_found;

static void look(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	lines_found += strstr(line->text, looked_for) != NULL;
}

static void notify_and_look(const struct gyre_class *class, const char *words)
{
	model_open(1);
	model.log.write = look;
	looked_for = words;
	target = model_spawn(class, 0);
	model_put(target, GY_LANE_NOTICE, 1);
	model_settle();
	cr_assert_eq(lines_found, 1);
	model_close();
}

Test(misuse, of_a_handler_that_returns_a_positive_number_names_the_message)
{
	notify_and_look(&quiet_class, "actor quiet: its handler returned 7 for number");
}

Test(misuse, of_a_wait_for_nothing_names_the_message)
{
	notify_and_look(&waiter_class, "actor waiter: its handler waits with number, but no ask");
}

Test(misuse, of_a_notice_to_a_class_without_a_handler_names_both)
{
	model_open(1);
	target = model_spawn(&deaf_class, 0);
	model_put(target, GY_LANE_NOTICE, 1);
	model_settle();
	cr_assert_eq(model.lost[GYRE_DROP_UNHANDLED], 1);
	cr_assert_eq(model.logged, 1);
	says("actor deaf: its behaviour has no handler for the notice number from [");
	model_close();
}

Test(misuse, of_an_ask_to_a_class_without_a_handler_names_both)
{
	model_open(1);
	have_asked(&deaf_class, ask_target);
	cr_assert_eq(answer_error, -ENOSYS);
	cr_assert_eq(model.logged, 1);
	says("actor deaf: its behaviour has no handler for the ask number from [");
	says("the asker gets ENOSYS");
	model_close();
}

Test(misuse, is_no_event_that_nobody_handles)
{
	model_open(1);
	target = model_spawn(&deaf_class, 0);
	model_put(target, GY_LANE_EVENT, 1);
	model_settle();
	cr_assert_eq(model.lost[GYRE_DROP_UNHANDLED], 1);
	cr_assert_eq(model.logged, 0);
	model_close();
}

static void make_mistakes(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		model_put(target, GY_LANE_NOTICE, i);
	}
	model_settle();
}

Test(misuse, is_logged_ten_times_a_second_and_then_counted)
{
	model_open(1);
	target = model_spawn(&deaf_class, 0);
	make_mistakes(100);
	cr_assert_eq(model.logged, 10);
	model_advance(GYRE_SECONDS(1) + GYRE_MILLISECONDS(2));
	cr_assert_eq(model.logged, 11);
	says("actor deaf: and 90 more lines");
	make_mistakes(100);
	cr_assert_eq(model.logged, 21);
	model_close();
	cr_assert_eq(model.logged, 22);
	says("actor deaf: and 90 more lines");
}

Test(misuse, is_counted_over_all_loops_together)
{
	model_open(2);
	target = model_spawn(&deaf_class, 0);
	make_mistakes(7);
	target = model_spawn(&deaf_class, 1);
	make_mistakes(7);
	cr_assert_eq(model.logged, 10);
	model_close();
	cr_assert_eq(model.logged, 11);
	says("actor deaf: and 4 more lines");
}

Test(misuse, of_one_class_leaves_room_for_those_of_others)
{
	model_open(1);
	target = model_spawn(&deaf_class, 0);
	make_mistakes(100);
	have_asked(&quiet_class, ask_target);
	cr_assert_eq(model.logged, 11);
	says("actor quiet: ended the ask number without an answer");
	model_close();
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

Test(misuse, of_actors_that_fail_too_often_fills_no_log)
{
	model_open(1);
	for (uint32_t i = 0; i < 20; i++) {
		struct gyre_address brief = model_spawn(&brief_class, 0);

		model_put(brief, GY_LANE_NOTICE, 1);
		model_put(brief, GY_LANE_NOTICE, 2);
	}
	model_settle();
	cr_assert_eq(model.logged, 10);
	model_close();
}
