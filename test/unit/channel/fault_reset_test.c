/*
 * A peer that resets the connection, at each stage of a channel's life: the channel ends for that
 * reason, once, and what came before is delivered.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fault_rig.h"

TestSuite(fault_reset, .timeout = 60);

/* For tests in which the linger time must not be what ends the channel. */
static const struct rig_options patient = { .linger_ns = GYRE_SECONDS(3600) };
static const struct gyre_channel_options half_close = { .allow_half_close = true };
static const struct gyre_channel_options on_request = { .manual_read = true };

static void begin(void)
{
	fault_begin(&patient);
	fault_open(NULL);
}

static void begin_settled(void)
{
	begin();
	rig_settle(&fault.rig);
}

static struct gyre_handler_context *tail(void)
{
	return gyre_channel_tail(fault.channel);
}

/* ---- while it lives ---- */

Test(fault_reset, before_handlers_have_heard_of_the_channel, .init = begin)
{
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(fault_reset, before_the_first_byte, .init = begin_settled)
{
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(fault_reset, with_the_first_bytes_comes_after_them, .init = begin)
{
	fault_send(100);
	fault_reset();
	cr_assert(rig_until(&fault.rig, fault_is_closed, NULL));
	cr_expect_eq(fault.bytes, 100);
	fault_end(-ECONNRESET);
}

Test(fault_reset, in_the_middle_of_a_request, .init = begin_settled)
{
	fault.echo = true;
	fault_send(100);
	rig_settle(&fault.rig);
	fault_send(50);
	fault_reset();
	cr_assert(rig_until(&fault.rig, fault_is_closed, NULL));
	cr_expect_eq(fault.bytes, 150);
	fault_end(-ECONNRESET);
}

static void write_much(void)
{
	const int small = 4096;

	cr_assert_eq(setsockopt(fault.channel->endpoint.fd, SOL_SOCKET, SO_SNDBUF, &small,
				sizeof(small)),
		     0);
	cr_assert_eq(fault_write(900000), 0);
	rig_settle(&fault.rig);
	cr_assert(fault.channel->send.armed, "the peer does not read");
}

Test(fault_reset, while_a_send_is_under_way, .init = begin_settled)
{
	write_much();
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(fault_reset, while_input_waits_for_output_to_go, .init = begin_settled)
{
	write_much();
	fault_send(100);
	rig_settle(&fault.rig);
	cr_assert_not_null(fault.channel->input.first);
	cr_assert(!fault.channel->receive.armed);
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(fault_reset, is_heard_of_by_the_next_read_on_request_after_what_came_before)
{
	fault_begin(&patient);
	fault_open(&on_request);
	rig_settle(&fault.rig);
	fault_send(100);
	fault_reset();
	rig_settle(&fault.rig);
	cr_expect_eq(fault.inactive, 0);
	gyre_context_read(tail());
	rig_settle(&fault.rig);
	cr_expect_eq(fault.bytes, 100);
	if (fault.inactive == 0) {
		gyre_context_read(tail());
	}
	fault_end(-ECONNRESET);
}

Test(fault_reset, while_memory_is_short_is_heard_of_when_it_is_not, .init = begin_settled)
{
	gy_channels_set_busy(&fault.rig.home, true);
	rig_settle(&fault.rig);
	fault_send(100);
	fault_reset();
	rig_settle(&fault.rig);
	cr_expect_eq(fault.inactive, 0);
	gy_channels_set_busy(&fault.rig.home, false);
	cr_assert(rig_until(&fault.rig, fault_is_closed, NULL));
	cr_expect_eq(fault.bytes, 100);
	fault_end(-ECONNRESET);
}

/* ---- of a half-closed channel ---- */

static bool is_half_closed(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return fault.input_closed == 1;
}

static void begin_half_closed(void)
{
	fault_begin(&patient);
	fault_open(&half_close);
	cr_assert_eq(shutdown(fault.fd, SHUT_WR), 0);
	cr_assert(rig_until(&fault.rig, is_half_closed, NULL));
}

Test(fault_reset, after_the_peers_end_is_heard_of_by_the_next_write, .init = begin_half_closed)
{
	fault_reset();
	cr_assert_eq(fault_write(100), 0);
	fault_end(-EPIPE); /* the kernel tells a socket whose input has ended so */
}

Test(fault_reset, after_the_peers_end_while_a_send_is_under_way, .init = begin_half_closed)
{
	write_much();
	fault_reset();
	fault_end(-EPIPE);
}

/* ---- while it ends ---- */

Test(fault_reset, at_the_moment_of_a_shutdown, .init = begin_settled)
{
	gyre_context_shutdown(tail());
	fault_reset();
	fault_end(-ECONNRESET);
}

static bool is_shut_down(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return (fault.channel->state & GY_OUTPUT_SHUTDOWN_DONE) != 0;
}

Test(fault_reset, after_a_shutdown, .init = begin_settled)
{
	gyre_context_shutdown(tail());
	cr_assert(rig_until(&fault.rig, is_shut_down, NULL));
	fault_send(100);
	fault_reset();
	cr_assert(rig_until(&fault.rig, fault_is_closed, NULL));
	cr_expect_eq(fault.bytes, 100);
	fault_end(-ECONNRESET);
}

Test(fault_reset, while_a_shutdown_waits_for_output_to_go, .init = begin_settled)
{
	write_much();
	gyre_context_shutdown(tail());
	rig_settle(&fault.rig);
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(fault_reset, at_the_moment_of_a_close, .init = begin_settled)
{
	gyre_context_close(tail());
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(fault_reset, while_it_lingers_for_the_peers_end, .init = begin_settled)
{
	gyre_context_close(tail());
	rig_settle(&fault.rig);
	cr_assert_eq(fault.inactive, 0);
	fault_send(100);
	fault_reset();
	cr_assert(rig_until(&fault.rig, fault_is_closed, NULL));
	cr_expect_eq(fault.reads, 0);
	fault_end(-ECONNRESET);
}

Test(fault_reset, while_it_lingers_for_output_to_go, .init = begin_settled)
{
	write_much();
	gyre_context_close(tail());
	rig_settle(&fault.rig);
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(fault_reset, at_the_moment_of_an_abort_leaves_the_first_reason, .init = begin_settled)
{
	write_much();
	gyre_channel_abort(fault.channel, -ECANCELED);
	fault_reset();
	fault_end(-ECANCELED);
}

Test(fault_reset, at_the_moment_of_a_drain, .init = begin_settled)
{
	fault.rig.home.channel_ops->drain(&fault.rig.home);
	fault_reset();
	cr_assert(rig_until_later(&fault.rig, fault_is_closed, NULL));
	fault_end(fault.reason == 0 ? 0 : -ECONNRESET); /* it may have been done with the peer */
}

Test(fault_reset, in_a_drain_while_output_is_to_go, .init = begin_settled)
{
	write_much();
	fault_send(100);
	fault.rig.home.channel_ops->drain(&fault.rig.home);
	rig_settle(&fault.rig);
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(fault_reset, by_many_peers_at_once_ends_them_all)
{
	enum { COUNT = 200 };
	const struct linger none = { .l_onoff = 1 };
	int fds[COUNT];

	fault_begin(&patient);
	for (int i = 0; i < COUNT; i++) {
		fds[i] = rig_open_tcp(&fault.rig, fault_handlers, NULL, NULL, NULL);
	}
	rig_settle(&fault.rig);
	for (int i = 0; i < COUNT; i++) {
		cr_assert_eq(setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
		cr_assert_eq(close(fds[i]), 0);
	}
	cr_assert(rig_until(&fault.rig, fault_is_closed, NULL));
	cr_expect_eq(fault.inactive, COUNT);
	cr_expect_eq(fault.removed, COUNT);
	cr_expect_eq(fault.reason, -ECONNRESET);
	rig_fini(&fault.rig);
}
