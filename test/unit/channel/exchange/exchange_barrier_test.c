/* Barriers: messages that are in flight alone, whatever the order of the answers. */
#include "exchange_kit.h"

/* ---- among requests of the peer ---- */

static void expect_handled_alone(struct gyre_test *test, bool any_order)
{
	struct gyre_exchange_options options = { .requests_max = 10, .any_order = any_order };
	struct frame frame;

	x_serve(test, &options);
	x_send(1, WAIT + 1);
	x_send(2, ALONE_WAIT + 2);
	x_send(3, 0);
	x_send(4, ALONE);
	x_send(5, 0);
	x_settle();
	cr_expect_eq(x.begun_count, 1, "it waits for those before it");
	x_open_gate(1);
	frame = x_expect();
	cr_expect(frame.id == 1 && frame.value == WAIT + 2);
	x_settle();
	cr_expect_eq(x.begun_count, 2, "it holds those behind it");
	x_open_gate(2);
	frame = x_expect();
	cr_expect(frame.id == 2 && frame.value == ALONE_WAIT + 3);
	for (uint64_t id = 3; id <= 5; id++) {
		cr_expect_eq(x_expect().id, id);
	}
	cr_expect_eq(x.running_max, 1);
}

EXCHANGE_TEST(exchange_barrier, among_requests_is_handled_alone_where_answers_are_in_order)
{
	expect_handled_alone(test, false);
}

EXCHANGE_TEST(exchange_barrier, among_requests_is_handled_alone_where_order_does_not_count)
{
	expect_handled_alone(test, true);
}

/* ---- among asks ---- */

static uint64_t expect_written(int64_t value)
{
	struct frame frame = x_expect();

	cr_expect_eq(frame.value, value, "%ld, not %ld", frame.value, value);
	return frame.id;
}

static void expect_written_alone(struct gyre_test *test, bool ids)
{
	struct gyre_exchange_options options = { .asks_max = 10, .ids = ids };
	uint64_t first;
	uint64_t second;

	x_ask(test, &options);
	(void)x_ask_for(1, 0);
	(void)x_ask_for(2, 0);
	(void)x_ask_for(ALONE, 0);
	(void)x_ask_for(3, 0);
	first = expect_written(1);
	second = expect_written(2);
	x_expect_none();
	x_send(second, 1); /* without ids the answer to the first */
	x_expect_none();
	x_send(first, 2);
	first = expect_written(ALONE);
	x_expect_none();
	x_send(first, 3);
	first = expect_written(3);
	x_send(first, 4);
	x_settle();
	cr_expect_eq(x.ended, 4);
}

EXCHANGE_TEST(exchange_barrier, among_asks_is_written_alone_where_answers_are_in_order)
{
	expect_written_alone(test, false);
}

EXCHANGE_TEST(exchange_barrier, among_asks_is_written_alone_where_answers_have_ids)
{
	expect_written_alone(test, true);
}

EXCHANGE_TEST(exchange_barrier, that_is_given_up_lets_those_behind_it_go)
{
	struct gyre_exchange_options options = { .asks_max = 10, .ids = true };
	struct asked *alone;
	struct asked *next;

	x_ask(test, &options);
	alone = x_ask_for(ALONE, GYRE_MILLISECONDS(10));
	next = x_ask_for(1, 0);
	(void)expect_written(ALONE);
	gyre_test_advance(test, GYRE_MILLISECONDS(100));
	cr_expect_eq(alone->error, -ETIMEDOUT);
	x_send(expect_written(1), 11);
	x_settle();
	cr_expect_eq(next->error, 0);
}
