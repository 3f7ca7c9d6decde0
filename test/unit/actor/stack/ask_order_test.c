/*
 * The order of asks and notices of one sender to one receiver, as gyre_ask() documents it. Capital
 * letters are asks, small ones notices; the marks show in which order they were dispatched, and by
 * digits in which order the answers came.
 */
#include <ctype.h>

#include "actor/script_kit.h"

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
	mark(letter);
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
			cr_assert_eq(gyre_notify(stack, frame->to, mail), 0);
		} else {
			cr_assert_eq(gyre_ask(stack, frame->to, mail, 0,
					      &frame->futures[frame->count++]),
				     0);
		}
	}
}

/* Resumed by each answer; those that have come show by their places. */
static int send_and_wait(struct gyre_stack *stack)
{
	struct order_frame *frame = order_frame(stack);
	uint32_t outstanding = 0;

	if (gyre_stack_state(stack) == 0) {
		frame->to = script_spawn(stack, &noting_class);
		send_all(stack, frame);
		return gyre_suspend_any(stack, 1);
	}
	for (uint32_t i = 0; i < frame->count; i++) {
		if (frame->futures[i].promise == NULL) {
			continue; /* has been marked */
		}
		if (gyre_future_error(&frame->futures[i]) != 0) {
			outstanding++;
			continue;
		}
		mark((char)('1' + i));
		frame->futures[i].promise = NULL;
	}
	return outstanding == 0 ? gyre_return(stack) : gyre_suspend_any(stack, 1);
}

static void expect_order(struct gyre_test *test, const char *calls, const char *order)
{
	letters = calls;
	script_play(test, send_and_wait);
	expect_marks(order);
}

static const struct gyre_system_options two_a_run = { .run_budget = 2 };

KIT_TEST(ask_order, is_that_of_the_calls_among_asks_and_among_notices)
{
	expect_order(test, "ABabCc", "ABCabc123");
}

KIT_TEST(ask_order, has_asks_before_notices_that_wait_also_earlier_ones)
{
	expect_order(test, "abcA", "Aabc1");
}

KIT_TEST_WITH(ask_order, has_notices_before_asks_that_are_too_many_for_one_run, &two_a_run)
{
	expect_order(test, "ABCDa", "AB12aCD34");
}

KIT_TEST(ask_order, of_answers_is_that_in_which_they_are_given)
{
	expect_order(test, "SZ", "SZ21");
}
