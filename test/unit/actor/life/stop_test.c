/*
 * How actors end: stopped by themselves and by others, poisoned, with mail left over, with stacks
 * that wait; and what their addresses are worth afterwards.
 */
#include "fixture.h"

#include "base/atomic.h"

struct frame {
	struct gyre_future future;
	struct gyre_future others[3];
	struct gyre_address to;
	struct gyre_address old;
	uint32_t i;
};

static uint32_t cleaned;
static uint64_t cleaned_state;

struct state {
	uint64_t count;
};

static void clean(void *state)
{
	cleaned_state = ((struct state *)state)->count;
	trace('c');
	(void)gy_fetch_add(&cleaned, 1);
}

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int ask_number(struct gyre_stack *stack, struct gyre_address to, uint64_t value)
{
	return gyre_ask(stack, to, gyre_new(stack, number, value), 0, &frame_of(stack)->future);
}

static void tell(struct gyre_stack *stack, struct gyre_address to, uint64_t value)
{
	expect(gyre_notify(stack, to, gyre_new(stack, number, value)) == 0);
}

static int nap(struct gyre_stack *stack)
{
	return gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame_of(stack)->future);
}

/* A 0 stops the actor itself; the other numbers are traced and counted. */
static int count_notice(struct gyre_stack *stack)
{
	struct state *state = (struct state *)gyre_state(stack);
	uint64_t value = gyre_message(stack, number)->value;

	state->count++;
	trace('0' + (char)value);
	if (value == 0) {
		expect(gyre_stop(stack, gyre_self(stack)) == 0);
		trace('s'); /* the handler goes on */
	}
	return gyre_return(stack);
}

static int answer(struct gyre_stack *stack)
{
	trace('a');
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static const struct gyre_class mortal_class = {
	.name = "mortal",
	.state_bytes = sizeof(struct state),
	.behaviour = { .notice = count_notice, .ask = answer },
	.clean = clean,
};

/* ---- oneself ---- */

static int make_it_stop(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &mortal_class);
	tell(stack, frame->to, 1);
	tell(stack, frame->to, 0);
	tell(stack, frame->to, 2);
	tell(stack, frame->to, 3);
	while (gy_load_acquire(&cleaned) == 0) {
		GYRE_AWAIT(stack, nap(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(stop, of_oneself_takes_effect_after_the_message_and_what_waits_is_lost)
{
	play(1, make_it_stop);
	cr_assert_str_eq(traced, "10sc");
	cr_assert_eq(cleaned, 1);
	cr_assert_eq(cleaned_state, 2);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 2);
}

/* ---- another one ---- */

static int stop_other(struct gyre_stack *stack, uint32_t loop)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->i = loop;
	frame->to = spawn_on(stack, &mortal_class, loop);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	tell(stack, frame->to, 4);
	expect(gyre_stop(stack, frame->to) == 0);
	expect(gyre_stop(stack, frame->to) == 0);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_future_error(&frame->future) == (frame->i == 0 ? -ESHUTDOWN : -ESRCH) ||
	       gyre_future_error(&frame->future) == -ESHUTDOWN);
	while (gy_load_acquire(&cleaned) == 0) {
		GYRE_AWAIT(stack, nap(stack));
	}
	expect(gyre_stop(stack, frame->to) == (frame->i == 0 ? -ESRCH : 0));
	expect(gyre_poison(stack, frame->to) == (frame->i == 0 ? -ESRCH : 0));
	return fixture_end(stack);
	GYRE_END(stack);
}

static int stop_other_here(struct gyre_stack *stack)
{
	return stop_other(stack, 0);
}

static int stop_other_there(struct gyre_stack *stack)
{
	return stop_other(stack, 1);
}

Test(stop, of_another_actor_of_the_loop_cleans_it_once)
{
	play(1, stop_other_here);
	cr_assert_str_eq(traced, "ac");
	cr_assert_eq(cleaned, 1);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 2);
}

Test(stop, of_an_actor_of_another_loop_cleans_it_once)
{
	play(2, stop_other_there);
	cr_assert_eq(cleaned, 1);
}

Test(stop, of_the_system_cleans_the_actors_that_are_left)
{
	fixture_open(2);
	(void)spawn_outside(&mortal_class, 0);
	(void)spawn_outside(&mortal_class, 1);
	fixture_close();
	cr_assert_eq(cleaned, 2);
}

/* ---- poison ---- */

static int poison(struct gyre_stack *stack, uint32_t loop)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &mortal_class, loop);
	tell(stack, frame->to, 1);
	tell(stack, frame->to, 2);
	expect(gyre_poison(stack, frame->to) == 0);
	tell(stack, frame->to, 3);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_future_error(&frame->future) == 0);
	while (gy_load_acquire(&cleaned) == 0) {
		GYRE_AWAIT(stack, nap(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

static int poison_here(struct gyre_stack *stack)
{
	return poison(stack, 0);
}

static int poison_there(struct gyre_stack *stack)
{
	return poison(stack, 1);
}

Test(stop, by_poison_comes_in_its_turn_among_the_notices_and_asks_are_still_answered)
{
	play(1, poison_here);
	cr_assert_str_eq(traced, "a12c");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 1);
}

Test(stop, by_poison_comes_in_its_turn_on_another_loop_too)
{
	play(2, poison_there);
	cr_assert_str_eq(traced, "a12c");
}

static int poison_oneself(struct gyre_stack *stack)
{
	expect(gyre_poison(stack, gyre_self(stack)) == 0);
	tell(stack, gyre_self(stack), 5);
	return gyre_return(stack);
}

static const struct gyre_class suicidal_class = {
	.name = "suicidal",
	.state_bytes = sizeof(struct state),
	.mount = poison_oneself,
	.behaviour = { .notice = count_notice },
	.clean = clean,
};

static int watch_suicide(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	(void)spawn_here(stack, &suicidal_class);
	while (gy_load_acquire(&cleaned) == 0) {
		GYRE_AWAIT(stack, nap(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(stop, by_poison_may_be_ones_own_doing)
{
	play(1, watch_suicide);
	cr_assert_str_eq(traced, "c");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 1);
}

/* ---- stacks that wait ---- */

static int nap_again(struct gyre_stack *stack)
{
	expect(nap(stack) == 0);
	return gyre_suspend_any(stack, 1);
}

static int stop_waiting(struct gyre_stack *stack, uint32_t loop)
{
	struct frame *frame = frame_of(stack);

	switch (gyre_stack_state(stack)) {
	case 0:
		frame->to = spawn_on(stack, &mute_class, loop);
		for (uint32_t i = 0; i < 3; i++) {
			expect(gyre_ask(stack, frame->to, gyre_new(stack, number, i), 0,
					&frame->others[i]) == 0);
		}
		return nap_again(stack);
	case 1:
		if (gy_load_acquire(&mute_waiting) < 3) {
			return nap_again(stack);
		}
		expect(gyre_stop(stack, frame->to) == 0);
		return gyre_suspend(stack, 2);
	default:
		for (uint32_t i = 0; i < 3; i++) {
			expect(gyre_future_error(&frame->others[i]) == -ESHUTDOWN);
		}
		return fixture_end(stack);
	}
}

static int stop_waiting_here(struct gyre_stack *stack)
{
	return stop_waiting(stack, 0);
}

static int stop_waiting_there(struct gyre_stack *stack)
{
	return stop_waiting(stack, 1);
}

Test(stop, fails_the_asks_whose_stacks_were_suspended)
{
	play(1, stop_waiting_here);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 0);
}

Test(stop, fails_the_asks_whose_stacks_were_suspended_on_another_loop)
{
	play(2, stop_waiting_there);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 0);
}

static uint32_t may_answer;

static int answer_later(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	while (gy_load_acquire(&may_answer) == 0) {
		GYRE_AWAIT(stack, nap(stack));
	}
	trace('r');
	return gyre_reply(stack, gyre_new(stack, number, 1));
	GYRE_END(stack);
}

static const struct gyre_class late_class = {
	.name = "late",
	.frame_bytes = sizeof(struct frame),
	.behaviour.ask = answer_later,
};

static struct gyre_address late;

static int ask_and_wait(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask_number(stack, late, 1));
	expect(false);
	GYRE_END(stack);
}

static const struct gyre_class asking_class = {
	.name = "asking",
	.state_bytes = sizeof(struct state),
	.frame_bytes = sizeof(struct frame),
	.behaviour.notice = ask_and_wait,
	.clean = clean,
};

static int stop_asker(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	late = spawn_on(stack, &late_class, 1);
	frame->to = spawn_here(stack, &asking_class);
	tell(stack, frame->to, 1);
	GYRE_AWAIT(stack, nap(stack));
	expect(gyre_stop(stack, frame->to) == 0);
	while (gy_load_acquire(&cleaned) == 0) {
		GYRE_AWAIT(stack, nap(stack));
	}
	/* What its slot holds next is asked at the same time, and must not get the other's answer.
	 */
	gy_store_release(&may_answer, 1);
	GYRE_AWAIT(stack, ask_number(stack, late, 1));
	expect(gyre_future_error(&frame->future) == 0);
	while (gy_load_acquire(&fixture.letters_count) == 0) {
		GYRE_AWAIT(stack, nap(stack));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(stop, of_an_asker_makes_the_answer_a_dead_letter)
{
	play(2, stop_asker);
	cr_assert_str_eq(traced, "crr");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_NO_ACTOR], 1);
	cr_assert_eq(fixture.letters[0].type, GYRE_ID(number));
	cr_assert(gyre_address_equal(fixture.letters[0].from, late));
}

/* ---- addresses afterwards ---- */

static int reuse_slot(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	for (frame->i = 0; frame->i < 50; frame->i++) {
		frame->old = spawn_here(stack, &mortal_class);
		expect(gyre_stop(stack, frame->old) == 0);
		while (gy_load_acquire(&cleaned) == frame->i) {
			GYRE_AWAIT(stack, nap(stack));
		}
		frame->to = spawn_here(stack, &adder_class);
		expect(frame->to.slot == frame->old.slot);
		expect(!gyre_address_equal(frame->to, frame->old));
		expect(gyre_notify(stack, frame->old, gyre_new(stack, number, 1)) == -ESRCH);
		GYRE_AWAIT(stack, ask_number(stack, frame->old, 1));
		expect(gyre_future_error(&frame->future) == -ESRCH);
		GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
		expect(gyre_future_error(&frame->future) == 0);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(stop, makes_the_address_stale_also_when_its_slot_is_used_again)
{
	play(1, reuse_slot);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_NO_ACTOR], 100);
}
