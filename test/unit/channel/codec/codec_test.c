/*
 * What each codec makes of a stream, in whatever pieces that comes: whole, cut at every byte, and
 * byte by byte, in slices of one, two and three bytes.
 */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "codec_kit.h"

/* Options by default. */
static const struct gyre_line_options any_line;
static const struct gyre_varint_options any_varint;
static const struct gyre_prepender_options any_prepender;

static struct codec_kit kit;

struct codec_case {
	codec_kit_add_fn add;
	const void *options;
	const char *stream;
	size_t count; /* 0 for the length of the text */
	const char *frames;
};

/* The stream in two pieces, or in pieces of @step bytes. */
static void expect_split(const struct codec_case *one, size_t first, size_t step, size_t slice)
{
	size_t count = one->count != 0 ? one->count : strlen(one->stream);

	codec_kit_add(&kit, one->add, one->options);
	if (first > 0) {
		codec_kit_feed(&kit, one->stream, first, slice);
	}
	for (size_t at = first; at < count; at += step) {
		codec_kit_feed(&kit, one->stream + at, step < count - at ? step : count - at,
			       slice);
	}
	cr_assert_str_eq(codec_kit_seen(&kit), one->frames,
			 "'%s' cut at %zu by %zu: %s, and not %s", one->stream, first, step,
			 kit.text, one->frames);
	codec_kit_remove(&kit);
	codec_kit_forget(&kit);
}

static void expect_frames(struct gyre_test *test, const struct codec_case *cases,
			  size_t cases_count)
{
	codec_kit_open(&kit, test);
	for (size_t i = 0; i < cases_count; i++) {
		size_t count = cases[i].count != 0 ? cases[i].count : strlen(cases[i].stream);

		for (size_t slice = 1; slice <= 3; slice++) {
			for (size_t first = 0; first <= count; first++) {
				expect_split(&cases[i], first, count, slice);
			}
			expect_split(&cases[i], 0, slice, slice);
		}
		expect_split(&cases[i], 0, count, count);
	}
}

KIT_TEST(codec, cuts_frames_of_one_length)
{
	static const struct gyre_fixed_options one = { .frame_bytes = 1 };
	static const struct gyre_fixed_options three = { .frame_bytes = 3 };
	const struct codec_case cases[] = {
		{ add_fixed_codec, &one, "abc", 0, "[a][b][c]" },
		{ add_fixed_codec, &three, "abcdefgh", 0, "[abc][def]" },
		{ add_fixed_codec, &three, "ab", 0, "" },
	};

	expect_frames(test, cases, gy_countof(cases));
}

KIT_TEST(codec, cuts_lines_that_end_in_either_way)
{
	static const struct gyre_line_options keep = { .keep_end = true };
	const struct codec_case cases[] = {
		{ add_line_codec, &any_line, "one\ntwo\r\n\n\r\nthr", 0, "[one][two][][]" },
		{ add_line_codec, &keep, "one\ntwo\r\n\n", 0, "[one\n][two\r\n][\n]" },
		{ add_line_codec, &any_line, "a\rb\r\r\n", 0, "[a\rb\r]" },
	};

	expect_frames(test, cases, gy_countof(cases));
}

KIT_TEST(codec, lets_lines_be_as_long_as_the_limit_and_no_longer)
{
	static const struct gyre_line_options max = { .frame_bytes_max = 3 };
	static const struct gyre_line_options late = { .frame_bytes_max = 3, .fail_late = true };
	const struct codec_case cases[] = {
		{ add_line_codec, &max, "ab\nabc\nabc\r\n", 0, "[ab][abc][abc]" },
		{ add_line_codec, &max, "abcd\nx\n", 0, "!size[x]" },
		{ add_line_codec, &max, "abc\r", 0, "" },
		{ add_line_codec, &max, "abcd", 0, "!size" },
		{ add_line_codec, &max, "abc\rd\nx\r\n", 0, "!size[x]" },
		{ add_line_codec, &late, "abcdefgh", 0, "" },
		{ add_line_codec, &late, "abcdefgh\r\nx\n", 0, "!size[x]" },
	};

	expect_frames(test, cases, gy_countof(cases));
}

static const struct gyre_span several[] = { { "--", 2 }, { ";", 1 }, { "-;", 2 }, { "end", 3 } };

KIT_TEST(codec, ends_frames_at_the_delimiter_that_is_complete_first)
{
	static const struct gyre_delimiter_options all = { .delimiters = several,
							   .delimiters_count = 4 };
	static const struct gyre_delimiter_options keep = { .delimiters = several,
							    .delimiters_count = 4,
							    .keep_delimiter = true };
	static const struct gyre_span inner[] = { { "abcd", 4 }, { "bc", 2 } };
	static const struct gyre_delimiter_options overlap = { .delimiters = inner,
							       .delimiters_count = 2 };
	const struct codec_case cases[] = {
		{ add_delimiter_codec, &all, "a--b;c-;dend--e", 0, "[a][b][c][d][]" },
		{ add_delimiter_codec, &keep, "a--b;c-;dende", 0, "[a--][b;][c-;][dend]" },
		{ add_delimiter_codec, &all, "a-b-c-", 0, "" },
		{ add_delimiter_codec, &overlap, "xabcdbc", 0, "[xa][d]" },
	};

	expect_frames(test, cases, gy_countof(cases));
}

KIT_TEST(codec, lets_delimited_frames_be_as_long_as_the_limit_and_no_longer)
{
	static const struct gyre_delimiter_options max = { .delimiters = several,
							   .delimiters_count = 4,
							   .frame_bytes_max = 3 };
	static const struct gyre_delimiter_options late = { .delimiters = several,
							    .delimiters_count = 4,
							    .frame_bytes_max = 3,
							    .fail_late = true };
	const struct codec_case cases[] = {
		{ add_delimiter_codec, &max, "ab;abc--abcend", 0, "[ab][abc][abc]" },
		{ add_delimiter_codec, &max, "abcd;x;", 0, "!size[x]" },
		{ add_delimiter_codec, &max, "abcdend--x;", 0, "!size[][x]" },
		{ add_delimiter_codec, &max, "abcde", 0, "" },
		{ add_delimiter_codec, &max, "abcdef", 0, "!size" },
		{ add_delimiter_codec, &late, "abcdefgh--x;", 0, "!size[x]" },
		{ add_delimiter_codec, &late, "abcdefgh", 0, "" },
	};

	expect_frames(test, cases, gy_countof(cases));
}

static const struct gyre_length_options whole = { .length_field_bytes = 2 };
static const struct gyre_length_options stripped = { .length_field_bytes = 2,
						     .initial_bytes_to_strip = 2 };
static const struct gyre_length_options counts_itself = { .length_field_bytes = 1,
							  .length_adjustment = -1,
							  .initial_bytes_to_strip = 1 };
static const struct gyre_length_options amid = { .length_field_offset = 1,
						 .length_field_bytes = 3,
						 .length_adjustment = 1,
						 .initial_bytes_to_strip = 4 };
static const struct gyre_length_options little = { .initial_bytes_to_strip = 4,
						   .order = GYRE_LITTLE_ENDIAN };
static const struct gyre_length_options eight = { .length_field_bytes = 8,
						  .initial_bytes_to_strip = 8 };

KIT_TEST(codec, cuts_frames_at_the_length_they_tell)
{
	const struct codec_case cases[] = {
		{ add_length_codec, &stripped, "\0\3abc\0\0\0\1d\0\2e", 12, "[abc][][d]" },
		{ add_length_codec, &counts_itself, "\4abc\1\2d", 7, "[abc][][d]" },
		{ add_length_codec, &amid, "X\0\0\2habY\0\0\0hZ", 13, "[hab][h]" },
		{ add_length_codec, &little, "\2\0\0\0ab\1\0\0\0c", 11, "[ab][c]" },
		{ add_length_codec, &eight, "\0\0\0\0\0\0\0\2ab", 10, "[ab]" },
	};

	expect_frames(test, cases, gy_countof(cases));
}

KIT_TEST(codec, leaves_headers_on_frames_unless_they_are_to_be_stripped)
{
	codec_kit_open(&kit, test);
	codec_kit_add(&kit, add_length_codec, &whole);
	codec_kit_feed(&kit, "\0\1a\0\2b", 6, 6);
	(void)gyre_tap_expect_read(kit.tap, "\0\1a", 3, 0);
	(void)gyre_tap_expect_none(kit.tap, 0);
}

KIT_TEST(codec, refuses_lengths_that_are_too_large_or_make_no_sense)
{
	static const struct gyre_length_options max = { .frame_bytes_max = 4,
							.length_field_bytes = 1,
							.initial_bytes_to_strip = 1 };
	static const struct gyre_length_options late = { .frame_bytes_max = 4,
							 .length_field_bytes = 1,
							 .initial_bytes_to_strip = 1,
							 .fail_late = true };
	static const struct gyre_length_options strip = { .length_field_bytes = 1,
							  .initial_bytes_to_strip = 3 };
	static const struct gyre_length_options over = { .length_field_bytes = 8,
							 .length_adjustment = INT32_MAX };
	static const char huge[] = "\x7f\xff\xff\xff\xff\xff\xff\xff more";
	static const char negative[] = "\xff\xff\xff\xff\xff\xff\xff\xff more";
	const struct codec_case cases[] = {
		{ add_length_codec, &max, "\2ab\3abc\1x", 9, "[ab][abc][x]" },
		{ add_length_codec, &max, "\4abcd\1x", 7, "!size[x]" },
		{ add_length_codec, &max, "\4", 1, "!size" },
		{ add_length_codec, &late, "\4abc", 4, "" },
		{ add_length_codec, &late, "\4abcd\1x", 7, "!size[x]" },
		{ add_length_codec, &counts_itself, "\0abc\1\2d", 7, "!proto" },
		{ add_length_codec, &strip, "\2ab\1x\2ab", 8, "[]!proto" },
		{ add_length_codec, &eight, negative, 13, "!proto" },
		{ add_length_codec, &eight, huge, 13, "!size" },
		{ add_length_codec, &over, huge, 13, "!size" },
	};

	expect_frames(test, cases, gy_countof(cases));
}

KIT_TEST(codec, cuts_frames_at_lengths_of_variable_length)
{
	static const struct gyre_varint_options max = { .frame_bytes_max = 3 };
	static const struct gyre_varint_options late = { .frame_bytes_max = 3, .fail_late = true };
	const struct codec_case cases[] = {
		{ add_varint_codec, &any_varint, "\3abc\0\1d\2e", 9, "[abc][][d]" },
		{ add_varint_codec, &any_varint, "\x82\0ab\x81\x80\x80\x80\0c", 10, "[ab][c]" },
		{ add_varint_codec, &any_varint, "\x80\x80\x80\x80\x80\0", 6, "!proto" },
		{ add_varint_codec, &any_varint, "\x80\x80\x80\x80\x10", 5, "!proto" },
		{ add_varint_codec, &any_varint, "\xff\xff\xff\xff\x0f", 5, "!size" },
		{ add_varint_codec, &any_varint, "\xff\xff\xff\xff", 4, "" },
		{ add_varint_codec, &max, "\2ab\3abc\4abcd\1x", 14, "[ab][abc]!size[x]" },
		{ add_varint_codec, &late, "\4abc", 4, "" },
		{ add_varint_codec, &late, "\4abcd\1x", 7, "!size[x]" },
	};

	expect_frames(test, cases, gy_countof(cases));
}

KIT_TEST(codec, refuses_options_that_are_out_of_their_bounds)
{
	static const struct gyre_fixed_options fixed = { .frame_bytes = GYRE_FRAME_BYTES_MAX + 1 };
	static const struct gyre_line_options line = { .frame_bytes_max =
							       GYRE_FRAME_BYTES_MAX + 1 };
	static const struct gyre_line_options unknown_end = { .unterminated =
								      GYRE_UNTERMINATED_FAIL + 1 };
	static const struct gyre_span empty = { "", 0 };
	static const struct gyre_delimiter_options delimiters[] = {
		{ .delimiters_count = 1 },
		{ .delimiters = several },
		{ .delimiters = several, .delimiters_count = GYRE_DELIMITERS_MAX + 1 },
		{ .delimiters = &empty, .delimiters_count = 1 },
		{ .delimiters = several,
		  .delimiters_count = 1,
		  .frame_bytes_max = GYRE_FRAME_BYTES_MAX + 1 },
		{ .delimiters = several,
		  .delimiters_count = 1,
		  .unterminated = GYRE_UNTERMINATED_FAIL + 1 },
	};
	static const struct gyre_length_options lengths[] = {
		{ .length_field_bytes = 5 },
		{ .length_field_bytes = 9 },
		{ .frame_bytes_max = 3 },
		{ .frame_bytes_max = 8, .length_field_offset = 5 },
		{ .frame_bytes_max = GYRE_FRAME_BYTES_MAX + 1 },
		{ .length_field_offset = SIZE_MAX },
	};
	static const struct gyre_prepender_options prepender = { .length_field_bytes = 7 };
	static const struct gyre_varint_options varint = { .frame_bytes_max = SIZE_MAX };

	codec_kit_open(&kit, test);
	cr_expect_eq(codec_kit_try(&kit, add_fixed_codec, &fixed), -EINVAL);
	cr_expect_eq(codec_kit_try(&kit, add_fixed_codec, NULL), -EINVAL);
	cr_expect_eq(codec_kit_try(&kit, add_line_codec, &line), -EINVAL);
	cr_expect_eq(codec_kit_try(&kit, add_line_codec, &unknown_end), -EINVAL);
	cr_expect_eq(codec_kit_try(&kit, add_delimiter_codec, NULL), -EINVAL);
	for (size_t i = 0; i < gy_countof(delimiters); i++) {
		cr_expect_eq(codec_kit_try(&kit, add_delimiter_codec, &delimiters[i]), -EINVAL);
	}
	for (size_t i = 0; i < gy_countof(lengths); i++) {
		cr_expect_eq(codec_kit_try(&kit, add_length_codec, &lengths[i]), -EINVAL);
	}
	cr_expect_eq(codec_kit_try(&kit, add_length_prepender, &prepender), -EINVAL);
	cr_expect_eq(codec_kit_try(&kit, add_varint_codec, &varint), -EINVAL);
}

/* ---- writing ---- */

static int write_text(const char *text)
{
	return codec_kit_write(&kit, text, 3);
}

static void expect_output(codec_kit_add_fn add, const void *options, const char *expected,
			  size_t count)
{
	codec_kit_add(&kit, add, options);
	cr_expect_eq(write_text("hello"), 0);
	(void)gyre_test_channel_expect(kit.peer, expected, count, GYRE_SECONDS(1));
	(void)gyre_test_channel_expect_none(kit.peer, GYRE_MILLISECONDS(1));
	codec_kit_remove(&kit);
}

KIT_TEST(codec, frames_what_is_written)
{
	static const struct gyre_line_options lf = { .append = GYRE_APPEND_LF };
	static const struct gyre_line_options crlf = { .append = GYRE_APPEND_CRLF };
	static const struct gyre_delimiter_options append = { .delimiters = several,
							      .delimiters_count = 2,
							      .append = true };
	static const struct gyre_delimiter_options leave = { .delimiters = several,
							     .delimiters_count = 2 };
	static const struct gyre_prepender_options three = { .length_field_bytes = 3,
							     .order = GYRE_LITTLE_ENDIAN };
	static const struct gyre_prepender_options itself = { .length_field_bytes = 1,
							      .length_includes_field = true,
							      .length_adjustment = 2 };

	codec_kit_open(&kit, test);
	expect_output(add_line_codec, &any_line, "hello", 5);
	expect_output(add_line_codec, &lf, "hello\n", 6);
	expect_output(add_line_codec, &crlf, "hello\r\n", 7);
	expect_output(add_delimiter_codec, &append, "hello--", 7);
	expect_output(add_delimiter_codec, &leave, "hello", 5);
	expect_output(add_length_prepender, &any_prepender, "\0\0\0\5hello", 9);
	expect_output(add_length_prepender, &three, "\5\0\0hello", 8);
	expect_output(add_length_prepender, &itself, "\10hello", 6);
	expect_output(add_varint_codec, &any_varint, "\5hello", 6);
}

KIT_TEST(codec, refuses_to_write_a_length_that_does_not_fit)
{
	static const struct gyre_prepender_options fits = { .length_field_bytes = 1,
							    .length_adjustment = 250 };
	static const struct gyre_prepender_options large = { .length_field_bytes = 1,
							     .length_adjustment = 251 };
	static const struct gyre_prepender_options negative = { .length_adjustment = -6 };

	codec_kit_open(&kit, test);
	expect_output(add_length_prepender, &fits, "\377hello", 6);
	codec_kit_add(&kit, add_length_prepender, &large);
	cr_expect_eq(write_text("hello"), -EMSGSIZE);
	codec_kit_remove(&kit);
	codec_kit_add(&kit, add_length_prepender, &negative);
	cr_expect_eq(write_text("hello"), -EINVAL);
}

KIT_TEST(codec, writes_empty_frames)
{
	codec_kit_open(&kit, test);
	codec_kit_add(&kit, add_varint_codec, NULL);
	cr_expect_eq(write_text(""), 0);
	(void)gyre_test_channel_expect(kit.peer, "", 1, GYRE_SECONDS(1));
}
