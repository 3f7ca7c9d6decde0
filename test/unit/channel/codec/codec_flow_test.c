/*
 * What handlers may do to a codec and its channel while frames of one read are left: stop reading,
 * remove or replace the codec, close.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../rig.h"
#include "codec_rig.h"

TestSuite(codec_flow, .timeout = 60);

static struct codec_rig rig;

static void begin(void)
{
	codec_rig_init(&rig);
	cr_assert_eq(gyre_line_codec_add(&rig.channel, GYRE_BEFORE("last"), NULL), 0);
}

static void end(void)
{
	codec_rig_fini(&rig);
}

static void feed(const char *text)
{
	codec_rig_feed(&rig, text, strlen(text), strlen(text));
}

static void expect_frames(size_t count, const char *bytes)
{
	cr_expect_eq(rig.log.events_count, count, "%zu frames, not %zu", rig.log.events_count,
		     count);
	cr_expect_eq(rig.log.bytes_count, strlen(bytes));
	cr_expect_arr_eq(rig.log.bytes, bytes, strlen(bytes), "%.*s", (int)rig.log.bytes_count,
			 (const char *)rig.log.bytes);
}

static void stop_reading(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	(void)ctx;
	codec_rig_flags(r, GY_INPUT_MANUAL | GY_NO_READ_NOT_ASKED, 0);
}

Test(codec_flow, frames_wait_while_nothing_is_read, .init = begin, .fini = end)
{
	rig.on_frame = stop_reading;
	feed("a\nb\nc\nd");
	expect_frames(1, "a");
	codec_rig_run(&rig);
	expect_frames(1, "a");
	codec_rig_flags(&rig, 0, GY_INPUT_MANUAL | GY_NO_READ_NOT_ASKED);
	rig.on_frame = NULL;
	codec_rig_run(&rig);
	expect_frames(3, "abc");
	feed("\n");
	expect_frames(4, "abcd");
}

Test(codec_flow, a_request_for_a_read_gives_one_frame, .init = begin, .fini = end)
{
	codec_rig_flags(&rig, GY_INPUT_MANUAL, 0);
	feed("a\nb\nc");
	expect_frames(1, "a");
	cr_expect_neq(rig.channel.state & GY_NO_READ_NOT_ASKED, 0);
	gyre_context_read(gyre_channel_tail(&rig.channel));
	codec_rig_run(&rig);
	expect_frames(2, "ab");
	cr_expect_neq(rig.channel.state & GY_NO_READ_NOT_ASKED, 0);
	gyre_context_read(gyre_channel_tail(&rig.channel));
	codec_rig_run(&rig);
	cr_expect_eq(rig.channel.state & GY_NO_READ_NOT_ASKED, 0,
		     "there is no frame: it is to read");
	feed("c");
	cr_expect_eq(rig.channel.state & GY_NO_READ_NOT_ASKED, 0, "still none");
	feed("\n");
	expect_frames(3, "abcc");
	cr_expect_neq(rig.channel.state & GY_NO_READ_NOT_ASKED, 0);
}

static void read_on(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	(void)r;
	gyre_context_read(ctx);
}

Test(codec_flow, a_handler_that_asks_for_the_next_has_it_at_once, .init = begin, .fini = end)
{
	codec_rig_flags(&rig, GY_INPUT_MANUAL, 0);
	rig.on_frame = read_on;
	feed("a\nb\nc\n");
	expect_frames(3, "abc");
}

Test(codec_flow, frames_wait_in_each_of_two_codecs_in_order, .init = begin, .fini = end)
{
	static const struct gyre_fixed_options two = { .frame_bytes = 2 };

	cr_assert_eq(gyre_fixed_codec_add(&rig.channel, GYRE_BEFORE("last"), &two), 0);
	codec_rig_flags(&rig, GY_INPUT_MANUAL, 0);
	feed("abcd\nef\ng\nhi");
	expect_frames(1, "ab");
	gyre_context_read(gyre_channel_tail(&rig.channel));
	codec_rig_run(&rig);
	expect_frames(2, "abcd");
	gyre_context_read(gyre_channel_tail(&rig.channel));
	codec_rig_run(&rig);
	codec_rig_run(&rig);
	expect_frames(3, "abcdef");
	gyre_context_read(gyre_channel_tail(&rig.channel));
	codec_rig_run(&rig);
	codec_rig_run(&rig);
	cr_expect_eq(rig.channel.state & GY_NO_READ_NOT_ASKED, 0, "half a frame is none");
	feed("\n");
	expect_frames(4, "abcdefgh");
}

static void pause_output(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	(void)ctx;
	codec_rig_flags(r, GY_NO_READ_PAUSED, 0);
}

Test(codec_flow, a_read_that_was_asked_for_is_not_lost_in_a_pause, .init = begin, .fini = end)
{
	codec_rig_flags(&rig, GY_INPUT_MANUAL, 0);
	codec_rig_flags(&rig, GY_NO_READ_PAUSED, 0);
	feed("a\nb\n");
	expect_frames(0, "");
	codec_rig_flags(&rig, 0, GY_NO_READ_PAUSED);
	codec_rig_run(&rig);
	expect_frames(1, "a");
	rig.on_frame = pause_output;
	gyre_context_read(gyre_channel_tail(&rig.channel));
	codec_rig_run(&rig);
	expect_frames(2, "ab");
}

Test(codec_flow, frames_that_waited_are_followed_by_read_complete, .init = begin, .fini = end)
{
	rig.on_frame = stop_reading;
	feed("a\nb\n");
	codec_rig_flags(&rig, 0, GY_INPUT_MANUAL | GY_NO_READ_NOT_ASKED);
	rig.on_frame = NULL;
	codec_rig_run(&rig);
	cr_expect_eq(rig.completes, 1);
}

static void remove_codec(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	(void)ctx;
	r->on_frame = NULL;
	cr_assert_eq(gyre_pipeline_remove(&r->channel, "line"), 0);
	cr_expect_eq(r->log.events_count, 1, "not before this frame has been dealt with");
}

Test(codec_flow, a_codec_that_is_removed_leaves_the_rest_to_the_next_handler, .init = begin,
     .fini = end)
{
	rig.on_frame = remove_codec;
	feed("a\nb\nc");
	expect_frames(2, "ab\nc");
	feed("d\n");
	expect_frames(3, "ab\ncd\n");
}

static void replace_codec(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	static const struct gyre_fixed_options two = { .frame_bytes = 2 };

	(void)ctx;
	r->on_frame = NULL;
	cr_assert_eq(gyre_fixed_codec_add(&r->channel, GYRE_REPLACE("line"), &two), 0);
}

Test(codec_flow, a_codec_that_is_replaced_leaves_the_rest_to_its_successor, .init = begin,
     .fini = end)
{
	rig.on_frame = replace_codec;
	feed("a\nbcdef");
	expect_frames(3, "abcde");
	feed("g");
	expect_frames(4, "abcdefg");
}

static void remove_then_add(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	static const struct gyre_fixed_options two = { .frame_bytes = 2 };

	(void)ctx;
	r->on_frame = NULL;
	cr_assert_eq(gyre_pipeline_remove(&r->channel, "line"), 0);
	cr_assert_eq(gyre_fixed_codec_add(&r->channel, GYRE_BEFORE("last"), &two), 0);
}

Test(codec_flow, a_successor_that_is_added_after_the_removal_has_the_rest_too, .init = begin,
     .fini = end)
{
	rig.on_frame = remove_then_add;
	feed("a\nbcdef");
	expect_frames(3, "abcde");
}

Test(codec_flow, what_was_kept_is_handed_over_when_nothing_runs, .init = begin, .fini = end)
{
	feed("a\nbc");
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "line"), 0);
	expect_frames(1, "a");
	codec_rig_run(&rig);
	expect_frames(2, "abc");
	cr_expect_eq(rig.completes, 1);
}

static void abort_channel(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	(void)ctx;
	codec_rig_stage(r, GY_CHANNEL_CLOSING);
}

Test(codec_flow, no_frame_comes_after_the_channel_was_closed, .init = begin, .fini = end)
{
	rig.on_frame = abort_channel;
	feed("a\nb\nc");
	expect_frames(1, "a");
}

Test(codec_flow, a_codec_that_was_removed_while_its_channel_ends_drops_the_rest, .init = begin,
     .fini = end)
{
	feed("a\nbc");
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "line"), 0);
	codec_rig_stage(&rig, GY_CHANNEL_CLOSING);
	codec_rig_run(&rig);
	expect_frames(1, "a");
}

Test(codec_flow, an_error_that_nobody_keeps_closes_with_its_reason, .init = begin, .fini = end)
{
	static const struct gyre_length_options length = { .frame_bytes_max = 4 };

	cr_assert_eq(gyre_length_codec_add(&rig.channel, GYRE_REPLACE("line"), &length), 0);
	rig.pass_errors = true;
	codec_rig_feed(&rig, "\0\0\0\1a\0\0\0\0", 9, 9);
	cr_expect_eq(rig.channel.reason, -EMSGSIZE);
	cr_expect(gy_channel_is_ending(&rig.channel));
	cr_expect_eq(rig.log.events_count, 1, "no frame follows");
}

Test(codec_flow, what_comes_in_many_pieces_takes_few_pages, .init = begin, .fini = end)
{
	for (int i = 0; i < 1000; i++) {
		feed("x");
	}
	/* That of the first piece, and one for all others. */
	cr_expect_leq(rig.channels.pools.pages.total - rig.channels.pools.pages.free_count, 2);
	feed("\n");
	cr_expect_eq(rig.log.bytes_count, 1000);
}

Test(codec_flow, large_pieces_are_copied_from_the_share_of_the_channel_on, .init = begin,
     .fini = end)
{
	static char piece[1000];

	memset(piece, 'x', sizeof(piece));
	cr_assert_eq(gyre_fixed_codec_add(&rig.channel, GYRE_REPLACE("line"),
					  &(struct gyre_fixed_options){ .frame_bytes = 50001 }),
		     0);
	for (int i = 0; i < 50; i++) {
		codec_rig_feed(&rig, piece, sizeof(piece), sizeof(piece));
	}
	/* So many as they came in, and then full ones. */
	cr_expect_leq(rig.channels.pools.pages.total - rig.channels.pools.pages.free_count,
		      CODEC_RIG_RING_PAGES + 12);
	codec_rig_feed(&rig, "x", 1, 1);
	cr_expect_eq(rig.log.bytes_count, 50001);
}

/* ---- with a socket ---- */

static struct rig live;

struct lines {
	uint64_t count;
	bool manual;
};

static void count_line(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct lines *lines = (struct lines *)gyre_context_arg(ctx);

	lines->count++;
	(void)gyre_context_write(ctx, data);
	if (lines->manual) {
		gyre_context_read(ctx);
	}
}

static const struct gyre_handler counting = { .name = "counting", .read = count_line };
static const struct gyre_handler *const counting_only[] = { &counting, NULL };

enum { LINES = 60000 };

static void expect_all_lines(const struct gyre_channel_options *options)
{
	static const struct gyre_line_options lf = { .append = GYRE_APPEND_LF };
	static const char line[] = "a line of text\n";
	const size_t bytes = sizeof(line) - 1;
	struct lines lines = { .manual = options != NULL && options->manual_read };
	struct gyre_channel *channel;
	size_t sent = 0;
	size_t back = 0;
	char text[4096];
	int far;

	rig_init(&live, &(struct rig_options){ .low_bytes = 1000, .high_bytes = 4000 });
	far = rig_open(&live, counting_only, &lines, options, &channel);
	cr_assert_eq(gyre_line_codec_add(channel, GYRE_FIRST, &lf), 0);
	gyre_context_read(gyre_channel_tail(channel));
	while (back < LINES * bytes) {
		ssize_t r;

		while (sent < LINES * bytes &&
		       (r = send(far, line + sent % bytes, bytes - sent % bytes,
				 MSG_NOSIGNAL | MSG_DONTWAIT)) > 0) {
			sent += (size_t)r;
		}
		if (sent == LINES * bytes) {
			(void)shutdown(far, SHUT_WR); /* frames are still waiting */
		}
		rig_turn(&live);
		while ((r = recv(far, text, sizeof(text), MSG_DONTWAIT)) > 0) {
			back += (size_t)r;
		}
		if (r == 0) {
			break;
		}
	}
	cr_expect_eq(back, LINES * bytes);
	cr_expect_eq(lines.count, LINES);
	(void)close(far);
	rig_fini(&live);
}

Test(codec_flow, an_echo_of_lines_over_its_high_mark_loses_none_at_the_end)
{
	expect_all_lines(NULL);
}

Test(codec_flow, an_echo_of_lines_that_asks_for_each_loses_none_at_the_end)
{
	expect_all_lines(&(struct gyre_channel_options){ .manual_read = true });
}
