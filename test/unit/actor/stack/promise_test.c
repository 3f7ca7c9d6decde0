/*
 * Promises in numbers: the table of an actor as it grows and shrinks, thousands of stacks that end
 * in whatever order, and what becomes of asks whose target dies before, while or after it deals
 * with them. In a model, with the table in sight.
 */
#include "actor/model.h"

#include "actor/mail/mailbox.h"
#include "base/random.h"

enum { MANY = 100000, SOME = 5000 };

/* ---- the table ---- */

/* Each call makes one promise more that nobody keeps. */
static int promise_one(struct gyre_stack *stack)
{
	if (gyre_stack_state(stack) != 0) {
		return gyre_return(stack);
	}
	expect(gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future) == 0);
	return gyre_suspend(stack, 1);
}

static int do_nothing(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

Test(promise, has_no_table_before_the_first_ask)
{
	struct gyre_address actor;

	model_open(1);
	actor = model_spawn(&puppet_class, 0);
	model_call(actor, do_nothing);
	model_put(actor, GY_LANE_REPLY, 1);
	model_settle();
	cr_assert_null(model_house(actor)->promises.buckets);
	cr_assert_eq(model_house(actor)->promises.size, 0);
	model_call(actor, promise_one);
	model_settle();
	cr_assert_eq(model_house(actor)->promises.size, GY_TABLE_FIRST);
	model_close();
}

Test(promise, table_doubles_at_a_load_of_two_and_shrinks_when_it_is_under_half_full)
{
	const struct gy_table *table;
	struct gyre_address actor;
	uint32_t size = GY_TABLE_FIRST;
	uint64_t first;

	model_open(1);
	actor = model_spawn(&puppet_class, 0);
	table = &model_house(actor)->promises;
	first = model_house(actor)->ask_id + 1;
	for (uint32_t i = 1; i <= SOME; i++) {
		model_call(actor, promise_one);
		model_settle();
		size = i > 2 * size ? 2 * size : size;
		cr_assert_eq(table->count, i);
		cr_assert_eq(table->size, size, "%u of %u in %u", i, SOME, table->size);
	}
	for (uint32_t left = SOME; left-- > 0;) {
		model_answer(actor, GY_LANE_REPLY, first + left);
		model_settle();
		size = size >= 4 * GY_TABLE_FIRST && left < size / 2 ? size / 2 : size;
		cr_assert_eq(table->count, left);
		cr_assert_eq(table->size, size, "%u are left in %u", left, table->size);
	}
	cr_assert_eq(table->size, 2 * GY_TABLE_FIRST);
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
		uint32_t place = (uint32_t)((gy_random_next(&random) >> 33) % (i + 1));

		order[i] = order[place];
		order[place] = model_house(target)->ask_id + 1 + i;
	}
	for (uint32_t i = 0; i < count; i++) {
		model_call(asker, ask_target);
	}
	model_settle();
	cr_assert_eq(model_house(asker)->promises.count, count);
	for (uint32_t i = 0; i < count; i++) {
		model_answer(target, GY_LANE_REPLY, order[i]);
	}
	model_settle();
	cr_assert_eq(answered, count);
	cr_assert_eq(model_house(asker)->promises.count, 0);
	cr_assert_eq(model_house(asker)->promises.size, 2 * GY_TABLE_FIRST);
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
	cr_assert_eq(model_house(asker)->promises.count, 0);
	model_close();
}
