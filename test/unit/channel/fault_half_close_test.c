/*
 * Half-closed connections: either side ends first and goes on in the other direction, or both end
 * at once; with and without allow_half_close.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fault_rig.h"

TestSuite(half_close, .timeout = 60);

enum { MUCH = 900000 };

static const struct gyre_channel_options allowed_on_request = { .allow_half_close = true,
								.manual_read = true };

static void shut_down(void)
{
	gyre_context_shutdown(fault_tail());
	rig_settle(&fault.rig);
}

static void peer_shuts_down(void)
{
	cr_assert_eq(shutdown(fault.fd, SHUT_WR), 0);
}

static void expect_at_the_peer(uint64_t bytes)
{
	struct rig_stream stream = { .fd = fault.fd };

	cr_assert(rig_until(&fault.rig, rig_stream_ended, &stream));
	cr_expect_eq(stream.received, bytes);
	cr_expect_eq(stream.error, 0, "%s", strerror(stream.error));
	cr_expect(!stream.wrong);
}

/* ---- the peer first ---- */

Test(half_close, by_the_peer_lets_it_have_much_more, .init = fault_begin_half_closing)
{
	peer_shuts_down();
	rig_settle(&fault.rig);
	cr_assert_eq(fault.input_closed, 1);
	cr_assert_eq(fault_write(MUCH), 0);
	gyre_context_close(fault_tail());
	expect_at_the_peer(MUCH);
	fault_end(0);
}

Test(half_close, by_the_peer_ends_a_channel_that_does_not_allow_it_after_its_output,
     .init = fault_begin_closing)
{
	cr_assert_eq(fault_write(MUCH), 0);
	peer_shuts_down();
	expect_at_the_peer(MUCH);
	cr_expect_eq(fault.input_closed, 0);
	fault_end(0);
}

Test(half_close, by_the_peer_is_told_after_all_that_it_sent)
{
	fault_begin_patient(&allowed_on_request);
	fault_send(100);
	peer_shuts_down();
	rig_settle(&fault.rig);
	cr_expect_eq(fault.input_closed, 0);
	while (fault.bytes < 100) {
		cr_assert_eq(fault.input_closed, 0);
		gyre_context_read(fault_tail());
		rig_settle(&fault.rig);
	}
	gyre_context_read(fault_tail());
	rig_settle(&fault.rig);
	cr_expect_eq(fault.input_closed, 1);
	cr_expect_eq(fault.inactive, 0);
	gyre_context_close(fault_tail());
	fault_end(0);
}

Test(half_close, by_the_peer_ends_with_a_shutdown, .init = fault_begin_half_closing)
{
	peer_shuts_down();
	rig_settle(&fault.rig);
	cr_assert_eq(fault_write(MUCH), 0);
	gyre_context_shutdown(fault_tail());
	cr_expect_eq(fault_write(1), -EPIPE);
	expect_at_the_peer(MUCH);
	fault_end(0);
}

Test(half_close, by_the_peer_ends_with_a_drain_after_the_output, .init = fault_begin_half_closing)
{
	peer_shuts_down();
	rig_settle(&fault.rig);
	cr_assert_eq(fault_write(MUCH), 0);
	fault.rig.home.channel_ops->drain(&fault.rig.home);
	expect_at_the_peer(MUCH);
	cr_expect_eq(fault.input_closed, 1);
	fault_end(0);
}

Test(half_close, by_the_peer_ends_with_an_abort, .init = fault_begin_half_closing)
{
	peer_shuts_down();
	rig_settle(&fault.rig);
	cr_assert_eq(fault_write(MUCH), 0);
	gyre_channel_abort(fault.channel, -ECANCELED);
	fault_end(-ECANCELED);
}

/* ---- we first ---- */

static bool all_read(struct rig *rig, void *arg)
{
	(void)rig;
	return fault.bytes >= *(const uint64_t *)arg;
}

static void expect_read_on(void)
{
	struct rig_stream stream = { .fd = fault.fd, .total = 5 << 20 };

	cr_assert_eq(fault_write(MUCH), 0);
	gyre_context_shutdown(fault_tail());
	expect_at_the_peer(MUCH);
	while (stream.sent < stream.total) {
		rig_stream_send(&stream);
		rig_turn(&fault.rig);
	}
	cr_assert(rig_until(&fault.rig, all_read, &stream.total));
	cr_expect_eq(fault.inactive, 0);
	peer_shuts_down();
	fault_end(0);
}

Test(half_close, by_us_lets_the_peer_send_much_more, .init = fault_begin_closing)
{
	expect_read_on();
}

Test(half_close, by_us_lets_the_peer_send_much_more_where_its_own_is_allowed,
     .init = fault_begin_half_closing)
{
	expect_read_on();
	cr_expect_eq(fault.input_closed, 1);
}

Test(half_close, by_us_counts_once, .init = fault_begin_closing)
{
	shut_down();
	shut_down();
	cr_expect_eq(fault_write(1), -EPIPE);
	fault_send(100);
	rig_settle(&fault.rig);
	cr_expect_eq(fault.bytes, 100);
	cr_expect_eq(fault.inactive, 0);
	peer_shuts_down();
	fault_end(0);
}

Test(half_close, by_us_may_be_followed_by_a_close, .init = fault_begin_closing)
{
	shut_down();
	gyre_context_close(fault_tail());
	fault_send(100);
	rig_settle(&fault.rig);
	cr_expect_eq(fault.bytes, 0);
	cr_expect_eq(fault.inactive, 0, "it waits for the peer's end");
	peer_shuts_down();
	fault_end(0);
}

Test(half_close, by_us_ends_with_a_drain, .init = fault_begin_closing)
{
	shut_down();
	fault.rig.home.channel_ops->drain(&fault.rig.home);
	expect_at_the_peer(0);
	fault_end(0);
}

Test(half_close, by_us_ends_with_a_peer_that_has_closed, .init = fault_begin_closing)
{
	shut_down();
	(void)close(fault.fd);
	fault.fd = -1;
	fault_end(0);
}

/* ---- both at once ---- */

static void expect_both_at_once(size_t bytes)
{
	if (bytes > 0) {
		cr_assert_eq(fault_write(bytes), 0);
	}
	gyre_context_shutdown(fault_tail());
	fault_send(100);
	peer_shuts_down();
	expect_at_the_peer(bytes);
	cr_assert(rig_until(&fault.rig, fault_is_closed, NULL));
	cr_expect_eq(fault.bytes, 100);
	fault_end(0);
}

Test(half_close, by_both_at_once_closes_the_channel, .init = fault_begin_closing)
{
	expect_both_at_once(0);
}

Test(half_close, by_both_at_once_closes_the_channel_after_its_output, .init = fault_begin_closing)
{
	expect_both_at_once(MUCH);
}

Test(half_close, by_both_at_once_closes_the_channel_where_it_is_allowed,
     .init = fault_begin_half_closing)
{
	expect_both_at_once(MUCH);
	cr_expect_eq(fault.input_closed, 1);
}
