/*
 * The first call of an actor: before any of its mail, and what follows if it fails.
 */
#include "fixture.h"

#include "base/atomic.h"

struct frame {
	struct gyre_future future;
	struct gyre_address to;
};

static uint32_t cleaned;

static void clean(void *state)
{
	(void)state;
	(void)gy_fetch_add(&cleaned, 1);
}

static int ask_number(struct gyre_stack *stack, struct gyre_address to, uint64_t value)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	return gyre_ask(stack, to, gyre_new(stack, number, value), 0, &frame->future);
}

/* ---- mail that was faster ---- */

static int trace_mount(struct gyre_stack *stack)
{
	trace('m');
	return gyre_return(stack);
}

static int trace_notice(struct gyre_stack *stack)
{
	trace('0' + (char)gyre_message(stack, number)->value);
	return gyre_return(stack);
}

static int trace_ask(struct gyre_stack *stack)
{
	trace('a');
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static const struct gyre_class traced_class = {
	.name = "traced",
	.mount = trace_mount,
	.behaviour = { .notice = trace_notice, .ask = trace_ask },
};

static int mail_at_once(struct gyre_stack *stack, uint32_t loop)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &traced_class, loop);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 2)) == 0);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	return fixture_end(stack);
	GYRE_END(stack);
}

static int mail_at_once_here(struct gyre_stack *stack)
{
	return mail_at_once(stack, 0);
}

static int mail_at_once_there(struct gyre_stack *stack)
{
	return mail_at_once(stack, 1);
}

Test(mount, comes_before_the_mail_that_was_sent_at_once)
{
	play(1, mail_at_once_here);
	cr_assert_str_eq(traced, "ma12a");
}

Test(mount, comes_before_the_mail_that_was_sent_at_once_to_another_loop)
{
	play(2, mail_at_once_there);
	cr_assert_str_eq(traced, "ma12a");
}

/* ---- failure ---- */

static int fail(struct gyre_stack *stack)
{
	trace('f');
	return gyre_throw(stack, -EIO);
}

static int fail_late(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	return fail(stack);
	GYRE_END(stack);
}

static const struct gyre_class failing_class = {
	.name = "failing",
	.mount = fail,
	.behaviour = { .notice = trace_notice, .ask = trace_ask },
	.clean = clean,
};

static const struct gyre_class failing_late_class = {
	.name = "failing late",
	.frame_bytes = sizeof(struct frame),
	.mount = fail_late,
	.behaviour = { .notice = trace_notice },
	.clean = clean,
};

static int spawn_failing(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &failing_class);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_error(&frame->future) == -ESHUTDOWN);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_error(&frame->future) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(mount, that_fails_stops_the_actor_and_its_mail_becomes_dead_letters)
{
	play(1, spawn_failing);
	cr_assert_str_eq(traced, "f");
	cr_assert_eq(cleaned, 1);
	cr_assert_eq(fixture.counters.failed, 1);
	cr_assert_eq(fixture.warnings, 1);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 2);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_NO_ACTOR], 1);
}

static int spawn_failing_late(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &failing_late_class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(20), &frame->future));
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(mount, that_fails_after_a_wait_stops_the_actor_too)
{
	play_steady(spawn_failing_late);
	cr_assert_str_eq(traced, "f");
	cr_assert_eq(cleaned, 1);
}

/* One function for both, as a small actor may have. */
static int fail_at_notice(struct gyre_stack *stack)
{
	return gyre_message_id(stack) == 0 ? gyre_return(stack) : gyre_throw(stack, -EIO);
}

static const struct gyre_class both_class = {
	.name = "both",
	.mount = fail_at_notice,
	.behaviour = { .notice = fail_at_notice, .ask = trace_ask },
};

static int send_to_both(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &both_class);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->future));
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_error(&frame->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(mount, may_be_the_function_of_the_notices_too_whose_failures_do_not_stop_the_actor)
{
	play_steady(send_to_both);
	cr_assert_eq(fixture.counters.failed, 1);
}

/* ---- stopping in time ---- */

static int stop_inside(struct gyre_stack *stack)
{
	trace('m');
	expect(gyre_stop(stack, gyre_self(stack)) == 0);
	trace('s');
	return gyre_return(stack);
}

static const struct gyre_class brief_class = {
	.name = "brief",
	.mount = stop_inside,
	.behaviour.notice = trace_notice,
	.clean = clean,
};

static int spawn_brief(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &brief_class);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->future));
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(mount, may_stop_its_own_actor)
{
	play_steady(spawn_brief);
	cr_assert_str_eq(traced, "ms");
	cr_assert_eq(cleaned, 1);
}

static int stop_before_mount(struct gyre_stack *stack, uint32_t loop)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &traced_class, loop);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	expect(gyre_stop(stack, frame->to) == 0);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_failed(&frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

static int stop_before_mount_here(struct gyre_stack *stack)
{
	return stop_before_mount(stack, 0);
}

static int stop_before_mount_there(struct gyre_stack *stack)
{
	return stop_before_mount(stack, 1);
}

Test(mount, is_called_also_when_a_stop_is_waiting_already)
{
	play(1, stop_before_mount_here);
	cr_assert_str_eq(traced, "m");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_STOPPED], 2);
}

Test(mount, is_called_also_when_a_stop_is_waiting_already_on_another_loop)
{
	play(2, stop_before_mount_there);
	cr_assert_str_eq(traced, "m");
}
