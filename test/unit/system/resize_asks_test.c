/*
 * Asks of threads that are no loop's, to actors of a loop that retires: in their order, and as long
 * as the actors are there.
 */
#include "fixture.h"

#include <gyre/outside.h>

#include <errno.h>
#include <pthread.h>

#include "actor/stack/stack.h"
#include "resize_rig.h"

TestSuite(resize_asks, .timeout = 60);

static uint32_t held;	  /* a handler is in the way */
static uint32_t may_go;	  /* and ends */
static uint32_t answered; /* asks that came back */
static uint64_t taken[4];
static uint32_t taken_count;

static int hold(struct gyre_stack *stack)
{
	gy_store_release(&held, 1);
	wait_for(&may_go, 1);
	return gyre_return(stack);
}

static int take(struct gyre_stack *stack)
{
	uint64_t value = gyre_message(stack, number)->value;

	taken[taken_count++] = value;
	return gyre_reply(stack, gyre_new(stack, number, value));
}

static const struct gyre_class holder_class = { .name = "holder", .behaviour.notice = hold };
static const struct gyre_class taker_class = { .name = "taker", .behaviour.ask = take };

static void hear(struct gyre_mail *answer, int error, void *arg)
{
	(void)arg;
	expect(error == 0 && answer != NULL);
	(void)gy_fetch_add(&answered, 1);
}

static void ask_later(struct gyre_address to, uint64_t value)
{
	cr_assert_eq(gyre_system_ask_callback(fixture.system, to,
					      gyre_system_new(fixture.system, number, value),
					      GYRE_FOREVER, hear, NULL),
		     0);
}

static int ask_now(struct gyre_address to, uint64_t value)
{
	return gyre_system_ask(fixture.system, to, gyre_system_new(fixture.system, number, value),
			       GYRE_FOREVER, NULL);
}

static void *shrink_to_one(void *arg)
{
	expect(resize(1) == 0);
	return arg;
}

static pthread_t begin_to_shrink(void)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, shrink_to_one, NULL), 0);
	while (gyre_system_loops(fixture.system) > 1) {
		(void)sched_yield();
	}
	return thread;
}

Test(resize_asks, keep_their_order_when_the_loop_begins_to_retire)
{
	struct gyre_address taker, other;
	pthread_t thread;

	begin(2);
	taker = spawn_outside(&taker_class, 1);
	other = spawn_outside(&taker_class, 0);
	cr_assert_eq(notify_outside(spawn_outside(&holder_class, 1), 0), 0);
	wait_for(&held, 1);
	ask_later(taker, 1);
	thread = begin_to_shrink();
	ask_later(taker, 2);
	/* What another loop had to do with it is done by then. */
	cr_assert_eq(ask_now(other, 0), 0);
	gy_store_release(&may_go, 1);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	wait_for(&answered, 2);
	fixture_close();
	cr_expect_eq(taken[1], 1, "%lu came first", taken[1]);
	cr_expect_eq(taken[2], 2);
}

/* ---- the last to stop ---- */

struct stay_frame {
	struct gyre_future future;
	uint32_t turns; /* since the loop's actors were told to stop */
};

enum { TURNS = 4 };

/* Long enough for all that have nothing to do to have stopped. */
static int stay(struct gyre_stack *stack)
{
	struct stay_frame *frame = (struct stay_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	do {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
		frame->turns += gy_stack_of(stack)->home->leaving;
		if (frame->turns == TURNS) {
			gy_store_release(&held, 1);
		}
	} while (gy_load_acquire(&may_go) == 0);
	GYRE_END(stack);
}

static const struct gyre_class child_class = { .name = "child",
					       .frame_bytes = sizeof(struct stay_frame),
					       .behaviour.notice = stay };

static int have_child(struct gyre_stack *stack)
{
	expect(gyre_notify(stack, spawn_here(stack, &child_class), gyre_new(stack, number, 0)) ==
	       0);
	return gyre_return(stack);
}

static const struct gyre_class parent_class = { .name = "parent",
						.mount = have_child,
						.behaviour.ask = take };

Test(resize_asks, reach_an_actor_that_is_left_because_its_child_is)
{
	struct gyre_address parent;
	pthread_t thread;

	begin(2);
	parent = spawn_outside(&parent_class, 1);
	cr_assert_eq(ask_now(parent, 1), 0);
	thread = begin_to_shrink();
	wait_for(&held, 1);
	cr_expect_eq(ask_now(parent, 2), 0);
	gy_store_release(&may_go, 1);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(ask_now(parent, 3), -ESRCH);
	fixture_close();
	cr_expect_eq(taken_count, 2);
}
