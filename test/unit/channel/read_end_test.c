/*
 * The end of what handlers read: when it is told, how often, before what; and when it must not be,
 * because the end is not the peer's.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fault_rig.h"

TestSuite(read_end, .timeout = 60);

static const struct gyre_channel_options on_request = { .manual_read = true };

static void peer_shuts_down(void)
{
	cr_assert_eq(shutdown(fault.fd, SHUT_WR), 0);
}

Test(read_end, is_told_after_all_bytes_and_before_the_channel_closes, .init = fault_begin_closing)
{
	fault_send(100);
	peer_shuts_down();
	fault_end(0);
	cr_expect_eq(fault.bytes, 100);
	cr_expect_eq(fault.read_ends, 1);
	cr_expect_eq(fault.input_closed, 0);
}

Test(read_end, is_told_once_and_before_the_event_of_half_closing, .init = fault_begin_half_closing)
{
	fault_send(100);
	peer_shuts_down();
	rig_settle(&fault.rig);
	cr_expect_eq(fault.bytes, 100);
	cr_expect_eq(fault.read_ends, 1);
	cr_expect_eq(fault.input_closed, 1);
	cr_assert_eq(fault_write(1), 0);
	rig_settle(&fault.rig);
	gyre_context_close(fault_tail());
	fault_end(0);
	cr_expect_eq(fault.read_ends, 1);
}

Test(read_end, waits_for_the_reads_that_a_channel_on_request_has_not_asked_for)
{
	fault_begin_patient(&on_request);
	fault_send(100);
	peer_shuts_down();
	rig_settle(&fault.rig);
	while (fault.bytes < 100) {
		cr_assert_eq(fault.read_ends, 0);
		gyre_context_read(fault_tail());
		rig_settle(&fault.rig);
	}
	if (fault.read_ends == 0) {
		gyre_context_read(fault_tail());
	}
	fault_end(0);
	cr_expect_eq(fault.read_ends, 1);
}

Test(read_end, is_told_after_we_have_ended_our_side, .init = fault_begin_closing)
{
	gyre_context_shutdown(fault_tail());
	rig_settle(&fault.rig);
	fault_send(100);
	peer_shuts_down();
	fault_end(0);
	cr_expect_eq(fault.bytes, 100);
	cr_expect_eq(fault.read_ends, 1);
}

Test(read_end, is_not_told_of_a_reset, .init = fault_begin_closing)
{
	fault_send(100);
	rig_settle(&fault.rig);
	fault_reset();
	fault_end(-ECONNRESET);
	cr_expect_eq(fault.read_ends, 0);
}

Test(read_end, is_not_told_of_a_drain_which_may_cut_a_frame, .init = fault_begin_half_closing)
{
	fault_send(100);
	rig_settle(&fault.rig);
	fault.rig.home.channel_ops->drain(&fault.rig.home);
	peer_shuts_down();
	fault_end(0);
	cr_expect_eq(fault.read_ends, 0);
	cr_expect_eq(fault.input_closed, 1);
}

Test(read_end, is_not_told_once_we_have_closed, .init = fault_begin_closing)
{
	gyre_context_close(fault_tail());
	rig_settle(&fault.rig);
	peer_shuts_down();
	fault_end(0);
	cr_expect_eq(fault.read_ends, 0);
}

/* ---- what is done inside of it ---- */

static void abort_channel(struct gyre_handler_context *ctx)
{
	gyre_channel_abort(gyre_context_channel(ctx), -ECANCELED);
}

static const struct gyre_handler aborts = { .name = "aborts", .read_end = abort_channel };

static void close_in_order(struct gyre_handler_context *ctx)
{
	gyre_context_close(ctx);
}

static const struct gyre_handler closes = { .name = "closes", .read_end = close_in_order };

Test(read_end, may_abort_the_channel_and_then_nothing_else_is_told,
     .init = fault_begin_half_closing)
{
	cr_assert_eq(gyre_pipeline_add(fault.channel, GYRE_FIRST, &aborts, NULL), 0);
	peer_shuts_down();
	fault_end(-ECANCELED);
	cr_expect_eq(fault.read_ends, 0);
	cr_expect_eq(fault.input_closed, 0);
}

Test(read_end, may_close_the_channel_and_then_nothing_else_is_told,
     .init = fault_begin_half_closing)
{
	cr_assert_eq(gyre_pipeline_add(fault.channel, GYRE_FIRST, &closes, NULL), 0);
	peer_shuts_down();
	fault_end(0);
	cr_expect_eq(fault.input_closed, 0);
}

static void remove_all(struct gyre_handler_context *ctx)
{
	gyre_context_fire_read_end(ctx);
	(void)gyre_pipeline_remove(gyre_context_channel(ctx), "fault");
	gyre_context_remove(ctx);
}

static const struct gyre_handler removes = { .name = "removes", .read_end = remove_all };

Test(read_end, may_remove_handlers_and_the_channel_still_closes, .init = fault_begin_closing)
{
	cr_assert_eq(gyre_pipeline_add(fault.channel, GYRE_FIRST, &removes, NULL), 0);
	peer_shuts_down();
	cr_assert(rig_until_later(&fault.rig, fault_is_closed, NULL));
	cr_expect_eq(fault.read_ends, 1);
	cr_expect_eq(fault.removed, 1);
	cr_expect_eq(fault.inactive, 0);
	(void)close(fault.fd);
	rig_fini(&fault.rig);
}
