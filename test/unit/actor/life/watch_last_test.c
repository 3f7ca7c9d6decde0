/*
 * Death watch tells of an end after the last mail of the actor that has ended, however long that
 * mail has to wait at the watcher. The actors live in a model, whose runs are short: what is more
 * than a run may handle stays for the next one.
 *
 * The watcher leaves a trace: T for the event of an end, the letters that it is told, those that it
 * is asked, and ! for an ask of its own that has failed, = for one that was answered.
 */
#include <gyre/batch.h>
#include <gyre/behaviour.h>
#include <gyre/watch.h>

#include <string.h>

#include "actor/model.h"

#include "actor/house_extra.h"
#include "actor/life/graceful_stop.h"
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

/* What letters do: B and W wait, B as a barrier in classes that have them; F fails; S is laid
 * aside the first time; U brings all of that back, E ends the watch, N becomes one that notes
 * events as t; and others are noted. */
static bool is_barrier(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(number) && ((const struct number *)message)->value == 'B';
}

static int hear(struct gyre_stack *stack)
{
	if (gyre_message(stack, gyre_mailbox_mark) != NULL) {
		trace(gyre_message(stack, gyre_mailbox_mark)->high ? 'H' : 'L');
		return gyre_return(stack);
	}
	expect(gyre_message(stack, gyre_terminated) != NULL);
	told++;
	trace('T');
	return gyre_return(stack);
}

static int hear_anew(struct gyre_stack *stack)
{
	trace('t');
	return gyre_return(stack);
}

static int note(struct gyre_stack *stack);

static const struct gyre_behaviour anew = { .notice = note, .event = hear_anew };

static int wait_a_while(struct gyre_stack *stack, char begin, char end)
{
	GYRE_BEGIN(stack);
	trace(begin);
	GYRE_AWAIT(stack, gyre_sleep(stack, wait_ns, &puppet_frame(stack)->future));
	trace(end);
	GYRE_END(stack);
}

static int note_letter(struct gyre_stack *stack, char what)
{
	static bool stashed;

	switch (what) {
	case 'B':
		return wait_a_while(stack, 'B', 'b');
	case 'W':
		return wait_a_while(stack, 'W', 'w');
	case 'F':
		trace(what);
		return gyre_throw(stack, -EIO);
	case 'S':
		trace(stashed ? 's' : 'S');
		if (!stashed) {
			stashed = true;
			return gyre_stash(stack);
		}
		return gyre_return(stack);
	case 'U':
		expect(gyre_unstash(stack, GYRE_UNSTASH_ALL) == 1);
		break;
	case 'E':
		expect(gyre_unwatch(stack, target) == 0);
		break;
	case 'N':
		expect(gyre_become(stack, &anew) == 0);
		break;
	default:
		break;
	}
	trace(what);
	return gyre_return(stack);
}

static int note(struct gyre_stack *stack)
{
	const struct call *call = gyre_message(stack, call);

	return call != NULL ? call->function(stack)
			    : note_letter(stack, (char)gyre_message(stack, number)->value);
}

static int note_ask(struct gyre_stack *stack)
{
	trace((char)gyre_message(stack, number)->value);
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static bool is_any(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type->id == GYRE_ID(number);
}

static int note_batch(struct gyre_stack *stack)
{
	trace('(');
	for (uint32_t i = 0; i < gyre_batch_count(stack); i++) {
		trace((char)gyre_batch_get(stack, i, number)->value);
	}
	trace(')');
	return gyre_return(stack);
}

static struct gyre_class watcher_class = {
	.name = "watcher",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = note, .ask = note_ask, .event = hear },
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

static int say_more(struct gyre_stack *stack)
{
	expect(told == 0);
	tell_all(stack, "xyz");
	return gyre_return(stack);
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

/* ---- more than a run may handle ---- */

Test(watch_last, comes_after_more_notices_than_a_run_may_handle)
{
	open_with(1);
	end_saying("abcdefghijk");
	model_settle();
	close_with("abcdefghijkT");
}

Test(watch_last, comes_before_what_arrives_while_it_waits)
{
	open_with(1);
	end_saying_and_then("abcdefghijk", say_more);
	close_with("abcdefghijkTxyz");
}

static int ask_and_end(struct gyre_stack *stack)
{
	for (uint64_t i = 0; i < ASKS; i++) {
		model_put(watcher, GY_LANE_ASK, 'a' + i);
	}
	tell_all(stack, "123456");
	return gyre_stop(stack, gyre_self(stack));
}

Test(watch_last, comes_after_more_asks_and_notices_than_a_run_may_handle)
{
	open_with(1);
	model_call(target, ask_and_end);
	model_settle();
	cr_assert_eq(traced[strlen(traced) - 1], 'T', "%s", traced);
	cr_assert_eq(strlen(traced), ASKS + 6 + 1);
	assert_plain();
	model_close();
}

static struct gyre_address asked;
static uint32_t answers;
static uint32_t fails_at; /* that answer; 0 for none */

/* The watcher asks, each ask with a stack of its own. */
static int ask_it(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, asked, gyre_new(stack, number, 1), 0, &frame->future));
	trace(gyre_future_error(&frame->future) == 0 ? '=' : '!');
	return ++answers == fails_at ? gyre_throw(stack, -EIO) : gyre_return(stack);
	GYRE_END(stack);
}

static int never_answer(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future));
	GYRE_END(stack);
}

static const struct gyre_class silent_class = {
	.name = "silent",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.ask = never_answer,
};

/* The watcher waits for answers of the target, or of another. */
static void open_and_ask(bool other)
{
	model_home_options.run_budget = BUDGET;
	model_open(1);
	asked = model_spawn(&silent_class, 0);
	target = other ? model_spawn(&puppet_class, 0) : asked;
	watcher = model_spawn(&watcher_class, 0);
	model_call(watcher, begin_watch);
	for (uint32_t i = 0; i < ASKS; i++) {
		model_call(watcher, ask_it);
	}
	model_settle();
}

/* The target has its last run before the watcher runs. */
static void end_and_answer_all(void)
{
	gy_house_request_stop(model_house(target), 0);
	for (uint32_t i = 0; i < ASKS; i++) {
		model_answer(watcher, GY_LANE_REPLY, model_ask_id(watcher, i));
	}
	model_settle();
}

Test(watch_last, comes_after_more_replies_than_a_run_may_handle)
{
	open_and_ask(true);
	end_and_answer_all();
	close_with("==========T");
}

static int wait_in_restart(struct gyre_stack *stack)
{
	return wait_a_while(stack, 'r', 'R');
}

/* It waits among the replies when it may not be told. */
Test(watch_last, waits_for_the_end_of_a_restart_hook_behind_replies)
{
	watcher_class.restart = wait_in_restart;
	fails_at = BUDGET + 2;
	open_and_ask(true);
	end_and_answer_all();
	cr_assert_str_eq(traced, "======r====");
	cr_assert_eq(model_house(watcher)->extra->watch->held, 0);
	cr_assert_eq(model_house(watcher)->events, 1);
	model_advance(wait_ns);
	close_with("======r====RT");
}

/* Of asks that the target leaves without an answer. */
Test(watch_last, comes_after_more_exceptions_than_a_run_may_handle)
{
	open_and_ask(false);
	gy_house_request_stop(model_house(target), 0);
	model_settle();
	close_with("!!!!!!!!!!T");
}

Test(watch_last, passes_through_all_lanes_that_hold_mail)
{
	open_and_ask(false);
	for (uint64_t i = 0; i < ASKS; i++) {
		model_put(watcher, GY_LANE_ASK, 'a' + i);
		model_put(watcher, GY_LANE_NOTICE, 'A' + 24 + i % 2);
	}
	gy_house_request_stop(model_house(target), 0);
	model_settle();
	cr_assert_eq(strchr(traced, 'T') > strrchr(traced, '!'), true, "%s", traced);
	cr_assert_eq(strlen(traced), 3 * ASKS + 1);
	assert_plain();
	model_close();
}

/* ---- closed lanes ---- */

Test(watch_last, comes_after_what_waits_behind_a_barrier)
{
	watcher_class.barrier = is_barrier;
	open_with(1);
	put("B");
	end_saying("abc");
	model_settle();
	cr_assert_str_eq(traced, "B");
	model_advance(wait_ns);
	close_with("BbabcT");
}

Test(watch_last, does_not_wait_for_a_barrier_that_nothing_waits_behind)
{
	watcher_class.barrier = is_barrier;
	open_with(1);
	put("B");
	end_saying("");
	model_settle();
	cr_assert_str_eq(traced, "BT");
	model_advance(wait_ns);
	close_with("BTb");
}

Test(watch_last, comes_after_what_waits_for_a_delayed_restart)
{
	watcher_class.restart_delay_ns = wait_ns;
	open_with(1);
	end_saying("aFbcdefghijk");
	model_settle();
	cr_assert_str_eq(traced, "aF");
	model_advance(wait_ns);
	close_with("aFbcdefghijkT");
}

/* The restart begins when the end stands among the notices already. */
Test(watch_last, keeps_its_place_over_a_restart)
{
	watcher_class.restart_delay_ns = wait_ns;
	open_with(1);
	end_saying("abcdefghijkF");
	put("xyz");
	model_settle();
	cr_assert_str_eq(traced, "xyzabcdefghijkF");
	model_advance(wait_ns);
	close_with("xyzabcdefghijkFT");
}

/* ---- the front ---- */

Test(watch_last, comes_after_what_was_laid_aside_and_is_brought_back_in_the_same_run)
{
	open_with(1);
	end_saying("SUb");
	model_settle();
	close_with("SUsbT");
}

/* ---- bounds ---- */

static void kill(struct gyre_address *actors, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		gy_house_request_stop(model_house(actors[i]), 0);
	}
	model_settle();
}

static void spawn_watched(struct gyre_address *actors, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		target = actors[i] = model_spawn(&puppet_class, 0);
		model_call(watcher, begin_watch);
		model_settle();
	}
}

Test(watch_last, takes_no_room_in_a_bounded_mailbox)
{
	struct gyre_address others[8];

	watcher_class.barrier = is_barrier;
	watcher_class.mailbox_limit = 6;
	watcher_class.mailbox_high = 5;
	watcher_class.mailbox_low = 1;
	open_with(1);
	spawn_watched(others, 8);
	put("B");
	model_settle();
	put("abcd");
	kill(others, 8);
	cr_assert_eq(model_house(watcher)->extra->watch->held, 8);
	cr_assert_eq(model_house(watcher)->waiting, 4);
	cr_assert_str_eq(traced, "B", "four are not many");
	put("e");
	model_settle();
	cr_assert_str_eq(traced, "BH");
	put("fg");
	cr_assert_eq(model.lost[GYRE_DROP_MAILBOX_FULL], 1);
	cr_assert_eq(model_house(watcher)->waiting, 6);
	model_advance(wait_ns);
	cr_assert_eq(model_house(watcher)->waiting, 0);
	close_with("BHbabcdTTTTTTTTefL");
}

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

/* ---- batches ---- */

Test(watch_last, comes_after_the_batches_of_what_was_before_it)
{
	watcher_class.batch_notices = is_any;
	watcher_class.batch_max = 3;
	watcher_class.behaviour.notice_batch = note_batch;
	open_with(1);
	end_saying_and_then("abcdefghijk", say_more);
	close_with("(abc)(d)(efg)(h)(ijk)T(xyz)");
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

/* ---- what becomes of the watcher ---- */

Test(watch_last, leaves_nothing_behind_when_the_watcher_stops_first)
{
	watcher_class.barrier = is_barrier;
	open_with(1);
	put("B");
	end_saying("abc");
	model_settle();
	cr_assert_eq(model_house(watcher)->extra->watch->held, 1);
	gy_house_request_stop(model_house(watcher), 0);
	model_settle();
	cr_assert_null(model_house(watcher));
	cr_assert_eq(told, 0);
	cr_assert_eq(model.lost[GYRE_DROP_STOPPED], 3);
	cr_assert_eq(model.last_lost.type, GYRE_ID(number));
	model_close();
}

static int poison_watcher(struct gyre_stack *stack)
{
	expect(told == 0);
	return gyre_poison(stack, watcher);
}

Test(watch_last, comes_before_a_poison_behind_it)
{
	open_with(1);
	end_saying_and_then("abcdefghijk", poison_watcher);
	cr_assert_null(model_house(watcher));
	cr_assert_str_eq(traced, "abcdefghijkT");
	model_close();
}

static int poison_and_end(struct gyre_stack *stack)
{
	tell_all(stack, "abcde");
	expect(gyre_poison(stack, watcher) == 0);
	tell_all(stack, "fgh");
	return gyre_stop(stack, gyre_self(stack));
}

Test(watch_last, does_not_come_past_a_poison_before_it)
{
	open_with(1);
	model_call(target, poison_and_end);
	model_settle();
	cr_assert_null(model_house(watcher));
	cr_assert_str_eq(traced, "abcde");
	cr_assert_eq(model.lost[GYRE_DROP_STOPPED], 3);
	cr_assert_eq(model.last_lost.type, GYRE_ID(number));
	model_close();
}

static int retire_watcher_and_end(struct gyre_stack *stack)
{
	tell_all(stack, "Wabcde");
	expect(gyre_stop_gracefully(stack, watcher, GYRE_FOREVER, NULL) == 0);
	tell_all(stack, "fgh");
	return gyre_stop(stack, gyre_self(stack));
}

/* What stands behind the poison is never handled; what is suspended may need the event. */
Test(watch_last, comes_when_a_graceful_stop_leaves_nothing_to_wait_for)
{
	open_with(1);
	model_call(target, retire_watcher_and_end);
	model_settle();
	cr_assert_str_eq(traced, "WabcdeT");
	assert_plain();
	model_advance(wait_ns);
	cr_assert_null(model_house(watcher));
	cr_assert_str_eq(traced, "WabcdeTw");
	cr_assert_eq(model.lost[GYRE_DROP_STOPPED], 3);
	model_close();
}

Test(watch_last, comes_at_once_to_an_actor_that_stops_gracefully_already)
{
	struct gyre_address other;

	open_with(1);
	spawn_watched(&other, 1);
	put("W");
	gy_house_order_graceful_stop(model_house(watcher), GYRE_FOREVER);
	put("abc");
	model_settle();
	cr_assert_str_eq(traced, "W");
	kill(&other, 1);
	cr_assert_str_eq(traced, "WT");
	model_advance(wait_ns);
	cr_assert_str_eq(traced, "WTw");
	model_close();
}

Test(watch_last, comes_to_the_behaviour_that_the_watcher_has_then)
{
	open_with(1);
	end_saying("abcdefNghijk");
	model_settle();
	close_with("abcdefNghijkt");
}

Test(watch_last, is_not_told_when_the_watch_is_ended_while_it_waits)
{
	open_with(1);
	end_saying("abcdefghijEk");
	model_settle();
	cr_assert_eq(model.lost[GYRE_DROP_CANCELLED], 1);
	close_with("abcdefghijEk");
}

Test(watch_last, that_nobody_handles_is_counted_as_unhandled)
{
	watcher_class.behaviour.event = NULL;
	open_with(1);
	end_saying("abcdefghijk");
	model_settle();
	cr_assert_eq(model.lost[GYRE_DROP_UNHANDLED], 1);
	close_with("abcdefghijk");
}

/* A receive time-out keeps runs from being plain too, and may end first. */
static int start_idle(struct gyre_stack *stack)
{
	expect(gyre_receive_timeout_start(stack, GYRE_SECONDS(1000)) == 0);
	return gyre_return(stack);
}

static int stop_idle(struct gyre_stack *stack)
{
	expect(gyre_receive_timeout_stop(stack) == 0);
	return gyre_return(stack);
}

Test(watch_last, keeps_its_place_when_a_receive_time_out_ends_before_it)
{
	open_with(1);
	model_call(watcher, start_idle);
	model_settle();
	put("abcdef");
	model_call(watcher, stop_idle);
	end_saying("ghijk");
	model_settle();
	close_with("abcdefghijkT");
}
