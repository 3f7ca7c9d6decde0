/*
 * The budget: an ask that names no time-out gets no more than what the asker of the running message
 * has left.
 */
#include <gyre/batch.h>

#include "actor/script_kit.h"

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

/* ---- the worker, who is asked ---- */

static gyre_handler_fn handler;

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

/* A probe asks the worker, who has time for all that it does, and marks that it did. */
static void play_worker(struct gyre_test *test, gyre_handler_fn how, uint64_t timeout_ns)
{
	struct gyre_address worker = gyre_test_spawn(test, &worker_class, GYRE_NO_ARGUMENT);

	handler = how;
	asker_timeout_ns = timeout_ns;
	(void)gyre_probe_ask(gyre_probe_create(test), worker, gyre_test_new(test, number, 1),
			     timeout_ns);
	gyre_test_advance(test, GYRE_SECONDS(30));
	expect_marks(".");
}

/* ---- what is inherited ---- */

/* How long an ask takes that nobody answers, and which names no time-out. */
static uint64_t taken_ns;

static int ask_mute(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->mute = script_spawn(stack, &script_mute_class);
	frame->from_ns = gyre_now(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->mute, gyre_new(stack, number, 1), 0, &frame->other));
	cr_assert(gyre_future_error(&frame->other) == -ETIMEDOUT);
	taken_ns = gyre_now(stack) - frame->from_ns;
	cr_assert(asker_timeout_ns > GYRE_SECONDS(5) || !gyre_is_awaited(stack));
	mark('.');
	GYRE_END(stack);
}

KIT_TEST(budget, is_what_the_asker_has_left)
{
	play_worker(test, ask_mute, GYRE_MILLISECONDS(800));
	cr_assert_geq(taken_ns, GYRE_MILLISECONDS(800));
	cr_assert_leq(taken_ns, GYRE_MILLISECONDS(800 + 50 + 10));
}

KIT_TEST(budget, is_no_more_than_the_default)
{
	play_worker(test, ask_mute, GYRE_SECONDS(20));
	cr_assert_geq(taken_ns, GYRE_SECONDS(5));
	cr_assert_leq(taken_ns, GYRE_SECONDS(5) + GYRE_MILLISECONDS(10));
}

KIT_TEST(budget, of_an_asker_without_a_limit_is_the_default)
{
	play_worker(test, ask_mute, GYRE_FOREVER);
	cr_assert_geq(taken_ns, GYRE_SECONDS(5));
	cr_assert_leq(taken_ns, GYRE_SECONDS(5) + GYRE_MILLISECONDS(10));
}

static int sleep_then_ask_mute(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->mute = script_spawn(stack, &script_mute_class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(600), &frame->future));
	frame->from_ns = gyre_now(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->mute, gyre_new(stack, number, 1), 0, &frame->other));
	taken_ns = gyre_now(stack) - frame->from_ns;
	mark('.');
	GYRE_END(stack);
}

KIT_TEST(budget, shrinks_while_the_ask_is_handled)
{
	play_worker(test, sleep_then_ask_mute, GYRE_MILLISECONDS(800));
	cr_assert_geq(taken_ns, GYRE_MILLISECONDS(200));
	cr_assert_leq(taken_ns, GYRE_MILLISECONDS(200 + 50 + 20));
}

static int ask_by_name(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->mute = script_spawn(stack, &script_mute_class);
	frame->from_ns = gyre_now(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->mute, gyre_new(stack, number, 1), GYRE_SECONDS(2),
				   &frame->other));
	taken_ns = gyre_now(stack) - frame->from_ns;
	mark('.');
	GYRE_END(stack);
}

KIT_TEST(budget, does_not_bound_a_time_out_that_is_named)
{
	play_worker(test, ask_by_name, GYRE_MILLISECONDS(100));
	cr_assert_geq(taken_ns, GYRE_SECONDS(2));
}

static int reply_then_ask(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->mute = script_spawn(stack, &script_mute_class);
	frame->from_ns = gyre_now(stack);
	cr_assert(gyre_is_awaited(stack));
	cr_assert(gyre_reply(stack, gyre_new(stack, number, 1)) == 0);
	cr_assert(gyre_time_left(stack) == GYRE_FOREVER);
	cr_assert(!gyre_is_awaited(stack));
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->mute, gyre_new(stack, number, 1), 0, &frame->other));
	taken_ns = gyre_now(stack) - frame->from_ns;
	mark('.');
	GYRE_END(stack);
}

KIT_TEST(budget, is_not_inherited_after_the_answer)
{
	play_worker(test, reply_then_ask, GYRE_MILLISECONDS(100));
	cr_assert_geq(taken_ns, GYRE_SECONDS(5));
}

static int ask_too_late(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->mute = script_spawn(stack, &script_mute_class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(500), &frame->future));
	cr_assert(gyre_time_left(stack) == 0);
	cr_assert(!gyre_is_awaited(stack));
	cr_assert(gyre_ask(stack, frame->mute, gyre_new(stack, number, 1), 0, &frame->other) ==
		  -ETIMEDOUT);
	cr_assert(gyre_future_error(&frame->other) == -ETIMEDOUT);
	mark('.');
	GYRE_END(stack);
}

KIT_TEST(budget, that_is_used_up_fails_an_ask_unsent)
{
	play_worker(test, ask_too_late, GYRE_MILLISECONDS(100));
	cr_assert_eq(script_mute_asks, 0);
}

/* ---- what it is told to be ---- */

static int look_at_time(struct gyre_stack *stack)
{
	uint64_t left_ns = gyre_time_left(stack);

	cr_assert(left_ns >= GYRE_MILLISECONDS(790) && left_ns <= GYRE_MILLISECONDS(860));
	cr_assert(gyre_is_awaited(stack));
	mark('.');
	return gyre_return(stack);
}

KIT_TEST(budget, tells_the_time_that_is_left)
{
	play_worker(test, look_at_time, GYRE_MILLISECONDS(800));
}

static int expect_no_limit(struct gyre_stack *stack)
{
	cr_assert(gyre_time_left(stack) == GYRE_FOREVER);
	cr_assert(gyre_is_awaited(stack));
	mark('.');
	return gyre_return(stack);
}

KIT_TEST(budget, of_an_asker_without_a_limit_is_forever)
{
	play_worker(test, expect_no_limit, GYRE_FOREVER);
}

static int expect_nobody(struct gyre_stack *stack)
{
	cr_assert(gyre_time_left(stack) == GYRE_FOREVER);
	cr_assert(!gyre_is_awaited(stack));
	mark('.');
	return gyre_return(stack);
}

KIT_TEST(budget, of_a_notice_is_nobodys)
{
	struct gyre_address worker = gyre_test_spawn(test, &worker_class, GYRE_NO_ARGUMENT);

	handler = expect_nobody;
	(void)gyre_probe_notify(gyre_probe_create(test), worker, gyre_test_new(test, number, 1));
	gyre_test_advance(test, GYRE_MILLISECONDS(1));
	expect_marks(".");
}

/* ---- askers that give up ---- */

static int wait_for_the_asker(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	cr_assert(gyre_is_awaited(stack));
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), &frame->other));
	cr_assert(!gyre_is_awaited(stack));
	cr_assert(gyre_time_left(stack) > GYRE_SECONDS(1));
	mark('.');
	GYRE_END(stack);
}

static int ask_then_cancel(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	handler = wait_for_the_asker;
	GYRE_BEGIN(stack);
	frame->to = script_spawn(stack, &worker_class);
	(void)gyre_ask(stack, frame->to, gyre_new(stack, number, 1), 0, &frame->future);
	cr_assert(gyre_sleep(stack, GYRE_MILLISECONDS(5), &frame->other) == 0);
	GYRE_AWAIT_ALL(stack, &frame->other);
	cr_assert(gyre_cancel(stack, &frame->future) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(100), &frame->other));
	GYRE_END(stack);
}

KIT_TEST(budget, tells_of_an_asker_on_the_same_loop_that_has_given_up)
{
	script_play(test, ask_then_cancel);
	expect_marks(".");
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

	cr_assert(gyre_batch_count(stack) == 2);
	cr_assert(left_ns >= GYRE_MILLISECONDS(790) && left_ns <= GYRE_MILLISECONDS(860));
	cr_assert(gyre_is_awaited(stack));
	cr_assert(gyre_batch_reply(stack, 1, gyre_new(stack, number, 1)) == 0);
	left_ns = gyre_time_left(stack);
	cr_assert(left_ns >= GYRE_MILLISECONDS(390) && left_ns <= GYRE_MILLISECONDS(440));
	cr_assert(gyre_batch_reply_all(stack, gyre_new(stack, number, 1)) == 0);
	cr_assert(gyre_time_left(stack) == GYRE_FOREVER);
	cr_assert(!gyre_is_awaited(stack));
	mark('.');
	return gyre_return(stack);
}

static struct gyre_address worker;

static int ask_twice(struct gyre_stack *stack, void *arg)
{
	struct gyre_probe *probe = (struct gyre_probe *)arg;

	(void)gyre_probe_ask(probe, worker, gyre_new(stack, number, 1), GYRE_MILLISECONDS(400));
	return gyre_probe_ask(probe, worker, gyre_new(stack, number, 1), GYRE_MILLISECONDS(800));
}

KIT_TEST(budget, of_a_batch_is_that_of_who_waits_longest)
{
	struct gyre_probe *probe = gyre_probe_create(test);

	worker_class.batch_asks = is_any;
	worker_class.behaviour.ask_batch = look_at_batch;
	worker = gyre_test_spawn(test, &worker_class, GYRE_NO_ARGUMENT);
	(void)gyre_probe_do(probe, ask_twice, probe);
	(void)gyre_probe_expect(probe, number, GYRE_MILLISECONDS(10));
	(void)gyre_probe_expect(probe, number, GYRE_MILLISECONDS(10));
	expect_marks(".");
}
