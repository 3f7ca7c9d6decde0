/*
 * What codecs make of the end of a stream: of what is left by then, and when handlers behind hear
 * of the end.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../rig.h"
#include "codec_rig.h"

TestSuite(codec_end, .timeout = 60);

static struct codec_rig rig;

static void begin(void)
{
	codec_rig_init(&rig);
}

static void begin_lines(void)
{
	begin();
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
	if (read_ends > 0) {
		cr_expect_eq(rig.ended_at, rig.log.events_count, "the end comes last");
	}
}

/* ---- what is left ---- */

struct end_case {
	const struct gyre_handler *handler;
	const void *options;
	const char *stream;
	size_t count;
	const char *frames;
};

#define STREAM(TEXT) (TEXT), sizeof(TEXT) - 1

/* All at once, in two pieces, and byte by byte. */
static void expect_end(const struct end_case *one, size_t first, size_t step)
{
	cr_assert_eq(codec_rig_add(&rig, one->handler, one->options), 0);
	if (first > 0) {
		codec_rig_feed(&rig, one->stream, first, first);
	}
	for (size_t at = first; at < one->count; at += step) {
		size_t count = step < one->count - at ? step : one->count - at;

		codec_rig_feed(&rig, one->stream + at, count, count);
	}
	codec_rig_end(&rig);
	expect(one->frames, 1);
	cr_expect(gy_list_empty(&rig.channel.deferred_list));
	codec_rig_reset(&rig);
}

static void expect_ends(const struct end_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		expect_end(&cases[i], 0, 1);
		for (size_t first = 0; first <= cases[i].count; first++) {
			expect_end(&cases[i], first, cases[i].count);
		}
	}
}

static const struct gyre_fixed_options three = { .frame_bytes = 3 };
static const struct gyre_length_options byte_long = { .length_field_bytes = 1,
						      .frame_bytes_max = 4,
						      .initial_bytes_to_strip = 1 };
static const struct gyre_length_options byte_long_late = { .length_field_bytes = 1,
							   .frame_bytes_max = 4,
							   .initial_bytes_to_strip = 1,
							   .fail_late = true };
static const struct gyre_varint_options varint = { .frame_bytes_max = 3 };

Test(codec_end, of_a_frame_that_was_cut_off_is_an_error, .init = begin, .fini = end)
{
	static const struct end_case cases[] = {
		{ &gy_fixed_handler, &three, STREAM("abc"), "[abc]" },
		{ &gy_fixed_handler, &three, STREAM("abcd"), "[abc]!proto" },
		{ &gy_length_handler, &byte_long, STREAM("\3abc"), "[abc]" },
		{ &gy_length_handler, &byte_long, STREAM("\3abc\3ab"), "[abc]!proto" },
		{ &gy_length_handler, &byte_long, STREAM("\1a\2"), "[a]!proto" },
		{ &gy_varint_handler, &varint, STREAM("\2ab"), "[ab]" },
		{ &gy_varint_handler, &varint, STREAM("\2ab\2a"), "[ab]!proto" },
		{ &gy_varint_handler, &varint, STREAM("\2ab\200"), "[ab]!proto" },
	};

	expect_ends(cases, gy_countof(cases));
}

Test(codec_end, of_a_frame_that_is_too_long_is_told_once, .init = begin, .fini = end)
{
	static const struct end_case cases[] = {
		{ &gy_length_handler, &byte_long, STREAM("\1a\100abc"), "[a]!size" },
		{ &gy_length_handler, &byte_long_late, STREAM("\1a\100abc"), "[a]!size" },
		{ &gy_length_handler, &byte_long_late, STREAM("\1a\100"), "[a]!size" },
		{ &gy_length_handler, &byte_long_late, STREAM("\4abcd\1a"), "!size[a]" },
		{ &gy_length_handler, &byte_long, STREAM("\300"), "!size" },
	};

	expect_ends(cases, gy_countof(cases));
}

static const struct gyre_line_options delivers = { .frame_bytes_max = 4 };
static const struct gyre_line_options keeps = { .frame_bytes_max = 4, .keep_end = true };
static const struct gyre_line_options late = { .frame_bytes_max = 4, .fail_late = true };
static const struct gyre_line_options drops = { .frame_bytes_max = 4,
						.unterminated = GYRE_UNTERMINATED_DROP };
static const struct gyre_line_options fails = { .frame_bytes_max = 4,
						.unterminated = GYRE_UNTERMINATED_FAIL };

Test(codec_end, of_a_line_that_nothing_ends_is_as_the_options_say, .init = begin, .fini = end)
{
	static const struct end_case cases[] = {
		{ &gy_line_handler, &delivers, STREAM(""), "" },
		{ &gy_line_handler, &delivers, STREAM("a\nb\n"), "[a][b]" },
		{ &gy_line_handler, &delivers, STREAM("a\nb"), "[a][b]" },
		{ &gy_line_handler, &delivers, STREAM("a\n\nbcde"), "[a][][bcde]" },
		{ &gy_line_handler, &delivers, STREAM("a\r"), "[a\r]" },
		{ &gy_line_handler, &keeps, STREAM("a\r\nb"), "[a\r\n][b]" },
		{ &gy_line_handler, &drops, STREAM("a\nb"), "[a]" },
		{ &gy_line_handler, &fails, STREAM("a\nb"), "[a]!proto" },
		{ &gy_line_handler, &fails, STREAM("a\n"), "[a]" },
	};

	expect_ends(cases, gy_countof(cases));
}

Test(codec_end, of_a_line_that_is_too_long_is_told_once, .init = begin, .fini = end)
{
	static const struct end_case cases[] = {
		{ &gy_line_handler, &delivers, STREAM("abcd\r"), "!size" },
		{ &gy_line_handler, &drops, STREAM("abcd\r"), "!size" },
		{ &gy_line_handler, &delivers, STREAM("abcdefgh"), "!size" },
		{ &gy_line_handler, &late, STREAM("abcdefgh"), "!size" },
		{ &gy_line_handler, &late, STREAM("abcdefgh\na"), "!size[a]" },
		{ &gy_line_handler, &late, STREAM("abcd\r"), "!size" },
	};

	expect_ends(cases, gy_countof(cases));
}

static const struct gyre_span ends[] = { { "--", 2 }, { "<end>", 5 } };
#define ENDS .delimiters = ends, .delimiters_count = gy_countof(ends), .frame_bytes_max = 6
static const struct gyre_delimiter_options between = { ENDS };
static const struct gyre_delimiter_options between_drops = { ENDS, .unterminated =
									   GYRE_UNTERMINATED_DROP };
static const struct gyre_delimiter_options between_fails = { ENDS, .unterminated =
									   GYRE_UNTERMINATED_FAIL };
static const struct gyre_delimiter_options between_late = { ENDS, .fail_late = true };

Test(codec_end, of_a_frame_without_its_delimiter_is_as_the_options_say, .init = begin, .fini = end)
{
	static const struct end_case cases[] = {
		{ &gy_delimiter_handler, &between, STREAM("a--b<end>"), "[a][b]" },
		{ &gy_delimiter_handler, &between, STREAM("a--b<end"), "[a][b<end]" },
		{ &gy_delimiter_handler, &between, STREAM("a--b-"), "[a][b-]" },
		{ &gy_delimiter_handler, &between_drops, STREAM("a--b-"), "[a]" },
		{ &gy_delimiter_handler, &between_fails, STREAM("a--b-"), "[a]!proto" },
		{ &gy_delimiter_handler, &between, STREAM("abc<end"), "!size" },
		{ &gy_delimiter_handler, &between, STREAM("abcdefghijklmnop"), "!size" },
		{ &gy_delimiter_handler, &between_late, STREAM("abcdefghijklmnop"), "!size" },
	};

	expect_ends(cases, gy_countof(cases));
}

Test(codec_end, of_a_stream_that_was_given_up_is_no_second_error, .init = begin, .fini = end)
{
	cr_assert_eq(codec_rig_add(&rig, &gy_varint_handler, &varint), 0);
	feed("\xff\xff\xff\xff\xff\xff");
	feed("more");
	codec_rig_end(&rig);
	expect("!proto", 1);
}

/* ---- who hears of it, and when ---- */

Test(codec_end, is_not_told_when_its_error_closes_the_channel, .init = begin, .fini = end)
{
	cr_assert_eq(codec_rig_add(&rig, &gy_fixed_handler, &three), 0);
	rig.pass_errors = true;
	feed("abcd");
	codec_rig_end(&rig);
	expect("[abc]!proto", 0);
	cr_expect_eq(rig.channel.reason, -EPROTO);
}

static void close_channel(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	(void)ctx;
	codec_rig_stage(r, GY_CHANNEL_CLOSING);
}

Test(codec_end, is_not_told_when_the_last_frame_closes_the_channel, .init = begin_lines,
     .fini = end)
{
	rig.on_frame = close_channel;
	feed("a");
	codec_rig_end(&rig);
	expect("[a]", 0);
}

Test(codec_end, waits_behind_a_last_frame_until_that_is_asked_for, .init = begin_lines, .fini = end)
{
	codec_rig_flags(&rig, GY_INPUT_MANUAL, 0);
	feed("a\nb");
	codec_rig_end(&rig);
	expect("[a]", 0);
	codec_rig_run(&rig);
	expect("[a]", 0);
	gyre_context_read(gyre_channel_tail(&rig.channel));
	codec_rig_run(&rig);
	expect("[a][b]", 1);
}

Test(codec_end, waits_behind_a_last_frame_while_output_is_over_its_mark, .init = begin_lines,
     .fini = end)
{
	feed("a\nb");
	codec_rig_flags(&rig, GY_NO_READ_PAUSED, 0);
	codec_rig_end(&rig);
	expect("[a]", 0);
	codec_rig_flags(&rig, 0, GY_NO_READ_PAUSED);
	codec_rig_run(&rig);
	expect("[a][b]", 1);
}

Test(codec_end, goes_through_two_codecs_behind_the_last_frames_of_both, .init = begin_lines,
     .fini = end)
{
	static const struct gyre_fixed_options two = { .frame_bytes = 2 };

	cr_assert_eq(gyre_fixed_codec_add(&rig.channel, GYRE_BEFORE("last"), &two), 0);
	feed("abc\nde");
	expect("[ab]", 0);
	codec_rig_end(&rig);
	expect("[ab][cd]!proto", 1);
}

static void remove_codec(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	(void)ctx;
	cr_assert_eq(gyre_pipeline_remove(&r->channel, "line"), 0);
}

Test(codec_end, is_told_once_though_the_last_frame_removes_the_codec, .init = begin_lines,
     .fini = end)
{
	rig.on_frame = remove_codec;
	feed("a");
	codec_rig_end(&rig);
	expect("[a]", 1);
}

Test(codec_end, goes_to_the_successor_behind_the_bytes_that_waited, .init = begin_lines,
     .fini = end)
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

Test(codec_end, is_dropped_with_what_waits_when_the_channel_closes, .init = begin_lines,
     .fini = end)
{
	feed("ab");
	codec_rig_flags(&rig, GY_NO_READ_PAUSED, 0);
	codec_rig_end(&rig);
	codec_rig_stage(&rig, GY_CHANNEL_ABORTED);
	codec_rig_run(&rig);
	expect("", 0);
}

/* ---- with a socket ---- */

struct live {
	uint32_t lines;
	uint32_t input_closed;
	uint32_t inactive;
};

static struct rig sockets;

static void count_line(struct gyre_handler_context *ctx, struct gyre_buffer *data)
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

static const struct gyre_handler counting = {
	.name = "counting",
	.read = count_line,
	.event = count_end,
	.inactive = count_inactive,
};
static const struct gyre_handler *const counting_only[] = { &counting, NULL };

static void expect_wait(bool half_close)
{
	const struct gyre_channel_options options = { .allow_half_close = half_close };
	struct live live = { 0 };
	struct gyre_channel *channel;
	int far;

	rig_init(&sockets, NULL);
	far = rig_open(&sockets, counting_only, &live, &options, &channel);
	cr_assert_eq(gyre_line_codec_add(channel, GYRE_FIRST, NULL), 0);
	cr_assert_eq(write(far, "a\nb", 3), 3);
	cr_assert_eq(shutdown(far, SHUT_WR), 0);
	rig_settle(&sockets);
	cr_expect_eq(live.lines, 1);
	cr_expect_eq(live.input_closed, 0);
	cr_expect_eq(live.inactive, 0);
	gyre_context_read(gyre_channel_tail(channel));
	rig_settle(&sockets);
	cr_expect_eq(live.lines, 2);
	cr_expect_eq(live.input_closed, half_close ? 1 : 0);
	if (half_close) {
		cr_expect_eq(live.inactive, 0);
		gyre_context_close(gyre_channel_tail(channel));
	}
	(void)close(far);
	rig_settle(&sockets);
	cr_expect_eq(live.inactive, 1);
	rig_fini(&sockets);
}

Test(codec_end, comes_before_a_channel_closes)
{
	expect_wait(false);
}

Test(codec_end, comes_before_the_event_of_half_closing)
{
	expect_wait(true);
}
