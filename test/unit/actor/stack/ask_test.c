/*
 * Asks and their answers: between actors of one loop and of two, from every kind of handler, and
 * each error that an ask can end with.
 */
#include "fixture.h"

#include <string.h>

struct frame {
	struct gyre_future answer;
	struct gyre_future others[3];
	struct gyre_address to;
	uint64_t sum;
	uint32_t loop;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int ask_number(struct gyre_stack *stack, struct gyre_address to, uint64_t value)
{
	return gyre_ask(stack, to, gyre_new(stack, number, value), 0, &frame_of(stack)->answer);
}

/* ---- answers ---- */

static int ask_on(struct gyre_stack *stack, uint32_t loop)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask_number(stack, spawn_on(stack, &adder_class, loop), 41));
	expect(gyre_future_error(&frame->answer) == 0);
	expect(!gyre_future_failed(&frame->answer));
	expect(gyre_future_get(&frame->answer, number)->value == 42);
	expect(gyre_future_get(&frame->answer, place) == NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

static int ask_here(struct gyre_stack *stack)
{
	return ask_on(stack, 0);
}

static int ask_there(struct gyre_stack *stack)
{
	return ask_on(stack, 1);
}

Test(ask, is_answered_by_an_actor_of_the_same_loop)
{
	play(1, ask_here);
	cr_assert_eq(fixture.counters.sent, 2);
	cr_assert_eq(fixture.counters.handled, 2);
}

Test(ask, is_answered_by_an_actor_of_another_loop)
{
	play(2, ask_there);
	cr_assert_eq(fixture.counters.handled, 2);
}

static int never_inside(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(ask_number(stack, GYRE_NOBODY, 1) == 0);
	expect(gyre_future_error(&frame->answer) == -EINPROGRESS);
	expect(gyre_future_get(&frame->answer, number) == NULL);
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_error(&frame->answer) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(ask, is_in_progress_until_the_stack_suspends_even_when_its_fate_is_known_at_once)
{
	play(1, never_inside);
}

static int answer_oneself(struct gyre_stack *stack)
{
	expect(gyre_address_equal(gyre_sender(stack), gyre_self(stack)));
	return gyre_reply(stack, gyre_new(stack, number, 7));
}

/* Not by its mount: that is the one call that holds its own asks back while it waits. */
static int ask_oneself(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask_number(stack, gyre_self(stack), 1));
	expect(gyre_future_get(&frame->answer, number)->value == 7);
	return fixture_end(stack);
	GYRE_END(stack);
}

static const struct gyre_class narcissus_class = {
	.name = "narcissus",
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .ask = answer_oneself, .notice = ask_oneself },
};

Test(ask, to_oneself_is_answered)
{
	fixture_open(1);
	(void)notify_outside(spawn_outside(&narcissus_class, 0), 1);
	fixture_run();
	fixture_close();
}

/* ---- from a timer's event, and in a chain ---- */

static int start_timer(struct gyre_stack *stack)
{
	const struct gyre_timer_options soon = { .delay_ns = GYRE_MILLISECONDS(2) };

	expect(gyre_timer_start(stack, 1, &soon) == 0);
	return gyre_return(stack);
}

static const struct gyre_class timed_class = {
	.name = "timed",
	.frame_bytes = sizeof(struct frame),
	.behaviour.event = ask_there,
	.mount = start_timer,
};

Test(ask, can_be_made_by_the_event_of_a_timer)
{
	fixture_open(2);
	(void)spawn_outside(&timed_class, 0);
	fixture_run();
	fixture_close();
}

static struct gyre_address second;

/* Asks the next actor itself before it answers. */
static int relay(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask_number(stack, second, gyre_message(stack, number)->value * 2));
	expect(gyre_message(stack, number)->value == 10);
	frame->sum = gyre_future_get(&frame->answer, number)->value;
	return gyre_reply(stack, gyre_new(stack, number, frame->sum));
	GYRE_END(stack);
}

static const struct gyre_class relay_class = {
	.name = "relay",
	.frame_bytes = sizeof(struct frame),
	.behaviour.ask = relay,
};

static int ask_relay(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	second = spawn_here(stack, &adder_class);
	GYRE_AWAIT(stack, ask_number(stack, spawn_on(stack, &relay_class, 1), 10));
	expect(gyre_future_get(&frame->answer, number)->value == 21);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(ask, may_wait_for_an_ask_that_its_handler_makes_on_yet_another_loop)
{
	play(2, ask_relay);
}

/* ---- how asks fail ---- */

static int refuse(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EDOM);
}

static const struct gyre_class deaf_class = { .name = "deaf" };
static const struct gyre_class refusing_class = { .name = "refusing", .behaviour.ask = refuse };

static int throw_nonsense(struct gyre_stack *stack)
{
	return gyre_throw(stack, 5);
}

static const struct gyre_class nonsense_class = { .name = "nonsense",
						  .behaviour.ask = throw_nonsense };

static int answer_nothing(struct gyre_stack *stack)
{
	return gyre_reply(stack, NULL);
}

static const struct gyre_class empty_class = { .name = "empty", .behaviour.ask = answer_nothing };

static int fail_on(struct gyre_stack *stack, uint32_t loop)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->loop = loop;
	GYRE_AWAIT(stack, ask_number(stack, spawn_on(stack, &deaf_class, frame->loop), 1));
	expect(gyre_future_error(&frame->answer) == -ENOSYS);
	expect(gyre_future_get(&frame->answer, number) == NULL);
	GYRE_AWAIT(stack, ask_number(stack, spawn_on(stack, &sink_class, frame->loop), 1));
	expect(gyre_future_error(&frame->answer) == -ENOMSG);
	GYRE_AWAIT(stack, ask_number(stack, spawn_on(stack, &refusing_class, frame->loop), 1));
	expect(gyre_future_error(&frame->answer) == -EDOM);
	GYRE_AWAIT(stack, ask_number(stack, spawn_on(stack, &nonsense_class, frame->loop), 1));
	expect(gyre_future_error(&frame->answer) == -EINVAL);
	GYRE_AWAIT(stack, ask_number(stack, spawn_on(stack, &empty_class, frame->loop), 1));
	expect(gyre_future_error(&frame->answer) == -ENOMEM);
	frame->to = spawn_on(stack, &mute_class, frame->loop);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, number, 1),
				   GYRE_MILLISECONDS(3), &frame->answer));
	expect(gyre_future_error(&frame->answer) == -ETIMEDOUT);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 2) + gyre_stop(stack, frame->to));
	expect(gyre_future_error(&frame->answer) == -ESHUTDOWN);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 3));
	expect(gyre_future_error(&frame->answer) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

static int fail_here(struct gyre_stack *stack)
{
	return fail_on(stack, 0);
}

static int fail_there(struct gyre_stack *stack)
{
	return fail_on(stack, 1);
}

Test(ask, shows_its_asker_each_way_to_fail)
{
	play(1, fail_here);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_UNHANDLED], 1);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_NO_ACTOR], 1);
	cr_assert_eq(fixture.counters.failed, 3);
}

Test(ask, shows_its_asker_each_way_to_fail_also_from_another_loop)
{
	play(2, fail_there);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_UNHANDLED], 1);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_NO_ACTOR], 1);
	cr_assert_eq(fixture.counters.failed, 3);
}

static int ask_without_mail(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	expect(gyre_ask(stack, gyre_self(stack), NULL, 0, &frame->answer) == -ENOMEM);
	expect(gyre_future_error(&frame->answer) == -ENOMEM);
	expect(gyre_future_failed(&frame->answer));
	expect(gyre_future_get(&frame->answer, number) == NULL);
	return fixture_end(stack);
}

Test(ask, that_could_not_be_made_shows_so_in_its_future)
{
	play(1, ask_without_mail);
	cr_assert_eq(fixture.counters.sent, 0);
}

static uint64_t asked_ns;

static int time_out(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	if (gyre_stack_state(stack) == 0) {
		asked_ns = gyre_now(stack);
		expect(ask_number(stack, spawn_here(stack, &mute_class), 1) == 0);
		expect(gyre_sleep(stack, GYRE_SECONDS(3), &frame->others[0]) == 0);
		return gyre_suspend_any(stack, 1);
	}
	expect(gyre_future_error(&frame->answer) == -ETIMEDOUT);
	expect(gyre_future_error(&frame->others[0]) == -EINPROGRESS);
	expect(gyre_now(stack) - asked_ns >= GYRE_MILLISECONDS(20));
	return fixture_end(stack);
}

Test(ask, that_names_no_time_out_has_that_of_the_system)
{
	const struct gyre_system_options options = { .loops = 1,
						     .ask_timeout_ns = GYRE_MILLISECONDS(20) };

	play_with(&options, time_out);
}

static int time_out_apart(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &mute_class);
	expect(gyre_ask(stack, frame->to, gyre_new(stack, number, 1), GYRE_FOREVER,
			&frame->others[0]) == 0);
	expect(gyre_ask(stack, frame->to, gyre_new(stack, number, 2), GYRE_MILLISECONDS(2),
			&frame->others[1]) == 0);
	expect(gyre_ask(stack, frame->to, gyre_new(stack, number, 3), GYRE_SECONDS(86400 * 365),
			&frame->others[2]) == 0);
	return gyre_suspend_any(stack, 1);
case 1:
	expect(gyre_future_error(&frame->others[0]) == -EINPROGRESS);
	expect(gyre_future_error(&frame->others[1]) == -ETIMEDOUT);
	expect(gyre_future_error(&frame->others[2]) == -EINPROGRESS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(ask, times_out_alone_while_others_go_on_waiting)
{
	play_steady(time_out_apart);
}

static int ask_for_nobody(struct gyre_stack *stack)
{
	expect(gyre_ask(stack, gyre_self(stack), gyre_new(stack, number, 1), 0, NULL) == -EINVAL);
	expect(gyre_ask(stack, gyre_self(stack), NULL, 0, NULL) == -EINVAL);
	expect(gyre_sleep(stack, 1, NULL) == -EINVAL);
	return fixture_end(stack);
}

Test(ask, without_a_future_is_refused_and_keeps_no_mail)
{
	play(1, ask_for_nobody);
	cr_assert_eq(fixture.counters.sent, 0);
}
