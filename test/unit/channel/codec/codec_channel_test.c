/*
 * Codecs on channels of the real kernel: no frame is lost at the end of a stream, whoever holds it
 * up. And what no peer can bring about: which pages a codec holds, a codec that is removed while no
 * handler runs, and an end that is told while nothing is read. For these the channel's state is set
 * by hand.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../rig.h"
#include "codec_rig.h"

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

static void expect(const char *frames, uint32_t read_ends)
{
	cr_expect_str_eq(codec_log_text(&rig.log), frames, "%s, and not %s",
			 codec_log_text(&rig.log), frames);
	cr_expect_eq(rig.read_ends, read_ends, "%u ends", rig.read_ends);
}

static const struct gyre_fixed_options three = { .frame_bytes = 3 };

Test(codec_end, goes_to_the_successor_behind_the_bytes_that_waited, .init = begin, .fini = end)
{
	feed("abcd");
	codec_rig_flags(&rig, GY_NO_READ_PAUSED, 0);
	codec_rig_end(&rig);
	expect("", 0);
	codec_rig_flags(&rig, 0, GY_NO_READ_PAUSED);
	cr_assert_eq(gyre_fixed_codec_add(&rig.channel, GYRE_REPLACE("line"), &three), 0);
	codec_rig_run(&rig);
	expect("[abc]!proto", 1);
}

Test(codec_end, is_dropped_with_what_waits_when_the_channel_closes, .init = begin, .fini = end)
{
	feed("ab");
	codec_rig_flags(&rig, GY_NO_READ_PAUSED, 0);
	codec_rig_end(&rig);
	codec_rig_stage(&rig, GY_CHANNEL_ABORTED);
	codec_rig_run(&rig);
	expect("", 0);
}

Test(codec_flow, what_was_kept_is_handed_over_when_nothing_runs, .init = begin, .fini = end)
{
	feed("a\nbc");
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "line"), 0);
	expect("[a]", 0);
	codec_rig_run(&rig);
	expect("[a][bc]", 0);
	cr_expect_eq(rig.completes, 1);
}

Test(codec_flow, a_codec_that_was_removed_while_its_channel_ends_drops_the_rest, .init = begin,
     .fini = end)
{
	feed("a\nbc");
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "line"), 0);
	codec_rig_stage(&rig, GY_CHANNEL_CLOSING);
	codec_rig_run(&rig);
	expect("[a]", 0);
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

struct live {
	uint32_t lines;
	uint32_t input_closed;
	uint32_t inactive;
};

static void count_and_stop(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	((struct live *)gyre_context_arg(ctx))->lines++;
	gyre_channel_set_auto_read(gyre_context_channel(ctx), false);
	gyre_buffer_destroy(data);
}

static void count_end(struct gyre_handler_context *ctx, const struct gyre_type *type,
		      const void *event)
{
	(void)event;
	((struct live *)gyre_context_arg(ctx))->input_closed +=
		type->id == GYRE_ID(gyre_input_closed);
}

static void count_inactive(struct gyre_handler_context *ctx)
{
	((struct live *)gyre_context_arg(ctx))->inactive++;
}

static const struct gyre_handler ending = {
	.name = "counting",
	.read = count_and_stop,
	.event = count_end,
	.inactive = count_inactive,
};
static const struct gyre_handler *const ending_only[] = { &ending, NULL };

static void expect_wait(bool half_close)
{
	const struct gyre_channel_options options = { .allow_half_close = half_close };
	struct live seen = { 0 };
	struct gyre_channel *channel;
	int far;

	rig_init(&live, NULL);
	far = rig_open(&live, ending_only, &seen, &options, &channel);
	cr_assert_eq(gyre_line_codec_add(channel, GYRE_FIRST, NULL), 0);
	cr_assert_eq(write(far, "a\nb", 3), 3);
	cr_assert_eq(shutdown(far, SHUT_WR), 0);
	rig_settle(&live);
	cr_expect_eq(seen.lines, 1);
	cr_expect_eq(seen.input_closed, 0);
	cr_expect_eq(seen.inactive, 0);
	gyre_context_read(gyre_channel_tail(channel));
	rig_settle(&live);
	cr_expect_eq(seen.lines, 2);
	cr_expect_eq(seen.input_closed, half_close ? 1 : 0);
	if (half_close) {
		cr_expect_eq(seen.inactive, 0);
		gyre_context_close(gyre_channel_tail(channel));
	}
	(void)close(far);
	rig_settle(&live);
	cr_expect_eq(seen.inactive, 1);
	rig_fini(&live);
}

Test(codec_end, comes_before_a_channel_closes)
{
	expect_wait(false);
}

Test(codec_end, comes_before_the_event_of_half_closing)
{
	expect_wait(true);
}
