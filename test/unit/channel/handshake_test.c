/*
 * The time for a handshake: who ends it, and what happens when it is over.
 */
#include <errno.h>
#include <string.h>

#include <gyre/codec.h>
#include <gyre/counters.h>
#include <gyre/tap.h>

#include "kit_test.h"

static struct gyre_test_channel *peer;
static struct gyre_tap *tap;

static bool began;

static int begin_handshake(struct gyre_handler_context *ctx)
{
	began = gyre_channel_handshake_begin(gyre_context_channel(ctx));
	return 0;
}

static const struct gyre_handler first = { .name = "first", .added = begin_handshake };
static const struct gyre_handler second = { .name = "second", .added = begin_handshake };

/* Up to three steps, as a channel is made: handlers, codecs, and what else is to be done then. */
typedef int (*step_fn)(struct gyre_channel *channel);

enum { STEPS_MAX = 3 };

struct steps {
	step_fn step[STEPS_MAX];
};

static int init_pipeline(struct gyre_channel *channel, void *arg)
{
	const struct steps *steps = (const struct steps *)arg;
	int r = 0;

	for (int i = 0; i < STEPS_MAX && r == 0 && steps->step[i] != NULL; i++) {
		r = steps->step[i](channel);
	}
	return r;
}

static void open_for(struct gyre_test *test, struct steps steps, uint64_t handshake_ns)
{
	const struct gyre_acceptor_options options = {
		.channel = { .handshake_ns = handshake_ns },
		.init_channel = init_pipeline,
		.init_arg = &steps,
	};

	tap = gyre_tap_open(test, &options, &peer);
}

static void open_with(struct gyre_test *test, struct steps steps)
{
	open_for(test, steps, GYRE_MILLISECONDS(50));
}

static int add_first(struct gyre_channel *channel)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &first, NULL);
}

static int add_second(struct gyre_channel *channel)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &second, NULL);
}

static int add_lines(struct gyre_channel *channel)
{
	return gyre_line_codec_add(channel, GYRE_LAST, NULL);
}

static int end_handshake(struct gyre_channel *channel)
{
	gyre_channel_handshake_done(channel);
	return 0;
}

static int end_it(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	return end_handshake(gyre_context_channel(ctx));
}

static void done(void)
{
	cr_assert_eq(gyre_tap_do(tap, end_it, NULL), 0);
}

static void wait_ms(struct gyre_test *test, uint64_t time_ms)
{
	gyre_test_advance(test, GYRE_MILLISECONDS(time_ms));
}

static void feed(const char *text)
{
	(void)gyre_test_channel_write_text(peer, text);
}

static void expect_counted(struct gyre_test *test, uint64_t timeouts)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(gyre_test_system(test), &counters), 0);
	cr_expect_eq(counters.handshake_timeouts, timeouts);
}

/* The channel is as it was, and nothing has come to the tap but bytes. */
static void expect_open(struct gyre_test *test)
{
	const struct gyre_tapped *it;

	while ((it = gyre_tap_take(tap, 0)) != NULL) {
		cr_expect_eq(it->kind, GYRE_TAPPED_READ);
	}
	(void)gyre_test_channel_expect_none(peer, 0);
	expect_counted(test, 0);
}

static void expect_timed_out(struct gyre_test *test)
{
	const struct gyre_tapped *it;

	do {
		it = gyre_tap_take(tap, 0);
		cr_assert_not_null(it);
	} while (it->kind == GYRE_TAPPED_READ);
	cr_expect_eq(it->kind, GYRE_TAPPED_INACTIVE);
	cr_expect_eq(it->error, -ETIMEDOUT);
	expect_counted(test, 1);
}

KIT_TEST(handshake, that_is_not_done_in_time_ends_the_channel)
{
	open_with(test, (struct steps){ { add_first } });
	cr_expect(began);
	wait_ms(test, 49);
	expect_open(test);
	wait_ms(test, 3);
	expect_timed_out(test);
}

KIT_TEST(handshake, that_is_done_leaves_the_channel_all_its_time)
{
	open_with(test, (struct steps){ { add_first } });
	done();
	wait_ms(test, 500);
	expect_open(test);
	done();
	expect_open(test);
}

KIT_TEST(handshake, of_two_handlers_is_done_when_both_are)
{
	open_with(test, (struct steps){ { add_first, add_second } });
	done();
	wait_ms(test, 52);
	expect_timed_out(test);
}

KIT_TEST(handshake, may_be_ended_by_one_who_has_not_said_so_before)
{
	open_with(test, (struct steps){ { NULL } });
	done();
	wait_ms(test, 52);
	expect_open(test);
}

static int add_late(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	return gyre_pipeline_add(gyre_context_channel(ctx), GYRE_BEFORE("tap"), &first, NULL);
}

KIT_TEST(handshake, of_a_handler_that_comes_later_is_none)
{
	open_with(test, (struct steps){ { NULL } });
	done();
	cr_assert_eq(gyre_tap_do(tap, add_late, NULL), 0);
	cr_expect(!began);
	wait_ms(test, 52);
	expect_open(test);
}

static int close_channel(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	gyre_context_close(ctx);
	return 0;
}

KIT_TEST(handshake, leaves_a_channel_alone_that_closes_already)
{
	open_with(test, (struct steps){ { add_first } });
	cr_assert_eq(gyre_tap_do(tap, close_channel, NULL), 0);
	wait_ms(test, 52);
	expect_counted(test, 0);
	gyre_test_channel_close(peer);
	(void)gyre_tap_expect_inactive(tap, 0, GYRE_SECONDS(1));
}

/* ---- of codecs ---- */

KIT_TEST(handshake, of_a_codec_is_done_with_a_whole_frame)
{
	open_with(test, (struct steps){ { add_lines } });
	feed("hel");
	wait_ms(test, 20);
	feed("lo\n");
	wait_ms(test, 500);
	expect_open(test);
}

KIT_TEST(handshake, of_a_codec_is_not_done_by_bytes_that_drip)
{
	open_with(test, (struct steps){ { add_lines } });
	for (int i = 0; i < 5; i++) {
		feed("x");
		wait_ms(test, 10);
	}
	wait_ms(test, 3);
	expect_timed_out(test);
}

static int add_lengths(struct gyre_channel *channel)
{
	int r = gyre_length_codec_add(channel, GYRE_LAST, NULL);

	return r < 0 ? r : gyre_length_prepender_add(channel, GYRE_LAST, NULL);
}

KIT_TEST(handshake, of_a_handler_that_only_writes_is_not_waited_for)
{
	open_with(test, (struct steps){ { add_lengths } });
	(void)gyre_test_channel_write(peer, "\0\0\0\1x", 5, 0);
	wait_ms(test, 500);
	expect_open(test);
}

static int remove_lines(struct gyre_channel *channel)
{
	return gyre_pipeline_remove(channel, "line");
}

KIT_TEST(handshake, of_a_codec_that_leaves_is_not_waited_for)
{
	open_with(test, (struct steps){ { add_first, add_lines, remove_lines } });
	done();
	wait_ms(test, 52);
	expect_open(test);
}

static int replace_lines(struct gyre_channel *channel)
{
	return gyre_varint_codec_add(channel, GYRE_REPLACE("line"), NULL);
}

KIT_TEST(handshake, of_a_codec_that_took_anothers_place_is_its_own)
{
	open_with(test, (struct steps){ { add_lines, replace_lines } });
	wait_ms(test, 52);
	expect_timed_out(test);
}

/* ---- of the channel itself ---- */

KIT_TEST(handshake, is_the_first_bytes_where_no_handler_has_one)
{
	open_with(test, (struct steps){ { NULL } });
	wait_ms(test, 40);
	feed("x");
	wait_ms(test, 500);
	(void)gyre_tap_expect_text(tap, "x");
	expect_open(test);
}

KIT_TEST(handshake, is_not_the_first_bytes_where_a_handler_has_one)
{
	open_with(test, (struct steps){ { add_first } });
	feed("x");
	wait_ms(test, 52);
	expect_timed_out(test);
}

KIT_TEST(handshake, of_a_silent_peer_ends_the_channel_and_is_counted)
{
	open_with(test, (struct steps){ { NULL } });
	(void)gyre_tap_expect_inactive(tap, -ETIMEDOUT, GYRE_MILLISECONDS(52));
	expect_counted(test, 1);
}

KIT_TEST(handshake, goes_with_a_channel_that_ends_before)
{
	open_for(test, (struct steps){ { add_first } }, GYRE_SECONDS(3600));
	gyre_test_channel_close(peer);
	(void)gyre_tap_expect_read_end(tap, GYRE_SECONDS(1));
	(void)gyre_tap_expect_inactive(tap, 0, GYRE_SECONDS(1));
	expect_counted(test, 0);
}
