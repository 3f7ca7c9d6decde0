/*
 * Messages with tails between two nodes: of any length that the nodes take, in their order, and
 * back.
 */
#include <errno.h>

#include <gyre/move.h>
#include <gyre/name.h>
#include <gyre/node.h>

#include "base/atomic.h"
#include "base/macros.h"
#include "remote/pair.h"
#include "tails.h"

/* The last two are too large for one frame. */
static const uint32_t counts[] = { 0, 1, 2, 3, 50, 0, 1000, 60000, 70000, 300000 };

enum { MESSAGE_BYTES_MAX = 1 << 20 };

static struct pair tails_pair(gyre_handler_fn script, const struct gyre_class *class)
{
	static const struct gyre_type *const types[] = { &gyre_type_line,   &gyre_type_ragged,
							 &gyre_type_path,   &gyre_type_spell,
							 &gyre_type_number, NULL };
	const struct gyre_node_options options = { .types = types,
						   .message_bytes_max = MESSAGE_BYTES_MAX };

	return (struct pair){
		.script = script, .class = class, .first = options, .second = options
	};
}

#define FIND(stack, frame)                                                           \
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "other", 0, &(frame)->future)); \
	expect(gyre_future_error(&(frame)->future) == 0);                            \
	(frame)->other = gyre_future_get(&(frame)->future, gyre_node_found)->address

#define ASK(stack, frame, mail) \
	GYRE_AWAIT(stack, gyre_ask(stack, (frame)->other, (mail), 0, &(frame)->future))

/* ---- questions and answers ---- */

/* Answers a line with the one after it, of as many letters, and a path with itself. */
static int answer(struct gyre_stack *stack)
{
	const struct line *line = gyre_message(stack, line);

	if (line == NULL) {
		return gyre_reply(stack, gyre_new_copy(stack, path, gyre_message(stack, path)));
	}
	expect(tail_line_is_whole(line, line->number, line->bytes));
	return gyre_reply(stack, tail_line(stack, line->number + 1, line->bytes));
}

static const struct gyre_class answering_class = { .name = "answering", .behaviour.ask = answer };

static int asks_with_tails(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame);
	for (frame->number = 0; frame->number < gy_countof(counts); frame->number++) {
		ASK(stack, frame, tail_line(stack, 5, counts[frame->number]));
		expect(gyre_future_error(&frame->future) == 0);
		expect(tail_line_is_whole(gyre_future_get(&frame->future, line), 6,
					  counts[frame->number]));
	}
	ASK(stack, frame, tail_path(stack, 3));
	expect(tail_path_is_whole(gyre_future_get(&frame->future, path), 3));
	ASK(stack, frame, tail_path(stack, 0));
	expect(tail_path_is_whole(gyre_future_get(&frame->future, path), 0));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(tail_nodes, are_asked_and_answer_with_as_many_elements_as_were_sent)
{
	const struct pair pair = tails_pair(asks_with_tails, &answering_class);

	pair_play(&pair);
}

/* Asks with what was answered, so that each mail goes there and back and there again. */
static int asks_with_answers(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame);
	for (frame->number = 0; frame->number < gy_countof(counts); frame->number++) {
		ASK(stack, frame, tail_line(stack, 5, counts[frame->number]));
		ASK(stack, frame, gyre_future_take(&frame->future));
		expect(tail_line_is_whole(gyre_future_get(&frame->future, line), 7,
					  counts[frame->number]));
		gyre_mail_destroy(NULL, gyre_mail_keep(stack, gyre_future_take(&frame->future)));
		expect(gyre_future_get(&frame->future, line) == NULL);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(tail_nodes, give_answers_that_are_taken_and_sent_again)
{
	const struct pair pair = tails_pair(asks_with_answers, &answering_class);

	pair_play(&pair);
}

static int asks_too_much(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame);
	ASK(stack, frame, tail_line(stack, 5, MESSAGE_BYTES_MAX - sizeof(struct line)));
	expect(gyre_future_error(&frame->future) == 0);
	ASK(stack, frame, tail_line(stack, 5, MESSAGE_BYTES_MAX - sizeof(struct line) + 1));
	expect(gyre_future_error(&frame->future) == -EMSGSIZE);
	ASK(stack, frame, tail_line(stack, 5, GYRE_TAIL_MAX(line)));
	expect(gyre_future_error(&frame->future) == -EMSGSIZE);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(tail_nodes, refuse_one_more_element_than_their_largest_message_has_room_for)
{
	const struct pair pair = tails_pair(asks_too_much, &answering_class);

	pair_play(&pair);
}

/* ---- notices ---- */

static uint32_t seen; /* by the other, in its order */

static int check(struct gyre_stack *stack)
{
	const uint32_t i = gy_load_relaxed(&seen);

	expect(tail_ragged_is_whole(gyre_message(stack, ragged), i,
				    counts[i % gy_countof(counts)]));
	gy_store_relaxed(&seen, i + 1);
	return gyre_return(stack);
}

static int answer_seen(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, number, gy_load_relaxed(&seen)));
}

static const struct gyre_class checking_class = {
	.name = "checking", .behaviour = { .notice = check, .ask = answer_seen }
};

enum { NOTICES = 200 };

static int tells_tails(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame);
	for (uint32_t i = 0; i < NOTICES; i++) {
		expect(gyre_notify(stack, frame->other,
				   tail_ragged(stack, i, counts[i % gy_countof(counts)])) == 0);
	}
	/* Asks may overtake: until it has seen all. */
	for (frame->number = 0; frame->number < NOTICES;) {
		ASK(stack, frame, gyre_new(stack, number, 0));
		expect(gyre_future_error(&frame->future) == 0);
		frame->number = gyre_future_get(&frame->future, number)->value;
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(tail_nodes, are_told_ones_of_different_lengths_in_their_order)
{
	struct pair pair = tails_pair(tells_tails, &checking_class);

	pair.first.link_bytes_max = 1 << 26;
	pair_play(&pair);
	cr_assert_eq(seen, NOTICES);
}

static int answer_outside(struct gyre_stack *stack)
{
	expect(tail_line_is_whole(gyre_message(stack, line), 7, 70000));
	(void)gy_fetch_add(&seen, 1);
	return gyre_return(stack);
}

static int tells_from_outside(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);
	struct gyre_system *system = gyre_system_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame);
	expect(gyre_system_notify(system, frame->other,
				  tail_fill_line(gyre_system_new_tail(system, line, 70000,
								      .number = 7))) == 0);
	for (frame->number = 0; frame->number == 0;) {
		ASK(stack, frame, gyre_new(stack, number, 0));
		frame->number = gyre_future_get(&frame->future, number)->value;
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(tail_nodes, are_told_one_from_outside)
{
	static const struct gyre_class outside_class = {
		.name = "outside", .behaviour = { .notice = answer_outside, .ask = answer_seen }
	};
	const struct pair pair = tails_pair(tells_from_outside, &outside_class);

	pair_play(&pair);
	cr_assert_eq(seen, 1);
}

/* ---- what does not travel ---- */

struct purse {
	uint32_t count;
	void *coins[];
};

static void purse_destroy(struct purse *purse)
{
	(void)purse;
	(void)gy_fetch_add(&seen, 1);
}

GYRE_MESSAGE_TAIL_OWNING(purse, 0x1520, coins, count, purse_destroy);

static int asks_with_purse(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	FIND(stack, frame);
	ASK(stack, frame, gyre_new_tail(stack, purse, 3));
	expect(gyre_future_error(&frame->future) == -EPROTO);
	expect(gy_load_relaxed(&seen) == 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(tail_nodes, are_not_told_what_owns_its_elements)
{
	const struct pair pair = tails_pair(asks_with_purse, &answering_class);

	pair_play(&pair);
}
