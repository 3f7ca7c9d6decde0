/*
 * The ids by which answers find their promises, and that nothing else finds them.
 */
#include "actor/model.h"

#include "actor/mail/mailbox.h"

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
