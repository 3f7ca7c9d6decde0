/*
 * Failures that carry a message: what askers, watchers and parents read of it, and that it is freed
 * once wherever it ends.
 */
#include <gyre/batch.h>
#include <gyre/move.h>
#include <gyre/tail.h>
#include <gyre/watch.h>

#include "actor/puppet_kit.h"
#include "load.h"

struct why {
	uint32_t code;
};
GYRE_MESSAGE(why, 0x1020);

struct answer {
	uint32_t value;
};
GYRE_MESSAGE(answer, 0x1023);

struct many {
	uint32_t count;
	uint32_t numbers[];
};
GYRE_MESSAGE_TAIL(many, 0x1022, numbers, count);

static struct gyre_address target;
static struct gyre_address asker;
static int error;
static uint32_t code;
static uint64_t weight;
static uint32_t last;
static bool other;
static uint32_t told;

/* ---- who fails ---- */

static int throw_why(struct gyre_stack *stack)
{
	return gyre_throw_with(stack, -EIO, gyre_new(stack, why, 42));
}

static int throw_load(struct gyre_stack *stack)
{
	return gyre_throw_with(stack, -EIO, gyre_new(stack, load, 7));
}

static int throw_many(struct gyre_stack *stack)
{
	struct gyre_mail *mail = gyre_new_tail(stack, many, 300);

	((struct many *)gyre_payload(mail))->numbers[299] = 99;
	return gyre_throw_with(stack, -EIO, mail);
}

static int throw_and_return(struct gyre_stack *stack)
{
	(void)throw_load(stack);
	return gyre_return(stack);
}

static int throw_twice(struct gyre_stack *stack)
{
	(void)throw_load(stack);
	return throw_why(stack);
}

static int throw_nothing(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_throw_with(stack, 5, NULL), -EINVAL);
	return gyre_throw_with(stack, -EIO, NULL);
}

static int answer_and_throw(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_reply(stack, gyre_new(stack, answer, 1)), 0);
	return throw_load(stack);
}

static int throw_and_wait(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	(void)throw_load(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), &puppet_frame(stack)->future));
	return gyre_return(stack);
	GYRE_END(stack);
}

/* ---- who asks ---- */

static gyre_handler_fn thrown;

static int ask_target(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, target, gyre_new(stack, call, thrown), 0, &frame->future));
	error = gyre_future_error(&frame->future);
	cr_assert_null(gyre_future_get(&frame->future, why));
	code = gyre_future_cause(&frame->future, why) == NULL
		       ? 0
		       : gyre_future_cause(&frame->future, why)->code;
	weight = gyre_future_cause(&frame->future, load) == NULL
			 ? 0
			 : gyre_future_cause(&frame->future, load)->weight;
	last = gyre_future_cause(&frame->future, many) == NULL
		       ? 0
		       : gyre_future_cause(&frame->future, many)->numbers[299];
	other = gyre_future_cause(&frame->future, call) != NULL;
	GYRE_END(stack);
}

static void ask(struct gyre_test *test, gyre_handler_fn function, uint32_t loop)
{
	error = 77;
	code = 0;
	weight = 0;
	last = 0;
	destroyed = 0;
	thrown = function;
	target = puppet_spawn(test, &puppet_class, 0);
	asker = puppet_spawn(test, &puppet_class, loop);
	puppet_call(test, asker, ask_target);
}

KIT_TEST_WITH(cause, is_read_by_the_asker_on_this_and_on_another_loop, &two_loops)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		ask(test, throw_why, loop);
		cr_assert_eq(error, -EIO);
		cr_assert_eq(code, 42);
		cr_assert_not(other);
	}
}

KIT_TEST_WITH(cause, that_owns_something_is_destroyed_once_after_it_was_read, &two_loops)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		ask(test, throw_load, loop);
		cr_assert_eq(weight, 7);
		cr_assert_eq(destroyed, 1);
	}
}

KIT_TEST_WITH(cause, may_have_a_tail, &two_loops)
{
	ask(test, throw_many, 1);
	cr_assert_eq(last, 99);
}

KIT_TEST_WITH(cause, that_could_not_be_made_leaves_the_error_alone, &two_loops)
{
	ask(test, throw_nothing, 0);
	cr_assert_eq(error, -EIO);
	cr_assert_eq(code, 0);
}

KIT_TEST_WITH(cause, after_an_answer_is_destroyed, &two_loops)
{
	ask(test, answer_and_throw, 0);
	cr_assert_eq(error, 0);
	cr_assert_eq(destroyed, 1);
}

/* The asker is gone when the failure comes. */
static int stop_asker(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_stop(stack, asker), 0);
	return throw_load(stack);
}

KIT_TEST_WITH(cause, that_finds_nobody_is_destroyed, &two_loops)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		ask(test, stop_asker, loop);
		cr_assert_eq(error, 77);
		cr_assert_eq(destroyed, 1);
		(void)gyre_test_expect_dead_letter(test, load, GYRE_DROP_STOPPED, 0);
	}
}

/* ---- who watches ---- */

static int hear(struct gyre_stack *stack)
{
	told++;
	code = gyre_terminated_cause(stack, why) == NULL ? 0
							 : gyre_terminated_cause(stack, why)->code;
	weight = gyre_terminated_cause(stack, load) == NULL
			 ? 0
			 : gyre_terminated_cause(stack, load)->weight;
	error = gyre_message(stack, gyre_terminated)->reason;
	return gyre_return(stack);
}

static struct gyre_class watcher_class = {
	.name = "watcher",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .event = hear },
};

static struct gyre_class target_class = {
	.name = "target",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .ask = puppet_run },
	.strategy = GYRE_STRATEGY_STOP,
};

static int watch_target(struct gyre_stack *stack)
{
	return gyre_watch(stack, target);
}

static void open_watched(struct gyre_test *test)
{
	struct gyre_address watchers[2];

	told = 0;
	code = 0;
	weight = 0;
	destroyed = 0;
	target = puppet_spawn(test, &target_class, 0);
	for (uint32_t i = 0; i < 2; i++) {
		watchers[i] = puppet_spawn(test, &watcher_class, i);
		puppet_call(test, watchers[i], watch_target);
	}
}

static void fail_watched(struct gyre_test *test, gyre_handler_fn function)
{
	open_watched(test);
	puppet_call(test, target, function);
	gyre_test_advance(test, GYRE_MILLISECONDS(20));
}

KIT_TEST_WITH(cause, is_shared_by_all_who_watch_the_actor_that_ends_with_it, &two_loops)
{
	fail_watched(test, throw_load);
	cr_assert_eq(told, 2);
	cr_assert_eq(error, -EIO);
	cr_assert_eq(weight, 7);
	cr_assert_eq(destroyed, 1);
}

static int move_and_hear(struct gyre_stack *stack)
{
	struct gyre_terminated terminated;

	cr_assert_eq(gyre_move(stack, gyre_terminated, &terminated), 0);
	error = terminated.reason;
	told++;
	weight = gyre_terminated_cause(stack, load)->weight;
	return gyre_return(stack);
}

KIT_TEST_WITH(cause, stays_with_the_event_of_the_end_when_that_is_moved, &two_loops)
{
	watcher_class.behaviour.event = move_and_hear;
	fail_watched(test, throw_load);
	cr_assert_eq(told, 2);
	cr_assert_eq(error, -EIO);
	cr_assert_eq(weight, 7);
	cr_assert_eq(destroyed, 1);
}

KIT_TEST_WITH(cause, is_that_of_the_last_call, &two_loops)
{
	fail_watched(test, throw_twice);
	cr_assert_eq(code, 42);
	cr_assert_eq(weight, 0);
	cr_assert_eq(destroyed, 1);
}

KIT_TEST_WITH(cause, that_is_thrown_and_not_returned_is_destroyed, &two_loops)
{
	fail_watched(test, throw_and_return);
	cr_assert_eq(told, 0);
	cr_assert_eq(destroyed, 1);
	fail_watched(test, throw_and_wait);
	cr_assert_eq(told, 0);
	cr_assert_eq(destroyed, 1);
}

KIT_TEST_WITH(cause, of_a_handler_that_waits_when_its_actor_stops_is_destroyed, &two_loops)
{
	open_watched(test);
	puppet_call(test, target, throw_and_wait);
	cr_assert_eq(destroyed, 0);
	puppet_stop(test, target);
	cr_assert_eq(told, 2);
	cr_assert_eq(weight, 0);
	cr_assert_eq(destroyed, 1);
}

KIT_TEST_WITH(cause, of_an_earlier_failure_is_not_that_of_the_end, &two_loops)
{
	target_class.strategy = GYRE_STRATEGY_IGNORE;
	open_watched(test);
	puppet_call(test, target, throw_load);
	puppet_stop(test, target);
	cr_assert_eq(told, 2);
	cr_assert_eq(weight, 0);
	cr_assert_eq(destroyed, 1);
}

static struct gyre_address watched;

static int make_pact(struct gyre_stack *stack)
{
	return gyre_watch_pact(stack, watched);
}

KIT_TEST_WITH(cause, goes_on_by_a_pact_to_those_who_watch_the_next, &two_loops)
{
	watched = puppet_spawn(test, &target_class, 0);
	target = puppet_spawn(test, &puppet_class, 1);
	asker = puppet_spawn(test, &watcher_class, 0);
	puppet_call(test, target, make_pact);
	puppet_call(test, asker, watch_target);
	puppet_call(test, watched, throw_load);
	cr_assert_eq(told, 1);
	cr_assert_eq(weight, 7);
	cr_assert_eq(destroyed, 1);
}

/* ---- batches ---- */

enum { ASKERS = 2 };

static struct gyre_address askers[ASKERS];
static uint32_t batched;

static bool is_call(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type->id == GYRE_ID(call);
}

static int throw_to_all(struct gyre_stack *stack)
{
	batched = gyre_batch_count(stack);
	return throw_why(stack);
}

static const struct gyre_class batch_class = {
	.name = "batch",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .ask = puppet_run, .ask_batch = throw_to_all },
	.batch_asks = is_call,
};

static int ask_and_count(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, target, gyre_new(stack, call, thrown), 0, &frame->future));
	cr_assert_eq(gyre_future_error(&frame->future), -EIO);
	cr_assert_eq(gyre_future_cause(&frame->future, why)->code, 42);
	told++;
	GYRE_END(stack);
}

static int send_askers(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < ASKERS; i++) {
		cr_assert_eq(gyre_notify(stack, askers[i], gyre_new(stack, call, ask_and_count)),
			     0);
	}
	return gyre_return(stack);
}

/* Those that ask in one turn, on this and on another loop. */
KIT_TEST_WITH(cause, is_copied_to_each_asker_of_a_batch, &two_loops)
{
	target = puppet_spawn(test, &batch_class, 0);
	for (uint32_t loop = 0; loop < 2; loop++) {
		told = 0;
		batched = 0;
		for (uint32_t i = 0; i < ASKERS; i++) {
			askers[i] = puppet_spawn(test, &puppet_class, loop);
		}
		puppet_call(test, puppet_spawn(test, &puppet_class, loop), send_askers);
		cr_assert_eq(batched, ASKERS);
		cr_assert_eq(told, ASKERS);
	}
}

/* ---- parents ---- */

static enum gyre_decision decide(void *state, const struct gyre_failure *failure)
{
	(void)state;
	code = gyre_failure_cause(failure, why) == NULL ? 0
							: gyre_failure_cause(failure, why)->code;
	other = gyre_failure_cause(failure, load) != NULL;
	return GYRE_DECISION_STOP;
}

static const struct gyre_class parent_class = {
	.name = "parent",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = puppet_run,
	.supervision.decide = decide,
};

static const struct gyre_class child_class = {
	.name = "child",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = puppet_run,
	.strategy = GYRE_STRATEGY_ESCALATE,
};

static int spawn_child(struct gyre_stack *stack)
{
	return gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT,
			  &(struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 1 },
			  &target);
}

static void open_family(struct gyre_test *test)
{
	struct gyre_address parent;
	struct gyre_address watcher;

	destroyed = 0;
	parent = puppet_spawn(test, &parent_class, 0);
	puppet_call(test, parent, spawn_child);
	watcher = puppet_spawn(test, &watcher_class, 0);
	puppet_call(test, watcher, watch_target);
}

KIT_TEST_WITH(cause, is_seen_by_the_parent_that_decides_and_by_those_who_watch, &two_loops)
{
	open_family(test);
	puppet_call(test, target, throw_why);
	cr_assert_eq(code, 42);
	cr_assert_not(other);
	cr_assert_eq(told, 1);
}

KIT_TEST_WITH(cause, that_the_parent_sees_is_destroyed_once, &two_loops)
{
	open_family(test);
	puppet_call(test, target, throw_load);
	cr_assert(other);
	cr_assert_eq(told, 1);
	cr_assert_eq(weight, 7);
	cr_assert_eq(destroyed, 1);
}
