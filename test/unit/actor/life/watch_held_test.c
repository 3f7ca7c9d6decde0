/*
 * Ends that wait among the mail of their watcher, as the watcher's house has them: what they leave
 * there, how often they are looked at, and how they keep the watcher at home. The actors live in a
 * model, whose runs are short.
 *
 * The watcher leaves a trace: T for the event of an end, and the letters that it is told.
 */
#include <gyre/watch.h>

#include <string.h>

#include "actor/model.h"

#include "actor/house_extra.h"
#include "actor/life/watch.h"
#include "actor/mail/mailbox.h"
#include "actor/steal_actor.h"

enum { BUDGET = 4, ASKS = 10, MANY = 1000, BACKLOG = 100000, THIEF = 1 };

TestSuite(watch_last, .timeout = 60);

static const uint64_t wait_ns = GYRE_MILLISECONDS(10);

static struct gyre_address watcher;
static struct gyre_address target;
static uint32_t told;

/* ---- the watcher ---- */

static bool is_barrier(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(number) && ((const struct number *)message)->value == 'B';
}

static int hear(struct gyre_stack *stack)
{
	expect(gyre_message(stack, gyre_terminated) != NULL);
	told++;
	trace('T');
	return gyre_return(stack);
}

/* B waits, as a barrier in classes that have them. */
static int note(struct gyre_stack *stack)
{
	const struct call *call = gyre_message(stack, call);
	char what;

	if (call != NULL) {
		return call->function(stack);
	}
	what = (char)gyre_message(stack, number)->value;
	if (what == 'B') {
		return puppet_trace_wait(stack, 'B', 'b', wait_ns);
	}
	trace(what);
	return gyre_return(stack);
}

static struct gyre_class watcher_class = {
	.name = "watcher",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = note, .event = hear },
};

/* ---- the script ---- */

static int begin_watch(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, target) == 0);
	return gyre_return(stack);
}

static void open_with(uint32_t loops)
{
	model_home_options.run_budget = BUDGET;
	model_open(loops);
	target = model_spawn(&puppet_class, 0);
	watcher = model_spawn(&watcher_class, 0);
	model_call(watcher, begin_watch);
	model_settle();
}

static void tell_all(struct gyre_stack *stack, const char *letters)
{
	for (; *letters != 0; letters++) {
		(void)gyre_notify(stack, watcher, gyre_new(stack, number, (uint64_t)*letters));
	}
}

static const char *last_words;

/* The last that the target does, in one run. */
static int say_and_end(struct gyre_stack *stack)
{
	tell_all(stack, last_words);
	return gyre_stop(stack, gyre_self(stack));
}

static void end_saying(const char *words)
{
	last_words = words;
	model_call(target, say_and_end);
}

static void put(const char *letters)
{
	for (; *letters != 0; letters++) {
		model_put(watcher, GY_LANE_NOTICE, (uint64_t)*letters);
	}
}

static gyre_handler_fn deed;

/* Runs between the runs of the watcher, until an end waits there. */
static int wait_until_held(struct gyre_stack *stack)
{
	if (told == 0 && model_house(watcher)->extra->watch->held == 0) {
		return gyre_notify(stack, gyre_self(stack), gyre_new(stack, call, wait_until_held));
	}
	return deed(stack);
}

/* The target ends, and another does something when that stands among the notices. */
static void end_saying_and_then(const char *words, gyre_handler_fn then)
{
	struct gyre_address other = model_spawn(&puppet_class, 0);

	deed = then;
	end_saying(words);
	model_call(other, wait_until_held);
	model_settle();
}

/* Nothing is left of an end that has passed. */
static void assert_plain(void)
{
	const struct gy_house *house = model_house(watcher);

	cr_assert_eq(house->passed_over, 0);
	cr_assert_eq(house->plain, house->class_info->plain);
	cr_assert_eq(house->extra->watch->held, 0);
	cr_assert_eq(house->replies, 0);
	cr_assert_eq(house->events, 0);
}

static void close_with(const char *expected)
{
	cr_assert_str_eq(traced, expected);
	assert_plain();
	model_close();
}

Test(watch_last, leaves_nothing_in_the_house_of_its_watcher)
{
	watcher_class.barrier = is_barrier;
	open_with(1);
	put("B");
	end_saying("abcdefghijk");
	model_settle();
	cr_assert_eq(model_house(watcher)->extra->watch->held, 1);
	model_advance(wait_ns);
	close_with("BbabcdefghijkT");
}

/* ---- replies ---- */

static uint32_t answers;

/* With a stack of its own each; one of the later answers fails. */
static int wait_for_answer(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future));
	trace('=');
	return ++answers == BUDGET + 2 ? gyre_throw(stack, -EIO) : gyre_return(stack);
	GYRE_END(stack);
}

static int wait_in_restart(struct gyre_stack *stack)
{
	return puppet_trace_wait(stack, 'r', 'R', wait_ns);
}

/* It waits among the replies when it may not be told. */
Test(watch_last, waits_for_the_end_of_a_restart_hook_behind_replies)
{
	watcher_class.restart = wait_in_restart;
	open_with(1);
	for (uint32_t i = 0; i < ASKS; i++) {
		model_call(watcher, wait_for_answer);
	}
	model_settle();
	/* The target has its last run before the watcher runs. */
	gy_house_request_stop(model_house(target), 0);
	for (uint32_t i = 0; i < ASKS; i++) {
		model_answer(watcher, GY_LANE_REPLY, model_ask_id(watcher, i));
	}
	model_settle();
	cr_assert_str_eq(traced, "======r====");
	cr_assert_eq(model_house(watcher)->extra->watch->held, 0);
	cr_assert_eq(model_house(watcher)->events, 1);
	model_advance(wait_ns);
	close_with("======r====RT");
}

/* ---- bounds ---- */

Test(watch_last, is_not_counted_where_counting_begins_while_it_waits)
{
	watcher_class.barrier = is_barrier;
	open_with(1);
	put("B");
	end_saying("abc");
	model_settle();
	gy_house_start_counting(model_house(watcher));
	cr_assert_eq(model_house(watcher)->waiting, 3);
	model_advance(wait_ns);
	cr_assert_eq(model_house(watcher)->waiting, 0);
	cr_assert_str_eq(traced, "BbabcT");
	cr_assert_not(model_house(watcher)->plain);
	model_close();
}

/* ---- theft ---- */

/* Another loop takes the watcher with part of its mail, and the end comes meanwhile. */
Test(watch_last, comes_after_what_a_thief_brings_back)
{
	struct gy_loop *loop;
	struct gy_job *job;

	open_with(2);
	loop = &model.home[0].loop;
	put("abcdefghijk");
	job = gy_queue_pop(&loop->state);
	cr_assert_eq(job, &model_house(watcher)->job);
	cr_assert(gy_house_seal(loop, job));
	end_saying("lmn");
	model_turn_one(0);
	model_turn_one(0);
	cr_assert_null(model_house(target));
	cr_assert_str_eq(traced, "");
	gy_house_run_stolen(&model.home[THIEF].loop, job);
	cr_assert_str_eq(traced, "abcd");
	model_settle();
	close_with("abcdefghijklmnT");
}

static bool refused;

static int try_to_publish(struct gyre_stack *stack)
{
	struct gy_loop *loop = &model.home[0].loop;
	struct gy_job *job = gy_queue_pop(&loop->state);

	expect(job == &model_house(watcher)->job);
	refused = !gy_house_seal(loop, job);
	gy_loop_ready_state(loop, job, false);
	return gyre_return(stack);
}

Test(watch_last, keeps_the_watcher_at_home_while_it_waits)
{
	open_with(2);
	end_saying_and_then("abcdefghijk", try_to_publish);
	cr_assert(refused);
	close_with("abcdefghijkT");
}

/* ---- many ---- */

static uint32_t noticed;

static int count_notice(struct gyre_stack *stack)
{
	if (gyre_message(stack, call) != NULL) {
		return gyre_message(stack, call)->function(stack);
	}
	noticed++;
	return gyre_return(stack);
}

static int count_end(struct gyre_stack *stack)
{
	expect(noticed == BACKLOG);
	told++;
	return gyre_return(stack);
}

static void spawn_watched(struct gyre_address *actors, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		target = actors[i] = model_spawn(&puppet_class, 0);
		model_call(watcher, begin_watch);
		model_settle();
	}
}

/* Each end is looked at once in the lane of events, and once in that of notices. */
Test(watch_last, of_many_behind_a_long_backlog_takes_the_runs_that_their_number_does)
{
	static struct gyre_address many[MANY];
	uint64_t runs;

	watcher_class.behaviour.notice = count_notice;
	watcher_class.behaviour.event = count_end;
	open_with(1);
	spawn_watched(many, MANY);
	for (uint32_t i = 0; i < BACKLOG; i++) {
		model_put(watcher, GY_LANE_NOTICE, i);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		gy_house_request_stop(model_house(many[i]), 0);
	}
	runs = model.home[0].loop.counters.jobs_run;
	model_settle();
	runs = model.home[0].loop.counters.jobs_run - runs;
	cr_assert_eq(told, MANY);
	cr_assert_leq(runs, (BACKLOG + 2 * MANY) / BUDGET + MANY + 10);
	assert_plain();
	model_close();
}
