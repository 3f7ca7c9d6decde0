/*
 * Promises: the ids by which their answers find them, thousands of stacks that end in whatever
 * order, and what becomes of asks whose target dies before, while or after it deals with them.
 */
#include "actor/model.h"

#include "actor/mail/mailbox.h"
#include "base/random.h"

enum { MANY = 100000, SOME = 5000 };

/* ---- ids ---- */

/* Each call makes one promise more, which is kept until it is answered. */
static int promise_one(struct gyre_stack *stack)
{
	if (gyre_stack_state(stack) != 0) {
		return gyre_return(stack);
	}
	expect(gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future) == 0);
	return gyre_suspend(stack, 1);
}

static uint64_t late(struct gyre_address actor)
{
	return model_house(actor)->home->counters.dropped[GYRE_DROP_LATE];
}

Test(promise, is_found_by_no_id_that_differs_from_its_own_in_a_bit)
{
	struct gyre_address actor;
	uint64_t id;

	model_open(1);
	actor = model_spawn(&puppet_class, 0);
	for (uint32_t i = 0; i < 3; i++) {
		model_call(actor, promise_one);
	}
	model_settle();
	id = model_ask_id(actor, 0);
	cr_assert_neq(id, model_ask_id(actor, 1));
	model_answer(actor, GY_LANE_REPLY, model_ask_id(actor, 1));
	model_answer(actor, GY_LANE_REPLY, model_ask_id(actor, 2));
	model_settle();
	cr_assert_eq(model_house(actor)->outstanding, 1);
	for (uint32_t bit = 0; bit < 64; bit++) {
		model_answer(actor, GY_LANE_REPLY, id ^ UINT64_C(1) << bit);
	}
	model_answer(actor, GY_LANE_REPLY, 0);
	model_answer(actor, GY_LANE_REPLY, UINT64_MAX);
	model_settle();
	cr_assert_eq(late(actor), 66);
	cr_assert_eq(model_house(actor)->outstanding, 1);
	model_answer(actor, GY_LANE_REPLY, id);
	model_settle();
	cr_assert_eq(model_house(actor)->outstanding, 0);
	model_close();
}

Test(promise, is_not_found_by_its_id_at_another_actor_or_for_another_use)
{
	struct gyre_address actor;
	struct gyre_address other;
	uint64_t first;

	model_open(1);
	actor = model_spawn(&puppet_class, 0);
	other = model_spawn(&puppet_class, 0);
	model_call(actor, promise_one);
	model_settle();
	first = model_ask_id(actor, 0);
	model_answer(other, GY_LANE_REPLY, first);
	model_settle();
	cr_assert_eq(late(actor), 1);
	model_answer(actor, GY_LANE_REPLY, first);
	model_settle();
	cr_assert_eq(model_house(actor)->outstanding, 0);
	model_call(actor, promise_one);
	model_settle();
	cr_assert_neq(model_ask_id(actor, 0), first);
	model_answer(actor, GY_LANE_REPLY, first);
	model_settle();
	cr_assert_eq(late(actor), 2);
	cr_assert_eq(model_house(actor)->outstanding, 1);
	model_answer(actor, GY_LANE_REPLY, model_ask_id(actor, 0));
	model_settle();
	model_close();
}

/* Waits for two promises, and then for a third, which leaves the results of the two where they are.
 */
static int promise_two(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	if (gyre_stack_state(stack) != 0) {
		expect(gyre_future_error(&frame->future) == 0);
		expect(gyre_future_error(&frame->other) == 0);
		return gyre_return(stack);
	}
	expect(gyre_sleep(stack, GYRE_FOREVER, &frame->future) == 0);
	expect(gyre_sleep(stack, GYRE_FOREVER, &frame->other) == 0);
	return gyre_suspend(stack, 1);
}

Test(promise, that_has_completed_is_found_by_no_id)
{
	struct gyre_address actor;
	uint64_t id;

	model_open(1);
	actor = model_spawn(&puppet_class, 0);
	model_call(actor, promise_two);
	model_settle();
	id = model_ask_id(actor, 1);
	model_answer(actor, GY_LANE_REPLY, id);
	model_settle();
	cr_assert_eq(model_house(actor)->outstanding, 1);
	model_answer(actor, GY_LANE_REPLY, id);
	for (uint32_t bit = 0; bit < 64; bit++) {
		model_answer(actor, GY_LANE_REPLY, id ^ UINT64_C(1) << bit);
	}
	model_settle();
	cr_assert_eq(late(actor), 64, "one of these ids is that of the other promise");
	cr_assert_eq(model_house(actor)->outstanding, 0);
	model_close();
}

/* ---- several of one stack ---- */

enum { PROMISES = 6 };

static struct gyre_future futures[PROMISES];
static uint32_t resumed;

struct many_frame {
	struct gyre_future futures[PROMISES];
};

/* Is called anew with each promise that completes; the last half of them end with its stack. */
static int promise_many(struct gyre_stack *stack)
{
	struct many_frame *frame = (struct many_frame *)gyre_frame(stack);
	uint32_t done = 0;

	if (gyre_stack_state(stack) == 0) {
		for (uint32_t i = 0; i < PROMISES; i++) {
			expect(gyre_sleep(stack, GYRE_FOREVER, &frame->futures[i]) == 0);
		}
		return gyre_suspend_any(stack, 1);
	}
	resumed++;
	for (uint32_t i = 0; i < PROMISES; i++) {
		done += gyre_future_error(&frame->futures[i]) == 0;
		futures[i] = frame->futures[i];
	}
	expect(done == resumed);
	return done == PROMISES / 2 ? gyre_return(stack) : gyre_suspend_any(stack, 1);
}

static const struct gyre_class many_class = {
	.name = "many",
	.frame_bytes = sizeof(struct many_frame),
	.behaviour.notice = promise_many,
};

Test(promise, of_one_stack_completes_in_any_order)
{
	static const uint32_t orders[][PROMISES / 2] = { { 0, 1, 2 }, { 5, 4, 3 }, { 2, 4, 3 },
							 { 3, 0, 5 }, { 5, 0, 1 }, { 1, 5, 2 } };

	model_open(1);
	for (uint32_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct gyre_address actor = model_spawn(&many_class, 0);
		uint64_t ids[PROMISES];

		resumed = 0;
		model_put(actor, GY_LANE_NOTICE, 0);
		model_settle();
		cr_assert_eq(model_ask_ids(actor, ids, PROMISES), PROMISES);
		for (uint32_t k = 0; k < PROMISES / 2; k++) {
			model_answer(actor, GY_LANE_REPLY, ids[orders[i][k]]);
			model_settle();
			gy_house_check(model_house(actor));
			cr_assert_eq(resumed, k + 1);
		}
		cr_assert_eq(model_house(actor)->outstanding, 0);
		for (uint32_t k = 0; k < PROMISES; k++) {
			cr_assert_eq(gyre_future_error(&futures[k]), -ESTALE);
			model_answer(actor, GY_LANE_REPLY, ids[k]);
		}
		model_settle();
		cr_assert_eq(late(actor), (i + 1) * PROMISES);
	}
	model_close();
}

/* ---- in numbers ---- */

static struct gyre_address target;
static uint32_t answered;
static uint32_t failed;
static uint32_t asked;

static int answer_when_told(struct gyre_stack *stack)
{
	if (gyre_stack_state(stack) == 0) {
		expect(gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future) == 0);
		puppet_frame(stack)->value = gyre_message(stack, number)->value;
		return gyre_suspend(stack, 1);
	}
	return gyre_reply(stack, gyre_new(stack, number, puppet_frame(stack)->value + 1));
}

static const struct gyre_class slow_class = {
	.name = "slow",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.ask = answer_when_told,
};

static int ask_target(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	if (gyre_stack_state(stack) == 0) {
		frame->value = asked++;
		expect(gyre_ask(stack, target, gyre_new(stack, number, frame->value), GYRE_FOREVER,
				&frame->future) == 0);
		return gyre_suspend(stack, 1);
	}
	if (gyre_future_error(&frame->future) == -ESHUTDOWN) {
		failed++;
	} else {
		expect(gyre_future_get(&frame->future, number)->value == frame->value + 1);
		answered++;
	}
	return gyre_return(stack);
}

/* The stacks of both actors end in an order that has nothing to do with that of their asks. */
static void end_at_random(uint32_t count)
{
	uint64_t *order = (uint64_t *)calloc(count, sizeof(*order));
	uint64_t random = 42;
	struct gyre_address asker;

	cr_assert_not_null(order);
	model_open(1);
	asker = model_spawn(&puppet_class, 0);
	target = model_spawn(&slow_class, 0);
	for (uint32_t i = 0; i < count; i++) {
		model_call(asker, ask_target);
	}
	model_settle();
	cr_assert_eq(model_house(asker)->outstanding, count);
	cr_assert_eq(model_ask_ids(target, order, count), count);
	for (uint32_t i = 1; i < count; i++) {
		uint32_t place = (uint32_t)((gy_random_next(&random) >> 33) % (i + 1));
		uint64_t id = order[i];

		order[i] = order[place];
		order[place] = id;
	}
	for (uint32_t i = 0; i < count; i++) {
		model_answer(target, GY_LANE_REPLY, order[i]);
	}
	model_settle();
	cr_assert_eq(answered, count);
	cr_assert_eq(model_house(asker)->outstanding, 0);
	cr_assert(gy_list_empty(&model_house(asker)->suspended));
	model_close();
	free(order);
}

Test(promise, of_thousands_of_stacks_is_kept_in_any_order)
{
	end_at_random(SOME);
}

Test(promise, may_be_one_of_a_hundred_thousand_of_one_actor)
{
	end_at_random(MANY);
}

Test(promise, of_a_hundred_thousand_ends_with_the_actor_that_was_asked)
{
	struct gyre_address asker;

	model_open(1);
	asker = model_spawn(&puppet_class, 0);
	target = model_spawn(&slow_class, 0);
	for (uint32_t i = 0; i < MANY; i++) {
		model_call(asker, ask_target);
	}
	model_settle();
	gy_house_request_stop(model_house(target), 0);
	model_settle();
	cr_assert_eq(failed, MANY);
	cr_assert_eq(model_house(asker)->outstanding, 0);
	model_close();
}
