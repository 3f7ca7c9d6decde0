/*
 * High priority: which actor is of it, and when that is looked at. The actors live in a model,
 * where nothing runs between two lines of a test.
 */
#include "actor/dispatch.h"
#include "actor/model.h"

enum { WAIT = 1000, SHY, NUMBERS_MAX = 1024 };

/* What was handled, in order. */
static uint64_t noted[NUMBERS_MAX];
static uint32_t noted_count;

/* WAIT never ends, so that its actor has a promise outstanding from then on; SHY fails. */
static int note(struct gyre_stack *stack)
{
	uint64_t value = gyre_message(stack, number)->value;

	if (value == WAIT) {
		expect(gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future) == 0);
		return gyre_suspend(stack, 1);
	}
	if (value == SHY) {
		return gyre_throw(stack, -EIO);
	}
	noted[noted_count++ % NUMBERS_MAX] = value;
	return gyre_return(stack);
}

static struct gyre_class class = {
	.name = "noting",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = note, .ask = note, .event = note },
};

static struct gyre_address spawn_waiting(void)
{
	struct gyre_address actor = model_spawn(&class, 0);

	model_put(actor, GY_LANE_NOTICE, WAIT);
	model_settle();
	return actor;
}

static void put_many(struct gyre_address to, enum gy_lane lane, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		model_put(to, lane, i);
	}
}

static bool is_high(struct gyre_address actor)
{
	return model_house(actor)->high;
}

/* ---- the thresholds ---- */

Test(priority, is_high_without_an_outstanding_promise_and_not_with_one)
{
	struct gyre_address actor;

	model_open(1);
	actor = model_spawn(&class, 0);
	cr_assert(is_high(actor));
	model_put(actor, GY_LANE_NOTICE, 1);
	model_settle();
	cr_assert(is_high(actor));
	model_put(actor, GY_LANE_NOTICE, WAIT);
	model_settle();
	cr_assert_not(is_high(actor));
	model_answer(actor, GY_LANE_REPLY, model_ask_id(actor, 0));
	model_settle();
	cr_assert_not(is_high(actor), "it waits anew");
	model_close();
}

Test(priority, is_not_high_with_two_replies_and_is_with_three)
{
	struct gyre_address actor;

	model_open(1);
	actor = spawn_waiting();
	put_many(actor, GY_LANE_REPLY, 2);
	cr_assert_not(is_high(actor));
	put_many(actor, GY_LANE_REPLY, 1);
	cr_assert(is_high(actor));
	model_close();
}

Test(priority, counts_exceptions_as_replies)
{
	struct gyre_address actor;

	model_open(1);
	actor = spawn_waiting();
	put_many(actor, GY_LANE_EXCEPTION, 1);
	put_many(actor, GY_LANE_REPLY, 1);
	cr_assert_not(is_high(actor));
	put_many(actor, GY_LANE_EXCEPTION, 1);
	cr_assert(is_high(actor));
	model_close();
}

Test(priority, is_not_high_with_four_events_and_is_with_five)
{
	struct gyre_address actor;

	model_open(1);
	actor = spawn_waiting();
	put_many(actor, GY_LANE_EVENT, 4);
	cr_assert_not(is_high(actor));
	put_many(actor, GY_LANE_EVENT, 1);
	cr_assert(is_high(actor));
	model_close();
}

Test(priority, does_not_come_from_asks_and_notices)
{
	struct gyre_address actor;

	model_open(1);
	actor = spawn_waiting();
	put_many(actor, GY_LANE_ASK, 100);
	put_many(actor, GY_LANE_NOTICE, 100);
	cr_assert_not(is_high(actor));
	model_close();
}

/* ---- when it is looked at ---- */

Test(priority, is_set_by_the_sender_where_the_actor_is_in_no_queue_yet)
{
	const struct gy_queue *queue = &model.home[0].loop.state;
	struct gyre_address actor;

	class.restart_delay_ns = GYRE_SECONDS(1);
	model_open(1);
	actor = spawn_waiting();
	model_put(actor, GY_LANE_NOTICE, SHY);
	model_settle();
	/* Nothing of it runs until the restart. */
	put_many(actor, GY_LANE_REPLY, 2);
	cr_assert_not(is_high(actor));
	put_many(actor, GY_LANE_REPLY, 1);
	cr_assert(is_high(actor));
	cr_assert_eq(model_house(actor)->status, GY_HOUSE_WAITING);
	model.now_ns += GYRE_SECONDS(1);
	gy_wheel_advance(&model.home[0].loop.wheel, model.now_ns);
	(void)gy_wheel_fire(&model.home[0].loop.wheel);
	cr_assert_eq(model_house(actor)->status, GY_HOUSE_READY);
	cr_assert_not(gy_fifo_empty(&queue->high));
	cr_assert(gy_fifo_empty(&queue->normal));
	model_close();
}

Test(priority, is_looked_at_again_after_each_run)
{
	struct gyre_address actor;

	model_home_options.run_budget = 2;
	model_open(1);
	actor = spawn_waiting();
	put_many(actor, GY_LANE_REPLY, 5);
	for (uint32_t left = 5; left > 1; left -= 2) {
		cr_assert_eq(is_high(actor), left > 2, "%u replies wait", left);
		cr_assert_eq(model_house(actor)->replies, left);
		gy_house_run(&model.home[0].loop, gy_queue_pop(&model.home[0].loop.state));
	}
	cr_assert_eq(model_house(actor)->replies, 1);
	cr_assert_not(is_high(actor));
	model_close();
}

Test(priority, does_not_move_an_actor_that_is_queued_already)
{
	const struct gy_queue *queue = &model.home[0].loop.state;
	struct gyre_address first;
	struct gyre_address second;
	struct gyre_address high;

	model_open(1);
	first = spawn_waiting();
	second = spawn_waiting();
	high = model_spawn(&class, 0);
	model_put(first, GY_LANE_NOTICE, 1);
	model_put(second, GY_LANE_NOTICE, 2);
	put_many(second, GY_LANE_REPLY, 3);
	cr_assert(is_high(second));
	cr_assert(gy_fifo_empty(&queue->high));
	model_put(high, GY_LANE_NOTICE, 3);
	model_settle();
	cr_assert_eq(noted[0], 3);
	cr_assert_eq(noted[1], 1);
	cr_assert_eq(noted[2], 2);
	model_close();
}
