/* What an exchange writes waits for the channel to be writable, however long the answers are. */
#include <string.h>

#include "answers_kit.h"

TestSuite(exchange_write, .timeout = 60);

enum { HIGH = 256 << 10, MAX = 1 << 20 };

static const uint64_t moment_ns = GYRE_MILLISECONDS(10);

#define WRITE_TEST(NAME) KIT_TEST_WITH(exchange_write, NAME, &answers_system)

static void want(uint32_t count, uint64_t bytes, enum answer_how how)
{
	for (uint32_t i = 0; i < count; i++) {
		answers_want(bytes, how);
	}
}

/* ---- how many, and how long ---- */

struct shape {
	uint32_t count;
	uint64_t bytes;
	size_t reads_bytes;
	uint32_t requests_max;
	enum answer_how how;
};

static void expect_shape(struct gyre_test *test, const struct shape *shape)
{
	const struct answers_setup setup = { .exchange = { .requests_max = shape->requests_max },
					     .reads_bytes = shape->reads_bytes };

	answers_open(test, &setup);
	want(shape->count, shape->bytes, shape->how);
	answers_expect_all();
	cr_expect_leq(kit.queued_most, HIGH + shape->bytes + 16, "%zu bytes were queued",
		      kit.queued_most);
	cr_expect_leq(kit.requests_most, shape->requests_max);
	answers_close();
}

WRITE_TEST(brings_answers_of_any_number_and_length_to_a_fast_reader)
{
	static const struct shape shapes[] = {
		{ 1000, 1, 0, 1, ANSWER_PLAIN },       { 1000, 1, 0, 64, ANSWER_PLAIN },
		{ 1000, 4000, 0, 1000, ANSWER_PLAIN }, { 200, 10000, 0, 1, ANSWER_PLAIN },
		{ 200, 10000, 0, 200, ANSWER_PIECES }, { 20, 100000, 0, 1, ANSWER_PLAIN },
		{ 20, 100000, 0, 20, ANSWER_PIECES },  { 1, 1048577, 0, 1, ANSWER_PLAIN },
		{ 20, 1048577, 0, 20, ANSWER_PIECES }, { 4, 4 << 20, 0, 1, ANSWER_PLAIN },
		{ 4, 4 << 20, 0, 4, ANSWER_PIECES },   { 20, 100000, 0, 20, ANSWER_FAIL },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		expect_shape(test, &shapes[i]);
	}
}

WRITE_TEST(brings_answers_of_any_number_and_length_to_a_slow_reader)
{
	static const struct shape shapes[] = {
		{ 1000, 1, 100, 64, ANSWER_PLAIN },	 { 1000, 1000, 3000, 1000, ANSWER_PLAIN },
		{ 200, 10000, 7000, 200, ANSWER_PLAIN }, { 20, 100000, 10000, 1, ANSWER_PIECES },
		{ 20, 100000, 10000, 20, ANSWER_PLAIN }, { 3, 1048577, 10000, 1, ANSWER_PLAIN },
		{ 3, 1048577, 10000, 3, ANSWER_PIECES }, { 1, 4 << 20, 10000, 1, ANSWER_PLAIN },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		expect_shape(test, &shapes[i]);
	}
}

WRITE_TEST(lets_an_answer_pass_that_is_longer_than_the_cap_behind_shorter_ones)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 10 },
					     .reads_bytes = 20000 };

	answers_open(test, &setup);
	want(20, 10000, ANSWER_PLAIN);
	want(1, 2 * MAX, ANSWER_PIECES);
	want(20, 10000, ANSWER_PLAIN);
	answers_expect_all();
	cr_expect_leq(kit.queued_most, HIGH + 2 * MAX + 16);
	answers_close();
}

WRITE_TEST(waits_on_a_channel_that_reads_on_while_it_is_unwritable)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 4,
							   .requests_pending_max = 8 },
					     .channel = { .keep_reading = true },
					     .reads_bytes = 20000 };

	answers_open(test, &setup);
	want(100, 50000, ANSWER_PLAIN);
	answers_expect_all();
	cr_expect_leq(kit.queued_most, HIGH + 50000 + 16);
	cr_expect_leq(kit.requests_most, 4);
	answers_close();
}

/* The handlers of those that wait are not called either. */
WRITE_TEST(begins_no_request_while_its_answer_would_have_to_wait)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 4 } };

	answers_open(test, &setup);
	want(100, 1 << 20, ANSWER_PLAIN);
	answers_turn();
	gyre_test_advance(test, moment_ns);
	cr_expect_leq(kit.begun, 2 + 4, "%u", kit.begun);
	answers_expect_all();
	answers_close();
}

/* So many wait at gates, and then all at once to be written: none is pending behind them. */
static void finish_all_at_once(uint32_t count)
{
	want(count, MAX + 1, ANSWER_GATE);
	answers_turn();
	gyre_test_advance(kit.test, moment_ns);
	cr_assert_eq(kit.begun, count);
	for (uint32_t gate = 0; gate < ANSWERS_GATES; gate++) {
		answers_open_gate(gate);
	}
	gyre_test_advance(kit.test, moment_ns);
	cr_assert_lt(kit.written, count);
}

WRITE_TEST(brings_answers_that_wait_though_no_request_does)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 4 } };

	answers_open(test, &setup);
	finish_all_at_once(4);
	answers_expect_all();
	answers_close();
}

/* ---- in other orders ---- */

static void expect_each_once(void)
{
	static bool came[ANSWERS_MAX + 1];

	cr_assert(answers_come(), "%u of %u", kit.got_count, kit.asked);
	cr_assert_not(kit.wrong);
	cr_assert_eq(kit.got_count, kit.asked);
	memset(came, 0, sizeof(came));
	for (uint32_t i = 0; i < kit.got_count; i++) {
		cr_assert_not(came[kit.got[i]]);
		came[kit.got[i]] = true;
	}
}

WRITE_TEST(waits_too_where_answers_may_come_in_any_order)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 50, .any_order = true },
					     .reads_bytes = 50000 };

	answers_open(test, &setup);
	for (uint32_t i = 1; i <= 100; i++) {
		answers_want(60000, i % 10 == 3 ? ANSWER_GATE : ANSWER_PIECES);
	}
	for (int i = 0; i < 20; i++) {
		answers_turn();
	}
	for (uint32_t gate = 0; gate < ANSWERS_GATES; gate++) {
		answers_open_gate(gate);
	}
	expect_each_once();
	cr_expect_leq(kit.queued_most, HIGH + 60000 + 16);
	cr_expect_leq(kit.requests_most, 50);
	answers_close();
}

WRITE_TEST(keeps_a_barrier_alone_while_answers_wait)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 8 },
					     .reads_bytes = 50000 };

	answers_open(test, &setup);
	for (uint32_t i = 1; i <= 60; i++) {
		answers_want(100000, i % 5 == 0 ? ANSWER_ALONE : ANSWER_PLAIN);
	}
	answers_expect_all();
	cr_expect_eq(kit.alone_wrong, 0);
	answers_close();
}

/* ---- behind TLS, and files ---- */

static void expect_with_tls(struct gyre_test *test, size_t reads_bytes)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 8 },
					     .reads_bytes = reads_bytes,
					     .tls = true };

	answers_open(test, &setup);
	want(100, 10, ANSWER_PLAIN);
	want(30, 50000, ANSWER_PIECES);
	want(2, MAX + 1, ANSWER_PLAIN);
	want(10, 100000, ANSWER_FAIL);
	answers_expect_all();
	cr_expect_leq(kit.queued_most, HIGH + MAX + MAX / 16, "%zu", kit.queued_most);
	answers_close();
}

WRITE_TEST(waits_behind_tls_for_a_fast_reader)
{
	expect_with_tls(test, 0);
}

WRITE_TEST(waits_behind_tls_for_a_slow_reader)
{
	expect_with_tls(test, 20000);
}

static void expect_files(struct gyre_test *test, const struct answers_setup *setup)
{
	answers_open(test, setup);
	for (uint32_t i = 1; i <= 200; i++) {
		answers_want(i * 100, i % 3 == 0 ? ANSWER_PLAIN : ANSWER_FILE);
	}
	answers_want(2 * MAX, ANSWER_FILE);
	answers_want(1, ANSWER_FILE);
	answers_expect_all();
	cr_expect_eq(kit.region_bytes_most, 2 * MAX, "one at a time, and the longest alone");
	answers_close();
}

WRITE_TEST(holds_back_answers_of_parts_of_files_too)
{
	const struct answers_setup fast = { .exchange = { .requests_max = 100 } };
	const struct answers_setup slow = { .exchange = { .requests_max = 100 },
					    .reads_bytes = 30000 };

	expect_files(test, &fast);
	expect_files(test, &slow);
}

/* ---- the end ---- */

static int abort_channel(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	gyre_channel_abort(gyre_context_channel(ctx), 0);
	return 0;
}

WRITE_TEST(writes_what_waits_when_the_peer_has_stopped_sending)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 5 },
					     .channel = { .allow_half_close = true },
					     .reads_bytes = 20000 };

	answers_open(test, &setup);
	want(50, 100000, ANSWER_PLAIN);
	answers_turn();
	cr_assert_eq(gyre_test_channel_half_close(kit.peer), 0);
	gyre_test_advance(test, moment_ns);
	cr_expect_eq(kit.input_closed, 0);
	answers_expect_all();
	gyre_test_advance(test, moment_ns);
	cr_expect_eq(kit.input_closed, 1);
	(void)gyre_tap_do(kit.tap, abort_channel, NULL);
	answers_close();
}

WRITE_TEST(writes_what_waits_and_closes_when_the_peer_has_stopped_sending)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 5 },
					     .reads_bytes = 20000 };

	answers_open(test, &setup);
	want(50, 100000, ANSWER_PLAIN);
	answers_turn();
	cr_assert_eq(gyre_test_channel_half_close(kit.peer), 0);
	cr_assert(answers_come());
	cr_assert_eq(kit.got_count, kit.asked, "%u", kit.got_count);
	cr_assert_not(kit.wrong);
	gyre_test_advance(test, moment_ns);
	cr_expect_eq(kit.inactive, 1);
	cr_expect_eq(kit.reason, 0);
	answers_close();
}

WRITE_TEST(writes_what_waits_when_the_system_drains)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 5 },
					     .reads_bytes = 20000 };

	answers_open(test, &setup);
	want(50, 100000, ANSWER_PIECES);
	answers_turn();
	gyre_test_advance(test, moment_ns);
	gyre_system_stop(gyre_test_system(test));
	cr_assert(answers_come());
	cr_assert_eq(kit.got_count, kit.asked, "%u", kit.got_count);
	cr_assert_not(kit.wrong);
	gyre_test_channel_close(kit.peer);
	gyre_test_advance(test, moment_ns);
	cr_expect_eq(kit.inactive, 1);
	cr_expect_eq(kit.reason, 0);
	answers_close();
}

WRITE_TEST(writes_what_waits_when_its_actor_stops_but_begins_nothing)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 5 },
					     .reads_bytes = 20000 };

	answers_open(test, &setup);
	want(50, 100000, ANSWER_PLAIN);
	want(1, 1, ANSWER_GATE);
	answers_turn();
	gyre_test_advance(test, moment_ns);
	answers_stop_owner();
	cr_assert(answers_come());
	cr_assert_not(kit.wrong);
	cr_expect_eq(kit.got_count, kit.begun);
	cr_expect_lt(kit.got_count, 50);
	answers_expect_lost();
	answers_close();
}

WRITE_TEST(writes_all_answers_that_wait_when_its_actor_stops)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 4 } };

	answers_open(test, &setup);
	finish_all_at_once(4);
	want(1, 1, ANSWER_PLAIN); /* which is not begun */
	answers_turn();
	answers_stop_owner();
	cr_assert(answers_come());
	cr_assert_not(kit.wrong);
	cr_expect_eq(kit.begun, 4);
	cr_expect_eq(kit.got_count, 4);
	answers_expect_lost();
	answers_close();
}

WRITE_TEST(loses_what_waits_with_the_channel)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 30 } };

	answers_open(test, &setup);
	want(30, MAX + 1, ANSWER_PLAIN);
	answers_turn();
	gyre_test_advance(test, moment_ns);
	gyre_test_channel_close(kit.peer);
	answers_expect_lost();
	cr_expect_eq(kit.inactive, 1);
	answers_close();
}

static int remove_protocol(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	return gyre_pipeline_remove(gyre_context_channel(ctx), "protocol");
}

static void expect_lost_with_the_protocol(void)
{
	cr_assert_eq(gyre_tap_do(kit.tap, remove_protocol, NULL), 0);
	answers_expect_lost();
	cr_expect_eq(kit.inactive, 0);
	answers_close();
}

WRITE_TEST(loses_what_waits_when_the_protocol_leaves_the_pipeline)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 30,
							   .any_order = true } };

	answers_open(test, &setup);
	want(30, MAX + 1, ANSWER_PLAIN);
	answers_turn();
	gyre_test_advance(test, moment_ns);
	expect_lost_with_the_protocol();
}

WRITE_TEST(loses_answers_in_any_order_when_the_protocol_leaves_the_pipeline)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 4, .any_order = true } };

	answers_open(test, &setup);
	finish_all_at_once(4);
	expect_lost_with_the_protocol();
}

/* ---- others that wait ---- */

static void expect_held(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	cr_assert_neq(strstr(line->text, "channel_bytes_max"), NULL, "%s", line->text);
}

/* The channels of the loop may hold so much together. */
#define HOLDS(BYTES)                                                                         \
	{                                                                                    \
		.buffer_count = 64, .buffer_bytes = 4096, .write_low_bytes = 64 << 10,       \
		.write_high_bytes = MAX, .write_max_bytes = MAX, .channel_bytes_max = BYTES, \
		.log = expect_held                                                           \
	}

static const struct gyre_system_options holds_100000 = HOLDS(100000);
static const struct gyre_system_options holds_4000 = HOLDS(4000);

static int tell_writable(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	return gyre_channel_is_writable(gyre_context_channel(ctx)) ? 1 : 0;
}

static int tell_queued(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	return (int)gyre_channel_queued_bytes(gyre_context_channel(ctx));
}

static int tell_pending(struct gyre_handler_context *ctx, void *arg)
{
	struct gyre_exchange_load load;

	(void)arg;
	cr_assert_eq(gyre_exchange_look(ctx, &load), 0);
	return (int)load.requests_pending;
}

static int write_more(struct gyre_handler_context *ctx, void *arg)
{
	static const char bytes[10000];
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)arg;
	cr_assert_eq(gyre_buffer_append(buffer, bytes, sizeof(bytes)), 0);
	return gyre_context_write(ctx, buffer);
}

/* Another channel, which holds somewhat less than three quarters of 100000 bytes. */
static struct gyre_handler_context *holder;

static int note_holder(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	holder = ctx;
	return 0;
}

static struct gyre_test_channel *open_holder(struct gyre_test *test)
{
	struct gyre_test_channel *peer;
	struct gyre_tap *tap = gyre_tap_open(test, NULL, &peer);

	while (gyre_tap_do(tap, tell_queued, NULL) <= 60000) {
		cr_assert_eq(gyre_tap_do(tap, write_more, NULL), 0);
	}
	cr_assert_eq(gyre_tap_do(tap, note_holder, NULL), 0);
	return peer;
}

static void hold_more(void)
{
	cr_assert_eq(write_more(holder, NULL), 0);
}

static void read_all(struct gyre_test_channel *peer)
{
	static char bytes[1 << 16];

	while (gyre_test_channel_read(peer, bytes, sizeof(bytes), moment_ns) > 0) {
		continue;
	}
}

static void expect_to_wait_for_others(struct gyre_test *test, const struct answers_setup *setup)
{
	struct gyre_test_channel *other = open_holder(test);

	answers_open(test, setup);
	kit.on_read = hold_more;
	want(10, 10000, ANSWER_PLAIN);
	answers_turn();
	gyre_test_advance(test, moment_ns);
	cr_assert_eq(gyre_tap_do(kit.tap, tell_pending, NULL), 10);
	cr_expect_eq(kit.begun, 0);
	read_all(other);
	cr_assert_eq(gyre_tap_do(kit.tap, tell_writable, NULL), 1);
	answers_expect_all();
	answers_close();
}

KIT_TEST_WITH(exchange_write, goes_on_when_the_channels_of_the_loop_hold_less, &holds_100000)
{
	const struct answers_setup setup = { .reads_bytes = 0 };

	expect_to_wait_for_others(test, &setup);
}

/* No input waits for it. */
KIT_TEST_WITH(exchange_write, waits_for_other_channels_though_as_many_requests_are_pending_as_may,
	      &holds_100000)
{
	const struct answers_setup setup = { .exchange = { .requests_pending_max = 10 } };

	expect_to_wait_for_others(test, &setup);
}

/* What has been received and waits because too many requests do is held too, and only answers let
 * it go. */
KIT_TEST_WITH(exchange_write, does_not_wait_for_input_that_waits_for_it, &holds_4000)
{
	const struct answers_setup setup = { .reads_bytes = 0 };

	answers_open(test, &setup);
	want(1, 1, ANSWER_GATE);
	want(99, 1, ANSWER_PLAIN);
	answers_turn();
	gyre_test_advance(test, moment_ns);
	want(900, 1, ANSWER_PLAIN);
	answers_turn();
	gyre_test_advance(test, moment_ns);
	cr_assert_eq(kit.begun, 1);
	cr_assert_eq(gyre_tap_do(kit.tap, tell_queued, NULL), 0);
	cr_assert_eq(gyre_tap_do(kit.tap, tell_writable, NULL), 0);
	answers_open_gate(1);
	answers_expect_all();
	answers_close();
}
