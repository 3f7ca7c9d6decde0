/*
 * What a system counts, that an idle one does nothing, and that a busy one asks the heap for
 * nothing.
 */
#include "fixture.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ROUNDS = 20000, ROUNDS_THERE = 4000 };

struct frame {
	struct gyre_future future;
	struct gyre_address to;
	uint32_t i;
};

/* Waits for what never comes. */
static void wait_ms(int ms)
{
	struct pollfd nothing = { .fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN };

	cr_assert_eq(poll(&nothing, 1, ms), 0);
	(void)close(nothing.fd);
}

Test(counters, of_nothing_are_refused)
{
	struct gyre_counters counters;

	fixture_open(1);
	cr_assert_eq(gyre_system_counters(NULL, &counters), -EINVAL);
	cr_assert_eq(gyre_system_counters(fixture.system, NULL), -EINVAL);
	fixture_close();
}

static int ask_often(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &adder_class, 1);
	for (frame->i = 0; frame->i < 100; frame->i++) {
		GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, number, 1), 0,
					   &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(counters, tell_messages_actors_chains_and_turns)
{
	play(2, ask_often);
	cr_assert_eq(fixture.counters.sent, 200);
	cr_assert_eq(fixture.counters.handled, 200);
	cr_assert_eq(fixture.counters.spawned, 2);
	cr_assert_eq(fixture.counters.stopped, 2);
	cr_assert_geq(fixture.counters.chains, 200);
	cr_assert_geq(fixture.counters.turns, 200);
	cr_assert_gt(fixture.counters.allocations, 0);
	cr_assert_eq(fixture.counters.failed, 0);
}

/* ---- idleness ---- */

static int start_far_timer(struct gyre_stack *stack)
{
	const struct gyre_timer_options far = { .delay_ns = GYRE_SECONDS(3600) };

	return gyre_timer_start(stack, 1, &far);
}

static struct gyre_counters read_counters(void)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	return counters;
}

/*
 * What one loop has begun may wake another for a last time; and one that has been woken may have to
 * wait for a CPU.
 */
static void await_rest(void)
{
	uint64_t turns;

	do {
		turns = read_counters().turns;
		wait_ms(20);
	} while (!others_sleep() || read_counters().turns != turns || turns == 0);
}

static void assert_idle(void)
{
	struct gyre_counters before = read_counters();
	struct gyre_counters after;

	wait_ms(300);
	after = read_counters();
	cr_assert_eq(after.turns, before.turns);
	cr_assert_eq(after.parks, before.parks);
	cr_assert_eq(after.wakes, before.wakes);
	cr_assert_eq(after.enters, before.enters);
}

Test(counters, of_an_idle_system_stand_still)
{
	const struct gyre_class timed_class = { .name = "timed", .mount = start_far_timer };

	fixture_open(2);
	(void)spawn_outside(&timed_class, 0);
	(void)spawn_outside(&timed_class, 1);
	(void)spawn_outside(&sink_class, 1);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	await_rest();
	assert_idle();
	fixture_close();
}

static int nap_and_be_quiet(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &adder_class, 1);
	for (frame->i = 0; frame->i < 10; frame->i++) {
		GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, number, 1), 0,
					   &frame->future));
	}
	trace('.');
	GYRE_END(stack);
}

Test(counters, of_a_system_that_has_become_idle_stand_still)
{
	const struct gyre_class class = { .name = "brief",
					  .frame_bytes = sizeof(struct frame),
					  .mount = nap_and_be_quiet };

	fixture_open(2);
	(void)spawn_outside(&class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	await_rest();
	cr_assert_str_eq(traced, ".");
	assert_idle();
	fixture_close();
}

/* ---- the heap ---- */

static uint64_t allocations(struct gyre_stack *stack)
{
	struct gyre_counters counters;

	(void)gyre_system_counters(gyre_system_of(stack), &counters);
	return counters.allocations;
}

static uint64_t allocated;

static int ask_rounds(struct gyre_stack *stack, uint32_t loop, uint32_t rounds)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &adder_class, loop);
	for (frame->i = 0; frame->i < rounds; frame->i++) {
		if (frame->i == rounds / 2) {
			allocated = allocations(stack);
		}
		GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, number, 1), 0,
					   &frame->future));
	}
	allocated = allocations(stack) - allocated;
	return fixture_end(stack);
	GYRE_END(stack);
}

static int ask_rounds_here(struct gyre_stack *stack)
{
	return ask_rounds(stack, 0, ROUNDS);
}

static int ask_rounds_there(struct gyre_stack *stack)
{
	return ask_rounds(stack, 1, ROUNDS_THERE);
}

Test(counters, of_the_heap_stand_still_while_actors_ask_each_other)
{
	play(1, ask_rounds_here);
	cr_assert_eq(allocated, 0);
	cr_assert_geq(fixture.counters.handled, 2 * ROUNDS);
}

Test(counters, of_the_heap_stand_still_while_loops_ask_each_other)
{
	play(2, ask_rounds_there);
	cr_assert_eq(allocated, 0);
	cr_assert_geq(fixture.counters.handled, 2 * ROUNDS_THERE);
}
