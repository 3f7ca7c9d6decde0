/* What an exchange writes waits for the channel to be writable, however long the answers are. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/mail/mailbox.h"
#include "answers_rig.h"

TestSuite(exchange_write, .timeout = 60);

enum { LOW = 64 << 10, HIGH = 256 << 10, MAX = 1 << 20 };

static void begin(const struct answers_setup *setup)
{
	answers_begin(setup);
}

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

static void expect_shape(const struct shape *shape)
{
	const struct answers_setup setup = { .exchange = { .requests_max = shape->requests_max },
					     .reads_bytes = shape->reads_bytes };

	begin(&setup);
	want(shape->count, shape->bytes, shape->how);
	answers_expect_all();
	cr_expect_leq(a.queued_most, HIGH + shape->bytes + 16, "%zu bytes were queued",
		      a.queued_most);
	cr_expect_leq(a.requests_most, shape->requests_max);
	answers_end();
}

Test(exchange_write, brings_answers_of_any_number_and_length_to_a_fast_reader)
{
	static const struct shape shapes[] = {
		{ 1000, 1, 0, 1, ANSWER_PLAIN },       { 1000, 1, 0, 64, ANSWER_PLAIN },
		{ 1000, 4000, 0, 1000, ANSWER_PLAIN }, { 200, 10000, 0, 1, ANSWER_PLAIN },
		{ 200, 10000, 0, 200, ANSWER_PIECES }, { 20, 100000, 0, 1, ANSWER_PLAIN },
		{ 20, 100000, 0, 20, ANSWER_PIECES },  { 1, 1048577, 0, 1, ANSWER_PLAIN },
		{ 20, 1048577, 0, 20, ANSWER_PIECES }, { 4, 4 << 20, 0, 1, ANSWER_PLAIN },
		{ 4, 4 << 20, 0, 4, ANSWER_PIECES },   { 20, 100000, 0, 20, ANSWER_FAIL },
	};

	for (size_t i = 0; i < gy_countof(shapes); i++) {
		expect_shape(&shapes[i]);
	}
}

Test(exchange_write, brings_answers_of_any_number_and_length_to_a_slow_reader)
{
	static const struct shape shapes[] = {
		{ 1000, 1, 100, 64, ANSWER_PLAIN },	 { 1000, 1000, 3000, 1000, ANSWER_PLAIN },
		{ 200, 10000, 7000, 200, ANSWER_PLAIN }, { 20, 100000, 10000, 1, ANSWER_PIECES },
		{ 20, 100000, 10000, 20, ANSWER_PLAIN }, { 3, 1048577, 10000, 1, ANSWER_PLAIN },
		{ 3, 1048577, 10000, 3, ANSWER_PIECES }, { 1, 4 << 20, 10000, 1, ANSWER_PLAIN },
	};

	for (size_t i = 0; i < gy_countof(shapes); i++) {
		expect_shape(&shapes[i]);
	}
}

Test(exchange_write, lets_an_answer_pass_that_is_longer_than_the_cap_behind_shorter_ones)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 10 },
					     .reads_bytes = 20000 };

	begin(&setup);
	want(20, 10000, ANSWER_PLAIN);
	want(1, 2 * MAX, ANSWER_PIECES);
	want(20, 10000, ANSWER_PLAIN);
	answers_expect_all();
	cr_expect_leq(a.queued_most, HIGH + 2 * MAX + 16);
	answers_end();
}

Test(exchange_write, waits_on_a_channel_that_reads_on_while_it_is_unwritable)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 4,
							   .requests_pending_max = 8 },
					     .channel = { .keep_reading = true },
					     .reads_bytes = 20000 };

	begin(&setup);
	want(100, 50000, ANSWER_PLAIN);
	answers_expect_all();
	cr_expect_leq(a.queued_most, HIGH + 50000 + 16);
	cr_expect_leq(a.requests_most, 4);
	answers_end();
}

/* The handlers of those that wait are not called either. */
Test(exchange_write, begins_no_request_while_its_answer_would_have_to_wait)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 4 } };

	begin(&setup);
	want(100, 1 << 20, ANSWER_PLAIN);
	answers_pump();
	rig_settle(&a.rig);
	cr_expect_leq(a.begun, 2 + 4, "%u", a.begun);
	answers_expect_all();
	answers_end();
}

/* ---- in other orders ---- */

static void expect_each_once(void)
{
	static bool came[ANSWERS_MAX + 1];

	cr_assert(rig_until(&a.rig, answers_have_come, NULL), "%u of %u", a.got_count, a.asked);
	cr_assert_not(a.wrong);
	cr_assert_eq(a.got_count, a.asked);
	memset(came, 0, sizeof(came));
	for (uint32_t i = 0; i < a.got_count; i++) {
		cr_assert_not(came[a.got[i]]);
		came[a.got[i]] = true;
	}
}

Test(exchange_write, waits_too_where_answers_may_come_in_any_order)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 50, .any_order = true },
					     .reads_bytes = 50000 };

	begin(&setup);
	for (uint32_t i = 1; i <= 100; i++) {
		answers_want(60000, i % 10 == 3 ? ANSWER_GATE : ANSWER_PIECES);
	}
	for (int i = 0; i < 20; i++) {
		answers_pump();
		rig_turn(&a.rig);
	}
	for (uint32_t gate = 0; gate < ANSWERS_GATES; gate++) {
		answers_open_gate(gate);
	}
	expect_each_once();
	cr_expect_leq(a.queued_most, HIGH + 60000 + 16);
	cr_expect_leq(a.requests_most, 50);
	answers_end();
}

Test(exchange_write, keeps_a_barrier_alone_while_answers_wait)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 8 },
					     .reads_bytes = 50000 };

	begin(&setup);
	for (uint32_t i = 1; i <= 60; i++) {
		answers_want(100000, i % 5 == 0 ? ANSWER_ALONE : ANSWER_PLAIN);
	}
	answers_expect_all();
	cr_expect_eq(a.alone_wrong, 0);
	answers_end();
}

/* ---- behind TLS, and files ---- */

static void expect_with_tls(size_t reads_bytes)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 8 },
					     .reads_bytes = reads_bytes,
					     .tls = true };

	begin(&setup);
	want(100, 10, ANSWER_PLAIN);
	want(30, 50000, ANSWER_PIECES);
	want(2, MAX + 1, ANSWER_PLAIN);
	want(10, 100000, ANSWER_FAIL);
	answers_expect_all();
	cr_expect_leq(a.queued_most, HIGH + MAX + MAX / 16, "%zu", a.queued_most);
	answers_end();
}

Test(exchange_write, waits_behind_tls_for_a_fast_reader)
{
	expect_with_tls(0);
}

Test(exchange_write, waits_behind_tls_for_a_slow_reader)
{
	expect_with_tls(20000);
}

static void expect_files(const struct answers_setup *setup)
{
	begin(setup);
	for (uint32_t i = 1; i <= 200; i++) {
		answers_want(i * 100, i % 3 == 0 ? ANSWER_PLAIN : ANSWER_FILE);
	}
	answers_want(2 * MAX, ANSWER_FILE);
	answers_want(1, ANSWER_FILE);
	answers_expect_all();
	cr_expect_eq(a.region_bytes_most, 2 * MAX, "one at a time, and the longest alone");
	answers_end();
}

Test(exchange_write, holds_back_answers_of_parts_of_files_too)
{
	const struct answers_setup fast = { .exchange = { .requests_max = 100 }, .tcp = true };
	const struct answers_setup slow = { .exchange = { .requests_max = 100 },
					    .reads_bytes = 30000 };

	expect_files(&fast);
	expect_files(&slow);
}

/* ---- the end ---- */

static bool has_told_the_end(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return a.input_closed > 0;
}

Test(exchange_write, writes_what_waits_when_the_peer_has_stopped_sending)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 5 },
					     .channel = { .allow_half_close = true },
					     .reads_bytes = 20000 };

	begin(&setup);
	want(50, 100000, ANSWER_PLAIN);
	answers_pump();
	cr_assert_eq(shutdown(a.fd, SHUT_WR), 0);
	rig_settle(&a.rig);
	cr_expect_eq(a.input_closed, 0);
	answers_expect_all();
	cr_expect(rig_until(&a.rig, has_told_the_end, NULL));
	gyre_channel_abort(a.channel, 0);
	answers_end();
}

Test(exchange_write, writes_what_waits_and_closes_when_the_peer_has_stopped_sending)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 5 },
					     .tcp = true,
					     .reads_bytes = 20000 };

	begin(&setup);
	want(50, 100000, ANSWER_PLAIN);
	answers_pump();
	cr_assert_eq(shutdown(a.fd, SHUT_WR), 0);
	cr_assert(rig_until(&a.rig, answers_have_come, NULL));
	cr_assert_eq(a.got_count, a.asked, "%u", a.got_count);
	cr_assert_not(a.wrong);
	cr_expect(rig_until(&a.rig, answers_are_inactive, NULL));
	cr_expect_eq(a.reason, 0);
	answers_end();
}

Test(exchange_write, writes_what_waits_when_the_system_drains)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 5 },
					     .reads_bytes = 20000 };

	begin(&setup);
	want(50, 100000, ANSWER_PIECES);
	answers_pump();
	rig_settle(&a.rig);
	a.rig.home.channel_ops->drain(&a.rig.home);
	cr_assert(rig_until(&a.rig, answers_have_come, NULL));
	cr_assert_eq(a.got_count, a.asked, "%u", a.got_count);
	cr_assert_not(a.wrong);
	cr_expect(rig_until_later(&a.rig, answers_are_inactive, NULL));
	cr_expect_eq(a.reason, 0);
	answers_end();
}

Test(exchange_write, writes_what_waits_when_its_actor_stops_but_begins_nothing)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 5 },
					     .reads_bytes = 20000 };

	begin(&setup);
	want(50, 100000, ANSWER_PLAIN);
	want(1, 1, ANSWER_GATE);
	answers_pump();
	rig_settle(&a.rig);
	gy_house_request_stop(a.rig.house, 0);
	cr_assert(rig_until_later(&a.rig, answers_have_come, NULL));
	cr_assert_not(a.wrong);
	cr_expect_eq(a.got_count, a.begun);
	cr_expect_lt(a.got_count, 50);
	answers_end();
}

Test(exchange_write, loses_what_waits_with_the_channel)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 30 } };

	begin(&setup);
	want(30, MAX + 1, ANSWER_PLAIN);
	answers_pump();
	rig_settle(&a.rig);
	(void)close(a.fd);
	a.fd = dup(0);
	cr_expect(rig_until(&a.rig, answers_are_inactive, NULL));
	answers_end(); /* which sees that nothing is left */
}

Test(exchange_write, loses_what_waits_when_the_protocol_leaves_the_pipeline)
{
	const struct answers_setup setup = { .exchange = { .requests_max = 30,
							   .any_order = true } };

	begin(&setup);
	want(30, MAX + 1, ANSWER_PLAIN);
	answers_pump();
	rig_settle(&a.rig);
	gyre_context_remove(a.ctx);
	rig_settle(&a.rig);
	cr_expect_eq(a.inactive, 0);
	answers_end();
}

/* ---- others that wait ---- */

static bool is_over(struct rig *rig, void *arg)
{
	(void)arg;
	return rig_channels(rig)->byte_budget.over == 0;
}

Test(exchange_write, goes_on_when_the_channels_of_the_loop_hold_less)
{
	const struct answers_setup setup = { .marks = { .channel_bytes_max = 100000,
							.high_bytes = 1 << 20 } };
	struct gy_channels *channels;

	begin(&setup);
	channels = rig_channels(&a.rig);
	gy_byte_budget_charge(channels, 90000); /* of others */
	want(10, 10000, ANSWER_PLAIN);
	answers_pump();
	rig_settle(&a.rig);
	cr_expect_eq(a.begun, 0);
	gy_byte_budget_release(channels, 90000);
	cr_assert(is_over(&a.rig, NULL));
	answers_expect_all();
	a.rig.warnings_expected = a.rig.logged;
	answers_end();
}

/* What has been received and waits because too many requests do is held too, and only answers let
 * it go. */
Test(exchange_write, does_not_wait_for_input_that_waits_for_it)
{
	const struct answers_setup setup = { .marks = { .channel_bytes_max = 4000,
							.high_bytes = 1 << 20 } };

	begin(&setup);
	want(1, 1, ANSWER_GATE);
	want(99, 1, ANSWER_PLAIN);
	answers_pump();
	rig_settle(&a.rig);
	want(900, 1, ANSWER_PLAIN);
	answers_pump();
	rig_settle(&a.rig);
	cr_assert_eq(a.begun, 1);
	cr_assert(!is_over(&a.rig, NULL));
	answers_open_gate(1);
	answers_expect_all();
	a.rig.warnings_expected = a.rig.logged;
	answers_end();
}
