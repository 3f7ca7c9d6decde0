/*
 * Orders and mail that find an actor between two states: its address is known but the order to
 * spawn it has not come, or it stops but its children have not ended.
 */
#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "model.h"

#include <gyre/watch.h>

static struct gyre_address actor;
static struct gyre_address other;
static uint32_t told_count;
static int told_reason;
static int outcome = -EINPROGRESS;

static int note_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL && gyre_address_equal(terminated->actor, actor));
	told_count++;
	told_reason = terminated->reason;
	return gyre_return(stack);
}

static const struct gyre_class other_class = {
	.name = "other",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .ask = puppet_run, .event = note_end },
};

static int watch(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, actor) == 0);
	return gyre_return(stack);
}

static int retire(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, actor, GYRE_SECONDS(1),
					       &puppet_frame(stack)->future));
	outcome = gyre_future_error(&puppet_frame(stack)->future);
	GYRE_END(stack);
}

/* ---- before it is there ---- */

/* Reserved on loop 1 by loop 0, whose order has not been sent off. */
static void open_reserved(void)
{
	model_open(2);
	other = model_spawn(&other_class, 1);
	cr_assert_eq(gy_spawn(&model.home[0], &(struct gy_spawn_order){ .class = &sink_class }, 1,
			      &actor),
		     0);
	cr_assert_eq(model_house(actor)->status, GY_HOUSE_CREATED);
}

/* The loop has begun to stop when the order to spawn comes. */
static void refuse_spawn(void)
{
	model_turn_one(1);
	model.home[1].draining = true;
	model_settle();
	cr_assert_null(model_house(actor));
}

Test(spawn, that_is_refused_at_last_tells_who_watches_already)
{
	open_reserved();
	model_call(other, watch);
	refuse_spawn();
	cr_assert_eq(told_count, 1);
	cr_assert_eq(told_reason, -ESHUTDOWN);
	model_close();
}

Test(spawn, that_is_refused_at_last_tells_who_stops_it_gracefully_already)
{
	open_reserved();
	model_call(other, retire);
	refuse_spawn();
	cr_assert_eq(outcome, 0);
	model_close();
}

Test(watch, of_an_actor_that_is_yet_to_come_tells_of_its_end)
{
	open_reserved();
	model_call(other, watch);
	model_turn_one(1);
	model_settle();
	cr_assert_eq(told_count, 0);
	gy_house_request_stop(model_house(actor), 0);
	model_settle();
	cr_assert_eq(told_count, 1);
	cr_assert_eq(told_reason, 0);
	model_close();
}

Test(graceful, stop_of_an_actor_that_is_yet_to_come_is_told_when_it_has_ended)
{
	open_reserved();
	model_call(other, retire);
	model_turn_one(1);
	cr_assert_eq(outcome, -EINPROGRESS);
	model_settle();
	cr_assert_eq(outcome, 0);
	cr_assert_null(model_house(actor));
	model_close();
}

/* ---- asked for twice ---- */

static int wait_for_ever(struct gyre_stack *stack)
{
	expect(gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future) == 0);
	return gyre_suspend(stack, 1);
}

static int retire_without_deadline(struct gyre_stack *stack)
{
	expect(gyre_stop_gracefully(stack, actor, GYRE_FOREVER, NULL) == 0);
	return gyre_return(stack);
}

Test(graceful, stop_without_a_deadline_that_is_asked_for_twice_leaves_nothing_behind)
{
	model_open(1);
	actor = model_spawn(&puppet_class, 0);
	other = model_spawn(&other_class, 0);
	model_call(actor, wait_for_ever);
	model_call(other, retire_without_deadline);
	model_settle();
	model_call(other, retire_without_deadline);
	model_settle();
	model_advance(GYRE_SECONDS(86400) * 365);
	cr_assert_not_null(model_house(actor));
	gy_house_request_stop(model_house(actor), 0);
	model_settle();
	cr_assert_eq(model.lost[GYRE_DROP_STOPPED], 0, "an order of the runtime is a dead letter");
	model_close();
}

/* ---- while it ends ---- */

static bool cleaned;

static void clean(void *state)
{
	expect(state == NULL);
	cleaned = true;
}

static int mount_child(struct gyre_stack *stack)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP, .loop = 1 };
	struct gyre_address child;

	expect(gyre_spawn(stack, &sink_class, GYRE_NO_ARGUMENT, &options, &child) == 0);
	return gyre_return(stack);
}

static const struct gyre_class parent_class = {
	.name = "parent",
	.frame_bytes = sizeof(struct puppet_frame),
	.mount = mount_child,
	.clean = clean,
	.behaviour.notice = puppet_run,
};

/* It has begun to stop; its child on loop 1, which the test does not turn yet, holds it up. */
static void open_stopping(void)
{
	model_open(2);
	actor = model_spawn(&parent_class, 0);
	other = model_spawn(&other_class, 0);
	gy_house_request_stop(model_house(actor), -EIO);
	model_turn_one(0);
	cr_assert_eq(model_house(actor)->status, GY_HOUSE_STOPPING);
	cr_assert_not(cleaned);
}

Test(watch, of_an_actor_that_ends_is_not_told_before_it_has_ended)
{
	open_stopping();
	model_call(other, watch);
	for (uint32_t i = 0; i < 10; i++) {
		model_turn_one(0);
	}
	cr_assert_not(cleaned);
	cr_assert_eq(told_count, 0, "told while its state was not cleaned yet");
	model_settle();
	cr_assert(cleaned);
	cr_assert_eq(told_count, 1);
	cr_assert_eq(told_reason, -EIO);
	model_close();
}

Test(graceful, stop_of_an_actor_that_ends_is_not_told_before_it_has_ended)
{
	open_stopping();
	model_call(other, retire);
	for (uint32_t i = 0; i < 10; i++) {
		model_turn_one(0);
	}
	cr_assert_not(cleaned);
	cr_assert_eq(outcome, -EINPROGRESS, "told while its state was not cleaned yet");
	model_settle();
	cr_assert(cleaned);
	cr_assert_eq(outcome, 0);
	model_close();
}

static int address_it(struct gyre_stack *stack)
{
	struct gyre_future *future = &puppet_frame(stack)->future;

	GYRE_BEGIN(stack);
	expect(gyre_notify(stack, actor, gyre_new(stack, number, 1)) == -ESRCH);
	GYRE_AWAIT(stack, gyre_ask(stack, actor, gyre_new(stack, number, 1), 0, future));
	outcome = gyre_future_error(future);
	GYRE_END(stack);
}

/* The first mail to it, and another to which the last one went as well. */
Test(mail, for_an_actor_that_ends_is_refused_at_once)
{
	open_stopping();
	for (uint32_t i = 1; i <= 2; i++) {
		outcome = 0;
		model_call(other, address_it);
		model_turn_one(0);
		model_turn_one(0);
		cr_expect_eq(outcome, -ESRCH);
		cr_expect_eq(model.lost[GYRE_DROP_NO_ACTOR], 2 * i);
		cr_expect(gyre_address_equal(model.last_lost.to, actor));
	}
	cr_assert_not(cleaned);
	model_close();
}

static int answer_later(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &puppet_frame(stack)->future));
	return gyre_reply(stack, gyre_new(stack, number, 1));
	GYRE_END(stack);
}

static int ask_other(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, other, gyre_new(stack, call, answer_later), 0,
				   &puppet_frame(stack)->future));
	expect(false); /* it has ended before */
	GYRE_END(stack);
}

Test(mail, that_answers_an_actor_that_ends_is_a_dead_letter)
{
	model_open(2);
	actor = model_spawn(&parent_class, 0);
	other = model_spawn(&other_class, 0);
	model_call(actor, ask_other);
	model_settle();
	gy_house_request_stop(model_house(actor), 0);
	model_turn_one(0);
	cr_assert_eq(model_house(actor)->status, GY_HOUSE_STOPPING);
	model.now_ns += GYRE_MILLISECONDS(2);
	gy_loop_read_clock_waited(&model.home[0].loop);
	model_turn_one(0);
	model_turn_one(0);
	cr_assert_eq(model_house(other)->outstanding, 0, "it has not answered yet");
	cr_assert_not(cleaned);
	model_settle();
	cr_assert(cleaned);
	cr_expect_eq(model.lost[GYRE_DROP_STOPPED], 1);
	model_close();
}
