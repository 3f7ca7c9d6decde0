/*
 * A peer that is gone while nothing is received from it: noticed all the same, at the price of one
 * poll, and of none where the pause is short. Nothing of such a poll outlives its channel.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fault_rig.h"

TestSuite(reset_watch, .timeout = 110);

static const struct rig_options patient = { .linger_ns = GYRE_SECONDS(3600) };
static const struct gyre_channel_options half_close = { .allow_half_close = true };
static const struct gyre_channel_options on_request = { .manual_read = true };

static void begin_with(const struct gyre_channel_options *options)
{
	fault_begin(&patient);
	fault_open(options);
	rig_settle(&fault.rig);
}

static void begin_on_request(void)
{
	begin_with(&on_request);
}

static void begin_with_nothing(void)
{
	begin_with(NULL);
}

static struct gyre_handler_context *tail(void)
{
	return gyre_channel_tail(fault.channel);
}

static bool is_armed(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return fault.channel->reset_watch.poll.armed;
}

static bool is_disarmed(struct rig *rig, void *arg)
{
	return !is_armed(rig, arg);
}

static void await_poll(void)
{
	cr_assert(rig_until_later(&fault.rig, is_armed, NULL));
}

static bool has_input(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return fault.channel->input.first != NULL;
}

static bool has_read(struct rig *rig, void *arg)
{
	(void)rig;
	return fault.bytes >= *(const uint64_t *)arg;
}

/* ---- what is noticed ---- */

Test(reset_watch, by_a_reset_is_noticed_though_nothing_is_read, .init = begin_on_request)
{
	await_poll();
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(reset_watch, that_came_before_the_poll_is_noticed, .init = begin_on_request)
{
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(reset_watch, is_noticed_when_automatic_reading_was_switched_off)
{
	begin_with(NULL);
	gyre_channel_set_auto_read(fault.channel, false);
	fault_send(100); /* which is kept, and ends the receive */
	cr_assert(rig_until_later(&fault.rig, has_input, NULL));
	gyre_context_read(tail());
	await_poll();
	cr_expect_eq(fault.bytes, 100);
	fault_reset();
	fault_end(-ECONNRESET);
}

static bool is_half_closed(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return fault.input_closed == 1;
}

static void begin_half_closed(void)
{
	begin_with(&half_close);
	cr_assert_eq(shutdown(fault.fd, SHUT_WR), 0);
	cr_assert(rig_until_later(&fault.rig, is_half_closed, NULL));
}

Test(reset_watch, of_a_half_closed_channel_is_noticed, .init = begin_half_closed)
{
	await_poll();
	fault_reset();
	fault_end(-EPIPE); /* the kernel tells a socket whose input has ended so */
}

Test(reset_watch, leaves_a_half_closed_channel_alone_that_has_none, .init = begin_half_closed)
{
	await_poll();
	rig_settle(&fault.rig);
	cr_assert_eq(fault.inactive, 0);
	cr_assert_eq(fault_write(100), 0);
	gyre_context_close(tail());
	fault_end(0);
}

Test(reset_watch, is_noticed_while_memory_is_short)
{
	begin_with(NULL);
	gy_channels_set_busy(&fault.rig.home, true);
	await_poll();
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(reset_watch, under_back_pressure_is_told_by_the_send_that_is_under_way)
{
	const int small = 4096;

	begin_with(NULL);
	cr_assert_eq(setsockopt(fault.channel->endpoint.fd, SOL_SOCKET, SO_SNDBUF, &small,
				sizeof(small)),
		     0);
	cr_assert_eq(fault_write(900000), 0);
	fault_send(100);
	cr_assert(rig_until_later(&fault.rig, has_input, NULL));
	rig_settle(&fault.rig);
	rig_pass(&fault.rig, GYRE_SECONDS(1));
	rig_settle(&fault.rig);
	cr_assert(!fault.channel->receive.armed && fault.channel->send.armed);
	cr_expect(!fault.channel->reset_watch.waiting && !fault.channel->reset_watch.poll.armed);
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(reset_watch, waits_for_those_who_have_not_read_what_came_before, .init = begin_on_request)
{
	uint64_t all = 100;

	await_poll();
	fault_send(100);
	fault_reset();
	cr_assert(rig_until_later(&fault.rig, is_disarmed, NULL));
	rig_settle(&fault.rig);
	cr_expect_eq(fault.inactive, 0);
	cr_expect(!fault.channel->reset_watch.poll.armed && !fault.channel->reset_watch.waiting,
		  "another poll would say the same");
	gyre_context_read(tail());
	cr_assert(rig_until_later(&fault.rig, has_read, &all));
	/* Behind them comes the end, without another request. */
	fault_end(-ECONNRESET);
}

static struct gyre_channel *local;
static uint32_t locals_closed;
static int local_reason;

static void local_inactive(struct gyre_handler_context *ctx)
{
	locals_closed++;
	local_reason = gyre_channel_reason(gyre_context_channel(ctx));
}

static const struct gyre_handler local_handler = { .name = "local", .inactive = local_inactive };
static const struct gyre_handler *const local_handlers[] = { &local_handler, NULL };

static bool all_gone(struct rig *rig, void *arg)
{
	(void)arg;
	return rig_channels(rig)->open == 0;
}

Test(reset_watch, of_a_unix_peer_that_has_closed_is_its_end)
{
	struct rig rig;
	int far;

	rig_init(&rig, &patient);
	far = rig_open(&rig, local_handlers, NULL, &on_request, &local);
	rig_settle(&rig);
	(void)close(far);
	cr_assert(rig_until_later(&rig, all_gone, NULL));
	cr_expect_eq(locals_closed, 1);
	cr_expect_eq(local_reason, 0);
	rig_fini(&rig);
}

/* ---- what it costs ---- */

static uint64_t submitted(void)
{
	rig_settle(&fault.rig);
	return gy_ring_counters(fault.rig.home.loop.ring)->submitted;
}

Test(reset_watch, is_not_polled_for_in_a_short_pause, .init = begin_with_nothing)
{
	uint64_t before;

	before = submitted();
	for (int i = 0; i < 10; i++) {
		gyre_channel_set_auto_read(fault.channel, true);
		gyre_channel_set_auto_read(fault.channel, false);
		rig_settle(&fault.rig);
		rig_pass(&fault.rig, GYRE_MILLISECONDS(5));
	}
	cr_expect_eq(submitted(), before, "the receive stays armed");
	gyre_channel_set_auto_read(fault.channel, true);
	(void)close(fault.fd);
	fault.fd = -1;
	fault_end(0);
}

Test(reset_watch, is_polled_for_once_in_a_long_pause)
{
	uint64_t before;

	fault_begin(&patient);
	fault_open(&on_request);
	before = submitted();
	cr_expect(fault.channel->reset_watch.waiting);
	rig_pass(&fault.rig, GYRE_MILLISECONDS(9));
	cr_expect_eq(submitted(), before);
	rig_pass(&fault.rig, GYRE_MILLISECONDS(3));
	cr_expect_eq(submitted(), before + 1);
	rig_pass(&fault.rig, GYRE_SECONDS(60));
	cr_expect_eq(submitted(), before + 1);
	cr_expect(!gy_timer_is_started(&rig_channels(&fault.rig)->reset_watches.timer));
	gyre_channel_abort(fault.channel, -ECANCELED);
	fault_end(-ECANCELED);
}

Test(reset_watch, is_polled_for_by_the_age_of_each_pause)
{
	struct gyre_channel *others[2];
	int fds[2];

	fault_begin(&patient);
	for (int i = 0; i < 2; i++) {
		fds[i] = rig_open_tcp(&fault.rig, local_handlers, NULL, &on_request, &others[i]);
		rig_settle(&fault.rig);
		rig_pass(&fault.rig, GYRE_MILLISECONDS(6));
	}
	rig_settle(&fault.rig);
	cr_expect(others[0]->reset_watch.poll.armed);
	cr_expect(others[1]->reset_watch.waiting);
	rig_pass(&fault.rig, GYRE_MILLISECONDS(6));
	rig_settle(&fault.rig);
	cr_expect(others[1]->reset_watch.poll.armed);
	(void)close(fds[0]);
	(void)close(fds[1]);
	gyre_channel_abort(others[0], 0);
	gyre_channel_abort(others[1], 0);
	rig_fini(&fault.rig);
}

/* ---- its end ---- */

Test(reset_watch, is_not_polled_for_any_more_when_reading_goes_on, .init = begin_on_request)
{
	uint64_t all = 100;

	await_poll();
	gyre_channel_set_auto_read(fault.channel, true);
	cr_assert(rig_until_later(&fault.rig, is_disarmed, NULL));
	fault_send(100);
	cr_assert(rig_until_later(&fault.rig, has_read, &all));
	cr_expect_eq(fault.inactive, 0);
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(reset_watch, may_be_polled_for_again_and_again, .init = begin_on_request)
{
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t first = 200 * i + 100;
		uint64_t both = 200 * i + 200;

		await_poll();
		fault_send(100);
		gyre_context_read(tail());
		cr_assert(rig_until_later(&fault.rig, has_read, &first));
		fault_send(100); /* which is kept, and ends the receive */
		cr_assert(rig_until_later(&fault.rig, has_input, NULL));
		gyre_context_read(tail());
		cr_assert(rig_until_later(&fault.rig, has_read, &both));
	}
	await_poll();
	fault_reset();
	fault_end(-ECONNRESET);
}

Test(reset_watch, poll_ends_with_a_channel_that_is_aborted, .init = begin_on_request)
{
	await_poll();
	gyre_channel_abort(fault.channel, -ECANCELED);
	fault_end(-ECANCELED);
}

Test(reset_watch, poll_ends_with_a_channel_that_closes, .init = begin_on_request)
{
	await_poll();
	gyre_context_close(tail());
	(void)close(fault.fd);
	fault.fd = -1;
	fault_end(0);
}

Test(reset_watch, poll_ends_with_a_drain, .init = begin_on_request)
{
	await_poll();
	fault.rig.home.channel_ops->drain(&fault.rig.home);
	fault_end(0);
}

static bool is_local_armed(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return local->reset_watch.poll.armed;
}

Test(reset_watch, of_a_connection_that_is_gone_does_not_reach_the_next_one_with_its_descriptor)
{
	enum { ROUNDS = 50 };
	struct rig rig;

	rig_init(&rig, &patient);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		int old = rig_open(&rig, local_handlers, NULL, &on_request, &local);
		const struct gyre_channel *place = local;
		int number = local->endpoint.fd;
		int far;

		cr_assert(rig_until_later(&rig, is_local_armed, NULL));
		gyre_channel_abort(local, -ECANCELED);
		cr_assert(rig_until_later(&rig, all_gone, NULL));
		cr_assert_eq(local_reason, -ECANCELED);
		far = rig_open(&rig, local_handlers, NULL, &on_request, &local);
		cr_assert_eq(local->endpoint.fd, number);
		cr_assert_eq(local, place);
		cr_assert(rig_until_later(&rig, is_local_armed, NULL));
		(void)close(old);
		rig_settle(&rig);
		cr_assert_eq(locals_closed, 2 * i + 1, "the new one is alive");
		(void)close(far);
		cr_assert(rig_until_later(&rig, all_gone, NULL));
		cr_assert_eq(local_reason, 0);
	}
	rig_fini(&rig);
}

/* Before its first run; until then the send tells of a reset. */
Test(reset_watch, begins_after_a_send_where_nothing_has_been_read_yet)
{
	char bytes[256];

	fault_begin(&patient);
	fault_open(&on_request);
	cr_assert_eq(fault_write(100), 0);
	rig_settle(&fault.rig);
	cr_assert_eq(gyre_channel_queued_bytes(fault.channel), 0);
	cr_assert_eq(recv(fault.fd, bytes, sizeof(bytes), MSG_DONTWAIT), 100);
	await_poll();
	fault_reset();
	fault_end(-ECONNRESET);
}
