/*
 * How an ask ends when its target does: before it has come, while it waits, while it is dealt with,
 * and after the answer; on one loop and between two. And from where an ask may be made: every hook
 * and handler that has a stack.
 */
#include "actor/dispatch.h"
#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "actor/model.h"

#include <gyre/batch.h>

static struct gyre_address target;
static struct gyre_address asker;
static int outcome; /* 1 for an answer */

static int take_answer(const struct gyre_future *future)
{
	const struct number *answer = gyre_future_get(future, number);

	return answer == NULL ? gyre_future_error(future) : (int)answer->value;
}

static int ask_target(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	outcome = -EINPROGRESS;
	GYRE_AWAIT(stack, gyre_ask(stack, target, gyre_new(stack, number, 0), GYRE_FOREVER,
				   &frame->future));
	outcome = take_answer(&frame->future);
	GYRE_END(stack);
}

/* ---- targets ---- */

static int answer(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static int answer_and_stop(struct gyre_stack *stack)
{
	expect(gyre_stop(stack, gyre_self(stack)) == 0);
	return answer(stack);
}

static int stop_without_answer(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static int answer_and_wait(struct gyre_stack *stack)
{
	expect(gyre_stack_state(stack) == 0);
	expect(gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future) == 0);
	(void)answer(stack);
	return gyre_suspend(stack, 1);
}

static int wait_for_ever(struct gyre_stack *stack)
{
	expect(gyre_stack_state(stack) == 0);
	expect(gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future) == 0);
	return gyre_suspend(stack, 1);
}

static int stash(struct gyre_stack *stack)
{
	expect(gyre_stash(stack) == 0);
	return gyre_return(stack);
}

static struct gyre_class class = {
	.name = "target",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run },
};

/* An asker on loop 0, and a target of two, which answers asks by @ask. */
static void open_with(uint32_t loop, gyre_handler_fn ask)
{
	class.behaviour.ask = ask;
	model_open(2);
	asker = model_spawn(&puppet_class, 0);
	target = model_spawn(&class, loop);
}

static void stop_target(void)
{
	gy_house_request_stop(model_house(target), 0);
	model_settle();
}

static void assert_outcome(int expected)
{
	model_settle();
	cr_assert_eq(outcome, expected, "%d", outcome);
	cr_assert_eq(model_house(asker)->outstanding, 0);
	model_close();
}

/* ---- when the target dies ---- */

static void die_before(uint32_t loop)
{
	open_with(loop, answer);
	stop_target();
	model_call(asker, ask_target);
	assert_outcome(-ESRCH);
	cr_assert_eq(model.lost[GYRE_DROP_NO_ACTOR], 1);
}

Test(ask, of_a_target_that_has_died_before_fails_with_esrch)
{
	die_before(0);
}

Test(ask, of_a_target_of_another_loop_that_has_died_before_fails_with_esrch)
{
	die_before(1);
}

/* It was there when it was asked, and is gone when the ask comes. */
Test(ask, that_is_on_its_way_while_the_target_dies_fails_with_esrch)
{
	open_with(1, answer);
	model_call(asker, ask_target);
	model_turn_one(0);
	gy_house_request_stop(model_house(target), 0);
	gy_house_run(&model.home[1].loop, gy_queue_pop(&model.home[1].loop.state));
	assert_outcome(-ESRCH);
}

static void die_while_it_waits(uint32_t loop)
{
	open_with(loop, answer);
	gy_house_add_reason(model_house(target), GY_CLOSED_BY_BARRIER);
	model_call(asker, ask_target);
	model_settle();
	cr_assert_eq(outcome, -EINPROGRESS);
	stop_target();
	assert_outcome(-ESHUTDOWN);
	cr_assert_eq(model.lost[GYRE_DROP_STOPPED], 1);
}

Test(ask, that_waits_when_its_target_dies_fails_with_eshutdown)
{
	die_while_it_waits(0);
}

Test(ask, that_waits_on_another_loop_when_its_target_dies_fails_with_eshutdown)
{
	die_while_it_waits(1);
}

static void die_while_it_is_handled(uint32_t loop, gyre_handler_fn ask)
{
	open_with(loop, ask);
	model_call(asker, ask_target);
	model_settle();
	cr_assert_eq(outcome, -EINPROGRESS);
	stop_target();
	assert_outcome(-ESHUTDOWN);
}

Test(ask, that_is_suspended_when_its_target_dies_fails_with_eshutdown)
{
	die_while_it_is_handled(0, wait_for_ever);
}

Test(ask, that_is_suspended_on_another_loop_when_its_target_dies_fails_with_eshutdown)
{
	die_while_it_is_handled(1, wait_for_ever);
}

Test(ask, that_is_stashed_when_its_target_dies_fails_with_eshutdown)
{
	die_while_it_is_handled(0, stash);
}

Test(ask, that_is_stashed_on_another_loop_when_its_target_dies_fails_with_eshutdown)
{
	die_while_it_is_handled(1, stash);
}

Test(ask, that_stops_its_target_without_an_answer_fails_with_enomsg)
{
	open_with(1, stop_without_answer);
	model_call(asker, ask_target);
	assert_outcome(-ENOMSG);
}

static void die_after(uint32_t loop)
{
	open_with(loop, answer_and_stop);
	model_call(asker, ask_target);
	model_settle();
	cr_assert_null(model_house(target));
	assert_outcome(1);
}

Test(ask, that_was_answered_stands_though_the_target_dies_at_once)
{
	die_after(0);
}

Test(ask, that_was_answered_stands_though_the_target_of_another_loop_dies_at_once)
{
	die_after(1);
}

Test(ask, that_was_answered_is_not_told_of_the_end_of_the_stack_that_answered)
{
	open_with(0, answer_and_wait);
	model_call(asker, ask_target);
	model_settle();
	cr_assert_eq(outcome, 1);
	stop_target();
	assert_outcome(1);
	cr_assert_eq(model.lost[GYRE_DROP_LATE], 0);
}

static void die_in_mount(uint32_t loop)
{
	open_with(loop, answer);
	stop_target();
	class.mount = puppet_fail;
	/* Asked before it is mounted: the two turn together. */
	cr_assert_eq(gy_spawn(&model.home[0], &(struct gy_spawn_order){ .class = &class },
			      (uint16_t)loop, &target),
		     0);
	model_call(asker, ask_target);
	assert_outcome(-ESHUTDOWN);
}

Test(ask, of_a_target_that_cannot_be_mounted_fails)
{
	die_in_mount(0);
}

Test(ask, of_a_target_of_another_loop_that_cannot_be_mounted_fails)
{
	die_in_mount(1);
}

/* ---- from where an ask may be made ---- */

static int from_anywhere(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, target, gyre_new(stack, number, 0), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	outcome = take_answer(&frame->future);
	trace('a');
	GYRE_END(stack);
}

static int batch_from_anywhere(struct gyre_stack *stack)
{
	int r = from_anywhere(stack);

	if (r == 0 && gyre_sender(stack).cookie == 0) {
		(void)gyre_batch_reply_all(stack, gyre_new(stack, number, 1));
	}
	return r;
}

static bool is_any(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type->id == GYRE_ID(number);
}

static struct gyre_class asking_class = {
	.name = "asking",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run },
};

/* @loop is that of the target; what asks lives on loop 0. */
static void open_asking(uint32_t loop)
{
	open_with(loop, answer);
	asker = model_spawn(&asking_class, 0);
}

static void assert_answered(const char *times)
{
	model_settle();
	cr_assert_eq(outcome, 1);
	cr_assert_str_eq(traced, times);
	model_close();
}

Test(ask, may_be_made_by_a_mount_hook)
{
	asking_class.mount = from_anywhere;
	open_asking(0);
	assert_answered("a");
}

Test(ask, may_be_made_by_a_mount_hook_to_another_loop)
{
	asking_class.mount = from_anywhere;
	open_asking(1);
	assert_answered("a");
}

Test(ask, may_be_made_by_the_handler_of_events)
{
	asking_class.behaviour.event = from_anywhere;
	open_asking(1);
	model_put(asker, GY_LANE_EVENT, 1);
	assert_answered("a");
}

Test(ask, may_be_made_by_each_hook_of_a_restart)
{
	asking_class.before_restart = from_anywhere;
	asking_class.restart = from_anywhere;
	asking_class.after_restart = from_anywhere;
	open_asking(1);
	model_call(asker, puppet_fail);
	assert_answered("aaa");
	cr_assert_eq(model.counters.restarted, 1);
}

Test(ask, may_be_made_by_a_batch_of_notices)
{
	asking_class.behaviour.notice_batch = from_anywhere;
	asking_class.batch_notices = is_any;
	open_asking(1);
	model_put(asker, GY_LANE_NOTICE, 1);
	model_put(asker, GY_LANE_NOTICE, 2);
	assert_answered("a");
}

Test(ask, may_be_made_by_a_batch_of_asks)
{
	asking_class.behaviour.ask_batch = batch_from_anywhere;
	asking_class.batch_asks = is_any;
	open_asking(1);
	model_put(asker, GY_LANE_ASK, 1);
	model_put(asker, GY_LANE_ASK, 2);
	assert_answered("a");
}

/* ---- asks that nobody waits for any more ---- */

static uint32_t handled;

static int count_ask(struct gyre_stack *stack)
{
	handled++;
	return answer(stack);
}

static int ask_briefly(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, target, gyre_new(stack, number, 0),
				   GYRE_MILLISECONDS(100), &frame->future));
	outcome = gyre_future_error(&frame->future);
	GYRE_END(stack);
}

Test(ask, that_is_past_its_deadline_is_not_handled)
{
	open_with(0, count_ask);
	gy_house_add_reason(model_house(target), GY_CLOSED_BY_BARRIER);
	model_call(asker, ask_briefly);
	model_settle();
	model_advance(GYRE_MILLISECONDS(99));
	cr_assert_eq(outcome, 0);
	model_advance(GYRE_MILLISECONDS(100));
	cr_assert_eq(outcome, -ETIMEDOUT);
	gy_house_remove_reason(model_house(target), GY_CLOSED_BY_BARRIER);
	gy_house_wake(model_house(target), 1U << GY_LANE_ASK);
	model_settle();
	cr_assert_eq(handled, 0);
	cr_assert_eq(model.lost[GYRE_DROP_EXPIRED], 1);
	model_close();
}

Test(ask, that_is_just_within_its_deadline_is_handled)
{
	open_with(0, count_ask);
	gy_house_add_reason(model_house(target), GY_CLOSED_BY_BARRIER);
	model_call(asker, ask_briefly);
	model_settle();
	model_advance(GYRE_MILLISECONDS(99));
	gy_house_remove_reason(model_house(target), GY_CLOSED_BY_BARRIER);
	gy_house_wake(model_house(target), 1U << GY_LANE_ASK);
	assert_outcome(0);
	cr_assert_eq(handled, 1);
}
