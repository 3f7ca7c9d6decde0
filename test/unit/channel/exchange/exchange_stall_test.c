/* Peers that leave an answer out for good: when the channel ends for it, and when it does not. */
#include "exchange_kit.h"
#include "sim/net_rig.h"

enum { STALL_S = 10 };

#define STALL_NS GYRE_SECONDS(STALL_S)
#define LONG_NS	 GYRE_SECONDS(1000)

static void begin(struct gyre_test *test, bool ids, uint64_t stall_ns)
{
	static struct gyre_exchange_options options;

	options = (struct gyre_exchange_options){ .asks_max = 4,
						  .ids = ids,
						  .ask_stall_ns = stall_ns };
	x_ask(test, &options);
}

static struct asked *ask(int64_t value, uint64_t timeout_ns)
{
	struct asked *asked = x_ask_for(value, timeout_ns);

	cr_expect_eq(x_expect().value, value);
	return asked;
}

static void answer(struct asked *asked, uint64_t id, int64_t value)
{
	x_send(id, value);
	x_settle();
	cr_expect_eq(asked->error, 0);
	cr_expect_eq(asked->value, value);
}

/* Nothing may come behind the protocol, as the end. */
static void expect_open_for(uint64_t ns)
{
	(void)gyre_tap_expect_none(x.tap, ns);
}

static void expect_stalled_within(uint64_t ns)
{
	(void)gyre_tap_expect_inactive(x.tap, -ETIMEDOUT, ns);
	x_settle();
}

EXCHANGE_TEST(exchange_stall, closes_the_channel_and_fails_all_that_wait)
{
	struct asked *asked[6];

	begin(test, false, STALL_NS);
	for (int i = 0; i < 6; i++) {
		asked[i] = x_ask_for(i, LONG_NS);
	}
	expect_open_for(STALL_NS - GYRE_MILLISECONDS(1));
	expect_stalled_within(GYRE_MILLISECONDS(2));
	for (int i = 0; i < 6; i++) {
		cr_expect_eq(asked[i]->error, -ETIMEDOUT);
	}
	x_expect_dropped(question, GYRE_DROP_STOPPED, 2); /* that were not written */
}

EXCHANGE_TEST(exchange_stall, comes_after_half_a_minute_by_default_though_the_asker_has_gone_before)
{
	struct asked *asked;

	begin(test, false, 0);
	asked = ask(1, 0);
	expect_open_for(GYRE_SECONDS(29));
	cr_expect_eq(asked->error, -ETIMEDOUT);
	expect_stalled_within(GYRE_SECONDS(2));
}

EXCHANGE_TEST(exchange_stall, never_comes_where_it_is_told_so)
{
	begin(test, false, GYRE_ASK_STALL_NEVER);
	(void)ask(1, 0);
	expect_open_for(GYRE_SECONDS(100000));
}

EXCHANGE_TEST(exchange_stall, does_not_come_while_there_is_one_answer_after_the_other)
{
	struct asked *asked[4];

	begin(test, false, STALL_NS);
	for (int i = 0; i < 4; i++) {
		asked[i] = ask(i, LONG_NS);
	}
	for (int i = 0; i < 3; i++) {
		expect_open_for(STALL_NS - GYRE_SECONDS(1));
		answer(asked[i], 0, 100 + i);
	}
	expect_open_for(STALL_NS - GYRE_SECONDS(1));
	expect_stalled_within(GYRE_SECONDS(2));
}

EXCHANGE_TEST(exchange_stall, does_not_come_while_nothing_is_asked)
{
	begin(test, false, STALL_NS);
	for (int i = 0; i < 3; i++) {
		answer(ask(i, 0), 0, 100 + i);
		expect_open_for(10 * STALL_NS);
	}
}

EXCHANGE_TEST(exchange_stall, waits_for_ever_for_one_that_may_take_that_long)
{
	struct asked *patient;
	struct asked *behind;

	begin(test, false, STALL_NS);
	patient = ask(1, GYRE_FOREVER);
	behind = ask(2, LONG_NS);
	expect_open_for(10 * STALL_NS);
	answer(patient, 0, 11);
	expect_open_for(STALL_NS - GYRE_SECONDS(1));
	expect_stalled_within(GYRE_SECONDS(2));
	cr_expect_eq(behind->error, -ETIMEDOUT);
}

EXCHANGE_TEST(exchange_stall, does_not_come_while_the_oldest_may_take_for_ever)
{
	struct asked *patient;
	struct asked *before;

	begin(test, false, STALL_NS);
	before = ask(1, LONG_NS);
	patient = ask(2, GYRE_FOREVER);
	answer(before, 0, 11);
	expect_open_for(10 * STALL_NS);
	answer(patient, 0, 12);
}

EXCHANGE_TEST(exchange_stall, that_does_not_come_leaves_their_places_to_asks_that_have_timed_out)
{
	struct asked *before;

	begin(test, false, STALL_NS);
	before = ask(1, LONG_NS);
	(void)ask(2, GYRE_SECONDS(1));
	expect_open_for(STALL_NS / 2);
	answer(before, 0, 11);
	expect_open_for(STALL_NS - GYRE_SECONDS(1)); /* it is looked for meanwhile */
	x_send(0, 12);
	x_settle();
	cr_expect_eq(x.received, 0);
	x_expect_dropped(answer, GYRE_DROP_LATE, 1);
}

/* The loop stands still for long, as in a process that was stopped. */
static int stand_still(struct gyre_stack *stack)
{
	gyre_test_advance(x.test, 5 * STALL_NS);
	return gyre_return(stack);
}

static const struct gyre_class stopping_class = { .name = "stopping",
						  .behaviour.notice = stand_still };

EXCHANGE_TEST(exchange_stall, is_not_seen_in_an_answer_that_has_come_and_is_not_read)
{
	struct gyre_address stopping;
	struct asked *asked;

	begin(test, false, STALL_NS);
	stopping = gyre_test_spawn(test, &stopping_class, GYRE_NO_ARGUMENT);
	asked = ask(1, LONG_NS);
	x.warnings_expected = 1; /* of an actor that runs for so long */
	(void)gyre_probe_notify(x.probe, stopping, gyre_test_new(test, question, .value = 0));
	x_settle();
	x_send(0, 11);
	gyre_test_advance(test, STALL_NS);
	cr_assert_eq(asked->error, 1, "the loop does not stand still");
	gyre_test_advance(test, 4 * STALL_NS);
	cr_expect_eq(asked->error, 0);
	expect_open_for(STALL_NS / 2);
}

static int set_auto_read(struct gyre_handler_context *ctx, void *arg)
{
	gyre_channel_set_auto_read(gyre_context_channel(ctx), *(const bool *)arg);
	return 0;
}

EXCHANGE_TEST(exchange_stall, does_not_come_while_the_channel_does_not_read)
{
	bool reads = false;

	begin(test, false, STALL_NS);
	(void)ask(1, LONG_NS);
	cr_assert_eq(gyre_tap_do(x.tap, set_auto_read, &reads), 0);
	expect_open_for(5 * STALL_NS);
	reads = true;
	cr_assert_eq(gyre_tap_do(x.tap, set_auto_read, &reads), 0);
	expect_stalled_within(2 * STALL_NS + GYRE_SECONDS(1));
}

EXCHANGE_TEST(exchange_stall, does_not_come_where_the_channel_reads_only_later)
{
	bool reads = false;

	begin(test, false, STALL_NS);
	cr_assert_eq(gyre_tap_do(x.tap, set_auto_read, &reads), 0);
	(void)ask(1, LONG_NS);
	expect_open_for(5 * STALL_NS);
	reads = true;
	cr_assert_eq(gyre_tap_do(x.tap, set_auto_read, &reads), 0);
	expect_open_for(STALL_NS - GYRE_SECONDS(1));
	expect_stalled_within(2 * STALL_NS);
}

EXCHANGE_TEST(exchange_stall, is_not_made_of_time_in_which_the_channel_has_not_read)
{
	bool reads = false;

	begin(test, false, STALL_NS);
	(void)ask(1, LONG_NS);
	expect_open_for(GYRE_SECONDS(4));
	cr_assert_eq(gyre_tap_do(x.tap, set_auto_read, &reads), 0);
	expect_open_for(5 * STALL_NS + GYRE_SECONDS(3));
	reads = true;
	cr_assert_eq(gyre_tap_do(x.tap, set_auto_read, &reads), 0);
	expect_open_for(STALL_NS - GYRE_SECONDS(5));
	expect_stalled_within(2 * STALL_NS);
}

EXCHANGE_TEST(exchange_stall, counts_from_the_connection_on)
{
	struct gyre_exchange_options options = { .ask_stall_ns = STALL_NS };
	struct asked *asked;
	struct frame frame;
	int listening = net_listen(NET_PORT, 1);
	int peer;

	x_ask_server(test, &options, "tcp://127.0.0.1:7000");
	asked = x_ask_for(1, LONG_NS);
	expect_open_for(5 * STALL_NS + STALL_NS / 2);
	x_go_on();
	peer = accept(listening, NULL, NULL);
	cr_assert_eq(read(peer, &frame, sizeof(frame)), (ssize_t)sizeof(frame));
	expect_open_for(STALL_NS - GYRE_SECONDS(1));
	cr_assert_eq(write(peer, &frame, sizeof(frame)), (ssize_t)sizeof(frame));
	x_settle();
	cr_expect_eq(asked->error, 0);
	(void)close(peer);
	(void)close(listening);
	x_settle();
}

/* Requests and answers come from the same peer; it has asked too much. */
EXCHANGE_TEST(exchange_stall, does_not_come_while_too_many_requests_are_pending)
{
	struct gyre_exchange_options options = { .requests_pending_max = 1,
						 .ask_stall_ns = STALL_NS };
	struct asked *asked;

	x_complete_serving(&options);
	x_complete_asking(&options);
	x_ask(test, &options);
	asked = ask(1, LONG_NS);
	x.serves = true;
	x_send(1, WAIT + 1);
	x_send(2, 0);
	expect_open_for(5 * STALL_NS);
	cr_expect_eq(x_load().requests_pending, 1);
	x_open_gate(1);
	cr_expect_eq(x_expect().value, WAIT + 2);
	cr_expect_eq(x_expect().value, 1);
	x.serves = false;
	answer(asked, 0, 11);
}

static const struct gyre_system_options little_system = { EXCHANGE_KIT_LOG,
							  .channel_bytes_max = 100000 };

/* Writes until so many bytes are queued, and returns how many it wrote. */
static int queue_up_to(struct gyre_handler_context *ctx, void *arg)
{
	static const char bytes[80000];
	size_t count = *(const size_t *)arg - gyre_channel_queued_bytes(gyre_context_channel(ctx));
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
	cr_assert_eq(gyre_context_write(ctx, buffer), 0);
	return (int)count;
}

/* Has a channel whose peer does not read hold more than three quarters of the limit. */
static void hold_too_much(struct gyre_tap *holder)
{
	size_t much = 70000;
	size_t too_much = 80000;

	while (gyre_tap_do(holder, queue_up_to, &much) > 0) {
		x_settle();
	}
	x.warnings_expected = 1;
	(void)gyre_tap_do(holder, queue_up_to, &too_much);
	cr_assert_eq(x.warnings, 1);
}

static void read_all(struct gyre_test_channel *peer)
{
	static char bytes[1 << 16];

	while (gyre_test_channel_read(peer, bytes, sizeof(bytes), GYRE_MILLISECONDS(10)) > 0) {
		continue;
	}
}

KIT_TEST_WITH(exchange_stall, does_not_come_while_the_channels_of_the_loop_hold_too_much_to_read,
	      &little_system)
{
	struct gyre_test_channel *peer;
	struct gyre_tap *holder;
	struct asked *asked;

	begin(test, false, STALL_NS);
	holder = gyre_tap_open(test, NULL, &peer);
	asked = ask(1, LONG_NS);
	hold_too_much(holder);
	(void)gyre_tap_expect_writability(x.tap, false, GYRE_SECONDS(1));
	expect_open_for(5 * STALL_NS);
	read_all(peer);
	(void)gyre_tap_expect_writability(x.tap, true, GYRE_SECONDS(1));
	answer(asked, 0, 11);
}

EXCHANGE_TEST(exchange_stall, is_forgotten_with_an_ask_that_cannot_be_written)
{
	begin(test, false, STALL_NS);
	(void)x_ask_for(-EMSGSIZE, 0);
	expect_open_for(5 * STALL_NS);
}

EXCHANGE_TEST(exchange_stall, is_not_forgotten_with_a_later_ask_that_cannot_be_written)
{
	begin(test, false, STALL_NS);
	(void)ask(1, LONG_NS);
	expect_open_for(STALL_NS / 2);
	(void)x_ask_for(-EMSGSIZE, 0);
	expect_open_for(STALL_NS / 2 - GYRE_SECONDS(1));
	expect_stalled_within(GYRE_SECONDS(2));
}

EXCHANGE_TEST(exchange_stall, is_forgotten_when_the_protocol_leaves_the_pipeline)
{
	begin(test, false, STALL_NS);
	(void)ask(1, LONG_NS);
	x_remove();
	expect_open_for(5 * STALL_NS);
}

/* ---- with ids ---- */

EXCHANGE_TEST(exchange_stall, closes_a_channel_with_ids_on_which_nothing_comes)
{
	begin(test, true, STALL_NS);
	for (int i = 0; i < 20; i++) {
		(void)x_ask_for(i, GYRE_SECONDS(2));
	}
	expect_open_for(STALL_NS - GYRE_SECONDS(1));
	expect_stalled_within(GYRE_SECONDS(2));
	x_expect_dropped(question, GYRE_DROP_EXPIRED, 16);
}

EXCHANGE_TEST(exchange_stall, is_none_where_one_answer_with_an_id_is_lost_and_others_come)
{
	begin(test, true, STALL_NS);
	(void)ask(0, GYRE_SECONDS(1));
	for (int i = 1; i < 10; i++) {
		struct asked *asked = x_ask_for(i, LONG_NS);
		uint64_t id = x_expect().id;

		expect_open_for(GYRE_SECONDS(STALL_S / 2));
		answer(asked, id, 100 + i);
	}
	expect_open_for(10 * STALL_NS);
}

EXCHANGE_TEST(exchange_stall, is_seen_behind_asks_with_ids_that_may_take_for_ever)
{
	begin(test, true, STALL_NS);
	(void)ask(1, GYRE_FOREVER);
	expect_open_for(5 * STALL_NS);
	(void)ask(2, LONG_NS);
	expect_open_for(STALL_NS - GYRE_SECONDS(1));
	expect_stalled_within(GYRE_SECONDS(2));
}

EXCHANGE_TEST(exchange_stall, is_not_put_off_by_further_asks_with_ids)
{
	begin(test, true, STALL_NS);
	for (int i = 0; i < 3; i++) {
		(void)ask(i, LONG_NS);
		expect_open_for(GYRE_SECONDS(STALL_S - 1) / 3);
	}
	expect_stalled_within(GYRE_SECONDS(2));
}

EXCHANGE_TEST(exchange_stall, is_put_off_by_an_answer_with_an_id_that_is_late)
{
	struct gyre_exchange_options options = { .ids = true, .ask_stall_ns = STALL_NS };
	uint64_t late;

	x_ask(test, &options);
	(void)x_ask_for(1, GYRE_SECONDS(1));
	(void)x_ask_for(2, LONG_NS);
	late = x_expect().id;
	expect_open_for(GYRE_SECONDS(2));
	cr_expect_eq(x_expect().value, 2, "it has the place of the first");
	expect_open_for(STALL_NS - GYRE_SECONDS(3));
	x_send(late, 11);
	expect_open_for(GYRE_SECONDS(5));
	x_expect_dropped(answer, GYRE_DROP_LATE, 1);
}

/* ---- misuse ---- */

static int open_out_of_bounds(struct gyre_handler_context *ctx, void *arg)
{
	struct gyre_exchange_options options = *(const struct gyre_exchange_options *)arg;

	options.ask_stall_ns = GYRE_MILLISECONDS(1) - 1;
	cr_expect_eq(gyre_exchange_open(ctx, &options), -EINVAL);
	options.ask_stall_ns = GYRE_SECONDS(86400) + 1;
	cr_expect_eq(gyre_exchange_open(ctx, &options), -EINVAL);
	options.ask_stall_ns = GYRE_MILLISECONDS(1);
	cr_expect_eq(gyre_exchange_open(ctx, &options), -EEXIST);
	return 0;
}

EXCHANGE_TEST(exchange_stall, has_bounds)
{
	struct gyre_exchange_options options = { .ask_stall_ns = GYRE_SECONDS(86400) };

	x_ask(test, &options);
	(void)gyre_tap_do(x.tap, open_out_of_bounds, &options);
}
