/*
 * The first call of an actor: before any of its mail, and what follows if it fails.
 */
#include "fixture.h"

#include <gyre/watch.h>

#include <string.h>

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
	expect(gyre_future_error(&frame->future) == -ESHUTDOWN);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_future_error(&frame->future) == -ESRCH);
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
	expect(gyre_future_error(&frame->future) == 0);
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
	expect(gyre_future_failed(&frame->future));
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

/* ---- waiting ---- */

enum { CALLERS_TIMER = 1 };

static struct gyre_class patient_class;

static int wait_in_mount(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	trace('<');
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(5),
				     &((struct frame *)gyre_frame(stack))->future));
	trace('=');
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(5),
				     &((struct frame *)gyre_frame(stack))->future));
	trace('>');
	GYRE_END(stack);
}

static int trace_event(struct gyre_stack *stack)
{
	trace(gyre_message(stack, gyre_timeout) != NULL	     ? 't'
	      : gyre_message(stack, gyre_terminated) != NULL ? 'd'
							     : 'e');
	return gyre_return(stack);
}

static void trace_clean(void *state)
{
	(void)state;
	trace('c');
}

static void make_patient(void)
{
	patient_class = (struct gyre_class){
		.name = "patient",
		.state_bytes = 1,
		.frame_bytes = sizeof(struct frame),
		.mount = wait_in_mount,
		.behaviour = { .notice = trace_notice, .ask = trace_ask, .event = trace_event },
		.clean = trace_clean,
	};
}

static int first_error;

static int mail_while_it_waits(struct gyre_stack *stack, uint32_t loop)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &patient_class, loop);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->future));
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 2)) == 0);
	expect(notify_outside(frame->to, 3) == 0);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	first_error = gyre_future_error(&frame->future);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(30), &frame->future));
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	return fixture_end(stack);
	GYRE_END(stack);
}

static int mail_while_it_waits_here(struct gyre_stack *stack)
{
	return mail_while_it_waits(stack, 0);
}

static int mail_while_it_waits_there(struct gyre_stack *stack)
{
	return mail_while_it_waits(stack, 1);
}

Test(mount, that_waits_holds_back_asks_and_notices_until_it_has_ended)
{
	make_patient();
	play(1, mail_while_it_waits_here);
	cr_assert_eq(first_error, 0);
	cr_assert_str_eq(traced, "<=>a123ac");
}

Test(mount, that_waits_holds_back_what_comes_from_another_loop_and_from_outside)
{
	make_patient();
	play(2, mail_while_it_waits_there);
	/* What is late, on a machine that is busy, comes when the mount has ended already. */
	cr_assert_eq(strncmp(traced, "<=>", 3), 0, "%s", traced);
	cr_assert_eq(strlen(traced), 9, "%s", traced);
}

Test(mount, that_waits_counts_what_is_held_back_against_the_limit)
{
	make_patient();
	patient_class.mailbox_limit = 2;
	play(1, mail_while_it_waits_here);
	cr_assert_eq(first_error, -ENOBUFS);
	cr_assert_eq(fixture.lost[GYRE_DROP_MAILBOX_FULL], 2);
	cr_assert_str_eq(traced, "<=>12ac");
}

static int start_and_wait(struct gyre_stack *stack)
{
	const struct gyre_timer_options soon = { .delay_ns = GYRE_MILLISECONDS(1) };

	if (gyre_stack_state(stack) == 0) {
		struct gyre_address brief = spawn_here(stack, &sink_class);

		expect(gyre_timer_start(stack, CALLERS_TIMER, &soon) == 0);
		expect(gyre_watch(stack, brief) == 0);
		expect(gyre_stop(stack, brief) == 0);
	}
	return wait_in_mount(stack);
}

static int spawn_and_sleep(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &patient_class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(50), &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(mount, that_waits_holds_back_the_events_that_it_has_asked_for)
{
	make_patient();
	patient_class.mount = start_and_wait;
	play_steady(spawn_and_sleep);
	cr_assert_str_eq(traced, "<=>dtc");
}

static int stop_while_it_waits(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &patient_class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->future));
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	expect(ask_number(stack, frame->to, 1) == 0);
	expect(gyre_stop(stack, frame->to) == 0);
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_error(&frame->future) == -ESHUTDOWN);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(mount, that_waits_is_cut_off_by_a_stop_and_what_it_held_back_is_lost)
{
	make_patient();
	play_steady(stop_while_it_waits);
	cr_assert_str_eq(traced, "<c");
	cr_assert_eq(fixture.lost[GYRE_DROP_STOPPED], 2);
}

static int poison_while_it_waits(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &patient_class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->future));
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	expect(gyre_poison(stack, frame->to) == 0);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 2)) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(30), &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(mount, that_waits_comes_before_a_poison)
{
	make_patient();
	play_steady(poison_while_it_waits);
	cr_assert_str_eq(traced, "<=>1c");
}

static int stop_gracefully_while_it_waits(struct gyre_stack *stack, uint64_t deadline_ns)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &patient_class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->future));
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->to, deadline_ns, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	trace('!');
	return fixture_end(stack);
	GYRE_END(stack);
}

static int stop_gracefully_with_time(struct gyre_stack *stack)
{
	return stop_gracefully_while_it_waits(stack, GYRE_SECONDS(10));
}

static int stop_gracefully_at_once(struct gyre_stack *stack)
{
	return stop_gracefully_while_it_waits(stack, GYRE_MILLISECONDS(1));
}

Test(mount, that_waits_comes_before_a_graceful_stop)
{
	make_patient();
	play_steady(stop_gracefully_with_time);
	cr_assert_str_eq(traced, "<=>1c!");
}

Test(mount, that_waits_is_cut_off_by_the_deadline_of_a_graceful_stop)
{
	make_patient();
	play_steady(stop_gracefully_at_once);
	cr_assert_str_eq(traced, "<c!");
}

static int fail_with_mail(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &failing_late_class);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_future_error(&frame->future) == -ESHUTDOWN);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(mount, that_fails_after_a_wait_loses_what_it_held_back)
{
	play_steady(fail_with_mail);
	cr_assert_str_eq(traced, "f");
	cr_assert_eq(cleaned, 1);
	cr_assert_eq(fixture.lost[GYRE_DROP_STOPPED], 2);
}

static int end_while_it_waits(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &patient_class);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(mount, that_waits_does_not_hold_up_the_end_of_the_system)
{
	make_patient();
	play_steady(end_while_it_waits);
	cr_assert_str_eq(traced, "<c");
}
