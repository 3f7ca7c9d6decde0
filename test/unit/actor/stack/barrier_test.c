/*
 * Barriers: what waits behind one, what goes on meanwhile, and what ends it. A barrier here waits
 * for a gate, an actor that never answers; it is opened by stopping it, which fails the ask. All on
 * one loop, where what has been run at the end of a turn is certain.
 */
#include "fixture.h"

#include <string.h>

enum { GATES = 2, EVENT_KEY = 1 };

struct frame {
	struct gyre_future future;
};

static struct gyre_address target;
static struct gyre_address asker;
static struct gyre_address adder;
static struct gyre_address gates[GATES];

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static char letter_of(const struct gyre_stack *stack)
{
	return (char)gyre_message(stack, number)->value;
}

static int ask(struct gyre_stack *stack, struct gyre_address to, char what, uint64_t timeout_ns)
{
	return gyre_ask(stack, to, gyre_new(stack, number, (uint64_t)what), timeout_ns,
			&frame_of(stack)->future);
}

static void tell(struct gyre_stack *stack, struct gyre_address to, const char *letters)
{
	for (; *letters != 0; letters++) {
		expect(gyre_notify(stack, to, gyre_new(stack, number, (uint64_t)*letters)) == 0);
	}
}

/* Goes on when all that could run on this loop has run. */
static int turn(struct gyre_stack *stack)
{
	return gyre_sleep(stack, 0, &frame_of(stack)->future);
}

/* ---- the actor ---- */

/* Capital letters are barriers. */
static bool is_capital(const struct gyre_type *type, const void *message)
{
	uint64_t value = ((const struct number *)message)->value;

	expect(type->id == GYRE_ID(number));
	return value >= 'A' && value <= 'Z';
}

/* Waits as the letter says; 0 where it does not wait. */
static int wait_for(struct gyre_stack *stack, char what)
{
	const struct gyre_timer_options at_once = { 0 };

	switch (what) {
	case 'K':
		expect(gyre_timer_start(stack, EVENT_KEY, &at_once) == 0);
		return ask(stack, gates[0], 'x', GYRE_FOREVER);
	case 'P':
	case 'D':
	case 'F':
		return ask(stack, gates[0], 'x', GYRE_FOREVER);
	case 'Q':
	case 'q':
		return ask(stack, gates[1], 'x', GYRE_FOREVER);
	case 'T':
		return ask(stack, gates[0], 'x', GYRE_MILLISECONDS(2));
	case 'Z':
		return ask(stack, gyre_self(stack), 'z', GYRE_MILLISECONDS(2));
	case 'r':
		return ask(stack, adder, 'x', 0);
	case 'S':
	case 's':
		return turn(stack);
	default:
		return -EINVAL;
	}
}

/* A letter at the start, a digit that says how the wait ended. */
static int guard(struct gyre_stack *stack)
{
	char what = letter_of(stack);

	GYRE_BEGIN(stack);
	trace(what);
	if (what == '.') {
		return fixture_end(stack);
	}
	if (what == 'E') {
		return gyre_throw(stack, -EIO);
	}
	if (strchr("PKDFQqTZrSs", what) == NULL) {
		return gyre_return(stack);
	}
	GYRE_AWAIT(stack, wait_for(stack, what));
	trace(strchr("Qq", what) != NULL ? '1' : '0');
	expect((strchr("TZ", what) != NULL) ==
	       (gyre_future_error(&frame_of(stack)->future) == -ETIMEDOUT));
	if (what == 'F') {
		return gyre_throw(stack, -EIO);
	}
	if (what == 'D') {
		GYRE_AWAIT(stack, wait_for(stack, 'Q'));
		trace('1');
	}
	GYRE_END(stack);
}

static int guard_and_answer(struct gyre_stack *stack)
{
	int r = guard(stack);

	return r == 0 ? gyre_reply(stack, gyre_new(stack, number, 1)) : r;
}

static int trace_event(struct gyre_stack *stack)
{
	trace('e');
	return gyre_return(stack);
}

static const struct gyre_class guarded_class = {
	.name = "guarded",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = guard, .ask = guard_and_answer, .event = trace_event },
	.barrier = is_capital,
	.strategy = GYRE_STRATEGY_IGNORE,
};

/* Asks the target what it is told, in a stack for each; tells of failures. */
static int ask_target(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask(stack, target, letter_of(stack), 0));
	if (gyre_future_failed(&frame_of(stack)->future)) {
		trace('!');
	}
	GYRE_END(stack);
}

static const struct gyre_class asker_class = {
	.name = "asker",
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = ask_target,
};

static int set_up(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < GATES; i++) {
		gates[i] = spawn_here(stack, &mute_class);
	}
	adder = spawn_here(stack, &adder_class);
	asker = spawn_here(stack, &asker_class);
	target = spawn_here(stack, &guarded_class);
	return turn(stack);
}

/* ---- the script ---- */

/*
 * Words, between spaces: tLETTERS tells the target, aLETTERS has it asked, oDIGIT opens a gate, s
 * stops the target, p poisons it; /, a word of its own, lets all run that can; =TRACE says what has
 * then been traced.
 */
static const char *script;

static void do_word(struct gyre_stack *stack, const char *word, size_t bytes)
{
	char rest[32] = { 0 };

	expect(bytes <= sizeof(rest));
	memcpy(rest, word + 1, bytes - 1);
	switch (word[0]) {
	case 't':
		tell(stack, target, rest);
		break;
	case 'a':
		tell(stack, asker, rest);
		break;
	case 'o':
		expect(gyre_stop(stack, gates[rest[0] - '0']) == 0);
		break;
	case 's':
		expect(gyre_stop(stack, target) == 0);
		break;
	case 'p':
		expect(gyre_poison(stack, target) == 0);
		break;
	default:
		if (strcmp(traced, rest) != 0) {
			fixture_failed(word);
		}
	}
}

static int follow_script(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, set_up(stack));
	while (*script != 0) {
		if (*script == '/') {
			GYRE_AWAIT(stack, turn(stack));
		} else {
			do_word(stack, script, strcspn(script, " "));
		}
		script += strcspn(script, " ");
		script += strspn(script, " ");
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

static void play_script(uint32_t run_budget, const char *words)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = run_budget };

	script = words;
	play_with(&options, follow_script);
}

/* ---- without a wait ---- */

Test(barrier, that_ends_at_once_or_fails_at_once_holds_nothing_up)
{
	play_script(0, "aaAb tBcEd / =aAbBcEd");
	cr_assert_eq(fixture.counters.failed, 1);
}

/* ---- with one ---- */

/* At the end no new mail comes to wake the actor. */
Test(barrier, of_an_ask_holds_back_asks_and_notices_which_run_in_order_as_soon_as_it_ends)
{
	play_script(0, "aP / =P tab acd / tf ag / =P o0 / =P0cdgabf");
}

Test(barrier, of_a_notice_holds_back_asks_and_notices_which_run_in_order_as_soon_as_it_ends)
{
	play_script(0, "tP / =P tab acd / tf ag / =P o0 / =P0cdgabf");
}

Test(barrier, holds_back_what_already_waits_behind_it)
{
	play_script(0, "aaPb tcd / =aP te / =aP o0 / =aP0bcde");
}

Test(barrier, that_waits_twice_lasts_until_its_stack_ends)
{
	play_script(0, "tDa / =D o0 / =D0 o1 / =D01a");
}

Test(barrier, is_released_by_its_own_stack_and_not_by_an_older_one_that_ends_meanwhile)
{
	play_script(0, "tqPa / =qP o1 / =qP1 o0 / =qP10a");
}

/* The event and the end of the sleep take a tick or so; what is held back would have come before.
 */
static int go_on_meanwhile(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, set_up(stack));
	tell(stack, target, "rsqKa");
	tell(stack, asker, "b");
	GYRE_AWAIT(stack, turn(stack));
	expect(strncmp(traced, "rsqK0", 5) == 0);
	do_word(stack, "o1", 2);
	while (strlen(traced) < 8) {
		GYRE_AWAIT(stack, turn(stack));
	}
	expect(strchr(traced, 'e') != NULL && strchr(traced, '1') != NULL);
	expect(strrchr(traced, '0') != strchr(traced, '0'));
	do_word(stack, "o0", 2);
	GYRE_AWAIT(stack, turn(stack));
	expect(strcmp(traced + 8, "0ba") == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(barrier, lets_replies_exceptions_events_and_the_ends_of_sleeps_through)
{
	play(1, go_on_meanwhile);
}

static int hold_back_far_mail(struct gyre_stack *stack)
{
	target = spawn_on(stack, &guarded_class, 1);
	tell(stack, target, "abSc.");
	return gyre_return(stack);
}

Test(barrier, holds_back_mail_of_another_loop)
{
	play(2, hold_back_far_mail);
	cr_assert_str_eq(traced, "abS0c.");
}

/* ---- what ends it ---- */

static int time_out(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, set_up(stack));
	tell(stack, target, "TaTb.");
	GYRE_END(stack);
}

Test(barrier, is_released_by_the_time_out_of_its_ask)
{
	play(1, time_out);
	cr_assert_str_eq(traced, "T0aT0b.");
}

static int ask_oneself(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, set_up(stack));
	tell(stack, target, "Za.");
	GYRE_END(stack);
}

Test(barrier, that_asks_its_own_actor_is_released_by_the_time_out)
{
	play(1, ask_oneself);
	cr_assert_eq(strncmp(traced, "Z0", 2), 0, "%s", traced);
	/* The question was held back: it is run too late, or not at all, and then its exception is
	 * late. */
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
	cr_assert_leq(fixture.counters.dropped[GYRE_DROP_EXPIRED], 1);
}

Test(barrier, is_released_by_the_failure_of_its_handler)
{
	play_script(0, "tFa / =F o0 / =F0a");
	cr_assert_eq(fixture.counters.failed, 1);
}

Test(barrier, is_released_by_the_failure_of_an_ask_which_its_asker_is_told)
{
	play_script(0, "aF / ta / =F o0 / =F0a!");
}

/* ---- one after another ---- */

static const char *const one_by_one = "taPQbc / =aP o0 / =aP0Q o1 / =aP0Q1bc";

Test(barrier, may_be_followed_by_another)
{
	play_script(0, one_by_one);
}

Test(barrier, goes_with_a_run_budget_of_one)
{
	play_script(1, one_by_one);
}

Test(barrier, may_be_the_last_of_a_run_budget)
{
	play_script(2, one_by_one);
}

/* ---- the end of the actor ---- */

Test(barrier, ends_with_a_stop_of_its_actor_and_so_does_what_it_held_back)
{
	play_script(0, "aP / aa tb / =P s / =P!!");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 2);
}

Test(barrier, holds_back_a_poison_which_keeps_its_place)
{
	play_script(0, "tPa / p tb ad / =P o0 / =P0da");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 1);
}
