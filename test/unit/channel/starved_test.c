/*
 * Channels while memory is short: they do not read of their own accord, and do all else.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rig.h"

TestSuite(starved, .timeout = 60);

static struct rig rig;
static struct gyre_channel *channel;
static int far;

static void open_with(const struct gyre_channel_options *options)
{
	rig_init(&rig, NULL);
	far = rig_open(&rig, rig_echo_only, NULL, options, &channel);
	rig_settle(&rig);
}

static void close_far(void)
{
	gy_channels_set_busy(&rig.home, false);
	(void)close(far);
	rig_fini(&rig);
}

static void set_busy(bool busy)
{
	gy_channels_set_busy(&rig.home, busy);
	rig_settle(&rig);
}

static void send_byte(void)
{
	cr_assert_eq(send(far, "x", 1, MSG_NOSIGNAL), 1);
	rig_settle(&rig);
}

/* How many bytes have come back. */
static ssize_t back(void)
{
	char bytes[64];

	return recv(far, bytes, sizeof(bytes), MSG_DONTWAIT);
}

static uint64_t paused(void)
{
	return gy_channels_counters(&rig.home)->reads_paused;
}

Test(starved, channels_do_not_read_and_go_on_afterwards_with_all_that_came)
{
	open_with(NULL);
	send_byte();
	cr_expect_eq(back(), 1);
	set_busy(true);
	cr_expect_not(channel->receive.armed, "the receive is given up at once");
	send_byte();
	send_byte();
	cr_expect_eq(back(), -1);
	cr_expect_eq(paused(), 1);
	set_busy(true);
	cr_expect_eq(paused(), 1);
	set_busy(false);
	cr_expect_eq(back(), 2);
	close_far();
}

Test(starved, channels_that_are_opened_meanwhile_wait_too)
{
	rig_init(&rig, NULL);
	set_busy(true);
	far = rig_open(&rig, rig_echo_only, NULL, NULL, &channel);
	send_byte();
	cr_expect_eq(back(), -1);
	set_busy(false);
	cr_expect_eq(back(), 1);
	close_far();
}

Test(starved, channels_read_when_they_are_asked_to)
{
	const struct gyre_channel_options options = { .manual_read = true };

	open_with(&options);
	set_busy(true);
	send_byte();
	cr_expect_eq(back(), -1);
	gyre_context_read(gyre_channel_tail(channel));
	rig_settle(&rig);
	cr_expect_eq(back(), 1);
	cr_expect_eq(paused(), 0);
	close_far();
}

Test(starved, channels_begin_to_wait_with_automatic_reading_and_cease_without)
{
	const struct gyre_channel_options options = { .manual_read = true };

	open_with(&options);
	set_busy(true);
	gyre_channel_set_auto_read(channel, true);
	send_byte();
	cr_expect_eq(back(), -1);
	cr_expect_eq(paused(), 1);
	gyre_channel_set_auto_read(channel, false);
	gyre_context_read(gyre_channel_tail(channel));
	rig_settle(&rig);
	cr_expect_eq(back(), 1);
	close_far();
}

Test(starved, channels_write)
{
	struct gyre_buffer *data;

	open_with(NULL);
	set_busy(true);
	data = gyre_context_buffer(gyre_channel_tail(channel));
	cr_assert_not_null(data);
	cr_assert_eq(gyre_buffer_append(data, "abc", 3), 0);
	cr_expect_eq(gyre_context_write(gyre_channel_tail(channel), data), 0);
	rig_settle(&rig);
	cr_expect_eq(back(), 3);
	close_far();
}

static bool is_gone(struct rig *r, void *arg)
{
	(void)arg;
	return rig_channels(r)->open == 0;
}

Test(starved, channels_close)
{
	open_with(NULL);
	set_busy(true);
	send_byte();
	gyre_context_close(gyre_channel_tail(channel));
	rig_settle(&rig);
	(void)shutdown(far, SHUT_WR);
	cr_expect(rig_until(&rig, is_gone, NULL));
	close_far();
}

Test(starved, channels_drain_and_abort)
{
	open_with(NULL);
	set_busy(true);
	send_byte();
	rig.home.channel_ops->drain(&rig.home);
	cr_expect(rig_until_later(&rig, is_gone, NULL));
	close_far();
	open_with(NULL);
	set_busy(true);
	gyre_channel_abort(channel, -ECANCELED);
	cr_expect(rig_until(&rig, is_gone, NULL));
	close_far();
}
