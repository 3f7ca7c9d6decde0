/*
 * The order of asks and notices of one sender to one receiver, as gyre_ask() documents it. Capital
 * letters are asks, small ones notices; the trace shows in which order they were dispatched, and by
 * digits in which order the answers came.
 */
#include <ctype.h>
#include <string.h>

#include "fixture.h"

enum { ASKS_MAX = 8 };

struct order_frame {
	struct gyre_future futures[ASKS_MAX];
	struct gyre_future turn;
	struct gyre_address to;
	uint32_t count;
};

static const char *letters; /* in the order of the calls */

static struct order_frame *order_frame(struct gyre_stack *stack)
{
	return (struct order_frame *)gyre_frame(stack);
}

/* S is answered only after Z was. */
static int note(struct gyre_stack *stack)
{
	const char letter = (char)gyre_message(stack, number)->value;
	struct gyre_future *woken = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	trace(letter);
	if (islower(letter)) {
		return gyre_return(stack);
	}
	if (letter == 'S') {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), woken));
	}
	return gyre_reply(stack, gyre_new(stack, number, 0));
	GYRE_END(stack);
}

static const struct gyre_class noting_class = {
	.name = "noting",
	.frame_bytes = sizeof(struct gyre_future),
	.behaviour = { .notice = note, .ask = note },
};

static void send_all(struct gyre_stack *stack, struct order_frame *frame)
{
	for (const char *next = letters; *next != '\0'; next++) {
		struct gyre_mail *mail = gyre_new(stack, number, (uint64_t)*next);

		if (islower(*next)) {
			expect(gyre_notify(stack, frame->to, mail) == 0);
		} else {
			expect(gyre_ask(stack, frame->to, mail, 0,
					&frame->futures[frame->count++]) == 0);
		}
	}
}

/* Resumed by each answer; those that have come show by their places. */
static int send_and_wait(struct gyre_stack *stack)
{
	struct order_frame *frame = order_frame(stack);
	uint32_t outstanding = 0;

	if (gyre_stack_state(stack) == 0) {
		frame->to = spawn_here(stack, &noting_class);
		send_all(stack, frame);
		return gyre_suspend_any(stack, 1);
	}
	for (uint32_t i = 0; i < frame->count; i++) {
		if (frame->futures[i].promise == NULL) {
			continue; /* has been traced */
		}
		if (gyre_future_error(&frame->futures[i]) != 0) {
			outstanding++;
			continue;
		}
		trace((char)('1' + i));
		frame->futures[i].promise = NULL;
	}
	return outstanding == 0 ? fixture_end(stack) : gyre_suspend_any(stack, 1);
}

static void expect_order(const char *calls, const char *order, uint32_t run_budget)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = run_budget };

	letters = calls;
	play_with(&options, send_and_wait);
	cr_assert_str_eq(traced, order);
}

Test(ask_order, is_that_of_the_calls_among_asks_and_among_notices)
{
	expect_order("ABabCc", "ABCabc123", 0);
}

Test(ask_order, has_asks_before_notices_that_wait_also_earlier_ones)
{
	expect_order("abcA", "Aabc1", 0);
}

Test(ask_order, has_notices_before_asks_that_are_too_many_for_one_run)
{
	expect_order("ABCDa", "AB12aCD34", 2);
}

Test(ask_order, of_answers_is_that_in_which_they_are_given)
{
	expect_order("SZ", "SZ21", 0);
}
