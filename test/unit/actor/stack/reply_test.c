/*
 * Answers: one to an ask, at any time until its stack ends; what comes twice or late is counted.
 */
#include "fixture.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "system/system.h"

struct frame {
	struct gyre_future answer;
	struct gyre_future sleep;
	struct gyre_address to;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int ask_number(struct gyre_stack *stack, struct gyre_address to, uint64_t value)
{
	return gyre_ask(stack, to, gyre_new(stack, number, value), 0, &frame_of(stack)->answer);
}

/* ---- twice ---- */

static int reply_twice(struct gyre_stack *stack)
{
	expect(gyre_reply(stack, gyre_new(stack, number, 1)) == 0);
	expect(gyre_reply(stack, gyre_new(stack, number, 2)) == -EALREADY);
	expect(gyre_reply(stack, NULL) == -EALREADY);
	return gyre_return(stack);
}

static const struct gyre_class twice_class = { .name = "twice", .behaviour.ask = reply_twice };

static int ask_twice_class(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask_number(stack, spawn_here(stack, &twice_class), 0));
	expect(gyre_future_get(&frame->answer, number)->value == 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(reply, is_refused_and_counted_the_second_time)
{
	play(1, ask_twice_class);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_SECOND], 1);
	cr_assert_eq(fixture.letters[0].type, GYRE_ID(number));
}

static int reply_then_fail(struct gyre_stack *stack)
{
	expect(gyre_reply(stack, gyre_new(stack, number, 1)) == 0);
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class failing_class = { .name = "failing",
						 .behaviour.ask = reply_then_fail };

static int ask_failing(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask_number(stack, spawn_here(stack, &failing_class), 0));
	expect(gyre_future_error(&frame->answer) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(reply, stands_when_its_handler_fails_afterwards)
{
	play(1, ask_failing);
	cr_assert_eq(fixture.counters.failed, 1);
	cr_assert_eq(fixture.counters.sent, 2);
}

/* ---- early and late ---- */

static int reply_then_wait(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_reply(stack, gyre_new(stack, number, 1)) == 0);
	trace('r');
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->sleep));
	expect(gyre_message(stack, number)->value == 3);
	trace('s');
	return fixture_end(stack);
	GYRE_END(stack);
}

static const struct gyre_class early_class = {
	.name = "early",
	.frame_bytes = sizeof(struct frame),
	.behaviour.ask = reply_then_wait,
};

static int ask_early(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask_number(stack, spawn_here(stack, &early_class), 3));
	trace('a');
	GYRE_END(stack);
}

Test(reply, goes_out_at_once_also_when_its_handler_then_suspends)
{
	play(1, ask_early);
	cr_assert_str_eq(traced, "ras");
}

static uint32_t begun;
static uint32_t released;

static int answer_when_released(struct gyre_stack *stack)
{
	gy_store_release(&begun, 1);
	while (gy_load_acquire(&released) == 0) {
		gy_pause();
	}
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static const struct gyre_class slow_class = { .name = "slow",
					      .behaviour.ask = answer_when_released };

static int ask_slow(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_on(stack, &slow_class, 1);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, number, 1),
				   GYRE_MILLISECONDS(50), &frame->answer));
	expect(gyre_future_error(&frame->answer) == -ETIMEDOUT);
	gy_store_release(&released, 1);
	/* Answered by the same actor, so that what was late is here before it. */
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_future_get(&frame->answer, number)->value == 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

/* Time stands still until then: an ask that is late before it has begun is not run. */
static uint64_t read_when_begun(void *arg)
{
	return gy_load_acquire(&begun) == 0 ? *(const uint64_t *)arg : gy_clock_machine_ns();
}

static void play_when_begun(gyre_handler_fn script)
{
	const struct gyre_class class = { .name = "script",
					  .frame_bytes = FIXTURE_FRAME_BYTES,
					  .mount = script };
	uint64_t still_ns;

	fixture_open(2);
	still_ns = gy_clock_machine_ns();
	for (uint32_t i = 0; i < 2; i++) {
		fixture.system->homes.homes[i].loop.clock =
			(struct gy_clock){ .read_ns = read_when_begun, .arg = &still_ns };
	}
	(void)spawn_outside(&class, 0);
	fixture_run();
	fixture_close();
}

Test(reply, that_comes_after_the_time_out_is_dropped_and_counted)
{
	play_when_begun(ask_slow);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
	cr_assert_eq(fixture.letters[0].type, GYRE_ID(number));
}

/* ---- an ask that waited too long ---- */

static int keep_closed(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), &frame_of(stack)->sleep));
	GYRE_END(stack);
}

static int must_not_run(struct gyre_stack *stack)
{
	expect(gyre_message(stack, number)->value != 1);
	return gyre_reply(stack, gyre_new(stack, number, 5));
}

static bool is_notice(const struct gyre_type *type, const void *message)
{
	(void)type;
	return ((const struct number *)message)->value == 0;
}

static const struct gyre_class busy_class = {
	.name = "busy",
	.frame_bytes = FIXTURE_FRAME_BYTES,
	.barrier = is_notice,
	.behaviour = { .notice = keep_closed, .ask = must_not_run },
};

static int ask_busy(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &busy_class);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 0)) == 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, 0, &frame->sleep));
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, number, 1),
				   GYRE_MILLISECONDS(5), &frame->answer));
	expect(gyre_future_error(&frame->answer) == -ETIMEDOUT);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 2));
	expect(gyre_future_get(&frame->answer, number)->value == 5);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(reply, is_not_asked_of_an_actor_when_the_deadline_has_passed_at_dispatch)
{
	play_steady(ask_busy);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_EXPIRED], 1);
	/* The exception of the ask that was not run. */
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
}

/* ---- to what is no ask ---- */

static int reply_to_notice(struct gyre_stack *stack)
{
	expect(gyre_reply(stack, gyre_new(stack, number, 1)) == -EINVAL);
	expect(gyre_reply(stack, NULL) == -EINVAL);
	return fixture_end(stack);
}

static int send_notice(struct gyre_stack *stack)
{
	static const struct gyre_class class = { .name = "notice",
						 .behaviour.notice = reply_to_notice };

	expect(gyre_reply(stack, gyre_new(stack, number, 1)) == -EINVAL);
	expect(gyre_notify(stack, spawn_here(stack, &class), gyre_new(stack, number, 1)) == 0);
	return gyre_return(stack);
}

Test(reply, to_what_is_no_ask_is_refused)
{
	play(1, send_notice);
	cr_assert_eq(fixture.counters.sent, 1);
}
