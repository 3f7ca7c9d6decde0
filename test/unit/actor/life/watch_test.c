/*
 * Death watch. The watcher leaves a trace: T for the event of an end, and the letters it is told.
 */
#include <gyre/watch.h>

#include "fixture.h"

#include "actor/life/lifecycle.h"
#include "actor/stack/stack.h"
#include "base/atomic.h"

enum { LOOPS = 2, MANY = 1000, ELSEWHERE = 1 };

struct frame {
	struct gyre_future future;
	struct gyre_future stopped;
	struct gyre_address watcher;
	struct gyre_address target;
};

/* What a watcher is to do, as the value of a number. */
enum { WATCH = 'w', UNWATCH = 'u', FAIL = 'f', STOP = 's', WAIT = 'x' };

static struct gyre_address target;
static struct gyre_terminated told;
static uint32_t told_count;
static uint32_t cleaned;

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* ---- the two ---- */

static int hear(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL);
	told = *terminated;
	trace('T');
	(void)gy_fetch_add(&told_count, 1);
	return gyre_return(stack);
}

static int obey(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;
	int r = 0;

	trace(what);
	switch (what) {
	case WATCH:
		r = gyre_watch(stack, target);
		break;
	case UNWATCH:
		r = gyre_unwatch(stack, target);
		break;
	case FAIL:
		return gyre_throw(stack, -EIO);
	case STOP:
		r = gyre_stop(stack, gyre_self(stack));
		break;
	default:
		break;
	}
	return gyre_reply(stack, gyre_new(stack, number, (uint64_t)(-(int64_t)r)));
}

static int obey_notice(struct gyre_stack *stack)
{
	switch ((char)gyre_message(stack, number)->value) {
	case FAIL:
		return gyre_throw(stack, -EIO);
	case STOP:
		return gyre_stop(stack, gyre_self(stack));
	default:
		return gyre_return(stack);
	}
}

static void note_clean(void *state)
{
	(void)state;
	(void)gy_fetch_add(&cleaned, 1);
}

static const struct gyre_class watcher_class = {
	.name = "watcher",
	.behaviour = { .ask = obey, .notice = obey_notice, .event = hear },
	.clean = note_clean,
};

static const struct gyre_class restarting_class = {
	.name = "restarting",
	.behaviour.notice = obey_notice,
	.clean = note_clean,
};

static const struct gyre_class stopping_class = {
	.name = "stopping",
	.behaviour.notice = obey_notice,
	.clean = note_clean,
	.strategy = GYRE_STRATEGY_STOP,
};

/* ---- scripts ---- */

static uint32_t target_loop;
static const struct gyre_class *target_class;
static char target_end;
static bool gone_before;
static const char *orders;
static uint64_t answers[8];

static int tell_target(struct gyre_stack *stack, char what)
{
	return gyre_notify(stack, target, gyre_new(stack, number, (uint64_t)what));
}

static int order(struct gyre_stack *stack, char what)
{
	return gyre_ask(stack, frame_of(stack)->watcher, gyre_new(stack, number, (uint64_t)what), 0,
			&frame_of(stack)->future);
}

static int turn(struct gyre_stack *stack)
{
	return gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame_of(stack)->future);
}

/* Gives the orders to a watcher, ends the target, and waits until that has been told. */
static int watch_the_end(struct gyre_stack *stack)
{
	static uint32_t given;

	GYRE_BEGIN(stack);
	target = spawn_on(stack, target_class, target_loop);
	frame_of(stack)->watcher = spawn_here(stack, &watcher_class);
	if (gone_before) {
		expect(tell_target(stack, target_end) == 0);
		while (gy_load_acquire(&cleaned) == 0) {
			GYRE_AWAIT(stack, turn(stack));
		}
	}
	for (given = 0; orders[given] != 0; given++) {
		GYRE_AWAIT(stack, order(stack, orders[given]));
		answers[given] = gyre_future_get(&frame_of(stack)->future, number)->value;
	}
	if (!gone_before) {
		expect(tell_target(stack, target_end) == 0);
	}
	while (gy_load_acquire(&told_count) == 0 || gy_load_acquire(&cleaned) == 0) {
		GYRE_AWAIT(stack, turn(stack));
	}
	GYRE_AWAIT(stack, order(stack, WAIT));
	return fixture_end(stack);
	GYRE_END(stack);
}

static void watch(const struct gyre_class *class, uint32_t loop, char end, const char *given)
{
	target_class = class;
	target_loop = loop;
	target_end = end;
	orders = given;
	play(LOOPS, watch_the_end);
	cr_assert(gyre_address_equal(told.actor, target));
}

Test(watch, tells_of_a_stop_once)
{
	watch(&stopping_class, 0, STOP, "w");
	cr_assert_str_eq(traced, "wTx");
	cr_assert_eq(told.reason, 0);
}

Test(watch, tells_of_a_stop_on_another_loop)
{
	watch(&stopping_class, ELSEWHERE, STOP, "w");
	cr_assert_str_eq(traced, "wTx");
}

Test(watch, tells_of_a_failure_and_which)
{
	watch(&stopping_class, 0, FAIL, "w");
	cr_assert_str_eq(traced, "wTx");
	cr_assert_eq(told.reason, -EIO);
}

Test(watch, tells_of_a_failure_on_another_loop_and_which)
{
	watch(&stopping_class, ELSEWHERE, FAIL, "w");
	cr_assert_eq(told.reason, -EIO);
}

Test(watch, of_what_has_ended_before_tells_so)
{
	gone_before = true;
	watch(&stopping_class, 0, STOP, "w");
	cr_assert_str_eq(traced, "wTx");
	cr_assert_eq(told.reason, -ESRCH);
}

Test(watch, of_what_has_ended_before_on_another_loop_tells_so)
{
	gone_before = true;
	watch(&stopping_class, ELSEWHERE, STOP, "w");
	cr_assert_str_eq(traced, "wTx");
	cr_assert_eq(told.reason, -ESRCH);
}

Test(watch, begun_twice_tells_once)
{
	watch(&stopping_class, ELSEWHERE, STOP, "ww");
	cr_assert_str_eq(traced, "wwTx");
	cr_assert_eq(answers[1], 0);
}

Test(watch, may_be_ended_and_begun_again)
{
	watch(&stopping_class, ELSEWHERE, STOP, "wuw");
	cr_assert_str_eq(traced, "wuwTx");
	cr_assert_eq(answers[1], 0);
}

Test(watch, is_not_ended_before_it_begins)
{
	watch(&stopping_class, 0, STOP, "uw");
	cr_assert_eq(answers[0], ENOENT);
}

/* ---- restarts ---- */

static int restart_both(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	target = spawn_on(stack, &restarting_class, target_loop);
	frame_of(stack)->watcher = spawn_here(stack, &watcher_class);
	GYRE_AWAIT(stack, order(stack, WATCH));
	expect(tell_target(stack, FAIL) == 0);
	expect(gyre_notify(stack, frame_of(stack)->watcher, gyre_new(stack, number, FAIL)) == 0);
	GYRE_AWAIT(stack, order(stack, WAIT));
	expect(tell_target(stack, STOP) == 0);
	while (gy_load_acquire(&told_count) == 0) {
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(watch, is_kept_over_restarts_of_both)
{
	play(LOOPS, restart_both);
	cr_assert_str_eq(traced, "wxT");
	cr_assert_eq(fixture.counters.restarted, 2);
}

/* ---- an end that was not wanted any more ---- */

/* The event waits behind this very message when the watch is ended. */
static int unwatch_too_late(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	target = spawn_here(stack, &stopping_class);
	expect(gyre_watch(stack, target) == 0);
	expect(gyre_stop(stack, target) == 0);
	/* Another actor's answer shows that the target had its run. */
	frame_of(stack)->watcher = spawn_here(stack, &watcher_class);
	expect(gyre_unwatch(stack, target) == 0);
	GYRE_AWAIT(stack, order(stack, WAIT));
	expect(gyre_unwatch(stack, target) == -ENOENT);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(watch, that_was_ended_is_not_told)
{
	play(1, unwatch_too_late);
	cr_assert_eq(told_count, 0);
}

static int unwatch_what_waits(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	target = spawn_here(stack, &stopping_class);
	GYRE_AWAIT(stack, turn(stack));
	expect(gyre_watch(stack, target) == 0);
	expect(gyre_stop(stack, target) == 0);
	GYRE_AWAIT(stack, turn(stack));
	return fixture_end(stack);
	GYRE_END(stack);
}

static const struct gyre_class unwatching_class;

static int unwatch_at_once(struct gyre_stack *stack)
{
	expect(gyre_unwatch(stack, target) == 0);
	return gyre_return(stack);
}

static int begin_watch(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, target) == 0);
	return gyre_return(stack);
}

static const struct gyre_class unwatching_class = {
	.name = "unwatching",
	.mount = begin_watch,
	.behaviour = { .notice = unwatch_at_once, .event = hear },
};

/* Both the event of the end and the notice that ends the watch wait for the same pass. */
static int unwatch_in_the_same_pass(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	target = spawn_here(stack, &stopping_class);
	frame_of(stack)->watcher = spawn_here(stack, &unwatching_class);
	GYRE_AWAIT(stack, turn(stack));
	expect(gyre_stop(stack, target) == 0);
	/* This is behind the stop in the queue of the loop, and so is the watcher. */
	expect(gyre_notify(stack, frame_of(stack)->watcher, gyre_new(stack, number, 0)) == 0);
	GYRE_AWAIT(stack, turn(stack));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(watch, that_is_ended_while_its_event_waits_is_not_told)
{
	play_steady(unwatch_in_the_same_pass);
	cr_assert_eq(told_count, 0);
	cr_assert_eq(fixture.lost[GYRE_DROP_CANCELLED], 1);
}

Test(watch, of_an_actor_without_a_handler_for_events_is_counted_as_unhandled)
{
	play_steady(unwatch_what_waits);
	cr_assert_eq(fixture.lost[GYRE_DROP_UNHANDLED], 1);
}

/* ---- many ---- */

static int be_watched_by_many(struct gyre_stack *stack)
{
	static uint32_t i;

	GYRE_BEGIN(stack);
	target = spawn_on(stack, &stopping_class, 1);
	for (i = 0; i < MANY; i++) {
		frame_of(stack)->watcher = spawn_on(stack, &watcher_class, i % LOOPS);
		GYRE_AWAIT(stack, order(stack, WATCH));
		if (i % 4 == 0) { /* these stop, and must be forgotten */
			GYRE_AWAIT(stack, order(stack, STOP));
		}
	}
	expect(tell_target(stack, STOP) == 0);
	while (gy_load_acquire(&told_count) < MANY - MANY / 4) {
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(watch, may_be_that_of_many_of_whom_some_have_ended)
{
	play(LOOPS, be_watched_by_many);
	cr_assert_eq(told_count, MANY - MANY / 4);
	cr_assert_eq(fixture.lost[GYRE_DROP_NO_ACTOR], 0);
}

static int watch_many(struct gyre_stack *stack)
{
	static uint32_t i;

	GYRE_BEGIN(stack);
	frame_of(stack)->watcher = spawn_here(stack, &watcher_class);
	for (i = 0; i < MANY; i++) {
		target = spawn_on(stack, &stopping_class, i % LOOPS);
		GYRE_AWAIT(stack, order(stack, WATCH));
		expect(tell_target(stack, STOP) == 0);
	}
	while (gy_load_acquire(&told_count) < MANY) {
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(watch, may_be_of_many)
{
	play(LOOPS, watch_many);
	cr_assert_eq(told_count, MANY);
}

/* ---- misuse, and the end ---- */

static int watch_what_cannot_be(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, gyre_self(stack)) == -EINVAL);
	expect(gyre_watch(stack, GYRE_NOBODY) == -EINVAL);
	return fixture_end(stack);
}

Test(watch, is_neither_of_oneself_nor_of_nobody)
{
	play(1, watch_what_cannot_be);
}

static int watch_loop_of_none(struct gyre_stack *stack)
{
	struct gyre_address nowhere = { .slot = 1, .cookie = 1, .loop = 1000 };

	GYRE_BEGIN(stack);
	target = nowhere;
	frame_of(stack)->watcher = spawn_here(stack, &watcher_class);
	GYRE_AWAIT(stack, order(stack, WATCH));
	while (gy_load_acquire(&told_count) == 0) {
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(watch, of_a_loop_that_is_not_there_tells_so)
{
	play(1, watch_loop_of_none);
	cr_assert_eq(told.reason, -ESRCH);
}

static int end_with_watches(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	target = spawn_on(stack, &stopping_class, 1);
	frame_of(stack)->watcher = spawn_here(stack, &watcher_class);
	GYRE_AWAIT(stack, order(stack, WATCH));
	target = frame_of(stack)->watcher;
	frame_of(stack)->watcher = spawn_on(stack, &watcher_class, 1);
	GYRE_AWAIT(stack, order(stack, WATCH));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(watch, ends_with_the_system_without_a_trace)
{
	play(LOOPS, end_with_watches);
}

/* ---- begun in the middle of an end ---- */

static uint32_t held;
static uint32_t released;

static int hold_the_loop(struct gyre_stack *stack)
{
	gy_store_release(&held, 1);
	while (gy_load_acquire(&released) == 0) {
		gy_pause();
	}
	return gyre_return(stack);
}

static void note_child(void *state)
{
	(void)state;
	trace('c');
	(void)gy_fetch_add(&cleaned, 1);
}

static const struct gyre_class busy_child_class = {
	.name = "busy child",
	.mount = hold_the_loop,
	.clean = note_child,
};

static int have_busy_child(struct gyre_stack *stack)
{
	(void)spawn_on(stack, &busy_child_class, ELSEWHERE);
	return gyre_return(stack);
}

static const struct gyre_class busy_parent_class = { .name = "parent", .mount = have_busy_child };

static int watch_what_is_ending(struct gyre_stack *stack)
{
	static uint32_t given;

	GYRE_BEGIN(stack);
	target = spawn_here(stack, &busy_parent_class);
	frame_of(stack)->watcher = spawn_here(stack, &watcher_class);
	while (gy_load_acquire(&held) == 0) {
		GYRE_AWAIT(stack, turn(stack));
	}
	expect(gyre_stop(stack, target) == 0);
	for (given = 0; given < 3; given++) {
		GYRE_AWAIT(stack, turn(stack));
		GYRE_AWAIT(stack, order(stack, "wuw"[given]));
	}
	GYRE_AWAIT(stack, turn(stack));
	gy_store_release(&released, 1);
	while (gy_load_acquire(&told_count) == 0 || gy_load_acquire(&cleaned) == 0) {
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(watch, of_what_is_ending_tells_when_its_children_have_ended)
{
	play(LOOPS, watch_what_is_ending);
	cr_assert_str_eq(traced, "wuwcT");
	cr_assert_eq(told.reason, 0);
}

/* ---- begun before the order to spawn has come, which is then refused ---- */

static const struct gyre_type spawn_order_type = {
	.name = "spawn order",
	.id = 0x06,
	.bytes = sizeof(struct gy_spawn_message),
};

/* What a loop does with an order that has been overtaken, and comes when the loop drains. */
static void refuse_target(struct gyre_stack *stack)
{
	struct gy_home *home = gy_stack_of(stack)->home;
	struct gyre_mail *mail = gyre_mail_create(stack, &spawn_order_type);

	expect(mail != NULL);
	*(struct gy_spawn_message *)gyre_payload(mail) =
		(struct gy_spawn_message){ .order.class = &stopping_class };
	mail->to_slot = target.slot;
	mail->to_cookie = target.cookie;
	home->draining = true;
	gy_spawn_arrived(home, mail);
	home->draining = false;
}

static int watch_what_is_not_to_be(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	expect(gy_slots_reserve(gy_stack_of(stack)->home, &target) == 0);
	frame_of(stack)->watcher = spawn_here(stack, &watcher_class);
	GYRE_AWAIT(stack, order(stack, WATCH));
	expect(gyre_stop_gracefully(stack, target, GYRE_MILLISECONDS(1),
				    &frame_of(stack)->stopped) == 0);
	expect(tell_target(stack, WAIT) == 0);
	refuse_target(stack);
	GYRE_AWAIT(stack, turn(stack));
	expect(gyre_future_error(&frame_of(stack)->stopped) == 0);
	GYRE_AWAIT(stack, turn(stack)); /* for the deadline, which must not find anybody */
	GYRE_AWAIT(stack, turn(stack));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(watch, of_an_actor_that_is_refused_after_all_tells_so)
{
	play(1, watch_what_is_not_to_be);
	cr_assert_str_eq(traced, "wT");
	cr_assert_eq(told.reason, -ESHUTDOWN);
	cr_assert_eq(fixture.lost[GYRE_DROP_STOPPED] + fixture.lost[GYRE_DROP_SHUTDOWN], 2);
}
