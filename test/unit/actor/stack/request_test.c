/*
 * Requests: questions that declare their answer, and actors that answer with something else.
 */
#include "actor/parcel_rig.h"

#include <signal.h>
#include <string.h>

#include "base/assert.h"

struct price {
	uint64_t cents;
	uint64_t currency;
};
GYRE_MESSAGE(price, 0x1201);

struct price_of {
	uint64_t item;
};
GYRE_REQUEST(price_of, 0x1202, price);

/* A question that owns something, and is answered by something that does. */
struct exchange {
	struct parcel parcel;
};

static void exchange_destroy(struct exchange *exchange)
{
	parcel_destroy(&exchange->parcel);
}

GYRE_REQUEST_OWNING(exchange, 0x1203, parcel, exchange_destroy);

static int ask_price(struct gyre_stack *stack, struct gyre_future *ret_future)
{
	return gyre_ask(stack, frame_of(stack)->to, gyre_new(stack, price_of, .item = 4), 0,
			ret_future);
}

/* ---- the right answer ---- */

static int sell(struct gyre_stack *stack)
{
	return gyre_reply_to(stack, price_of, .cents = 10 * gyre_message(stack, price_of)->item,
			     .currency = 1);
}

static int sell_by_hand(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, price, 40, 1));
}

static int buy_from(struct gyre_stack *stack, const struct gyre_class *class)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, class);
	GYRE_AWAIT(stack, ask_price(stack, &frame->future));
	expect(gyre_future_answer_to(&frame->future, price_of)->cents == 40);
	expect(gyre_future_answer_to(&frame->future, price_of)->currency == 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

static int buy(struct gyre_stack *stack)
{
	static const struct gyre_class shop_class = { .name = "shop", .behaviour.ask = sell };

	return buy_from(stack, &shop_class);
}

static int buy_by_hand(struct gyre_stack *stack)
{
	static const struct gyre_class shop_class = { .name = "shop",
						      .behaviour.ask = sell_by_hand };

	return buy_from(stack, &shop_class);
}

Test(request, is_answered_with_what_it_declares)
{
	play(1, buy);
}

Test(request, of_another_loop_is_answered_with_what_it_declares)
{
	parcel_loop = 1;
	play(2, buy);
}

Test(request, may_be_answered_by_an_ordinary_reply_of_the_right_type)
{
	play(1, buy_by_hand);
}

static int swap(struct gyre_stack *stack)
{
	return gyre_reply_to(stack, exchange, pack(2).goods);
}

static int offer(struct gyre_stack *stack)
{
	static const struct gyre_class swapping_class = { .name = "swapping",
							  .behaviour.ask = swap };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &swapping_class);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, gyre_new(stack, exchange, pack(1)), 0,
				   &frame->future));
	expect(*gyre_future_answer_to(&frame->future, exchange)->goods == 2);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(request, may_own_something_as_may_its_answer)
{
	play_parcels(offer);
	cr_assert_eq(parcels_destroyed, parcels_packed);
}

static bool all(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static int sell_many(struct gyre_stack *stack)
{
	expect(gyre_batch_reply_to(stack, 0, price_of, 1, 2) == 0);
	return gyre_batch_reply_all(stack, gyre_new_answer(stack, price_of, .cents = 3));
}

static int buy_two(struct gyre_stack *stack)
{
	static const struct gyre_class shop_class = { .name = "shop",
						      .behaviour.ask_batch = sell_many,
						      .batch_asks = all };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &shop_class);
	expect(ask_price(stack, &frame->future) == 0);
	GYRE_AWAIT(stack, ask_price(stack, &frame->other));
	expect(gyre_future_answer_to(&frame->future, price_of)->cents == 1);
	expect(gyre_future_answer_to(&frame->other, price_of)->cents == 3);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(request, of_a_batch_is_answered_by_itself_or_with_all)
{
	play(1, buy_two);
}

/* ---- the wrong one ---- */

static int sell_wrong(struct gyre_stack *stack)
{
	expect(gyre_reply(stack, parcel(stack, 1)) == -EPROTO);
	expect(gyre_reply_to(stack, price_of, .cents = 1) == -EALREADY);
	return gyre_return(stack);
}

static int sell_many_wrong(struct gyre_stack *stack)
{
	uint32_t count = gyre_batch_count(stack);

	expect(gyre_batch_reply(stack, 0, gyre_new(stack, number, 1)) == -EPROTO);
	if (count > 1) {
		expect(gyre_batch_reply_all(stack, gyre_new(stack, number, 1)) == -EPROTO);
	}
	return gyre_return(stack);
}

static const struct gyre_class wrong_class = {
	.name = "crook",
	.behaviour = { .ask = sell_wrong },
};

static const struct gyre_class wrong_batch_class = {
	.name = "crook",
	.behaviour = { .ask_batch = sell_many_wrong },
	.batch_asks = all,
};

static int buy_wrong_from(struct gyre_stack *stack, const struct gyre_class *class)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, class);
	expect(ask_price(stack, &frame->future) == 0);
	GYRE_AWAIT(stack, ask_price(stack, &frame->other));
	expect(gyre_future_error(&frame->future) == -EPROTO);
	expect(gyre_future_error(&frame->other) == -EPROTO);
	expect(gyre_future_answer_to(&frame->future, price_of) == NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

static int buy_wrong(struct gyre_stack *stack)
{
	return buy_wrong_from(stack, &wrong_class);
}

static int buy_wrong_batch(struct gyre_stack *stack)
{
	return buy_wrong_from(stack, &wrong_batch_class);
}

#if GY_ASSERT_LEVEL >= 2

Test(request, that_is_answered_with_another_type_ends_the_program, .signal = SIGABRT)
{
	play(1, buy_wrong);
}

Test(request, of_a_batch_that_is_answered_with_another_type_ends_the_program, .signal = SIGABRT)
{
	play(1, buy_wrong_batch);
}

#else

static void assert_named(void)
{
	cr_assert_eq(fixture.warnings, 2);
	cr_assert_not_null(strstr(fixture.line, "crook"));
	cr_assert_not_null(strstr(fixture.line, "price_of"));
	cr_assert_eq(fixture.counters.sent - fixture.counters.dropped[GYRE_DROP_SECOND], 4);
}

Test(request, that_is_answered_with_another_type_fails_at_both_ends)
{
	play_parcels(buy_wrong);
	assert_named();
	cr_assert_not_null(strstr(fixture.line, "parcel"));
}

Test(request, of_a_batch_that_is_answered_with_another_type_fails_at_both_ends)
{
	play(1, buy_wrong_batch);
	assert_named();
	cr_assert_not_null(strstr(fixture.line, "number"));
}

#endif

/* ---- ids that were given twice ---- */

static int read_as_another(struct gyre_stack *stack)
{
	static const struct gyre_type clashing = { .name = "clash",
						   .id = GYRE_ID(number),
						   .bytes = 1 };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &adder_class);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->to, gyre_new(stack, number, 1), 0, &frame->future));
	(void)gyre_future_answer(&frame->future, &clashing);
	return fixture_end(stack);
	GYRE_END(stack);
}

#if GY_ASSERT_LEVEL >= 1
Test(request, types_of_one_id_and_two_sizes_end_the_program, .signal = SIGABRT)
#else
Test(request, types_of_one_id_and_two_sizes_are_taken_for_the_same)
#endif
{
	play(1, read_as_another);
}
