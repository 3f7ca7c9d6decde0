/*
 * The order of one pass, of a channels actor too: replies, exceptions, asks, notices, events,
 * completions of channels, and then what was to be done later. And that an actor which never runs
 * out of notices shuts nobody out.
 */
#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "actor/model.h"

#include <string.h>

/* ---- all that a pass has ---- */

static struct gy_later later;
static bool wake_channels_again;

static void run_later(struct gy_loop *loop, struct gy_later *task)
{
	expect(loop == &model.home[0].loop && task == &later);
	trace('l');
}

static void run_channels(struct gy_house *house, struct gy_stack *stack)
{
	expect(stack->house == house);
	trace('c');
	if (wake_channels_again) {
		wake_channels_again = false;
		gy_house_channels_ready(house);
	}
}

static bool trim_channels(struct gy_loop *loop, uint32_t keep)
{
	(void)loop;
	(void)keep;
	return false;
}

/* In place of the channel floor. */
static const struct gy_channel_ops channel_ops = { .run = run_channels, .trim = trim_channels };

enum { WAITS = 1, NOTICE, ASK, EVENT };

static int leave_trace(struct gyre_stack *stack)
{
	uint64_t value = gyre_message(stack, number)->value;

	if (gyre_stack_state(stack) != 0) {
		trace(gyre_future_error(&puppet_frame(stack)->future) == 0 ? 'r' : 'x');
		return gyre_return(stack);
	}
	if (value == WAITS) {
		expect(gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future) == 0);
		return gyre_suspend(stack, 1);
	}
	trace(value == NOTICE ? 'n' : value == ASK ? 'a' : 'e');
	if (value == NOTICE) {
		gy_loop_later(&model.home[0].loop, &later);
	}
	return gyre_return(stack);
}

static const struct gyre_class tracing_class = {
	.name = "tracing",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = leave_trace, .ask = leave_trace, .event = leave_trace },
};

static struct gyre_address open_and_fill(bool channels_actor)
{
	const struct gy_spawn_order order = { .class = &tracing_class,
					      .channels_actor = channels_actor };
	struct gyre_address actor;

	later.run = run_later;
	model_open(1);
	model.home[0].channel_ops = &channel_ops;
	cr_assert_eq(gy_spawn(&model.home[0], &order, 0, &actor), 0);
	model_put(actor, GY_LANE_NOTICE, WAITS);
	model_put(actor, GY_LANE_NOTICE, WAITS);
	model_settle();
	cr_assert_str_eq(traced, "");
	/* In the opposite order. */
	if (channels_actor) {
		gy_house_channels_ready(model_house(actor));
	}
	model_put(actor, GY_LANE_EVENT, EVENT);
	model_put(actor, GY_LANE_NOTICE, NOTICE);
	model_put(actor, GY_LANE_ASK, ASK);
	model_answer(actor, GY_LANE_EXCEPTION, model_ask_id(actor, 0));
	model_answer(actor, GY_LANE_REPLY, model_ask_id(actor, 1));
	return actor;
}

Test(dispatch, of_a_channels_actor_ends_with_its_channels_and_then_what_is_for_later)
{
	(void)open_and_fill(true);
	model_settle();
	cr_assert_str_eq(traced, "rxanecl");
	model_close();
}

Test(dispatch, of_a_channels_actor_has_its_channels_once_a_pass)
{
	wake_channels_again = true;
	(void)open_and_fill(true);
	model_settle();
	cr_assert_str_eq(traced, "rxaneclc");
	model_close();
}

Test(dispatch, of_a_state_actor_ends_with_what_is_for_later)
{
	(void)open_and_fill(false);
	model_settle();
	cr_assert_str_eq(traced, "rxanel");
	model_close();
}

/* The channels of an actor are served also when its lanes have used up the budget. */
Test(dispatch, of_a_channels_actor_comes_to_its_channels_whatever_the_budget)
{
	model_home_options.run_budget = 1;
	(void)open_and_fill(true);
	model_settle();
	cr_assert_eq(strlen(traced), 7);
	cr_assert_eq(traced[0], 'r');
	cr_assert_eq(traced[1], 'c');
	model_close();
}

/* ---- an actor that never ends ---- */

enum { ROUNDS = 50, OWN_ROUNDS_MIN = 1000 };

struct frame {
	struct gyre_future future;
	uint32_t i;
};

static uint32_t eternal_rounds;
static uint32_t others_heard;
static uint32_t timer_heard;

static int go_on_for_ever(struct gyre_stack *stack)
{
	eternal_rounds++;
	(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, eternal_rounds));
	return gyre_return(stack);
}

static const struct gyre_class eternal_class = { .name = "eternal",
						 .mount = go_on_for_ever,
						 .behaviour.notice = go_on_for_ever };

static int hear(struct gyre_stack *stack)
{
	others_heard++;
	return gyre_reply(stack, gyre_new(stack, number, others_heard));
}

static int hear_timer(struct gyre_stack *stack)
{
	timer_heard++;
	return gyre_return(stack);
}

static int start_periodic(struct gyre_stack *stack)
{
	const struct gyre_timer_options options = { .period_ns = GYRE_MILLISECONDS(1) };

	return gyre_timer_start(stack, 1, &options);
}

static const struct gyre_class heard_class = {
	.name = "heard",
	.mount = start_periodic,
	.behaviour = { .ask = hear, .event = hear_timer },
};

static int live_beside_it(struct gyre_stack *stack)
{
	static struct gyre_address other;
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	(void)spawn_here(stack, &eternal_class);
	(void)spawn_here(stack, &eternal_class);
	other = spawn_here(stack, &heard_class);
	for (frame->i = 0; frame->i < ROUNDS; frame->i++) {
		GYRE_AWAIT(stack,
			   gyre_ask(stack, other, gyre_new(stack, number, 1), 0, &frame->future));
		expect(gyre_future_error(&frame->future) == 0);
	}
	while (timer_heard < 3 || eternal_rounds < OWN_ROUNDS_MIN) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

static void play_beside(uint32_t io_ratio)
{
	const struct gyre_system_options options = { .loops = 1, .io_ratio = io_ratio };

	play_with(&options, live_beside_it);
	cr_assert_eq(others_heard, ROUNDS);
}

Test(dispatch, of_an_actor_that_writes_to_itself_for_ever_shuts_nobody_out)
{
	play_beside(50);
}

Test(dispatch, of_an_actor_that_writes_to_itself_for_ever_shuts_nobody_out_without_a_deadline)
{
	play_beside(100);
}
