/*
 * The time for a handshake: who ends it, and what happens when it is over. Where time matters the
 * tests let it go by themselves.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel/channel.h"

#include "codec/codec_rig.h"
#include "rig.h"

TestSuite(handshake, .timeout = 60);

static struct codec_rig rig;

static bool began;

static int begin_handshake(struct gyre_handler_context *ctx)
{
	began = gyre_channel_handshake_begin(gyre_context_channel(ctx));
	return 0;
}

static const struct gyre_handler first = { .name = "first", .added = begin_handshake };
static const struct gyre_handler second = { .name = "second", .added = begin_handshake };

static void begin(void)
{
	codec_rig_init(&rig);
	cr_assert_eq(gy_handshake_start(&rig.channel, GYRE_MILLISECONDS(50)), 0);
}

static void end(void)
{
	gy_handshake_stop(&rig.channel); /* as a channel that ends does */
	codec_rig_fini(&rig);
}

static void wait_ms(uint64_t time_ms)
{
	codec_rig_wait(&rig, GYRE_MILLISECONDS(time_ms));
}

static void feed(const char *text)
{
	codec_rig_feed(&rig, text, strlen(text), strlen(text));
}

static void expect_timed_out(bool wanted)
{
	bool aborted = gy_channel_is_aborted(&rig.channel);

	cr_expect_eq(aborted, wanted);
	cr_expect_eq(gyre_channel_reason(&rig.channel), wanted ? -ETIMEDOUT : 0);
	cr_expect_eq(rig.channels.counters.handshake_timeouts, wanted);
}

static void done(void)
{
	gyre_channel_handshake_done(&rig.channel);
}

Test(handshake, that_is_not_done_in_time_ends_the_channel, .init = begin, .fini = end)
{
	cr_assert_eq(codec_rig_add(&rig, &first, NULL), 0);
	cr_expect(began);
	wait_ms(49);
	expect_timed_out(false);
	wait_ms(3);
	expect_timed_out(true);
}

Test(handshake, that_is_done_leaves_the_channel_all_its_time, .init = begin, .fini = end)
{
	cr_assert_eq(codec_rig_add(&rig, &first, NULL), 0);
	done();
	wait_ms(500);
	expect_timed_out(false);
	done();
}

Test(handshake, of_two_handlers_is_done_when_both_are, .init = begin, .fini = end)
{
	cr_assert_eq(codec_rig_add(&rig, &first, NULL), 0);
	cr_assert_eq(codec_rig_add(&rig, &second, NULL), 0);
	done();
	wait_ms(52);
	expect_timed_out(true);
}

Test(handshake, may_be_ended_by_one_who_has_not_said_so_before, .init = begin, .fini = end)
{
	done();
	wait_ms(52);
	expect_timed_out(false);
}

Test(handshake, of_a_handler_that_comes_later_is_none, .init = begin, .fini = end)
{
	done();
	cr_assert_eq(codec_rig_add(&rig, &first, NULL), 0);
	cr_expect(!began);
	wait_ms(52);
	expect_timed_out(false);
}

Test(handshake, leaves_a_channel_alone_that_closes_already, .init = begin, .fini = end)
{
	gyre_context_close(gyre_channel_tail(&rig.channel));
	wait_ms(52);
	expect_timed_out(false);
}

/* ---- of codecs ---- */

Test(handshake, of_a_codec_is_done_with_a_whole_frame, .init = begin, .fini = end)
{
	cr_assert_eq(gyre_line_codec_add(&rig.channel, GYRE_BEFORE("last"), NULL), 0);
	feed("hel");
	wait_ms(20);
	feed("lo\n");
	wait_ms(500);
	expect_timed_out(false);
}

Test(handshake, of_a_codec_is_not_done_by_bytes_that_drip, .init = begin, .fini = end)
{
	cr_assert_eq(gyre_line_codec_add(&rig.channel, GYRE_BEFORE("last"), NULL), 0);
	for (int i = 0; i < 5; i++) {
		feed("x");
		wait_ms(10);
	}
	wait_ms(3);
	expect_timed_out(true);
}

Test(handshake, of_a_handler_that_only_writes_is_not_waited_for, .init = begin, .fini = end)
{
	cr_assert_eq(gyre_length_codec_add(&rig.channel, GYRE_BEFORE("last"), NULL), 0);
	cr_assert_eq(gyre_length_prepender_add(&rig.channel, GYRE_BEFORE("last"), NULL), 0);
	codec_rig_feed(&rig, "\0\0\0\1x", 5, 5);
	wait_ms(500);
	expect_timed_out(false);
}

Test(handshake, of_a_codec_that_leaves_is_not_waited_for, .init = begin, .fini = end)
{
	cr_assert_eq(codec_rig_add(&rig, &first, NULL), 0);
	cr_assert_eq(gyre_line_codec_add(&rig.channel, GYRE_BEFORE("last"), NULL), 0);
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "line"), 0);
	done();
	wait_ms(52);
	expect_timed_out(false);
}

Test(handshake, of_a_codec_that_took_anothers_place_is_its_own, .init = begin, .fini = end)
{
	cr_assert_eq(gyre_line_codec_add(&rig.channel, GYRE_BEFORE("last"), NULL), 0);
	cr_assert_eq(gyre_varint_codec_add(&rig.channel, GYRE_REPLACE("line"), NULL), 0);
	wait_ms(52);
	expect_timed_out(true);
}

/* ---- with a socket ---- */

static const struct gyre_channel_options an_hour = { .handshake_ns = GYRE_SECONDS(3600) };
static const struct gyre_channel_options a_moment = { .handshake_ns = GYRE_MILLISECONDS(20) };

static int reason;
static uint32_t inactive;

static void on_inactive(struct gyre_handler_context *ctx)
{
	inactive++;
	reason = gyre_channel_reason(gyre_context_channel(ctx));
}

static const struct gyre_handler ending = { .name = "ending", .inactive = on_inactive };
static const struct gyre_handler *const ending_only[] = { &ending, NULL };
static const struct gyre_handler *const two[] = { &first, &ending, NULL };

static bool is_gone(struct rig *live, void *arg)
{
	(void)arg;
	return rig_channels(live)->open == 0;
}

static bool is_over(struct rig *live, void *arg)
{
	(void)live;
	return ((struct gyre_channel *)arg)->handshake == NULL;
}

Test(handshake, is_the_first_bytes_where_no_handler_has_one)
{
	struct gyre_channel *channel;
	struct rig live;
	int far;

	rig_init(&live, NULL);
	far = rig_open(&live, ending_only, NULL, &an_hour, &channel);
	rig_settle(&live);
	cr_assert_not_null(channel->handshake);
	cr_assert_eq(send(far, "x", 1, MSG_NOSIGNAL), 1);
	cr_expect(rig_until(&live, is_over, channel));
	(void)close(far);
	rig_fini(&live);
}

Test(handshake, is_not_the_first_bytes_where_a_handler_has_one)
{
	struct gyre_channel *channel;
	struct rig live;
	int far;

	rig_init(&live, NULL);
	far = rig_open(&live, two, NULL, &an_hour, &channel);
	cr_assert_eq(send(far, "x", 1, MSG_NOSIGNAL), 1);
	rig_settle(&live);
	cr_expect_not_null(channel->handshake);
	gyre_channel_handshake_done(channel);
	cr_expect_null(channel->handshake);
	(void)close(far);
	rig_fini(&live);
}

Test(handshake, of_a_silent_peer_ends_the_channel_and_is_counted)
{
	struct rig live;
	int far;

	rig_init(&live, NULL);
	far = rig_open(&live, ending_only, NULL, &a_moment, NULL);
	cr_assert(rig_until_later(&live, is_gone, NULL));
	cr_expect_eq(inactive, 1);
	cr_expect_eq(reason, -ETIMEDOUT);
	cr_expect_eq(gy_channels_counters(&live.home)->handshake_timeouts, 1);
	(void)close(far);
	rig_fini(&live);
}

Test(handshake, goes_with_a_channel_that_ends_before)
{
	struct rig live;
	int far;

	rig_init(&live, NULL);
	far = rig_open(&live, two, NULL, &an_hour, NULL);
	rig_settle(&live);
	(void)close(far);
	cr_assert(rig_until_later(&live, is_gone, NULL));
	cr_expect_eq(gy_channels_counters(&live.home)->handshake_timeouts, 0);
	rig_fini(&live);
}
