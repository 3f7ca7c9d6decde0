/*
 * Failure: what a notice or an event that fails leads to, by the strategy of the class, and the
 * hooks of a restart. The actor leaves a trace: the letters it is told, ! for an event, and < = >
 * for the three hooks.
 */
#include "fixture.h"

#include <string.h>

struct frame {
	struct gyre_future future;
};

struct state {
	uint64_t count; /* of what it was told */
};

static struct gyre_address target;
static char failing_hook;

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static struct state *state_of(struct gyre_stack *stack)
{
	return (struct state *)gyre_state(stack);
}

static void tell_all(struct gyre_stack *stack, struct gyre_address to, const char *letters)
{
	for (; *letters != 0; letters++) {
		expect(gyre_notify(stack, to, gyre_new(stack, number, (uint64_t)*letters)) == 0);
	}
}

static int ask(struct gyre_stack *stack, struct gyre_address to, char what)
{
	return gyre_ask(stack, to, gyre_new(stack, number, (uint64_t)what), 0,
			&frame_of(stack)->future);
}

/* Goes on when all that could run on this loop has run. */
static int turn(struct gyre_stack *stack)
{
	return gyre_sleep(stack, 0, &frame_of(stack)->future);
}

/* ---- the actor ---- */

/* f fails, s too after it has asked to be stopped, w after it has waited; e has an event come. */
static int note(struct gyre_stack *stack)
{
	const struct gyre_timer_options at_once = { 0 };
	char what = (char)gyre_message(stack, number)->value;

	GYRE_BEGIN(stack);
	trace(what);
	state_of(stack)->count++;
	if (what == 'e') {
		expect(gyre_timer_start(stack, 1, &at_once) == 0);
	}
	if (what == 's') {
		expect(gyre_stop(stack, gyre_self(stack)) == 0);
	}
	if (what == 'w') {
		GYRE_AWAIT(stack, turn(stack));
		trace('x');
	}
	if (strchr("fsw", what) != NULL) {
		return gyre_throw(stack, -EIO);
	}
	GYRE_END(stack);
}

static int note_and_answer(struct gyre_stack *stack)
{
	int r = note(stack);

	return r == 0 ? gyre_reply(stack, gyre_new(stack, number, state_of(stack)->count)) : r;
}

static int fail_event(struct gyre_stack *stack)
{
	expect(gyre_message(stack, gyre_timeout) != NULL);
	trace('!');
	return -EIO;
}

static int hook(struct gyre_stack *stack, char what)
{
	trace(what);
	expect(gyre_message_id(stack) == 0);
	expect(gyre_address_is_nobody(gyre_sender(stack)));
	expect(gyre_address_equal(gyre_self(stack), target));
	return what == failing_hook ? gyre_throw(stack, -EIO) : gyre_return(stack);
}

static int before(struct gyre_stack *stack)
{
	return hook(stack, '<');
}

static int restart(struct gyre_stack *stack)
{
	return hook(stack, '=');
}

static int after(struct gyre_stack *stack)
{
	return hook(stack, '>');
}

static void trace_clean(void *state)
{
	expect(((struct state *)state)->count > 0);
	trace('c');
}

/* A test may change it before it plays. */
static struct gyre_class class = {
	.name = "failing",
	.state_bytes = sizeof(struct state),
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = note, .ask = note_and_answer, .event = fail_event },
	.before_restart = before,
	.restart = restart,
	.after_restart = after,
};

/* ---- the script ---- */

static const char *told;
static char last;

static int tell_until(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	target = spawn_here(stack, &class);
	tell_all(stack, target, told);
	while (strchr(traced, last) == NULL || last == 0) {
		GYRE_AWAIT(stack, turn(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

/* Until @until is traced; 0: until the system ends of itself. */
static void play_told(const char *letters, char until)
{
	told = letters;
	last = until;
	play(1, tell_until);
}

/* ---- restart ---- */

Test(failure, of_a_notice_restarts_by_three_hooks_in_order_and_what_waits_comes_after)
{
	play_told("1f2f3.", '.');
	cr_assert_str_eq(traced, "1f<=>2f<=>3.");
	cr_assert_eq(fixture.counters.failed, 2);
	cr_assert_eq(fixture.counters.restarted, 2);
	cr_assert_geq(fixture.warnings, 1);
}

Test(failure, of_an_event_restarts)
{
	play_told("1e2", '>');
	cr_assert_str_eq(traced, "1e2!<=>");
	cr_assert_eq(fixture.counters.restarted, 1);
}

Test(failure, of_a_notice_that_has_waited_restarts)
{
	play_told("1w2", '>');
	cr_assert_str_eq(traced, "1w2x<=>");
}

Test(failure, restarts_without_hooks_too)
{
	class.before_restart = NULL;
	class.restart = NULL;
	class.after_restart = NULL;
	play_told("1f2.", '.');
	cr_assert_str_eq(traced, "1f2.");
	cr_assert_eq(fixture.counters.restarted, 1);
}

static int restart_and_send(struct gyre_stack *stack)
{
	expect(state_of(stack)->count == 2);
	target = spawn_here(stack, &sink_class);
	tell_all(stack, target, "x");
	expect(gyre_notify_self_first(stack, gyre_new(stack, number, 'p')) == 0);
	target = gyre_self(stack);
	return hook(stack, '=');
}

Test(failure, has_hooks_that_find_the_state_and_may_spawn_and_send)
{
	class.restart = restart_and_send;
	play_told("1f2.", '.');
	cr_assert_str_eq(traced, "1f<=>p2.");
	cr_assert_eq(fixture.counters.spawned, 3);
}

/* ---- the other strategies ---- */

Test(failure, may_be_ignored)
{
	class.strategy = GYRE_STRATEGY_IGNORE;
	play_told("1f2e", '!');
	cr_assert_str_eq(traced, "1f2e!");
	cr_assert_eq(fixture.counters.failed, 2);
	cr_assert_eq(fixture.counters.restarted, 0);
}

Test(failure, of_a_notice_may_stop_the_actor)
{
	class.strategy = GYRE_STRATEGY_STOP;
	class.clean = trace_clean;
	play_told("1f2", 'c');
	cr_assert_str_eq(traced, "1fc");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 1);
}

Test(failure, of_an_event_may_stop_the_actor)
{
	class.strategy = GYRE_STRATEGY_STOP;
	class.clean = trace_clean;
	play_told("1e", 'c');
	cr_assert_str_eq(traced, "1e!c");
}

Test(failure, of_a_notice_may_shut_the_system_down)
{
	class.strategy = GYRE_STRATEGY_SHUT_DOWN;
	play_told("1f", 0);
	cr_assert_str_eq(traced, "1f");
}

Test(failure, of_an_event_may_shut_the_system_down)
{
	class.strategy = GYRE_STRATEGY_SHUT_DOWN;
	play_told("1e", 0);
	cr_assert_str_eq(traced, "1e!");
}

static int spawn_unknown(struct gyre_stack *stack)
{
	struct gyre_address address;

	class.strategy = GYRE_STRATEGY_ESCALATE + 1;
	expect(gyre_spawn(stack, &class, GYRE_NO_ARGUMENT, NULL, &address) == -EINVAL);
	return fixture_end(stack);
}

Test(failure, has_no_strategy_beyond_those_named)
{
	play(1, spawn_unknown);
}

/* ---- asks ---- */

static int ask_failing(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	target = spawn_here(stack, &class);
	GYRE_AWAIT(stack, ask(stack, target, 'f'));
	expect(gyre_future_error(&frame_of(stack)->future) == -EIO);
	GYRE_AWAIT(stack, ask(stack, target, 'w'));
	expect(gyre_future_error(&frame_of(stack)->future) == -EIO);
	GYRE_AWAIT(stack, ask(stack, target, '1'));
	expect(gyre_future_get(&frame_of(stack)->future, number)->value == 3);
	return fixture_end(stack);
	GYRE_END(stack);
}

static void play_asks(enum gyre_strategy strategy)
{
	class.strategy = strategy;
	play(1, ask_failing);
	cr_assert_str_eq(traced, "fwx1");
	cr_assert_eq(fixture.counters.failed, 2);
	cr_assert_eq(fixture.counters.restarted, 0);
}

Test(failure, of_an_ask_is_its_askers_and_does_not_restart)
{
	play_asks(GYRE_STRATEGY_RESTART);
}

Test(failure, of_an_ask_is_its_askers_and_does_not_stop)
{
	play_asks(GYRE_STRATEGY_STOP);
}

Test(failure, of_an_ask_is_its_askers_and_does_not_shut_down)
{
	play_asks(GYRE_STRATEGY_SHUT_DOWN);
}

/* ---- hooks that fail ---- */

static void play_hook(char what)
{
	failing_hook = what;
	class.clean = trace_clean;
	play_told("1f2", 'c');
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 1);
	cr_assert_eq(fixture.counters.failed, 2);
}

Test(failure, of_the_first_hook_stops_the_actor)
{
	play_hook('<');
	cr_assert_str_eq(traced, "1f<c");
}

Test(failure, of_the_second_hook_stops_the_actor)
{
	play_hook('=');
	cr_assert_str_eq(traced, "1f<=c");
}

Test(failure, of_the_third_hook_stops_the_actor)
{
	play_hook('>');
	cr_assert_str_eq(traced, "1f<=>c");
}

Test(failure, after_a_stop_does_not_restart)
{
	class.clean = trace_clean;
	play_told("1s2", 'c');
	cr_assert_str_eq(traced, "1sc");
	cr_assert_eq(fixture.counters.restarted, 0);
}
