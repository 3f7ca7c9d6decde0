/*
 * The order of one pass, of a channels actor too: replies, exceptions, asks, notices, events,
 * completions of channels, and then what was to be done later.
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
