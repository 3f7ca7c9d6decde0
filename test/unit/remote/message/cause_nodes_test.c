/*
 * Failures that carry a message from one node to another: of each kind of type, and of types that
 * do not travel, or are not known there.
 */
#include <errno.h>

#include <gyre/node.h>

#include "remote/message/cause_types.h"
#include "remote/pair.h"
#include "tails.h"

enum { PLAIN, ENCODED, TAIL, UNKNOWN, OWNING, NONE, TOO_LARGE };

static struct gyre_mail *cause(struct gyre_stack *stack, uint64_t kind)
{
	switch (kind) {
	case PLAIN:
		return gyre_new(stack, why, 42);
	case ENCODED:
		return pair_order(stack, 20, 100);
	case TAIL:
		return tail_line(stack, 5, 70000);
	case UNKNOWN:
		return gyre_new(stack, secret, 7);
	case OWNING:
		return gyre_new(stack, held, 7);
	case TOO_LARGE:
		return tail_line(stack, 5, 3000000);
	default:
		return NULL;
	}
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw_with(stack, -EDOM, cause(stack, gyre_message(stack, number)->value));
}

static const struct gyre_class failing_class = { .name = "failing", .behaviour.ask = fail };

static bool has_none(const struct gyre_future *future)
{
	return gyre_future_cause(future, why) == NULL && gyre_future_cause(future, order) == NULL &&
	       gyre_future_cause(future, line) == NULL && gyre_future_cause(future, secret) == NULL;
}

static void check(const struct gyre_future *future, uint64_t kind)
{
	expect(gyre_future_error(future) == -EDOM);
	switch (kind) {
	case PLAIN:
		expect(gyre_future_cause(future, why) != NULL &&
		       gyre_future_cause(future, why)->code == 42);
		break;
	case ENCODED:
		expect(pair_order_is_whole(gyre_future_cause(future, order), 20, 100));
		break;
	case TAIL:
		expect(tail_line_is_whole(gyre_future_cause(future, line), 5, 70000));
		break;
	default:
		expect(has_none(future));
		break;
	}
}

static int ask_all(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "other", 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	frame->other = gyre_future_get(&frame->future, gyre_node_found)->address;
	for (frame->number = PLAIN; frame->number <= TOO_LARGE; frame->number++) {
		GYRE_AWAIT(stack,
			   gyre_ask(stack, frame->other, gyre_new(stack, number, frame->number), 0,
				    &frame->future));
		check(&frame->future, frame->number);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(cause_nodes, of_a_failed_ask_comes_from_another_node_if_its_type_is_known_and_travels)
{
	static const struct gyre_type *const types[] = { &gyre_type_why, &gyre_type_order,
							 &gyre_type_line, &gyre_type_number, NULL };
	const struct gyre_node_options options = { .types = types, .message_bytes_max = 1 << 20 };
	const struct pair pair = {
		.script = ask_all, .class = &failing_class, .first = options, .second = options
	};

	pair_play(&pair);
	cr_assert_eq(destroyed, 1);
	cr_assert_eq(pair_orders, 0);
}
