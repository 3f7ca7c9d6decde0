/*
 * What handlers may do to a codec and its channel while frames of one read are left: stop reading,
 * remove or replace the codec, close.
 */
#include <errno.h>
#include <string.h>

#include "codec_kit.h"

static const struct gyre_channel_options on_request = { .manual_read = true };
static const struct gyre_fixed_options two = { .frame_bytes = 2 };

static struct codec_kit kit;

static void begin(struct gyre_test *test)
{
	codec_kit_open(&kit, test);
	codec_kit_add(&kit, add_line_codec, NULL);
}

/* With each read asked for, and the first one is. */
static void begin_on_request(struct gyre_test *test)
{
	codec_kit_open_with(&kit, test, &on_request);
	codec_kit_add(&kit, add_line_codec, NULL);
	codec_kit_ask(&kit);
}

static void feed(const char *text)
{
	codec_kit_feed(&kit, text, strlen(text), strlen(text));
}

/* Since the beginning. */
static void expect_frames(const char *frames)
{
	cr_expect_str_eq(codec_kit_seen(&kit), frames, "%s, and not %s", kit.text, frames);
}

static void stop_reading(struct codec_kit *k, struct gyre_handler_context *ctx)
{
	k->on_frame = NULL;
	gyre_channel_set_auto_read(gyre_context_channel(ctx), false);
}

KIT_TEST(codec_flow, frames_wait_while_nothing_is_read)
{
	begin(test);
	kit.on_frame = stop_reading;
	feed("a\nb\nc\nd");
	expect_frames("[a]");
	gyre_test_advance(test, GYRE_SECONDS(60));
	expect_frames("[a]");
	codec_kit_read_by_itself(&kit, true);
	expect_frames("[a][b][c]");
	feed("\n");
	expect_frames("[a][b][c][d]");
}

KIT_TEST(codec_flow, a_request_for_a_read_gives_one_frame)
{
	begin_on_request(test);
	feed("a\nb\nc");
	expect_frames("[a]");
	codec_kit_ask(&kit);
	expect_frames("[a][b]");
	codec_kit_ask(&kit);
	feed("c"); /* there is no frame, so it reads; still none */
	feed("\n");
	expect_frames("[a][b][cc]");
	codec_kit_feed_unread(&kit, "d\n");
	expect_frames("[a][b][cc]");
}

static void read_on(struct codec_kit *k, struct gyre_handler_context *ctx)
{
	(void)k;
	gyre_context_read(ctx);
}

KIT_TEST(codec_flow, a_handler_that_asks_for_the_next_has_it_at_once)
{
	begin_on_request(test);
	kit.on_frame = read_on;
	feed("a\nb\nc\n");
	expect_frames("[a][b][c]");
}

static int add_behind(struct gyre_channel *channel, struct gyre_position position,
		      const void *options)
{
	position.name = NULL;
	return gyre_fixed_codec_add(channel, position, (const struct gyre_fixed_options *)options);
}

KIT_TEST(codec_flow, frames_wait_in_each_of_two_codecs_in_order)
{
	begin_on_request(test);
	codec_kit_add(&kit, add_behind, &two);
	feed("abcd\nef\ng\nhi");
	expect_frames("[ab]");
	codec_kit_ask(&kit);
	expect_frames("[ab][cd]");
	codec_kit_ask(&kit);
	expect_frames("[ab][cd][ef]");
	codec_kit_ask(&kit);
	expect_frames("[ab][cd][ef]");
	feed("\n"); /* half a frame is none, so it reads */
	expect_frames("[ab][cd][ef][gh]");
}

KIT_TEST(codec_flow, a_read_that_was_asked_for_is_not_lost_in_a_pause)
{
	const struct gyre_channel_options low_marks = { .manual_read = true,
							.write_low_bytes = 1000,
							.write_high_bytes = 4000 };

	codec_kit_open_with(&kit, test, &low_marks);
	codec_kit_add(&kit, add_line_codec, NULL);
	codec_kit_fill_output(&kit);
	codec_kit_ask(&kit);
	codec_kit_feed_unread(&kit, "a\nb\n");
	expect_frames("");
	codec_kit_drain_output(&kit);
	expect_frames("[a]");
	codec_kit_fill_output(&kit);
	codec_kit_ask(&kit);
	expect_frames("[a]");
	codec_kit_drain_output(&kit);
	expect_frames("[a][b]");
}

KIT_TEST(codec_flow, frames_that_waited_are_followed_by_read_complete)
{
	uint32_t completes;

	begin(test);
	kit.on_frame = stop_reading;
	feed("a\nb\n");
	expect_frames("[a]");
	completes = kit.completes;
	codec_kit_read_by_itself(&kit, true);
	expect_frames("[a][b]");
	cr_expect_eq(kit.completes, completes + 1, "%u more", kit.completes - completes);
}

static void remove_codec(struct codec_kit *k, struct gyre_handler_context *ctx)
{
	k->on_frame = NULL;
	cr_assert_eq(gyre_pipeline_remove(gyre_context_channel(ctx), "tested"), 0);
	cr_expect_str_eq(codec_kit_seen(k), "[a]", "not before this frame has been dealt with");
}

KIT_TEST(codec_flow, a_codec_that_is_removed_leaves_the_rest_to_the_next_handler)
{
	begin(test);
	kit.on_frame = remove_codec;
	feed("a\nb\nc");
	expect_frames("[a][b\nc]");
	feed("d\n");
	expect_frames("[a][b\nc][d\n]");
}

static void replace_codec(struct codec_kit *k, struct gyre_handler_context *ctx)
{
	k->on_frame = NULL;
	cr_assert_eq(gyre_fixed_codec_add(gyre_context_channel(ctx), GYRE_REPLACE("tested"), &two),
		     0);
}

KIT_TEST(codec_flow, a_codec_that_is_replaced_leaves_the_rest_to_its_successor)
{
	begin(test);
	kit.on_frame = replace_codec;
	feed("a\nbcdef");
	expect_frames("[a][bc][de]");
	feed("g");
	expect_frames("[a][bc][de][fg]");
}

static void remove_then_add(struct codec_kit *k, struct gyre_handler_context *ctx)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);

	k->on_frame = NULL;
	cr_assert_eq(gyre_pipeline_remove(channel, "tested"), 0);
	cr_assert_eq(gyre_fixed_codec_add(channel, GYRE_BEFORE("tap"), &two), 0);
}

KIT_TEST(codec_flow, a_successor_that_is_added_after_the_removal_has_the_rest_too)
{
	begin(test);
	kit.on_frame = remove_then_add;
	feed("a\nbcdef");
	expect_frames("[a][bc][de]");
}

static void close_channel(struct codec_kit *k, struct gyre_handler_context *ctx)
{
	k->on_frame = NULL;
	gyre_context_close(ctx);
}

KIT_TEST(codec_flow, no_frame_comes_after_the_channel_was_closed)
{
	begin(test);
	kit.on_frame = close_channel;
	feed("a\nb\nc");
	expect_frames("[a]");
}

KIT_TEST(codec_flow, an_error_that_nobody_keeps_closes_with_its_reason)
{
	static const struct gyre_length_options length = { .frame_bytes_max = 5,
							   .initial_bytes_to_strip = 4 };

	codec_kit_open(&kit, test);
	codec_kit_add(&kit, add_length_codec, &length);
	kit.pass_errors = true;
	codec_kit_feed(&kit, "\0\0\0\1a\0\0\0\2", 9, 9);
	(void)gyre_test_channel_expect_end(kit.peer, 0);
	gyre_test_channel_close(kit.peer);
	(void)gyre_tap_expect_read(kit.tap, "a", 1, 0);
	(void)gyre_tap_expect_exception(kit.tap, -EMSGSIZE, 0);
	(void)gyre_tap_expect_inactive(kit.tap, -EMSGSIZE, GYRE_SECONDS(1));
}
