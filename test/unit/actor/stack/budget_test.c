/*
 * The budget: an ask that names no time-out gets no more than what the asker of the running message
 * has left.
 */
#include <errno.h>
#include <string.h>

#include <gyre/batch.h>

#include "fixture.h"

struct frame {
	struct gyre_future future;
	struct gyre_future other;
	struct gyre_address to;
	struct gyre_address mute;
	uint64_t from_ns;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static gyre_handler_fn handler;
static uint32_t loop;

static int handle(struct gyre_stack *stack)
{
	return handler(stack);
}

static struct gyre_class worker_class = {
	.name = "worker",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .ask = handle, .notice = handle },
};

static uint64_t asker_timeout_ns;

/* Asks the worker, and waits until that has ended. */
static int ask_worker(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &worker_class, loop);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, number, 1), asker_timeout_ns,
				   &frame->future));
	GYRE_AWAIT(stack,
		   gyre_stop_gracefully(stack, frame->to, GYRE_SECONDS(1000), &frame->other));
	return fixture_end(stack);
	GYRE_END(stack);
}

static void play_worker(gyre_handler_fn how, uint64_t timeout_ns)
{
	handler = how;
	asker_timeout_ns = timeout_ns;
	play_steady(ask_worker);
}

/* ---- what is inherited ---- */

/* How long an ask takes that nobody answers, and which names no time-out. */
static uint64_t taken_ns;

static int ask_mute(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->mute = spawn_here(stack, &mute_class);
	frame->from_ns = gyre_now(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->mute, gyre_new(stack, number, 1), 0, &frame->other));
	expect(gyre_future_error(&frame->other) == -ETIMEDOUT);
	taken_ns = gyre_now(stack) - frame->from_ns;
	expect(asker_timeout_ns > GYRE_SECONDS(5) || !gyre_is_awaited(stack));
	GYRE_END(stack);
}

Test(budget, is_what_the_asker_has_left)
{
	play_worker(ask_mute, GYRE_MILLISECONDS(800));
	cr_assert_geq(taken_ns, GYRE_MILLISECONDS(800));
	cr_assert_leq(taken_ns, GYRE_MILLISECONDS(800 + 50 + 10));
}

Test(budget, is_no_more_than_the_default)
{
	play_worker(ask_mute, GYRE_SECONDS(20));
	cr_assert_geq(taken_ns, GYRE_SECONDS(5));
	cr_assert_leq(taken_ns, GYRE_SECONDS(5) + GYRE_MILLISECONDS(10));
}

Test(budget, of_an_asker_without_a_limit_is_the_default)
{
	play_worker(ask_mute, GYRE_FOREVER);
	cr_assert_geq(taken_ns, GYRE_SECONDS(5));
	cr_assert_leq(taken_ns, GYRE_SECONDS(5) + GYRE_MILLISECONDS(10));
}

static int sleep_then_ask_mute(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->mute = spawn_here(stack, &mute_class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(600), &frame->future));
	frame->from_ns = gyre_now(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->mute, gyre_new(stack, number, 1), 0, &frame->other));
	taken_ns = gyre_now(stack) - frame->from_ns;
	GYRE_END(stack);
}

Test(budget, shrinks_while_the_ask_is_handled)
{
	play_worker(sleep_then_ask_mute, GYRE_MILLISECONDS(800));
	cr_assert_geq(taken_ns, GYRE_MILLISECONDS(200));
	cr_assert_leq(taken_ns, GYRE_MILLISECONDS(200 + 50 + 20));
}

static int ask_by_name(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->mute = spawn_here(stack, &mute_class);
	frame->from_ns = gyre_now(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->mute, gyre_new(stack, number, 1), GYRE_SECONDS(2),
				   &frame->other));
	taken_ns = gyre_now(stack) - frame->from_ns;
	GYRE_END(stack);
}

Test(budget, does_not_bound_a_time_out_that_is_named)
{
	play_worker(ask_by_name, GYRE_MILLISECONDS(100));
	cr_assert_geq(taken_ns, GYRE_SECONDS(2));
}

static int reply_then_ask(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->mute = spawn_here(stack, &mute_class);
	frame->from_ns = gyre_now(stack);
	expect(gyre_is_awaited(stack));
	expect(gyre_reply(stack, gyre_new(stack, number, 1)) == 0);
	expect(gyre_time_left(stack) == GYRE_FOREVER);
	expect(!gyre_is_awaited(stack));
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->mute, gyre_new(stack, number, 1), 0, &frame->other));
	taken_ns = gyre_now(stack) - frame->from_ns;
	GYRE_END(stack);
}

Test(budget, is_not_inherited_after_the_answer)
{
	play_worker(reply_then_ask, GYRE_MILLISECONDS(100));
	cr_assert_geq(taken_ns, GYRE_SECONDS(5));
}

static int ask_too_late(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->mute = spawn_here(stack, &mute_class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(500), &frame->future));
	expect(gyre_time_left(stack) == 0);
	expect(!gyre_is_awaited(stack));
	expect(gyre_ask(stack, frame->mute, gyre_new(stack, number, 1), 0, &frame->other) ==
	       -ETIMEDOUT);
	expect(gyre_future_error(&frame->other) == -ETIMEDOUT);
	trace('x');
	GYRE_END(stack);
}

Test(budget, that_is_used_up_fails_an_ask_unsent)
{
	play_worker(ask_too_late, GYRE_MILLISECONDS(100));
	cr_assert_str_eq(traced, "x");
	/* To the worker, its error, the stop and its answer: no more. */
	cr_assert_eq(mute_waiting, 0);
}

/* ---- what it is told to be ---- */

static int look_at_time(struct gyre_stack *stack)
{
	uint64_t left_ns = gyre_time_left(stack);

	expect(left_ns >= GYRE_MILLISECONDS(790) && left_ns <= GYRE_MILLISECONDS(860));
	expect(gyre_is_awaited(stack));
	return gyre_return(stack);
}

Test(budget, tells_the_time_that_is_left)
{
	play_worker(look_at_time, GYRE_MILLISECONDS(800));
}

static int expect_no_limit(struct gyre_stack *stack)
{
	expect(gyre_time_left(stack) == GYRE_FOREVER);
	expect(gyre_is_awaited(stack));
	return gyre_return(stack);
}

Test(budget, of_an_asker_without_a_limit_is_forever)
{
	play_worker(expect_no_limit, GYRE_FOREVER);
}

static int expect_nobody(struct gyre_stack *stack)
{
	expect(gyre_time_left(stack) == GYRE_FOREVER);
	expect(!gyre_is_awaited(stack));
	return fixture_end(stack);
}

static int notify_worker(struct gyre_stack *stack)
{
	handler = expect_nobody;
	return gyre_notify(stack, spawn_here(stack, &worker_class), gyre_new(stack, number, 1));
}

Test(budget, of_a_notice_is_nobodys)
{
	play(1, notify_worker);
}

/* ---- askers that give up ---- */

static int wait_for_the_asker(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_is_awaited(stack));
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), &frame->other));
	expect(!gyre_is_awaited(stack));
	expect(gyre_time_left(stack) > GYRE_SECONDS(1));
	return fixture_end(stack);
	GYRE_END(stack);
}

static int ask_then_cancel(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	handler = wait_for_the_asker;
	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &worker_class);
	(void)gyre_ask(stack, frame->to, gyre_new(stack, number, 1), 0, &frame->future);
	expect(gyre_sleep(stack, GYRE_MILLISECONDS(5), &frame->other) == 0);
	GYRE_AWAIT_ALL(stack, &frame->other);
	expect(gyre_cancel(stack, &frame->future) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(100), &frame->other));
	GYRE_END(stack);
}

Test(budget, tells_of_an_asker_on_the_same_loop_that_has_given_up)
{
	play_steady(ask_then_cancel);
}

/* ---- batches ---- */

static bool is_any(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static int look_at_batch(struct gyre_stack *stack)
{
	uint64_t left_ns = gyre_time_left(stack);

	expect(gyre_batch_count(stack) == 2);
	expect(left_ns >= GYRE_MILLISECONDS(790) && left_ns <= GYRE_MILLISECONDS(860));
	expect(gyre_is_awaited(stack));
	expect(gyre_batch_reply(stack, 1, gyre_new(stack, number, 1)) == 0);
	left_ns = gyre_time_left(stack);
	expect(left_ns >= GYRE_MILLISECONDS(390) && left_ns <= GYRE_MILLISECONDS(440));
	expect(gyre_batch_reply_all(stack, gyre_new(stack, number, 1)) == 0);
	expect(gyre_time_left(stack) == GYRE_FOREVER);
	expect(!gyre_is_awaited(stack));
	return gyre_return(stack);
}

static int ask_twice(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	worker_class.batch_asks = is_any;
	worker_class.behaviour.ask_batch = look_at_batch;
	frame->to = spawn_here(stack, &worker_class);
	(void)gyre_ask(stack, frame->to, gyre_new(stack, number, 1), GYRE_MILLISECONDS(400),
		       &frame->future);
	(void)gyre_ask(stack, frame->to, gyre_new(stack, number, 1), GYRE_MILLISECONDS(800),
		       &frame->other);
	GYRE_AWAIT_ALL(stack, &frame->future, &frame->other);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(budget, of_a_batch_is_that_of_who_waits_longest)
{
	play_steady(ask_twice);
}
