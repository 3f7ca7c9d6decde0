/*
 * Large messages, of more pairs of actors at once than may take turns.
 */
#include <errno.h>
#include <string.h>

#include <gyre/name.h>
#include <gyre/watch.h>

#include "base/atomic.h"
#include "remote/pair.h"
#include "remote/wire.h"

enum { SENDERS = GY_PARTIAL_MESSAGES_MAX + 36, ITEMS = 30000, EACH = 5, LARGEST_BYTES = 1 << 18 };

/*
 * What each sender says, in this order: a large order, a number, a larger one, one that would fit
 * into a frame, and a number. The sender is the letters of an order, and the upper half of a
 * number.
 */
static const uint32_t items_of[EACH] = { ITEMS, 0, 2 * ITEMS, 1000, 0 };

static uint32_t taken_of[SENDERS + 1];
static uint32_t taken;

static int take(struct gyre_stack *stack)
{
	const struct order *order = gyre_message(stack, order);
	const struct number *number = gyre_message(stack, number);
	size_t sender = order != NULL ? strlen(order->customer) : (size_t)(number->value >> 32);
	uint32_t place;

	expect(sender > 0 && sender <= SENDERS);
	place = taken_of[sender]++;
	expect(place < EACH);
	expect(items_of[place] == 0 ? number != NULL && (uint32_t)number->value == place
				    : order != NULL && pair_order_is_whole(order, (uint32_t)sender,
									   items_of[place]));
	taken++;
	return gyre_return(stack);
}

static int how_many(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, number, taken));
}

static const struct gyre_class taker_class = { .name = "taker",
					       .behaviour = { .notice = take, .ask = how_many } };

static struct gyre_address taker;

/* Told its number. */
static int send_all(struct gyre_stack *stack)
{
	uint64_t self = gyre_message(stack, number)->value;

	for (uint32_t i = 0; i < EACH; i++) {
		struct gyre_mail *mail = items_of[i] == 0
						 ? gyre_new(stack, number, self << 32 | i)
						 : pair_order(stack, (uint32_t)self, items_of[i]);

		expect(gyre_notify(stack, taker, mail) == 0);
	}
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class sender_class = { .name = "sender", .behaviour.notice = send_all };

static int sends_large_ones_of_many(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "other", GYRE_FOREVER, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	taker = gyre_future_get(&frame->future, gyre_node_found)->address;
	for (uint64_t i = 1; i <= SENDERS; i++) {
		expect(gyre_notify(stack, spawn_here(stack, &sender_class),
				   gyre_new(stack, number, i)) == 0);
	}
	do {
		GYRE_AWAIT(stack, gyre_ask(stack, taker, gyre_new(stack, number, 0), GYRE_FOREVER,
					   &frame->future));
		expect(gyre_future_error(&frame->future) == 0);
	} while (gyre_future_get(&frame->future, number)->value < SENDERS * EACH);
	return fixture_end(stack);
	GYRE_END(stack);
}

/* Times in which nothing is missed, also on a slow machine. */
static const struct gyre_node_options patient = { .link_bytes_max = 1 << 30,
						  .heartbeat_ns = GYRE_SECONDS(1),
						  .suspect_ns = GYRE_SECONDS(1000),
						  .down_ns = GYRE_SECONDS(2000) };

Test(fragments, of_more_pairs_than_may_take_turns_arrive_whole_and_in_order)
{
	pair_play(&(struct pair){ .script = sends_large_ones_of_many,
				  .class = &taker_class,
				  .first = patient,
				  .second = patient });
	cr_assert_eq(taken, SENDERS * EACH);
}

/* The peer keeps two of them at most. */
Test(fragments, of_a_peer_that_keeps_little_take_turns_in_what_it_keeps)
{
	pair_play(&(struct pair){ .script = sends_large_ones_of_many,
				  .class = &taker_class,
				  .first = patient,
				  .second = { .link_bytes_max = 1 << 16,
					      .message_bytes_max = LARGEST_BYTES,
					      .heartbeat_ns = GYRE_SECONDS(1),
					      .suspect_ns = GYRE_SECONDS(1000),
					      .down_ns = GYRE_SECONDS(2000) } });
	cr_assert_eq(taken, SENDERS * EACH);
}

/* ---- the end of the sender ---- */

static int speak_and_end(struct gyre_stack *stack)
{
	expect(gyre_notify(stack, gyre_sender(stack), pair_order(stack, 1, ITEMS)) == 0);
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class speaker_class = { .name = "speaker",
						 .behaviour.notice = speak_and_end };

static int watch_and_listen(struct gyre_stack *stack)
{
	struct gyre_address other = gyre_message(stack, place)->address;

	expect(gyre_watch(stack, other) == 0);
	return gyre_notify(stack, other, gyre_new(stack, number, 0));
}

static int hear_order(struct gyre_stack *stack)
{
	expect(gyre_message(stack, order) != NULL);
	trace('o');
	return gyre_return(stack);
}

static int hear_of_the_end(struct gyre_stack *stack)
{
	expect(gyre_message(stack, gyre_terminated) != NULL);
	trace('!');
	return fixture_end(stack);
}

static const struct gyre_class listener_class = {
	.name = "listener",
	.mount = watch_and_listen,
	.behaviour = { .notice = hear_order, .event = hear_of_the_end },
};

static int watches_a_speaker(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);
	struct gyre_address listener;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "other", GYRE_FOREVER, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_spawn(stack, &listener_class,
			  gyre_new(stack, place,
				   gyre_future_get(&frame->future, gyre_node_found)->address),
			  NULL, &listener) == 0);
	GYRE_END(stack);
}

/* The message has to wait for credit, so that it does not come in the turn in which it begins. */
Test(fragments, are_not_overtaken_by_the_end_of_who_speaks)
{
	pair_play(&(struct pair){ .script = watches_a_speaker,
				  .class = &speaker_class,
				  .first = { .link_bytes_max = 1 << 16,
					     .message_bytes_max = LARGEST_BYTES,
					     .heartbeat_ns = GYRE_SECONDS(1),
					     .suspect_ns = GYRE_SECONDS(1000),
					     .down_ns = GYRE_SECONDS(2000) },
				  .second = patient });
	cr_assert_str_eq(traced, "o!");
}
