/*
 * Death watch tells of an end after the last mail of the actor that has ended, however long that
 * mail has to wait at the watcher. All actors are on one loop, and their runs are short: what is
 * more than a run may handle stays for the next one.
 *
 * The watcher leaves a trace: T for the event of an end, the letters that it is told, those that it
 * is asked, and ! for an ask of its own that has failed, = for one that was answered.
 */
#include "actor/puppet_kit.h"

#include <string.h>

#include <gyre/batch.h>
#include <gyre/behaviour.h>
#include <gyre/counters.h>
#include <gyre/timer.h>
#include <gyre/watch.h>

#include "fixture.h"

enum { BUDGET = 4, ASKS = 10 };

static const struct gyre_system_options one_loop = { .loops = 1,
						     .run_budget = BUDGET,
						     HEARD_FROM(GYRE_LOG_WARNING) };

static const uint64_t wait_ns = GYRE_MILLISECONDS(100);

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
	cr_assert(gyre_message(stack, gyre_terminated) != NULL);
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

static int note_letter(struct gyre_stack *stack, char what)
{
	static bool stashed;

	switch (what) {
	case 'B':
		return puppet_trace_wait(stack, 'B', 'b', wait_ns);
	case 'W':
		return puppet_trace_wait(stack, 'W', 'w', wait_ns);
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
		cr_assert(gyre_unstash(stack, GYRE_UNSTASH_ALL) == 1);
		break;
	case 'E':
		cr_assert(gyre_unwatch(stack, target) == 0);
		break;
	case 'N':
		cr_assert(gyre_become(stack, &anew) == 0);
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

static bool ended; /* the target */

static void note_end(void *state)
{
	(void)state;
	ended = true;
}

static const struct gyre_class target_class = {
	.name = "target",
	.state_bytes = 1,
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run },
	.clean = note_end,
};

static struct gyre_address other;
static struct gyre_probe *probe;

static int begin_watch(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_watch(stack, target), 0);
	return gyre_return(stack);
}

static void open_with(struct gyre_test *test, const struct gyre_class *class)
{
	probe = gyre_probe_create(test);
	target = puppet_spawn(test, class, 0);
	other = puppet_spawn(test, &puppet_class, 0);
	watcher = puppet_spawn(test, &watcher_class, 0);
	puppet_call(test, watcher, begin_watch);
}

static void tell_all(struct gyre_stack *stack, const char *letters)
{
	for (; *letters != 0; letters++) {
		(void)gyre_notify(stack, watcher, gyre_new(stack, number, (uint64_t)*letters));
	}
}

static const char *words;

static int say(struct gyre_stack *stack)
{
	tell_all(stack, words);
	return gyre_return(stack);
}

/* All in one run of another actor. */
static void put(struct gyre_test *test, const char *letters)
{
	words = letters;
	puppet_call(test, other, say);
}

/* The last that the target does, in one run. */
static int say_and_end(struct gyre_stack *stack)
{
	tell_all(stack, words);
	return gyre_stop(stack, gyre_self(stack));
}

static void end_saying(struct gyre_test *test, const char *letters)
{
	words = letters;
	puppet_call(test, target, say_and_end);
}

static gyre_handler_fn deed;

static uint32_t letters_handled(void)
{
	uint32_t count = 0;

	for (const char *at = traced; *at != 0; at++) {
		count += *at >= 'a' && *at <= 'k';
	}
	return count;
}

/* Runs between the runs of the watcher, until it has had its second one: by then it has seen the
 * end, and goes on with the letters before it. */
static int wait_for_end(struct gyre_stack *stack)
{
	if (!ended || letters_handled() <= BUDGET) {
		return gyre_notify(stack, gyre_self(stack), gyre_new(stack, call, wait_for_end));
	}
	cr_assert_eq(told, 0);
	return deed(stack);
}

static int call_both(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	(void)gyre_notify(stack, target, gyre_new(stack, call, say_and_end));
	return gyre_notify(stack, other, gyre_new(stack, call, wait_for_end));
}

/* The target ends, and another does something while the watcher handles what was said before. */
static void end_saying_and_then(struct gyre_test *test, const char *letters, gyre_handler_fn then)
{
	words = letters;
	deed = then;
	cr_assert_eq(gyre_probe_do(probe, call_both, NULL), 0);
	settle(test);
}

static int say_more(struct gyre_stack *stack)
{
	tell_all(stack, "xyz");
	return gyre_return(stack);
}

static void expect_lost(struct gyre_test *test, enum gyre_drop reason, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		(void)gyre_test_expect_dead_letter(test, number, reason, 0);
	}
}

static uint64_t dropped(struct gyre_test *test, enum gyre_drop reason)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(gyre_test_system(test), &counters), 0);
	return counters.dropped[reason];
}

/* ---- more than a run may handle ---- */

KIT_TEST_WITH(watch_last, comes_after_more_notices_than_a_run_may_handle, &one_loop)
{
	open_with(test, &target_class);
	end_saying(test, "abcdefghijk");
	cr_assert_str_eq(traced, "abcdefghijkT");
}

KIT_TEST_WITH(watch_last, comes_before_what_arrives_while_it_waits, &one_loop)
{
	open_with(test, &target_class);
	end_saying_and_then(test, "abcdefghijk", say_more);
	cr_assert_str_eq(traced, "abcdefghijkTxyz");
}

static int ask_and_end(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < ASKS; i++) {
		cr_assert_eq(gyre_probe_ask(probe, watcher, gyre_new(stack, number, 'a' + i), 0),
			     0);
	}
	return gyre_notify(stack, target, gyre_new(stack, call, say_and_end));
}

static void expect_answers(void)
{
	for (uint32_t i = 0; i < ASKS; i++) {
		(void)gyre_probe_expect(probe, number, 0);
	}
}

KIT_TEST_WITH(watch_last, comes_after_more_asks_and_notices_than_a_run_may_handle, &one_loop)
{
	open_with(test, &target_class);
	words = "123456";
	cr_assert_eq(gyre_probe_do(probe, ask_and_end, NULL), 0);
	settle(test);
	cr_assert_eq(traced[strlen(traced) - 1], 'T', "%s", traced);
	cr_assert_eq(strlen(traced), ASKS + 6 + 1);
	expect_answers();
}

/* The target has its last run before the watcher runs: what ends first runs first. */
static int end_at_date(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, wait_ns, &puppet_frame(stack)->future));
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static int wait_for_date(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, wait_ns, &puppet_frame(stack)->future));
	trace('=');
	GYRE_END(stack);
}

static int call_all(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	(void)gyre_notify(stack, target, gyre_new(stack, call, end_at_date));
	for (uint32_t i = 0; i < ASKS; i++) {
		(void)gyre_notify(stack, watcher, gyre_new(stack, call, wait_for_date));
	}
	return 0;
}

KIT_TEST_WITH(watch_last, comes_after_more_replies_than_a_run_may_handle, &one_loop)
{
	open_with(test, &target_class);
	cr_assert_eq(gyre_probe_do(probe, call_all, NULL), 0);
	gyre_test_advance(test, 2 * wait_ns);
	cr_assert_str_eq(traced, "==========T");
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

/* The watcher asks, each ask with a stack of its own. */
static int ask_target(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, target, gyre_new(stack, number, 1), 0, &frame->future));
	trace(gyre_future_error(&frame->future) == 0 ? '=' : '!');
	GYRE_END(stack);
}

static void open_and_ask(struct gyre_test *test)
{
	open_with(test, &silent_class);
	for (uint32_t i = 0; i < ASKS; i++) {
		puppet_call(test, watcher, ask_target);
	}
}

/* Of asks that the target leaves without an answer. */
KIT_TEST_WITH(watch_last, comes_after_more_exceptions_than_a_run_may_handle, &one_loop)
{
	open_and_ask(test);
	puppet_stop(test, target);
	cr_assert_str_eq(traced, "!!!!!!!!!!T");
}

static int fill_and_stop(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < ASKS; i++) {
		cr_assert_eq(gyre_probe_ask(probe, watcher, gyre_new(stack, number, 'a' + i), 0),
			     0);
		(void)gyre_notify(stack, watcher, gyre_new(stack, number, 'X' + i % 2));
	}
	return gyre_stop(stack, target);
}

KIT_TEST_WITH(watch_last, passes_through_all_lanes_that_hold_mail, &one_loop)
{
	open_and_ask(test);
	cr_assert_eq(gyre_probe_do(probe, fill_and_stop, NULL), 0);
	settle(test);
	cr_assert_eq(strchr(traced, 'T') > strrchr(traced, '!'), true, "%s", traced);
	cr_assert_eq(strlen(traced), 3 * ASKS + 1);
	expect_answers();
}

/* ---- closed lanes ---- */

KIT_TEST_WITH(watch_last, comes_after_what_waits_behind_a_barrier, &one_loop)
{
	watcher_class.barrier = is_barrier;
	open_with(test, &target_class);
	put(test, "B");
	end_saying(test, "abc");
	cr_assert_str_eq(traced, "B");
	gyre_test_advance(test, wait_ns);
	cr_assert_str_eq(traced, "BbabcT");
}

KIT_TEST_WITH(watch_last, does_not_wait_for_a_barrier_that_nothing_waits_behind, &one_loop)
{
	watcher_class.barrier = is_barrier;
	open_with(test, &target_class);
	put(test, "B");
	end_saying(test, "");
	cr_assert_str_eq(traced, "BT");
	gyre_test_advance(test, wait_ns);
	cr_assert_str_eq(traced, "BTb");
}

KIT_TEST_WITH(watch_last, comes_after_what_waits_for_a_delayed_restart, &one_loop)
{
	watcher_class.restart_delay_ns = wait_ns;
	open_with(test, &target_class);
	end_saying(test, "aFbcdefghijk");
	cr_assert_str_eq(traced, "aF");
	gyre_test_advance(test, wait_ns);
	cr_assert_str_eq(traced, "aFbcdefghijkT");
}

static int end_after_xyz(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	(void)gyre_notify(stack, target, gyre_new(stack, call, say_and_end));
	tell_all(stack, "xyz");
	return 0;
}

/* The restart begins when the end stands among the notices already. */
KIT_TEST_WITH(watch_last, keeps_its_place_over_a_restart, &one_loop)
{
	watcher_class.restart_delay_ns = wait_ns;
	open_with(test, &target_class);
	words = "abcdefghijkF";
	cr_assert_eq(gyre_probe_do(probe, end_after_xyz, NULL), 0);
	settle(test);
	cr_assert_str_eq(traced, "xyzabcdefghijkF");
	gyre_test_advance(test, wait_ns);
	cr_assert_str_eq(traced, "xyzabcdefghijkFT");
}

/* ---- the front ---- */

KIT_TEST_WITH(watch_last, comes_after_what_was_laid_aside_and_is_brought_back_in_the_same_run,
	      &one_loop)
{
	open_with(test, &target_class);
	end_saying(test, "SUb");
	cr_assert_str_eq(traced, "SUsbT");
}

/* ---- bounds ---- */

static void spawn_watched(struct gyre_test *test, struct gyre_address *actors, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		target = actors[i] = puppet_spawn(test, &puppet_class, 0);
		puppet_call(test, watcher, begin_watch);
	}
}

KIT_TEST_WITH(watch_last, takes_no_room_in_a_bounded_mailbox, &one_loop)
{
	struct gyre_address others[8];

	watcher_class.barrier = is_barrier;
	watcher_class.mailbox_limit = 6;
	watcher_class.mailbox_high = 5;
	watcher_class.mailbox_low = 1;
	open_with(test, &target_class);
	spawn_watched(test, others, 8);
	put(test, "B");
	put(test, "abcd");
	for (uint32_t i = 0; i < 8; i++) {
		puppet_stop(test, others[i]);
	}
	cr_assert_str_eq(traced, "B", "four are not many");
	put(test, "e");
	cr_assert_str_eq(traced, "BH");
	put(test, "fg");
	expect_lost(test, GYRE_DROP_MAILBOX_FULL, 1);
	gyre_test_advance(test, wait_ns);
	cr_assert_str_eq(traced, "BHbabcdTTTTTTTTefL");
}

/* ---- batches ---- */

KIT_TEST_WITH(watch_last, comes_after_the_batches_of_what_was_before_it, &one_loop)
{
	watcher_class.batch_notices = is_any;
	watcher_class.batch_max = 3;
	watcher_class.behaviour.notice_batch = note_batch;
	open_with(test, &target_class);
	end_saying_and_then(test, "abcdefghijk", say_more);
	cr_assert_str_eq(traced, "(abc)(d)(efg)(h)(ijk)T(xyz)");
}

/* ---- what becomes of the watcher ---- */

KIT_TEST_WITH(watch_last, leaves_nothing_behind_when_the_watcher_stops_first, &one_loop)
{
	watcher_class.barrier = is_barrier;
	open_with(test, &target_class);
	put(test, "B");
	end_saying(test, "abc");
	expect_ended(test, target);
	puppet_stop(test, watcher);
	expect_ended(test, watcher);
	cr_assert_eq(told, 0);
	expect_lost(test, GYRE_DROP_STOPPED, 3);
	cr_assert_eq(dropped(test, GYRE_DROP_STOPPED), 3);
}

static int poison_watcher(struct gyre_stack *stack)
{
	return gyre_poison(stack, watcher);
}

KIT_TEST_WITH(watch_last, comes_before_a_poison_behind_it, &one_loop)
{
	open_with(test, &target_class);
	end_saying_and_then(test, "abcdefghijk", poison_watcher);
	expect_ended(test, watcher);
	cr_assert_str_eq(traced, "abcdefghijkT");
}

static int poison_and_end(struct gyre_stack *stack)
{
	tell_all(stack, "abcde");
	cr_assert(gyre_poison(stack, watcher) == 0);
	tell_all(stack, "fgh");
	return gyre_stop(stack, gyre_self(stack));
}

KIT_TEST_WITH(watch_last, does_not_come_past_a_poison_before_it, &one_loop)
{
	open_with(test, &target_class);
	puppet_call(test, target, poison_and_end);
	expect_ended(test, watcher);
	cr_assert_str_eq(traced, "abcde");
	expect_lost(test, GYRE_DROP_STOPPED, 3);
	cr_assert_eq(dropped(test, GYRE_DROP_STOPPED), 3);
}

static int retire_watcher_and_end(struct gyre_stack *stack)
{
	tell_all(stack, "Wabcde");
	cr_assert(gyre_stop_gracefully(stack, watcher, GYRE_FOREVER, NULL) == 0);
	tell_all(stack, "fgh");
	return gyre_stop(stack, gyre_self(stack));
}

/* What stands behind the poison is never handled; what is suspended may need the event. */
KIT_TEST_WITH(watch_last, comes_when_a_graceful_stop_leaves_nothing_to_wait_for, &one_loop)
{
	open_with(test, &target_class);
	puppet_call(test, target, retire_watcher_and_end);
	cr_assert_str_eq(traced, "WabcdeT");
	gyre_test_advance(test, wait_ns);
	expect_ended(test, watcher);
	cr_assert_str_eq(traced, "WabcdeTw");
	expect_lost(test, GYRE_DROP_STOPPED, 3);
}

static int retire_watcher(struct gyre_stack *stack)
{
	return gyre_stop_gracefully(stack, watcher, GYRE_FOREVER, NULL);
}

KIT_TEST_WITH(watch_last, comes_at_once_to_an_actor_that_stops_gracefully_already, &one_loop)
{
	open_with(test, &target_class);
	put(test, "W");
	puppet_call(test, other, retire_watcher);
	put(test, "abc");
	cr_assert_str_eq(traced, "W");
	puppet_stop(test, target);
	cr_assert_str_eq(traced, "WT");
	gyre_test_advance(test, wait_ns);
	cr_assert_str_eq(traced, "WTw");
	expect_lost(test, GYRE_DROP_STOPPED, 3);
}

KIT_TEST_WITH(watch_last, comes_to_the_behaviour_that_the_watcher_has_then, &one_loop)
{
	open_with(test, &target_class);
	end_saying(test, "abcdefNghijk");
	cr_assert_str_eq(traced, "abcdefNghijkt");
}

KIT_TEST_WITH(watch_last, is_not_told_when_the_watch_is_ended_while_it_waits, &one_loop)
{
	open_with(test, &target_class);
	end_saying(test, "abcdefghijEk");
	cr_assert_eq(dropped(test, GYRE_DROP_CANCELLED), 1);
	cr_assert_str_eq(traced, "abcdefghijEk");
}

KIT_TEST_WITH(watch_last, that_nobody_handles_is_counted_as_unhandled, &one_loop)
{
	watcher_class.behaviour.event = NULL;
	open_with(test, &target_class);
	end_saying(test, "abcdefghijk");
	(void)gyre_test_expect_dead_letter(test, gyre_terminated, GYRE_DROP_UNHANDLED, 0);
	cr_assert_str_eq(traced, "abcdefghijk");
}

/* A receive time-out keeps runs from being plain too, and may end first. */
static int start_idle(struct gyre_stack *stack)
{
	cr_assert(gyre_receive_timeout_start(stack, GYRE_SECONDS(1000)) == 0);
	return gyre_return(stack);
}

static int stop_idle(struct gyre_stack *stack)
{
	cr_assert(gyre_receive_timeout_stop(stack) == 0);
	return gyre_return(stack);
}

/* The time-out is stopped behind the first letters, in their run or the next. */
static int end_after_idle(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	tell_all(stack, "abcdef");
	(void)gyre_notify(stack, watcher, gyre_new(stack, call, stop_idle));
	return gyre_notify(stack, target, gyre_new(stack, call, say_and_end));
}

KIT_TEST_WITH(watch_last, keeps_its_place_when_a_receive_time_out_ends_before_it, &one_loop)
{
	open_with(test, &target_class);
	puppet_call(test, watcher, start_idle);
	words = "ghijk";
	cr_assert_eq(gyre_probe_do(probe, end_after_idle, NULL), 0);
	settle(test);
	cr_assert_str_eq(traced, "abcdefghijkT");
}
