/*
 * The bounds of a mailbox: what is refused and who hears of it, when there is room again, what is
 * never refused. What waits on the own loop is certain: it is all that a handler sends before it
 * returns.
 */
#include "fixture.h"

#include <sched.h>
#include <string.h>

#include "base/atomic.h"

enum { LIMIT = 4 };

struct frame {
	struct gyre_future future;
	struct gyre_future others[LIMIT + 2];
};

static struct gyre_address target;

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int tell(struct gyre_stack *stack, struct gyre_address to, char what)
{
	return gyre_notify(stack, to, gyre_new(stack, number, (uint64_t)what));
}

/* Tells each letter, and expects that none is refused. */
static void tell_all(struct gyre_stack *stack, struct gyre_address to, const char *letters)
{
	for (; *letters != 0; letters++) {
		expect(tell(stack, to, *letters) == 0);
	}
}

static int ask(struct gyre_stack *stack, struct gyre_address to, char what,
	       struct gyre_future *ret_future)
{
	return gyre_ask(stack, to, gyre_new(stack, number, (uint64_t)what), 0, ret_future);
}

/* Goes on when all that could run on this loop has run. */
static int turn(struct gyre_stack *stack)
{
	return gyre_sleep(stack, 0, &frame_of(stack)->future);
}

/* ---- the actor ---- */

static uint32_t noted;
static uint32_t may_go_on;

static int let_go_on(struct gyre_stack *stack)
{
	gy_store_release(&may_go_on, 1);
	return gyre_return(stack);
}

/* A star keeps the loop until it may go on. */
static int note(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	trace(what);
	(void)gy_fetch_add(&noted, 1);
	if (what == '.') {
		return fixture_end(stack);
	}
	while (what == '*' && gy_load_acquire(&may_go_on) == 0) {
		(void)sched_yield();
	}
	return gyre_return(stack);
}

static int note_and_answer(struct gyre_stack *stack)
{
	trace((char)gyre_message(stack, number)->value);
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static int note_event(struct gyre_stack *stack)
{
	trace('e');
	return gyre_return(stack);
}

static const struct gyre_class bounded_class = {
	.name = "bounded",
	.behaviour = { .notice = note, .ask = note_and_answer, .event = note_event },
	.mailbox_limit = LIMIT,
};

/* ---- refusal ---- */

static int overfill_with_notices(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	target = spawn_here(stack, &bounded_class);
	GYRE_AWAIT(stack, turn(stack));
	tell_all(stack, target, "1234");
	expect(tell(stack, target, 'x') == -ENOBUFS);
	expect(tell(stack, target, 'x') == -ENOBUFS);
	GYRE_AWAIT(stack, turn(stack));
	tell_all(stack, target, "567.");
	expect(tell(stack, target, 'x') == -ENOBUFS);
	GYRE_END(stack);
}

Test(bounds, refuse_a_notice_past_the_limit_until_there_is_room_again)
{
	play(1, overfill_with_notices);
	cr_assert_str_eq(traced, "1234567.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 3);
	cr_assert_eq(fixture.letters[0].reason, GYRE_DROP_MAILBOX_FULL);
	cr_assert_eq(fixture.letters[0].type, GYRE_ID(number));
	cr_assert(gyre_address_equal(fixture.letters[0].to, target));
	cr_assert_not(gyre_address_is_nobody(fixture.letters[0].from));
}

Test(bounds, of_a_run_budget_smaller_than_the_limit_are_the_same)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = 3 };

	play_with(&options, overfill_with_notices);
	cr_assert_str_eq(traced, "1234567.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 3);
}

static int overfill_with_asks(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	if (gyre_stack_state(stack) == 0) {
		target = spawn_here(stack, &bounded_class);
		tell_all(stack, target, "12");
		for (uint32_t i = 0; i < 4; i++) {
			expect(ask(stack, target, 'a' + (char)i, &frame->others[i]) == 0);
		}
		expect(gyre_future_error(&frame->others[2]) == -EINPROGRESS);
		return gyre_suspend(stack, 1);
	}
	for (uint32_t i = 0; i < 4; i++) {
		expect(gyre_future_error(&frame->others[i]) == (i < 2 ? 0 : -ENOBUFS));
	}
	return fixture_end(stack);
}

Test(bounds, count_asks_and_notices_together_and_fail_the_future_of_an_ask_past_the_limit)
{
	play(1, overfill_with_asks);
	cr_assert_str_eq(traced, "ab12");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 2);
}

/*
 * The target keeps its loop until the mail of the other one has been flushed to it, so that it
 * finds all of it at once.
 */
static int overfill_far(struct gyre_stack *stack)
{
	static const struct gyre_class release_class = { .name = "release", .mount = let_go_on };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	target = spawn_on(stack, &bounded_class, 1);
	tell_all(stack, target, "*");
	while (gy_load_acquire(&noted) == 0) {
		GYRE_AWAIT(stack, turn(stack));
	}
	/* The far end refuses what nobody can know of here. */
	tell_all(stack, target, "1234xx");
	(void)spawn_here(stack, &release_class);
	GYRE_AWAIT(stack, ask(stack, target, 'x', &frame->future));
	expect(gyre_future_error(&frame->future) == -ENOBUFS);
	while (gy_load_acquire(&noted) < 5) {
		GYRE_AWAIT(stack, turn(stack));
	}
	tell_all(stack, target, ".");
	GYRE_END(stack);
}

Test(bounds, refuse_mail_of_another_loop_where_it_arrives)
{
	play(2, overfill_far);
	cr_assert_str_eq(traced, "*1234.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 3);
	cr_assert(gyre_address_equal(fixture.letters[0].to, target));
}

/* ---- what does not count ---- */

static int tell_oneself(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	trace(what);
	if (what == '.') {
		return fixture_end(stack);
	}
	expect(tell(stack, gyre_self(stack), what == '3' ? '.' : (char)(what + 1)) == 0);
	expect(tell(stack, gyre_self(stack), 'x') == -ENOBUFS);
	return gyre_return(stack);
}

static const struct gyre_class ticking_class = { .name = "ticking",
						 .behaviour.notice = tell_oneself,
						 .mailbox_limit = 1 };

static int start_ticking(struct gyre_stack *stack)
{
	tell_all(stack, spawn_here(stack, &ticking_class), "1");
	return gyre_return(stack);
}

Test(bounds, count_what_waits_and_not_what_is_being_handled)
{
	play(1, start_ticking);
	cr_assert_str_eq(traced, "123.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 3);
}

static bool is_first(const struct gyre_type *type, const void *message)
{
	(void)type;
	return ((const struct number *)message)->value == '1';
}

static struct gyre_address deaf;

/* A barrier, so that the mailbox is full all the while. */
static int wait_when_full(struct gyre_stack *stack)
{
	const struct gyre_timer_options at_once = { 0 };

	GYRE_BEGIN(stack);
	if (gyre_message(stack, number)->value != '1') {
		return note(stack);
	}
	tell_all(stack, gyre_self(stack), ".");
	expect(gyre_timer_start(stack, 1, &at_once) == 0);
	expect(ask(stack, deaf, 'q', &frame_of(stack)->others[0]) == 0);
	GYRE_AWAIT(stack, ask(stack, target, 'q', &frame_of(stack)->future));
	expect(gyre_future_error(&frame_of(stack)->others[0]) == -ENOSYS);
	expect(gyre_future_error(&frame_of(stack)->future) == 0);
	trace('r');
	while (strchr(traced, 'e') == NULL) {
		GYRE_AWAIT(stack, turn(stack));
	}
	trace('s');
	expect(tell(stack, gyre_self(stack), 'x') == -ENOBUFS);
	GYRE_END(stack);
}

static const struct gyre_class full_class = {
	.name = "full",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = wait_when_full, .event = note_event },
	.barrier = is_first,
	.mailbox_limit = 1,
};

static int start_full(struct gyre_stack *stack)
{
	static const struct gyre_class deaf_class = { .name = "deaf" };

	deaf = spawn_here(stack, &deaf_class);
	target = spawn_here(stack, &adder_class);
	tell_all(stack, spawn_here(stack, &full_class), "1");
	return gyre_return(stack);
}

Test(bounds, refuse_no_reply_no_exception_no_event_and_no_end_of_a_sleep)
{
	play(1, start_full);
	cr_assert_str_eq(traced, "res.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 1);
}

static int poison_full(struct gyre_stack *stack, uint32_t loop)
{
	GYRE_BEGIN(stack);
	target = spawn_on(stack, &bounded_class, loop);
	tell_all(stack, target, "1234");
	expect(gyre_poison(stack, target) == 0);
	GYRE_AWAIT(stack, turn(stack));
	do {
		GYRE_AWAIT(stack, ask(stack, target, 'a', &frame_of(stack)->future));
	} while (gyre_future_error(&frame_of(stack)->future) != -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

static int poison_full_here(struct gyre_stack *stack)
{
	return poison_full(stack, 0);
}

static int poison_full_there(struct gyre_stack *stack)
{
	return poison_full(stack, 1);
}

Test(bounds, do_not_refuse_a_poison)
{
	play(1, poison_full_here);
	cr_assert_str_eq(traced, "1234");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 0);
}

Test(bounds, do_not_refuse_a_poison_of_another_loop)
{
	play(2, poison_full_there);
	for (uint32_t i = 0; i < fixture.letters_count && i < FIXTURE_LETTERS_MAX; i++) {
		/* The asks that wait for its effect may well be refused. */
		cr_assert(fixture.letters[i].reason != GYRE_DROP_MAILBOX_FULL ||
			  fixture.letters[i].type == GYRE_ID(number));
	}
}

/* ---- before the mount ---- */

static int overfill_unmounted(struct gyre_stack *stack)
{
	target = spawn_here(stack, &bounded_class);
	tell_all(stack, target, "123.");
	expect(tell(stack, target, 'x') == -ENOBUFS);
	return gyre_return(stack);
}

Test(bounds, hold_before_the_actor_is_mounted)
{
	play(1, overfill_unmounted);
	cr_assert_str_eq(traced, "123.");
}

static struct gyre_address reserved;
static uint32_t is_entered;
static uint32_t is_reserved;

/* On the loop of an actor that is not known there yet, and neither is its limit. */
static int tell_reserved(struct gyre_stack *stack)
{
	gy_store_release(&is_entered, 1);
	while (gy_load_acquire(&is_reserved) == 0) {
		(void)sched_yield();
	}
	tell_all(stack, reserved, "123.");
	return let_go_on(stack);
}

/* Until this returns from its last state, the order to spawn stands in the outbox. */
static int spawn_late(struct gyre_stack *stack)
{
	static const struct gyre_class early_class = { .name = "early", .mount = tell_reserved };

	GYRE_BEGIN(stack);
	(void)spawn_on(stack, &early_class, 1);
	while (gy_load_acquire(&is_entered) == 0) {
		GYRE_AWAIT(stack, turn(stack));
	}
	reserved = spawn_on(stack, &bounded_class, 1);
	gy_store_release(&is_reserved, 1);
	while (gy_load_acquire(&may_go_on) == 0) {
		(void)sched_yield();
	}
	tell_all(stack, reserved, "x");
	GYRE_END(stack);
}

Test(bounds, count_mail_that_came_before_the_actor_itself)
{
	play(2, spawn_late);
	cr_assert_str_eq(traced, "123.");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_MAILBOX_FULL], 1);
}
