/*
 * Stopping gracefully: what waits and what is suspended may end, until a deadline.
 */
#include "fixture.h"

#include "base/atomic.h"

enum { LONG_NS = 1000000000, SHORT_NS = 5000000, FAR = 1000000000 };

struct frame {
	struct gyre_future future;
	struct gyre_future stopped;
	struct gyre_future stopped_too;
	struct gyre_address to;
};

static uint32_t worker_loop;
static uint64_t deadline_ns = LONG_NS;
static int answer_error;
static int stop_error;
static uint32_t cleaned;

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* Works as many milliseconds as it is told; 'n' and 'N' around it for notices, 'a' and 'A' for
 * asks. */
static int work_for(struct gyre_stack *stack, char begin, char end)
{
	GYRE_BEGIN(stack);
	trace(begin);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(gyre_message(stack, number)->value),
				     &frame_of(stack)->future));
	trace(end);
	return gyre_return(stack);
	GYRE_END(stack);
}

static int work(struct gyre_stack *stack)
{
	if (gyre_message(stack, number)->value == 0) {
		trace('0');
		return gyre_return(stack);
	}
	return work_for(stack, 'n', 'N');
}

static int work_and_answer(struct gyre_stack *stack)
{
	int r = work_for(stack, 'a', 'A');

	return r == 0 ? gyre_reply(stack, gyre_new(stack, number, 1)) : r;
}

static void note_clean(void *state)
{
	(void)state;
	trace('.');
	(void)gy_fetch_add(&cleaned, 1);
}

static const struct gyre_class worker_class = {
	.name = "worker",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = work, .ask = work_and_answer },
	.clean = note_clean,
};

static int tell(struct gyre_stack *stack, uint64_t value)
{
	return gyre_notify(stack, frame_of(stack)->to, gyre_new(stack, number, value));
}

static int stop(struct gyre_stack *stack)
{
	return gyre_stop_gracefully(stack, frame_of(stack)->to, deadline_ns,
				    &frame_of(stack)->stopped);
}

/* ---- with time enough ---- */

static int stop_at_work(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &worker_class, worker_loop);
	expect(gyre_ask(stack, frame->to, gyre_new(stack, number, 20), 0, &frame->future) == 0);
	expect(tell(stack, 0) == 0);
	expect(tell(stack, 10) == 0);
	expect(stop(stack) == 0);
	expect(tell(stack, 0) == 0); /* too late */
	GYRE_AWAIT(stack, 0);
	answer_error = gyre_future_error(&frame->future);
	stop_error = gyre_future_error(&frame->stopped);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->to, gyre_new(stack, number, 0), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

static void assert_all_was_done(void)
{
	cr_assert_str_eq(traced, "a0nNA.");
	cr_assert_eq(answer_error, 0);
	cr_assert_eq(stop_error, 0);
	cr_assert_eq(fixture.lost[GYRE_DROP_STOPPED], 1);
}

Test(graceful, stop_lets_what_waits_and_what_is_suspended_end)
{
	play(1, stop_at_work);
	assert_all_was_done();
}

Test(graceful, stop_of_an_actor_of_another_loop_is_the_same)
{
	worker_loop = 1;
	play(2, stop_at_work);
	assert_all_was_done();
}

/* ---- without ---- */

static int run_out_of_time(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &worker_class, worker_loop);
	expect(gyre_ask(stack, frame->to, gyre_new(stack, number, FAR), 0, &frame->future) == 0);
	GYRE_AWAIT(stack, stop(stack));
	answer_error = gyre_future_error(&frame->future);
	stop_error = gyre_future_error(&frame->stopped);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(graceful, stop_ends_at_its_deadline)
{
	deadline_ns = SHORT_NS;
	play(1, run_out_of_time);
	cr_assert_str_eq(traced, "a.");
	cr_assert_eq(answer_error, -ESHUTDOWN);
	cr_assert_eq(stop_error, 0);
}

Test(graceful, stop_ends_at_its_deadline_on_another_loop)
{
	deadline_ns = SHORT_NS;
	worker_loop = 1;
	play(2, run_out_of_time);
	cr_assert_eq(answer_error, -ESHUTDOWN);
	cr_assert_eq(stop_error, 0);
}

static int stop_twice(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &worker_class, worker_loop);
	expect(gyre_ask(stack, frame->to, gyre_new(stack, number, FAR), 0, &frame->future) == 0);
	expect(stop(stack) == 0);
	expect(gyre_stop_gracefully(stack, frame->to, SHORT_NS, &frame->stopped_too) == 0);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->to, LONG_NS, NULL));
	expect(gyre_future_error(&frame->stopped) == 0);
	expect(gyre_future_error(&frame->stopped_too) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(graceful, stop_asked_for_twice_ends_at_the_earlier_deadline_and_tells_both)
{
	deadline_ns = GYRE_FOREVER;
	play_steady(stop_twice);
	cr_assert_eq(cleaned, 1);
}

/* ---- of what is not there, of oneself, of parents ---- */

static int stop_what_is_gone(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &worker_class, worker_loop);
	expect(gyre_stop(stack, frame->to) == 0);
	while (gy_load_acquire(&cleaned) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	GYRE_AWAIT(stack, stop(stack));
	expect(gyre_future_error(&frame->stopped) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(graceful, stop_of_what_is_gone_says_so)
{
	worker_loop = 1;
	play(2, stop_what_is_gone);
}

static int stop_itself(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	expect(gyre_stop_gracefully(stack, gyre_self(stack), LONG_NS, &frame->stopped) == -EINVAL);
	expect(gyre_future_error(&frame->stopped) == -EINVAL);
	expect(gyre_stop_gracefully(stack, gyre_self(stack), LONG_NS, NULL) == 0);
	return gyre_return(stack);
}

static const struct gyre_class selfish_class = {
	.name = "selfish",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = work, .event = stop_itself },
	.clean = note_clean,
	.mailbox_limit = 2,
};

static int start_timer(struct gyre_stack *stack)
{
	return gyre_timer_start(stack, 1, &(struct gyre_timer_options){ 0 });
}

static int have_it_stop_itself(struct gyre_stack *stack)
{
	static struct gyre_class class;
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	class = selfish_class;
	class.mount = start_timer;
	frame->to = spawn_here(stack, &class);
	expect(tell(stack, 3) == 0);
	expect(tell(stack, 0) == 0);
	while (gy_load_acquire(&cleaned) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(graceful, stop_may_be_ones_own_doing)
{
	play_steady(have_it_stop_itself);
	cr_assert_str_eq(traced, "n0N.");
}

static int have_child(struct gyre_stack *stack)
{
	(void)spawn_on(stack, &worker_class, 1);
	return gyre_return(stack);
}

static const struct gyre_class parent_class = { .name = "parent", .mount = have_child };

static int stop_parent(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &parent_class);
	GYRE_AWAIT(stack, stop(stack));
	expect(gyre_future_error(&frame->stopped) == 0);
	expect(gy_load_acquire(&cleaned) == 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(graceful, stop_of_a_parent_is_told_when_the_children_have_ended)
{
	play(2, stop_parent);
}

/* The second order comes when the parent has stopped, but its child is still at work. */
static uint32_t held;

static int hold_the_loop(struct gyre_stack *stack)
{
	gy_store_release(&held, 1);
	while (gy_load_acquire(&held) == 1) {
		gy_pause();
	}
	return gyre_return(stack);
}

static const struct gyre_class busy_child_class = {
	.name = "busy child",
	.mount = hold_the_loop,
	.clean = note_clean,
};

static int have_busy_child(struct gyre_stack *stack)
{
	(void)spawn_on(stack, &busy_child_class, 1);
	return gyre_return(stack);
}

static const struct gyre_class busy_parent_class = { .name = "parent", .mount = have_busy_child };

static int let_go(struct gyre_stack *stack)
{
	expect(gy_load_acquire(&cleaned) == 0);
	gy_store_release(&held, 2);
	return gyre_return(stack);
}

/* Lets the child go a while later. */
static int mount_timer(struct gyre_stack *stack)
{
	return gyre_timer_start(stack, 1, &(struct gyre_timer_options){ .delay_ns = SHORT_NS });
}

static const struct gyre_class releaser_class = {
	.name = "releaser",
	.mount = mount_timer,
	.behaviour.event = let_go,
};

static int stop_parent_again(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &busy_parent_class);
	while (gy_load_acquire(&held) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	expect(gyre_stop(stack, frame->to) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	expect(gyre_stop_gracefully(stack, frame->to, 0, NULL) == -ESRCH);
	expect(stop(stack) == 0);
	expect(gyre_future_error(&frame->stopped) == -EINPROGRESS);
	(void)spawn_here(stack, &releaser_class);
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_error(&frame->stopped) == 0);
	expect(gy_load_acquire(&cleaned) == 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(graceful, stop_of_a_parent_that_is_ending_is_told_when_the_children_have_ended)
{
	play(2, stop_parent_again);
	cr_assert_eq(cleaned, 1);
}

static int end_the_system_meanwhile(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &worker_class, worker_loop);
	expect(gyre_ask(stack, frame->to, gyre_new(stack, number, FAR), 0, &frame->future) == 0);
	expect(stop(stack) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(graceful, stop_does_not_hold_up_the_end_of_the_system)
{
	worker_loop = 1;
	deadline_ns = GYRE_FOREVER;
	play(2, end_the_system_meanwhile);
}
