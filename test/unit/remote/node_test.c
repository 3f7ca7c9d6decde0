/*
 * Two nodes in one process: messages of every kind between them.
 */
#include <errno.h>

#include <gyre/group.h>
#include <gyre/name.h>
#include <gyre/node.h>
#include <gyre/outside.h>

#include "base/atomic.h"
#include "fixture.h"
#include "pair.h"

enum { LETTERS = 300, ITEMS = 50, LARGE_ITEMS = 200000, SENDERS = 20, NOTICES = 500 };

/* The actor of the other node with that name goes to @other. */
#define FIND(stack, frame, name)                                                    \
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, (name), 0, &(frame)->future)); \
	expect(gyre_future_error(&(frame)->future) == 0);                           \
	(frame)->other = gyre_future_get(&(frame)->future, gyre_node_found)->address

#define ASK(stack, frame, mail) \
	GYRE_AWAIT(stack, gyre_ask(stack, (frame)->other, (mail), 0, &(frame)->future))

static int asks_the_other(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "adder");
	expect(frame->other.node == 2);
	ASK(stack, frame, gyre_new(stack, number, 41));
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_future_get(&frame->future, number)->value == 42);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, finds_an_actor_of_another_by_its_name_and_asks_it)
{
	pair_play(&(struct pair){ .script = asks_the_other });
}

Test(node, that_has_the_same_secret_is_asked_as_well)
{
	pair_play(&(struct pair){ .script = asks_the_other,
				  .first.secret = "known to both, and long enough",
				  .second.secret = "known to both, and long enough" });
}

static int finds_nobody(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "nobody", 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -ENOENT);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 1, "nobody", 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -ENOENT);
	expect(gyre_name_register(stack, "me") == 0);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 1, "me", 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_address_equal(gyre_future_get(&frame->future, gyre_node_found)->address,
				  gyre_self(stack)));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, says_that_nobody_has_a_name_and_knows_its_own_names)
{
	pair_play(&(struct pair){ .script = finds_nobody });
}

static int asks_who_is_gone(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "adder");
	frame->other.cookie += 77;
	ASK(stack, frame, gyre_new(stack, number, 41));
	expect(gyre_future_error(&frame->future) == -ESRCH);
	frame->other.loop = 500;
	ASK(stack, frame, gyre_new(stack, number, 41));
	expect(gyre_future_error(&frame->future) == -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, says_that_an_actor_is_gone)
{
	pair_play(&(struct pair){ .script = asks_who_is_gone });
	cr_assert_eq(pair_other_lost(GYRE_DROP_NO_ACTOR), 2);
}

/* ---- failures ---- */

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EDOM);
}

static const struct gyre_class failing_class = { .name = "failing", .behaviour.ask = fail };

static int asks_who_fails(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "other");
	ASK(stack, frame, gyre_new(stack, number, 41));
	expect(gyre_future_error(&frame->future) == -EDOM);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, brings_back_what_a_handler_of_another_fails_with)
{
	pair_play(&(struct pair){ .script = asks_who_fails, .class = &failing_class });
}

struct unheard {
	uint64_t value;
};
GYRE_MESSAGE(unheard, 0x1200);

static int says_what_is_not_understood(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "adder");
	expect(gyre_notify(stack, frame->other, gyre_new(stack, unheard, 1)) == 0);
	ASK(stack, frame, gyre_new(stack, unheard, 1));
	expect(gyre_future_error(&frame->future) == -EPROTO);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, does_not_understand_types_that_it_was_not_told_of)
{
	pair_play(&(struct pair){ .script = says_what_is_not_understood });
	cr_assert_eq(pair_other_lost(GYRE_DROP_NOT_UNDERSTOOD), 2);
}

static int asks_with_another_layout(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "adder");
	ASK(stack, frame, gyre_new(stack, number, 1));
	expect(gyre_future_error(&frame->future) == -EPROTO);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, does_not_understand_types_of_another_layout)
{
	static const struct gyre_type longer = { .name = "number", .id = 0x1001, .bytes = 16 };
	static const struct gyre_type *const types[] = { &longer, NULL };

	pair_play(&(struct pair){ .script = asks_with_another_layout, .second.types = types });
	cr_assert_eq(pair_other_lost(GYRE_DROP_NOT_UNDERSTOOD), 1);
}

Test(node, fails_an_ask_whose_answer_it_does_not_understand)
{
	static const struct gyre_type *const types[] = { &gyre_type_place, NULL };

	pair_play(&(struct pair){ .script = asks_with_another_layout, .first.types = types });
	cr_assert_eq(fixture.lost[GYRE_DROP_NOT_UNDERSTOOD], 1);
}

struct owning {
	char *text;
};
static void destroy_owning(struct owning *owning)
{
	expect(owning->text == NULL);
	trace('o');
}
GYRE_MESSAGE_OWNING(owning, 0x1201, destroy_owning);

static int sends_what_cannot_travel(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "adder");
	expect(gyre_notify(stack, frame->other, gyre_new(stack, owning, NULL)) == -EPROTO);
	ASK(stack, frame, gyre_new(stack, owning, NULL));
	expect(gyre_future_error(&frame->future) == -EPROTO);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, refuses_at_once_to_send_what_owns_something_and_has_no_encoding)
{
	pair_play(&(struct pair){ .script = sends_what_cannot_travel });
	cr_assert_eq(fixture.lost[GYRE_DROP_NOT_UNDERSTOOD], 2);
	cr_assert_str_eq(traced, "oo");
}

static int sends_too_much(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "adder");
	expect(gyre_notify(stack, frame->other, pair_order(stack, 4000, 0)) == 0);
	expect(gyre_notify(stack, frame->other, pair_order(stack, 5000, 0)) == -EMSGSIZE);
	ASK(stack, frame, pair_order(stack, 5000, 0));
	expect(gyre_future_error(&frame->future) == -EMSGSIZE);
	ASK(stack, frame, gyre_mail_create(stack, &gyre_type_large));
	expect(gyre_future_error(&frame->future) == -EMSGSIZE);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, refuses_at_once_to_send_what_is_too_large_for_itself)
{
	pair_play(&(struct pair){ .script = sends_too_much, .first.message_bytes_max = 4096 });
}

Test(node, refuses_at_once_to_send_what_is_too_large_for_the_other)
{
	pair_play(&(struct pair){ .script = sends_too_much, .second.message_bytes_max = 4096 });
}

/* ---- encoded messages ---- */

static int take_order(struct gyre_stack *stack)
{
	const struct order *order = gyre_message(stack, order);

	expect(order != NULL && pair_order_is_whole(order, LETTERS, ITEMS));
	return gyre_reply(stack, pair_order(stack, ITEMS, LETTERS));
}

static const struct gyre_class shop_class = { .name = "shop", .behaviour.ask = take_order };

static int orders(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "other");
	ASK(stack, frame, pair_order(stack, LETTERS, ITEMS));
	expect(gyre_future_error(&frame->future) == 0);
	expect(pair_order_is_whole(gyre_future_get(&frame->future, order), ITEMS, LETTERS));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(encode, carries_a_string_and_an_array_which_end_once_on_each_side)
{
	pair_play(&(struct pair){ .script = orders, .class = &shop_class });
}

/* ---- order ---- */

static uint64_t last_of[SENDERS];
static uint32_t notices_taken;

/* A notice has its sender in the upper half and its number in the lower. */
static int take_in_order(struct gyre_stack *stack)
{
	const struct number *number = gyre_message(stack, number);
	uint64_t sender = number->value >> 32;

	expect(sender < SENDERS && (uint32_t)number->value == last_of[sender] + 1);
	last_of[sender]++;
	notices_taken++;
	return gyre_return(stack);
}

static int tell_count(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, number, notices_taken));
}

static const struct gyre_class ordered_class = {
	.name = "ordered", .behaviour = { .notice = take_in_order, .ask = tell_count }
};

struct sender {
	struct gyre_address to;
	uint64_t name;
	uint64_t sent;
};

static struct gyre_address receiver;
static uint32_t senders_made;

/* One notice a run, so that stealing and other senders come in between. */
static int send_some(struct gyre_stack *stack)
{
	struct sender *self = (struct sender *)gyre_state(stack);

	if (self->sent == 0) {
		self->name = gy_fetch_add(&senders_made, 1);
	}
	self->sent++;
	expect(gyre_notify(stack, receiver,
			   gyre_new(stack, number, self->name << 32 | self->sent)) == 0);
	if (self->sent == NOTICES) {
		return gyre_stop(stack, gyre_self(stack));
	}
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 0));
}

static const struct gyre_class sender_class = { .name = "sender",
						.state_bytes = sizeof(struct sender),
						.behaviour.notice = send_some };

static int sends_from_many(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "other");
	receiver = frame->other;
	for (uint32_t i = 0; i < SENDERS; i++) {
		expect(gyre_notify(stack, spawn_on(stack, &sender_class, i % 2),
				   gyre_new(stack, number, 0)) == 0);
	}
	do {
		ASK(stack, frame, gyre_new(stack, number, 0));
		expect(gyre_future_error(&frame->future) == 0);
	} while (gyre_future_get(&frame->future, number)->value < SENDERS * NOTICES);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, gets_the_notices_of_many_actors_each_in_order)
{
	pair_play(&(struct pair){ .script = sends_from_many, .class = &ordered_class, .loops = 2 });
	cr_assert_eq(notices_taken, SENDERS * NOTICES);
}

/* Large and small ones, by their trace: orders are L, numbers s. */
static int trace_it(struct gyre_stack *stack)
{
	const struct order *order = gyre_message(stack, order);

	if (order == NULL) {
		trace((char)gyre_message(stack, number)->value);
	} else {
		expect(pair_order_is_whole(order, LETTERS, LARGE_ITEMS));
		trace('L');
	}
	return gyre_return(stack);
}

static const struct gyre_class tracing_class = {
	.name = "tracing", .behaviour = { .notice = trace_it, .ask = tell_count }
};

static int mixes(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "other");
	for (int i = 0; i < 3; i++) {
		expect(gyre_notify(stack, frame->other, gyre_new(stack, number, 'a')) == 0);
		expect(gyre_notify(stack, frame->other, pair_order(stack, LETTERS, LARGE_ITEMS)) ==
		       0);
		expect(gyre_notify(stack, frame->other, gyre_new(stack, number, 'b')) == 0);
		expect(gyre_notify(stack, frame->other, gyre_new(stack, number, 'c')) == 0);
	}
	/* What others ask the node meanwhile does not wait behind them. */
	ASK(stack, frame, gyre_new(stack, number, 0));
	expect(gyre_future_error(&frame->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, gets_large_and_small_messages_of_one_sender_in_their_order)
{
	pair_play(&(struct pair){ .script = mixes, .class = &tracing_class });
	cr_assert_str_eq(traced, "aLbcaLbcaLbc");
}

/* ---- addresses ---- */

static int ask_on(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	frame->other = gyre_message(stack, place)->address;
	ASK(stack, frame, gyre_new(stack, number, 5));
	expect(gyre_future_error(&frame->future) == 0);
	return gyre_reply(stack,
			  gyre_new(stack, number, gyre_future_get(&frame->future, number)->value));
	GYRE_END(stack);
}

static const struct gyre_class asking_class = { .name = "asking",
						.frame_bytes = sizeof(struct pair_frame),
						.behaviour.ask = ask_on };

static int sends_an_address(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "other");
	ASK(stack, frame, gyre_new(stack, place, spawn_here(stack, &adder_class)));
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_future_get(&frame->future, number)->value == 6);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, may_be_given_addresses_of_another_in_messages)
{
	pair_play(&(struct pair){ .script = sends_an_address, .class = &asking_class });
}

static int asks_a_group(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);
	const struct gyre_group_options options = { .routing = GYRE_ROUTING_ROUND_ROBIN,
						    .count = 3 };

	GYRE_BEGIN(stack);
	expect(gyre_system_group_spawn(pair_other, &adder_class, GYRE_NO_ARGUMENT, &options,
				       &frame->other) == 0);
	expect(frame->other.node == 2);
	for (frame->number = 0; frame->number < 6; frame->number++) {
		ASK(stack, frame, gyre_new(stack, number, 7));
		expect(gyre_future_error(&frame->future) == 0);
		expect(gyre_future_get(&frame->future, number)->value == 8);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, asks_a_group_of_another)
{
	pair_play(&(struct pair){ .script = asks_a_group });
}

static int stops_it(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "adder");
	expect(gyre_stop(stack, frame->other) == 0);
	ASK(stack, frame, gyre_new(stack, number, 7));
	expect(gyre_future_error(&frame->future) ==
	       -ESHUTDOWN); /* as one here that was just stopped */
	FIND(stack, frame, "other");
	expect(gyre_notify(stack, frame->other, gyre_new(stack, number, 'n')) == 0);
	expect(gyre_poison(stack, frame->other) == 0);
	do {
		ASK(stack, frame, gyre_new(stack, number, 7));
	} while (gyre_future_error(&frame->future) != -ESRCH);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(node, stops_and_poisons_actors_of_another)
{
	pair_play(&(struct pair){ .script = stops_it, .class = &tracing_class });
	cr_assert_str_eq(traced, "n");
}

/* ---- from outside ---- */

static void answered(struct gyre_mail *answer, int error, void *arg);

static int asks_from_outside(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame, "adder");
	expect(gyre_system_ask_callback(fixture.system, frame->other,
					gyre_system_new(fixture.system, number, 1), 0, answered,
					NULL) == 0);
	return gyre_return(stack);
	GYRE_END(stack);
}

static void answered(struct gyre_mail *answer, int error, void *arg)
{
	(void)arg;
	expect(error == 0 && answer != NULL);
	expect(((const struct number *)gyre_payload(answer))->value == 2);
	gyre_system_stop(fixture.system);
}

Test(node, is_asked_from_outside_of_another)
{
	pair_play(&(struct pair){ .script = asks_from_outside });
}
