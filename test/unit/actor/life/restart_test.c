/*
 * Restarts: what stays and what does not, how many there may be, and those that are delayed. The
 * actor leaves a trace: the letters it is told, ! for an event, < and > for the first and the last
 * hook.
 */
#include "fixture.h"

#include <string.h>

#include "actor/life/restart.h"
#include "actor/stack/stack.h"

struct waiting_frame {
	struct gyre_future future;
	struct gyre_address to;
};

struct frame {
	struct gyre_future future;
};

static struct gyre_address target;
static struct gyre_address gate;
static uint64_t failed_ns;
static uint64_t delay_ns; /* of the next restart */

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static void tell_all(struct gyre_stack *stack, struct gyre_address to, const char *letters)
{
	for (; *letters != 0; letters++) {
		expect(gyre_notify(stack, to, gyre_new(stack, number, (uint64_t)*letters)) == 0);
	}
}

static int ask(struct gyre_stack *stack, struct gyre_address to, uint64_t timeout_ns)
{
	return gyre_ask(stack, to, gyre_new(stack, number, 'q'), timeout_ns,
			&frame_of(stack)->future);
}

/* Goes on when all that could run on this loop has run. */
static int turn(struct gyre_stack *stack)
{
	return gyre_sleep(stack, 0, &frame_of(stack)->future);
}

static int start_timer(struct gyre_stack *stack, uint64_t key, uint64_t after_ns)
{
	const struct gyre_timer_options options = { .delay_ns = after_ns, .period_ns = after_ns };

	return gyre_timer_start(stack, key, &options);
}

/* ---- the actor ---- */

static const struct gyre_behaviour starry;

static int fail(struct gyre_stack *stack)
{
	failed_ns = gyre_now(stack);
	return gyre_throw(stack, -EIO);
}

/* What a letter does besides being traced; 0 or what fail() returns. */
static int act(struct gyre_stack *stack, char what)
{
	switch (what) {
	case 'b':
		expect(gyre_become(stack, &starry) == 0);
		break;
	case 'd': /* as if two things had failed in one message */
		gy_house_failed(gy_stack_of(stack)->house, -EIO);
		return fail(stack);
	case 'f':
		return fail(stack);
	case 'g':
		expect(gyre_notify_self_first(stack, gyre_new(stack, number, 'n')) == 0);
		return fail(stack);
	case 'p':
		expect(gyre_poison(stack, gyre_self(stack)) == 0);
		break;
	case 't':
		expect(start_timer(stack, 1, GYRE_MILLISECONDS(1)) == 0);
		expect(start_timer(stack, 2, GYRE_SECONDS(3600)) == 0);
		break;
	default:
		break;
	}
	return 0;
}

/* Those that wait do so for the gate; E is a barrier that has events come, F one that fails. */
static int note(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	GYRE_BEGIN(stack);
	trace(what);
	if (strchr("wEF", what) == NULL) {
		return act(stack, what);
	}
	if (what == 'E') {
		expect(start_timer(stack, 1, GYRE_MILLISECONDS(1)) == 0);
	}
	GYRE_AWAIT(stack, ask(stack, gate, GYRE_FOREVER));
	trace('0');
	if (what == 'F') {
		return fail(stack);
	}
	GYRE_END(stack);
}

static int note_and_answer(struct gyre_stack *stack)
{
	trace('q');
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static int note_event(struct gyre_stack *stack)
{
	trace('!');
	return fail(stack);
}

static int note_star(struct gyre_stack *stack)
{
	trace('*');
	return act(stack, (char)gyre_message(stack, number)->value);
}

static const struct gyre_behaviour starry = { .notice = note_star };

static int before(struct gyre_stack *stack)
{
	expect(gyre_now(stack) - failed_ns >= delay_ns);
	delay_ns *= 2;
	trace('<');
	return gyre_return(stack);
}

static int after(struct gyre_stack *stack)
{
	trace('>');
	return gyre_return(stack);
}

static void trace_clean(void *state)
{
	expect(state == NULL);
	trace('c');
}

static bool is_capital(const struct gyre_type *type, const void *message)
{
	const struct number *letter = (const struct number *)message;

	return type->id == GYRE_ID(number) && letter->value >= 'A' && letter->value <= 'Z';
}

/* A test may change it before it plays. */
static struct gyre_class class = {
	.name = "failing",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = note, .ask = note_and_answer, .event = note_event },
	.barrier = is_capital,
	.before_restart = before,
	.after_restart = after,
};

/* ---- the script ---- */

static const char *told;
static const char *gate_after;
static char last;

static int set_up(struct gyre_stack *stack, const char *letters)
{
	gate = spawn_here(stack, &mute_class);
	target = spawn_here(stack, &class);
	tell_all(stack, target, letters);
	return turn(stack);
}

static int tell_until(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, set_up(stack, told));
	if (gate_after != NULL) {
		while (strstr(traced, gate_after) == NULL) {
			GYRE_AWAIT(stack, turn(stack));
		}
		trace('/');
		expect(gyre_stop(stack, gate) == 0);
	}
	while (strchr(traced, last) == NULL) {
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

/* Opens the gate when @open_after has been traced, and ends the system when @until has. */
static void play_gated(const char *letters, const char *open_after, char until)
{
	told = letters;
	gate_after = open_after;
	last = until;
	play(1, tell_until);
}

static void play_told(const char *letters, char until)
{
	play_gated(letters, NULL, until);
}

static void delay_restarts(uint64_t first_ns)
{
	class.restart_delay_ns = first_ns;
	delay_ns = first_ns;
}

/* ---- what stays ---- */

/* The first of its timers fires before the delayed restart, and its event waits. */
Test(restart, stops_the_timers_and_their_events_that_wait)
{
	delay_restarts(GYRE_MILLISECONDS(5));
	play_told("tf1.", '.');
	cr_assert_str_eq(traced, "tf<>1.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_CANCELLED], 1);
}

static int start_again(struct gyre_stack *stack)
{
	if (strchr(traced, '!') == NULL) {
		expect(start_timer(stack, 1, GYRE_MILLISECONDS(1)) == 0);
	}
	return before(stack);
}

Test(restart, may_start_timers_anew)
{
	class.before_restart = start_again;
	class.after_restart = NULL;
	play_told("f1", '!');
	cr_assert_eq(strncmp(traced, "f<1!", 4), 0, "%s", traced);
}

Test(restart, makes_the_behaviour_that_of_the_class)
{
	play_told("1bxf1.", '.');
	cr_assert_str_eq(traced, "1b**<>1.");
}

Test(restart, leaves_suspended_stacks_alone)
{
	play_gated("wf1", ">", '0');
	cr_assert_str_eq(traced, "wf<>1/0");
}

Test(restart, for_the_failure_of_a_barrier_comes_before_what_it_held_back)
{
	play_gated("F1.", "F", '.');
	cr_assert_str_eq(traced, "F/0<>1.");
}

Test(restart, that_is_delayed_comes_before_what_a_failed_barrier_held_back)
{
	delay_restarts(GYRE_MILLISECONDS(3));
	play_gated("F1.", "F", '.');
	cr_assert_str_eq(traced, "F/0<>1.");
}

Test(restart, leaves_a_barrier_of_a_stack_that_waits_in_force)
{
	play_gated("E1.", ">", '.');
	cr_assert_str_eq(traced, "E!<>/01.");
}

Test(restart, that_is_delayed_leaves_a_barrier_of_a_stack_that_waits_in_force)
{
	delay_restarts(GYRE_MILLISECONDS(3));
	play_gated("E1.", ">", '.');
	cr_assert_str_eq(traced, "E!<>/01.");
}

Test(restart, comes_before_what_the_failed_message_put_first)
{
	play_told("g1.", '.');
	cr_assert_str_eq(traced, "g<>n1.");
}

Test(restart, that_is_delayed_comes_before_what_the_failed_message_put_first)
{
	delay_restarts(GYRE_MILLISECONDS(3));
	play_told("g1.", '.');
	cr_assert_str_eq(traced, "g<>n1.");
}

/* ---- how many ---- */

Test(restart, past_the_limit_within_the_window_stops_the_actor)
{
	class.restarts_max = 2;
	class.clean = trace_clean;
	play_told("f1f2f3", 'c');
	cr_assert_str_eq(traced, "f<>1f<>2fc");
	cr_assert_eq(fixture.counters.restarted, 2);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 1);
	cr_assert_not_null(strstr(fixture.line, "more than 2 times"), "%s", fixture.line);
}

Test(restart, counts_only_what_is_within_the_window)
{
	class.restarts_max = 1;
	class.restart_window_ns = 1;
	play_told("ffff.", '.');
	cr_assert_str_eq(traced, "f<>f<>f<>f<>.");
}

Test(restart, is_one_for_two_failures)
{
	class.restarts_max = 1;
	play_told("d1.", '.');
	cr_assert_str_eq(traced, "d<>1.");
}

/* ---- delayed ---- */

Test(restart, that_is_delayed_is_never_early_and_mail_waits_for_it)
{
	delay_restarts(GYRE_MILLISECONDS(2));
	play_told("f1f2f3f.", '.');
	cr_assert_str_eq(traced, "f<>1f<>2f<>3f<>.");
	cr_assert_eq(delay_ns, GYRE_MILLISECONDS(2 << 4));
}

Test(restart, that_is_delayed_is_one_for_two_failures)
{
	class.restarts_max = 1;
	delay_restarts(GYRE_MILLISECONDS(2));
	play_told("d1.", '.');
	cr_assert_str_eq(traced, "d<>1.");
}

static int ask_meanwhile(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, set_up(stack, "f"));
	GYRE_AWAIT(stack, ask(stack, target, GYRE_MILLISECONDS(2)));
	expect(gyre_future_error(&frame_of(stack)->future) == -ETIMEDOUT);
	GYRE_AWAIT(stack, ask(stack, target, 0));
	expect(gyre_future_error(&frame_of(stack)->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(restart, that_is_delayed_holds_back_asks_and_those_that_are_late_then_are_not_run)
{
	delay_restarts(GYRE_MILLISECONDS(300));
	play_steady(ask_meanwhile);
	cr_assert_str_eq(traced, "f<>q");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_EXPIRED], 1);
}

static int stop_meanwhile(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, set_up(stack, "wf12"));
	expect(gyre_stop(stack, target) == 0);
	GYRE_AWAIT(stack, ask(stack, target, 0));
	expect(gyre_future_error(&frame_of(stack)->future) == -ESHUTDOWN);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(restart, that_is_delayed_does_not_outlive_a_stop)
{
	delay_restarts(GYRE_SECONDS(3600));
	class.clean = trace_clean;
	play(1, stop_meanwhile);
	cr_assert_str_eq(traced, "wfc");
	cr_assert_eq(fixture.counters.restarted, 0);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 3);
}

Test(restart, that_is_delayed_does_not_hold_up_the_end_of_the_system)
{
	delay_restarts(GYRE_SECONDS(3600));
	class.clean = trace_clean;
	play_told("f12", 'f');
	cr_assert_str_eq(traced, "fc");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SHUTDOWN], 2);
}

Test(restart, that_is_delayed_comes_before_a_poison)
{
	delay_restarts(GYRE_MILLISECONDS(3));
	class.clean = trace_clean;
	play_told("pf1", 'c');
	cr_assert_str_eq(traced, "pf<>1c");
}

/* ---- hooks that wait ---- */

static int wait_in_hook(struct gyre_stack *stack, char begin, char end)
{
	GYRE_BEGIN(stack);
	trace(begin);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1),
				     &((struct waiting_frame *)gyre_frame(stack))->future));
	trace(end);
	GYRE_END(stack);
}

static int wait_before(struct gyre_stack *stack)
{
	return wait_in_hook(stack, '<', '(');
}

static int wait_within(struct gyre_stack *stack)
{
	return wait_in_hook(stack, '=', '-');
}

static int wait_after(struct gyre_stack *stack)
{
	return wait_in_hook(stack, '>', ')');
}

static int fail_or_note(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	trace(what);
	return what == 'f' ? gyre_throw(stack, -EIO) : gyre_return(stack);
}

static const struct gyre_class patient_class = {
	.name = "patient",
	.frame_bytes = sizeof(struct waiting_frame),
	.behaviour.notice = fail_or_note,
	.before_restart = wait_before,
	.restart = wait_within,
	.after_restart = wait_after,
};

static int fail_and_go_on(struct gyre_stack *stack)
{
	struct waiting_frame *frame = (struct waiting_frame *)gyre_frame(stack);
	const char *letter = "afb";

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &patient_class);
	for (letter = "afb"; *letter != 0; letter++) {
		expect(gyre_notify(stack, frame->to, gyre_new(stack, number, (uint64_t)*letter)) ==
		       0);
	}
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(30), &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(restart, waits_for_each_hook_and_so_does_the_mail)
{
	play_steady(fail_and_go_on);
	cr_assert_str_eq(traced, "af<(=->)b");
}

static int fail_after_wait(struct gyre_stack *stack)
{
	int r = wait_in_hook(stack, '=', '-');

	return r == 0 ? gyre_throw(stack, -EBADMSG) : r;
}

static int fail_in_hook(struct gyre_stack *stack)
{
	static struct gyre_class failing;
	struct waiting_frame *frame = (struct waiting_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	failing = patient_class;
	failing.restart = fail_after_wait;
	frame->to = spawn_here(stack, &failing);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 'f')) == 0);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 'b')) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(30), &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(restart, whose_hook_fails_after_a_wait_stops_the_actor)
{
	play_steady(fail_in_hook);
	cr_assert_str_eq(traced, "f<(=-");
	cr_assert_eq(fixture.lost[GYRE_DROP_STOPPED], 1);
}

static int end_in_hook(struct gyre_stack *stack)
{
	struct waiting_frame *frame = (struct waiting_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &patient_class);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 'f')) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(restart, whose_hook_waits_does_not_hold_up_the_end_of_the_system)
{
	play(1, end_in_hook);
}
