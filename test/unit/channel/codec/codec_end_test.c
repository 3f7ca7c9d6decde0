/*
 * What codecs make of the end of a stream: of what is left by then, and when handlers behind hear
 * of the end.
 */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "codec_kit.h"

static struct codec_kit kit;

static void begin_lines(struct gyre_test *test)
{
	codec_kit_open(&kit, test);
	codec_kit_add(&kit, add_line_codec, NULL);
}

static void feed(const char *text)
{
	codec_kit_feed(&kit, text, strlen(text), strlen(text));
}

/* With a full stop where the end has come. */
static void expect(const char *frames)
{
	cr_expect_str_eq(codec_kit_seen(&kit), frames, "%s, and not %s", kit.text, frames);
}

/* ---- what is left ---- */

struct end_case {
	codec_kit_add_fn add;
	const void *options;
	const char *stream;
	size_t count;
	const char *frames;
};

#define STREAM(TEXT) (TEXT), sizeof(TEXT) - 1

/* All at once, in two pieces, and byte by byte. */
static void expect_end(struct gyre_test *test, const struct end_case *one, size_t first,
		       size_t step)
{
	codec_kit_open(&kit, test);
	codec_kit_add(&kit, one->add, one->options);
	if (first > 0) {
		codec_kit_feed(&kit, one->stream, first, first);
	}
	for (size_t at = first; at < one->count; at += step) {
		size_t count = step < one->count - at ? step : one->count - at;

		codec_kit_feed(&kit, one->stream + at, count, count);
	}
	codec_kit_end(&kit);
	expect(one->frames);
	gyre_test_channel_close(kit.peer);
	gyre_test_advance(test, GYRE_MILLISECONDS(1));
}

static void expect_ends(struct gyre_test *test, const struct end_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		expect_end(test, &cases[i], 0, 1);
		for (size_t first = 0; first <= cases[i].count; first++) {
			expect_end(test, &cases[i], first, cases[i].count);
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

KIT_TEST(codec_end, of_a_frame_that_was_cut_off_is_an_error)
{
	static const struct end_case cases[] = {
		{ add_fixed_codec, &three, STREAM("abc"), "[abc]." },
		{ add_fixed_codec, &three, STREAM("abcd"), "[abc]!proto." },
		{ add_length_codec, &byte_long, STREAM("\3abc"), "[abc]." },
		{ add_length_codec, &byte_long, STREAM("\3abc\3ab"), "[abc]!proto." },
		{ add_length_codec, &byte_long, STREAM("\1a\2"), "[a]!proto." },
		{ add_varint_codec, &varint, STREAM("\2ab"), "[ab]." },
		{ add_varint_codec, &varint, STREAM("\2ab\2a"), "[ab]!proto." },
		{ add_varint_codec, &varint, STREAM("\2ab\200"), "[ab]!proto." },
	};

	expect_ends(test, cases, gy_countof(cases));
}

KIT_TEST(codec_end, of_a_frame_that_is_too_long_is_told_once)
{
	static const struct end_case cases[] = {
		{ add_length_codec, &byte_long, STREAM("\1a\100abc"), "[a]!size." },
		{ add_length_codec, &byte_long_late, STREAM("\1a\100abc"), "[a]!size." },
		{ add_length_codec, &byte_long_late, STREAM("\1a\100"), "[a]!size." },
		{ add_length_codec, &byte_long_late, STREAM("\4abcd\1a"), "!size[a]." },
		{ add_length_codec, &byte_long, STREAM("\300"), "!size." },
	};

	expect_ends(test, cases, gy_countof(cases));
}

static const struct gyre_line_options delivers = { .frame_bytes_max = 4 };
static const struct gyre_line_options keeps = { .frame_bytes_max = 4, .keep_end = true };
static const struct gyre_line_options late = { .frame_bytes_max = 4, .fail_late = true };
static const struct gyre_line_options drops = { .frame_bytes_max = 4,
						.unterminated = GYRE_UNTERMINATED_DROP };
static const struct gyre_line_options fails = { .frame_bytes_max = 4,
						.unterminated = GYRE_UNTERMINATED_FAIL };

KIT_TEST(codec_end, of_a_line_that_nothing_ends_is_as_the_options_say)
{
	static const struct end_case cases[] = {
		{ add_line_codec, &delivers, STREAM(""), "." },
		{ add_line_codec, &delivers, STREAM("a\nb\n"), "[a][b]." },
		{ add_line_codec, &delivers, STREAM("a\nb"), "[a][b]." },
		{ add_line_codec, &delivers, STREAM("a\n\nbcde"), "[a][][bcde]." },
		{ add_line_codec, &delivers, STREAM("a\r"), "[a\r]." },
		{ add_line_codec, &keeps, STREAM("a\r\nb"), "[a\r\n][b]." },
		{ add_line_codec, &drops, STREAM("a\nb"), "[a]." },
		{ add_line_codec, &fails, STREAM("a\nb"), "[a]!proto." },
		{ add_line_codec, &fails, STREAM("a\n"), "[a]." },
	};

	expect_ends(test, cases, gy_countof(cases));
}

KIT_TEST(codec_end, of_a_line_that_is_too_long_is_told_once)
{
	static const struct end_case cases[] = {
		{ add_line_codec, &delivers, STREAM("abcd\r"), "!size." },
		{ add_line_codec, &drops, STREAM("abcd\r"), "!size." },
		{ add_line_codec, &delivers, STREAM("abcdefgh"), "!size." },
		{ add_line_codec, &late, STREAM("abcdefgh"), "!size." },
		{ add_line_codec, &late, STREAM("abcdefgh\na"), "!size[a]." },
		{ add_line_codec, &late, STREAM("abcd\r"), "!size." },
	};

	expect_ends(test, cases, gy_countof(cases));
}

static const struct gyre_span ends[] = { { "--", 2 }, { "<end>", 5 } };
#define ENDS .delimiters = ends, .delimiters_count = gy_countof(ends), .frame_bytes_max = 6
static const struct gyre_delimiter_options between = { ENDS };
static const struct gyre_delimiter_options between_drops = { ENDS, .unterminated =
									   GYRE_UNTERMINATED_DROP };
static const struct gyre_delimiter_options between_fails = { ENDS, .unterminated =
									   GYRE_UNTERMINATED_FAIL };
static const struct gyre_delimiter_options between_late = { ENDS, .fail_late = true };

KIT_TEST(codec_end, of_a_frame_without_its_delimiter_is_as_the_options_say)
{
	static const struct end_case cases[] = {
		{ add_delimiter_codec, &between, STREAM("a--b<end>"), "[a][b]." },
		{ add_delimiter_codec, &between, STREAM("a--b<end"), "[a][b<end]." },
		{ add_delimiter_codec, &between, STREAM("a--b-"), "[a][b-]." },
		{ add_delimiter_codec, &between_drops, STREAM("a--b-"), "[a]." },
		{ add_delimiter_codec, &between_fails, STREAM("a--b-"), "[a]!proto." },
		{ add_delimiter_codec, &between, STREAM("abc<end"), "!size." },
		{ add_delimiter_codec, &between, STREAM("abcdefghijklmnop"), "!size." },
		{ add_delimiter_codec, &between_late, STREAM("abcdefghijklmnop"), "!size." },
	};

	expect_ends(test, cases, gy_countof(cases));
}

KIT_TEST(codec_end, of_a_stream_that_was_given_up_is_no_second_error)
{
	codec_kit_open(&kit, test);
	codec_kit_add(&kit, add_varint_codec, &varint);
	feed("\xff\xff\xff\xff\xff\xff");
	feed("more");
	codec_kit_end(&kit);
	expect("!proto.");
}

/* ---- who hears of it, and when ---- */

KIT_TEST(codec_end, is_not_told_when_its_error_closes_the_channel)
{
	codec_kit_open(&kit, test);
	codec_kit_add(&kit, add_fixed_codec, &three);
	kit.pass_errors = true;
	feed("abcd");
	codec_kit_end(&kit);
	(void)gyre_tap_expect_text(kit.tap, "abc");
	(void)gyre_tap_expect_exception(kit.tap, -EPROTO, 0);
	(void)gyre_tap_expect_inactive(kit.tap, -EPROTO, GYRE_SECONDS(1));
}

static void close_channel(struct codec_kit *k, struct gyre_handler_context *ctx)
{
	(void)k;
	gyre_context_close(ctx);
}

KIT_TEST(codec_end, is_not_told_when_the_last_frame_closes_the_channel)
{
	begin_lines(test);
	kit.on_frame = close_channel;
	feed("a");
	codec_kit_end(&kit);
	expect("[a]");
}

KIT_TEST(codec_end, waits_behind_a_last_frame_until_that_is_asked_for)
{
	const struct gyre_channel_options on_request = { .manual_read = true };

	codec_kit_open_with(&kit, test, &on_request);
	codec_kit_add(&kit, add_line_codec, NULL);
	codec_kit_ask(&kit);
	feed("a\nb");
	codec_kit_end(&kit);
	expect("[a]");
	gyre_test_advance(test, GYRE_SECONDS(60));
	expect("[a]");
	codec_kit_ask(&kit);
	expect("[a][b].");
}

static void fill_once(struct codec_kit *k, struct gyre_handler_context *ctx)
{
	static const char bytes[1 << 20]; /* for which no socket has room */
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	k->on_frame = NULL;
	cr_assert_eq(gyre_buffer_append(buffer, bytes, sizeof(bytes)), 0);
	cr_assert_eq(gyre_context_write(ctx, buffer), 0);
}

KIT_TEST(codec_end, waits_behind_a_last_frame_while_output_is_over_its_mark)
{
	const struct gyre_channel_options low_marks = { .write_low_bytes = 1000,
							.write_high_bytes = 4000 };

	codec_kit_open_with(&kit, test, &low_marks);
	codec_kit_add(&kit, add_line_codec, NULL);
	kit.on_frame = fill_once;
	feed("a\nb");
	codec_kit_end(&kit);
	gyre_test_advance(test, GYRE_SECONDS(1));
	expect("[a]");
	codec_kit_drain_output(&kit);
	expect("[a][b].");
}

static int add_behind(struct gyre_channel *channel, struct gyre_position position,
		      const void *options)
{
	position.name = NULL;
	return gyre_fixed_codec_add(channel, position, (const struct gyre_fixed_options *)options);
}

KIT_TEST(codec_end, goes_through_two_codecs_behind_the_last_frames_of_both)
{
	static const struct gyre_fixed_options two = { .frame_bytes = 2 };

	begin_lines(test);
	codec_kit_add(&kit, add_behind, &two);
	feed("abc\nde");
	expect("[ab]");
	codec_kit_end(&kit);
	expect("[ab][cd]!proto.");
}

static void remove_codec(struct codec_kit *k, struct gyre_handler_context *ctx)
{
	(void)k;
	cr_assert_eq(gyre_pipeline_remove(gyre_context_channel(ctx), "tested"), 0);
}

KIT_TEST(codec_end, is_told_once_though_the_last_frame_removes_the_codec)
{
	begin_lines(test);
	kit.on_frame = remove_codec;
	feed("a");
	codec_kit_end(&kit);
	expect("[a].");
}
