/* An exchange keeps to the numbers in its options, and the channel to its own. */
#include "exchange_kit.h"

/* ---- pending requests ---- */

static void expect_ids(uint64_t first, uint64_t last)
{
	for (uint64_t id = first; id <= last; id++) {
		cr_expect_eq(x_expect().id, id);
	}
}

/* Each comes in a piece of its own. */
static void expect_pending_up_to(struct gyre_test *test, uint32_t max)
{
	struct gyre_exchange_options options = { .requests_pending_max = max };
	uint64_t last = max + 3;

	x_serve(test, &options);
	x_send(1, WAIT + 1);
	for (uint64_t id = 2; id <= last; id++) {
		x_settle();
		x_send(id, 0);
	}
	x_settle();
	cr_expect_eq(x_load().requests_pending, max, "%u", x_load().requests_pending);
	x_open_gate(1);
	expect_ids(1, last);
}

EXCHANGE_TEST(exchange_options, allow_so_many_requests_to_be_pending_and_no_more)
{
	expect_pending_up_to(test, 2);
}

EXCHANGE_TEST(exchange_options, allow_just_one_request_to_be_pending)
{
	expect_pending_up_to(test, 1);
}

/* ---- the budget of an actor ---- */

static const struct gyre_system_options one_by_one_system = { EXCHANGE_KIT_LOG, .run_budget = 1 };

KIT_TEST_WITH(exchange_options,
	      let_as_many_requests_begin_where_actors_handle_one_message_at_a_time,
	      &one_by_one_system)
{
	enum { COUNT = 5 };
	struct gyre_exchange_options options = { .requests_max = COUNT };
	struct frame frames[COUNT];

	for (uint64_t i = 0; i < COUNT; i++) {
		frames[i] = (struct frame){ i + 1, WAIT + 1 };
	}
	x_serve(test, &options);
	x_send_all(frames, COUNT);
	x_settle();
	cr_expect_eq(x.begun_count, COUNT, "%u", x.begun_count);
	x_open_gate(1);
	expect_ids(1, COUNT);
}

/* ---- exchanges of one loop ---- */

EXCHANGE_TEST(exchange_options, of_requests_are_not_those_of_another_channel)
{
	struct gyre_exchange_options in_order = { .requests_max = 2 };
	struct gyre_exchange_options any_order = { .requests_max = 2, .any_order = true };
	struct gyre_test_channel *first;
	struct gyre_test_channel *second;

	x_serve(test, &in_order);
	first = x.peer;
	x_serve(test, &any_order);
	second = x.peer;
	x.peer = first;
	x_send(1, WAIT + 1);
	x_send(2, 0);
	x_expect_none();
	x.peer = second;
	x_send(3, WAIT + 3);
	x_send(4, 0);
	expect_ids(4, 4);
	x_open_gate(1);
	x_open_gate(3);
	expect_ids(3, 3);
	x.peer = first;
	expect_ids(1, 2);
}

static void expect_first_id(uint64_t id)
{
	(void)x_ask_for(1, 0);
	cr_expect_eq(x_expect().id, id);
}

EXCHANGE_TEST(exchange_options, of_asks_are_not_those_of_other_channels)
{
	struct gyre_exchange_options ids = { .ids = true };
	struct gyre_exchange_options no_ids = { 0 };
	struct gyre_exchange_options few_ids = { .ids = true, .id_max = 2 };

	for (int i = 0; i < 3; i++) {
		x_ask(test, &ids);
		expect_first_id(1);
		x_ask(test, &no_ids);
		expect_first_id(0);
	}
	x_ask(test, &few_ids);
	expect_first_id(1);
}

/* ---- the cap ---- */

enum { CAP = 1 << 16 };

static const struct gyre_system_options capped_system = { EXCHANGE_KIT_LOG, .write_low_bytes = 4096,
							  .write_high_bytes = 8192,
							  .write_max_bytes = CAP };

static int write_beyond_the_cap(struct gyre_handler_context *ctx, void *arg)
{
	static const char bytes[CAP + 1];
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)arg;
	cr_assert_eq(gyre_buffer_append(buffer, bytes, sizeof(bytes)), 0);
	return gyre_context_write(ctx, buffer);
}

static void expect_capped(void)
{
	x_settle();
	x.warnings_expected = 1;
	cr_expect_eq(gyre_tap_do(x.tap, write_beyond_the_cap, NULL), -ENOBUFS);
	(void)gyre_tap_expect_inactive(x.tap, -ENOBUFS, GYRE_SECONDS(1));
	cr_expect_eq(x.warnings, 1);
}

KIT_TEST_WITH(exchange_options, leave_the_cap_to_what_is_written_behind_an_answer, &capped_system)
{
	struct gyre_exchange_options options = { 0 };

	x_serve(test, &options);
	x_send(1, 0);
	expect_ids(1, 1);
	expect_capped();
}

KIT_TEST_WITH(exchange_options, leave_the_cap_to_what_is_written_behind_an_ask, &capped_system)
{
	struct gyre_exchange_options options = { 0 };

	x_ask(test, &options);
	expect_first_id(0);
	expect_capped();
}
