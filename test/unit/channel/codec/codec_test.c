/*
 * What each codec makes of a stream, in whatever pieces that comes: whole, cut at every byte, and
 * byte by byte, in slices of one, two and three bytes.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "codec_rig.h"

TestSuite(codec, .timeout = 60);

/* Options by default. */
static const struct gyre_line_options any_line;
static const struct gyre_varint_options any_varint;
static const struct gyre_prepender_options any_prepender;

static struct codec_rig rig;

enum { TEXT_BYTES = 4096 };

static void begin(void)
{
	codec_rig_init(&rig);
}

static void end(void)
{
	codec_rig_fini(&rig);
}

struct codec_case {
	const struct gyre_handler *handler;
	const void *options;
	const char *stream;
	size_t count; /* 0 for the length of the text */
	const char *frames;
};

/* The stream in two pieces, or in pieces of @step bytes. */
static void expect_split(const struct codec_case *one, size_t first, size_t step, size_t slice)
{
	size_t count = one->count != 0 ? one->count : strlen(one->stream);

	memset(&rig.log, 0, sizeof(rig.log));
	cr_assert_eq(codec_rig_add(&rig, one->handler, one->options), 0);
	if (first > 0) {
		codec_rig_feed(&rig, one->stream, first, slice);
	}
	for (size_t at = first; at < count; at += step) {
		codec_rig_feed(&rig, one->stream + at, step < count - at ? step : count - at,
			       slice);
	}
	cr_assert_str_eq(codec_log_text(&rig.log), one->frames,
			 "%s of '%s' cut at %zu by %zu: %s, and not %s", one->handler->name,
			 one->stream, first, step, codec_log_text(&rig.log), one->frames);
	/* What it keeps is not to reach the last handler. */
	codec_rig_stage(&rig, GY_CHANNEL_ABORTED);
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, one->handler->name), 0);
	codec_rig_stage(&rig, GY_CHANNEL_OPEN);
	codec_rig_run(&rig);
}

static void expect_frames(const struct codec_case *cases, size_t cases_count)
{
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

Test(codec, cuts_frames_of_one_length, .init = begin, .fini = end)
{
	static const struct gyre_fixed_options one = { .frame_bytes = 1 };
	static const struct gyre_fixed_options three = { .frame_bytes = 3 };
	const struct codec_case cases[] = {
		{ &gy_fixed_handler, &one, "abc", 0, "[a][b][c]" },
		{ &gy_fixed_handler, &three, "abcdefgh", 0, "[abc][def]" },
		{ &gy_fixed_handler, &three, "ab", 0, "" },
	};

	expect_frames(cases, gy_countof(cases));
}

Test(codec, cuts_lines_that_end_in_either_way, .init = begin, .fini = end)
{
	static const struct gyre_line_options keep = { .keep_end = true };
	const struct codec_case cases[] = {
		{ &gy_line_handler, &any_line, "one\ntwo\r\n\n\r\nthr", 0, "[one][two][][]" },
		{ &gy_line_handler, &keep, "one\ntwo\r\n\n", 0, "[one\n][two\r\n][\n]" },
		{ &gy_line_handler, &any_line, "a\rb\r\r\n", 0, "[a\rb\r]" },
	};

	expect_frames(cases, gy_countof(cases));
}

Test(codec, lets_lines_be_as_long_as_the_limit_and_no_longer, .init = begin, .fini = end)
{
	static const struct gyre_line_options max = { .frame_bytes_max = 3 };
	static const struct gyre_line_options late = { .frame_bytes_max = 3, .fail_late = true };
	const struct codec_case cases[] = {
		{ &gy_line_handler, &max, "ab\nabc\nabc\r\n", 0, "[ab][abc][abc]" },
		{ &gy_line_handler, &max, "abcd\nx\n", 0, "!size[x]" },
		{ &gy_line_handler, &max, "abc\r", 0, "" },
		{ &gy_line_handler, &max, "abcd", 0, "!size" },
		{ &gy_line_handler, &max, "abc\rd\nx\r\n", 0, "!size[x]" },
		{ &gy_line_handler, &late, "abcdefgh", 0, "" },
		{ &gy_line_handler, &late, "abcdefgh\r\nx\n", 0, "!size[x]" },
	};

	expect_frames(cases, gy_countof(cases));
}

static const struct gyre_span several[] = { { "--", 2 }, { ";", 1 }, { "-;", 2 }, { "end", 3 } };

Test(codec, ends_frames_at_the_delimiter_that_is_complete_first, .init = begin, .fini = end)
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
		{ &gy_delimiter_handler, &all, "a--b;c-;dend--e", 0, "[a][b][c][d][]" },
		{ &gy_delimiter_handler, &keep, "a--b;c-;dende", 0, "[a--][b;][c-;][dend]" },
		{ &gy_delimiter_handler, &all, "a-b-c-", 0, "" },
		{ &gy_delimiter_handler, &overlap, "xabcdbc", 0, "[xa][d]" },
	};

	expect_frames(cases, gy_countof(cases));
}

Test(codec, lets_delimited_frames_be_as_long_as_the_limit_and_no_longer, .init = begin, .fini = end)
{
	static const struct gyre_delimiter_options max = { .delimiters = several,
							   .delimiters_count = 4,
							   .frame_bytes_max = 3 };
	static const struct gyre_delimiter_options late = { .delimiters = several,
							    .delimiters_count = 4,
							    .frame_bytes_max = 3,
							    .fail_late = true };
	const struct codec_case cases[] = {
		{ &gy_delimiter_handler, &max, "ab;abc--abcend", 0, "[ab][abc][abc]" },
		{ &gy_delimiter_handler, &max, "abcd;x;", 0, "!size[x]" },
		{ &gy_delimiter_handler, &max, "abcdend--x;", 0, "!size[][x]" },
		{ &gy_delimiter_handler, &max, "abcde", 0, "" },
		{ &gy_delimiter_handler, &max, "abcdef", 0, "!size" },
		{ &gy_delimiter_handler, &late, "abcdefgh--x;", 0, "!size[x]" },
		{ &gy_delimiter_handler, &late, "abcdefgh", 0, "" },
	};

	expect_frames(cases, gy_countof(cases));
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

Test(codec, cuts_frames_at_the_length_they_tell, .init = begin, .fini = end)
{
	const struct codec_case cases[] = {
		{ &gy_length_handler, &stripped, "\0\3abc\0\0\0\1d\0\2e", 12, "[abc][][d]" },
		{ &gy_length_handler, &counts_itself, "\4abc\1\2d", 7, "[abc][][d]" },
		{ &gy_length_handler, &amid, "X\0\0\2habY\0\0\0hZ", 13, "[hab][h]" },
		{ &gy_length_handler, &little, "\2\0\0\0ab\1\0\0\0c", 11, "[ab][c]" },
		{ &gy_length_handler, &eight, "\0\0\0\0\0\0\0\2ab", 10, "[ab]" },
	};

	expect_frames(cases, gy_countof(cases));
}

Test(codec, leaves_headers_on_frames_unless_they_are_to_be_stripped, .init = begin, .fini = end)
{
	cr_assert_eq(gyre_length_codec_add(&rig.channel, GYRE_BEFORE("last"), &whole), 0);
	codec_rig_feed(&rig, "\0\1a\0\2b", 6, 6);
	cr_expect_eq(rig.log.events_count, 1);
	cr_expect_eq(rig.log.bytes_count, 3);
	cr_expect_arr_eq(rig.log.bytes, "\0\1a", 3);
}

Test(codec, refuses_lengths_that_are_too_large_or_make_no_sense, .init = begin, .fini = end)
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
		{ &gy_length_handler, &max, "\2ab\3abc\1x", 9, "[ab][abc][x]" },
		{ &gy_length_handler, &max, "\4abcd\1x", 7, "!size[x]" },
		{ &gy_length_handler, &max, "\4", 1, "!size" },
		{ &gy_length_handler, &late, "\4abc", 4, "" },
		{ &gy_length_handler, &late, "\4abcd\1x", 7, "!size[x]" },
		{ &gy_length_handler, &counts_itself, "\0abc\1\2d", 7, "!proto" },
		{ &gy_length_handler, &strip, "\2ab\1x\2ab", 8, "[]!proto" },
		{ &gy_length_handler, &eight, negative, 13, "!proto" },
		{ &gy_length_handler, &eight, huge, 13, "!size" },
		{ &gy_length_handler, &over, huge, 13, "!size" },
	};

	expect_frames(cases, gy_countof(cases));
}

Test(codec, cuts_frames_at_lengths_of_variable_length, .init = begin, .fini = end)
{
	static const struct gyre_varint_options max = { .frame_bytes_max = 3 };
	static const struct gyre_varint_options late = { .frame_bytes_max = 3, .fail_late = true };
	const struct codec_case cases[] = {
		{ &gy_varint_handler, &any_varint, "\3abc\0\1d\2e", 9, "[abc][][d]" },
		{ &gy_varint_handler, &any_varint, "\x82\0ab\x81\x80\x80\x80\0c", 10, "[ab][c]" },
		{ &gy_varint_handler, &any_varint, "\x80\x80\x80\x80\x80\0", 6, "!proto" },
		{ &gy_varint_handler, &any_varint, "\x80\x80\x80\x80\x10", 5, "!proto" },
		{ &gy_varint_handler, &any_varint, "\xff\xff\xff\xff\x0f", 5, "!size" },
		{ &gy_varint_handler, &any_varint, "\xff\xff\xff\xff", 4, "" },
		{ &gy_varint_handler, &max, "\2ab\3abc\4abcd\1x", 14, "[ab][abc]!size[x]" },
		{ &gy_varint_handler, &late, "\4abc", 4, "" },
		{ &gy_varint_handler, &late, "\4abcd\1x", 7, "!size[x]" },
	};

	expect_frames(cases, gy_countof(cases));
}

Test(codec, refuses_options_that_are_out_of_their_bounds, .init = begin, .fini = end)
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

	cr_expect_eq(gyre_fixed_codec_add(&rig.channel, GYRE_BEFORE("last"), &fixed), -EINVAL);
	cr_expect_eq(gyre_fixed_codec_add(&rig.channel, GYRE_BEFORE("last"), NULL), -EINVAL);
	cr_expect_eq(gyre_line_codec_add(&rig.channel, GYRE_BEFORE("last"), &line), -EINVAL);
	cr_expect_eq(gyre_line_codec_add(&rig.channel, GYRE_BEFORE("last"), &unknown_end), -EINVAL);
	cr_expect_eq(gyre_delimiter_codec_add(&rig.channel, GYRE_BEFORE("last"), NULL), -EINVAL);
	for (size_t i = 0; i < gy_countof(delimiters); i++) {
		cr_expect_eq(
			gyre_delimiter_codec_add(&rig.channel, GYRE_BEFORE("last"), &delimiters[i]),
			-EINVAL);
	}
	for (size_t i = 0; i < gy_countof(lengths); i++) {
		cr_expect_eq(gyre_length_codec_add(&rig.channel, GYRE_BEFORE("last"), &lengths[i]),
			     -EINVAL);
	}
	cr_expect_eq(gyre_length_prepender_add(&rig.channel, GYRE_BEFORE("last"), &prepender),
		     -EINVAL);
	cr_expect_eq(gyre_varint_codec_add(&rig.channel, GYRE_BEFORE("last"), &varint), -EINVAL);
}

/* ---- writing ---- */

static int write_text(const char *text)
{
	return gyre_context_write(gyre_channel_tail(&rig.channel),
				  codec_rig_buffer(&rig, text, strlen(text), 3));
}

static void expect_output(const struct gyre_handler *handler, const void *options,
			  const char *expected, size_t count)
{
	unsigned char bytes[TEXT_BYTES];

	cr_assert_eq(codec_rig_add(&rig, handler, options), 0);
	cr_expect_eq(write_text("hello"), 0);
	cr_expect_eq(codec_rig_output(&rig, bytes, sizeof(bytes)), count);
	cr_expect_arr_eq(bytes, expected, count);
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, handler->name), 0);
}

Test(codec, frames_what_is_written, .init = begin, .fini = end)
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

	expect_output(&gy_line_handler, &any_line, "hello", 5);
	expect_output(&gy_line_handler, &lf, "hello\n", 6);
	expect_output(&gy_line_handler, &crlf, "hello\r\n", 7);
	expect_output(&gy_delimiter_handler, &append, "hello--", 7);
	expect_output(&gy_delimiter_handler, &leave, "hello", 5);
	expect_output(&gy_prepender_handler, &any_prepender, "\0\0\0\5hello", 9);
	expect_output(&gy_prepender_handler, &three, "\5\0\0hello", 8);
	expect_output(&gy_prepender_handler, &itself, "\10hello", 6);
	expect_output(&gy_varint_handler, &any_varint, "\5hello", 6);
}

Test(codec, refuses_to_write_a_length_that_does_not_fit, .init = begin, .fini = end)
{
	static const struct gyre_prepender_options fits = { .length_field_bytes = 1,
							    .length_adjustment = 250 };
	static const struct gyre_prepender_options large = { .length_field_bytes = 1,
							     .length_adjustment = 251 };
	static const struct gyre_prepender_options negative = { .length_adjustment = -6 };

	expect_output(&gy_prepender_handler, &fits, "\377hello", 6);
	cr_assert_eq(gyre_length_prepender_add(&rig.channel, GYRE_BEFORE("last"), &large), 0);
	cr_expect_eq(write_text("hello"), -EMSGSIZE);
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "length_prepender"), 0);
	cr_assert_eq(gyre_length_prepender_add(&rig.channel, GYRE_BEFORE("last"), &negative), 0);
	cr_expect_eq(write_text("hello"), -EINVAL);
}

Test(codec, writes_empty_frames, .init = begin, .fini = end)
{
	char bytes[8];

	cr_assert_eq(gyre_varint_codec_add(&rig.channel, GYRE_BEFORE("last"), NULL), 0);
	cr_expect_eq(write_text(""), 0);
	cr_expect_eq(codec_rig_output(&rig, bytes, sizeof(bytes)), 1);
	cr_expect_eq(bytes[0], 0);
}
