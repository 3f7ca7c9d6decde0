/*
 * What each codec makes of a stream, in whatever pieces that comes: whole, cut at every byte, and
 * byte by byte, in slices of one, two and three bytes.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "codec_rig.h"

TestSuite(codec, .timeout = 60);

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

/* The log as text: frames in brackets, errors as exclamations. */
static const char *text_of(const struct codec_log *log)
{
	static char text[TEXT_BYTES];
	size_t used = 0;
	size_t at = 0;

	text[0] = 0;
	for (size_t i = 0; i < log->events_count; i++) {
		const struct codec_event *event = &log->events[i];

		used += event->error != 0
				? (size_t)snprintf(text + used, sizeof(text) - used, "!%s",
						   event->error == -EMSGSIZE ? "size"
						   : event->error == -EPROTO ? "proto"
									     : "other")
				: (size_t)snprintf(text + used, sizeof(text) - used, "[%.*s]",
						   (int)event->count,
						   (const char *)log->bytes + at);
		at += event->count;
		cr_assert_lt(used, sizeof(text));
	}
	return text;
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
	cr_assert_str_eq(text_of(&rig.log), one->frames,
			 "%s of '%s' cut at %zu by %zu: %s, and not %s", one->handler->name,
			 one->stream, first, step, text_of(&rig.log), one->frames);
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
		{ gyre_fixed_codec(), &one, "abc", 0, "[a][b][c]" },
		{ gyre_fixed_codec(), &three, "abcdefgh", 0, "[abc][def]" },
		{ gyre_fixed_codec(), &three, "ab", 0, "" },
	};

	expect_frames(cases, gy_countof(cases));
}

Test(codec, cuts_lines_that_end_in_either_way, .init = begin, .fini = end)
{
	static const struct gyre_line_options keep = { .keep_end = true };
	const struct codec_case cases[] = {
		{ gyre_line_codec(), NULL, "one\ntwo\r\n\n\r\nthr", 0, "[one][two][][]" },
		{ gyre_line_codec(), &keep, "one\ntwo\r\n\n", 0, "[one\n][two\r\n][\n]" },
		{ gyre_line_codec(), NULL, "a\rb\r\r\n", 0, "[a\rb\r]" },
	};

	expect_frames(cases, gy_countof(cases));
}

Test(codec, lets_lines_be_as_long_as_the_limit_and_no_longer, .init = begin, .fini = end)
{
	static const struct gyre_line_options max = { .frame_bytes_max = 3 };
	static const struct gyre_line_options late = { .frame_bytes_max = 3, .fail_late = true };
	const struct codec_case cases[] = {
		{ gyre_line_codec(), &max, "ab\nabc\nabc\r\n", 0, "[ab][abc][abc]" },
		{ gyre_line_codec(), &max, "abcd\nx\n", 0, "!size[x]" },
		{ gyre_line_codec(), &max, "abc\r", 0, "" },
		{ gyre_line_codec(), &max, "abcd", 0, "!size" },
		{ gyre_line_codec(), &max, "abc\rd\nx\r\n", 0, "!size[x]" },
		{ gyre_line_codec(), &late, "abcdefgh", 0, "" },
		{ gyre_line_codec(), &late, "abcdefgh\r\nx\n", 0, "!size[x]" },
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
		{ gyre_delimiter_codec(), &all, "a--b;c-;dend--e", 0, "[a][b][c][d][]" },
		{ gyre_delimiter_codec(), &keep, "a--b;c-;dende", 0, "[a--][b;][c-;][dend]" },
		{ gyre_delimiter_codec(), &all, "a-b-c-", 0, "" },
		{ gyre_delimiter_codec(), &overlap, "xabcdbc", 0, "[xa][d]" },
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
		{ gyre_delimiter_codec(), &max, "ab;abc--abcend", 0, "[ab][abc][abc]" },
		{ gyre_delimiter_codec(), &max, "abcd;x;", 0, "!size[x]" },
		{ gyre_delimiter_codec(), &max, "abcdend--x;", 0, "!size[][x]" },
		{ gyre_delimiter_codec(), &max, "abcde", 0, "" },
		{ gyre_delimiter_codec(), &max, "abcdef", 0, "!size" },
		{ gyre_delimiter_codec(), &late, "abcdefgh--x;", 0, "!size[x]" },
		{ gyre_delimiter_codec(), &late, "abcdefgh", 0, "" },
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
		{ gyre_length_codec(), &stripped, "\0\3abc\0\0\0\1d\0\2e", 12, "[abc][][d]" },
		{ gyre_length_codec(), &counts_itself, "\4abc\1\2d", 7, "[abc][][d]" },
		{ gyre_length_codec(), &amid, "X\0\0\2habY\0\0\0hZ", 13, "[hab][h]" },
		{ gyre_length_codec(), &little, "\2\0\0\0ab\1\0\0\0c", 11, "[ab][c]" },
		{ gyre_length_codec(), &eight, "\0\0\0\0\0\0\0\2ab", 10, "[ab]" },
	};

	expect_frames(cases, gy_countof(cases));
}

Test(codec, leaves_headers_on_frames_unless_they_are_to_be_stripped, .init = begin, .fini = end)
{
	cr_assert_eq(codec_rig_add(&rig, gyre_length_codec(), &whole), 0);
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
		{ gyre_length_codec(), &max, "\2ab\3abc\1x", 9, "[ab][abc][x]" },
		{ gyre_length_codec(), &max, "\4abcd\1x", 7, "!size[x]" },
		{ gyre_length_codec(), &max, "\4", 1, "!size" },
		{ gyre_length_codec(), &late, "\4abc", 4, "" },
		{ gyre_length_codec(), &late, "\4abcd\1x", 7, "!size[x]" },
		{ gyre_length_codec(), &counts_itself, "\0abc\1\2d", 7, "!proto" },
		{ gyre_length_codec(), &strip, "\2ab\1x\2ab", 8, "[]!proto" },
		{ gyre_length_codec(), &eight, negative, 13, "!proto" },
		{ gyre_length_codec(), &eight, huge, 13, "!size" },
		{ gyre_length_codec(), &over, huge, 13, "!size" },
	};

	expect_frames(cases, gy_countof(cases));
}

Test(codec, cuts_frames_at_lengths_of_variable_length, .init = begin, .fini = end)
{
	static const struct gyre_varint_options max = { .frame_bytes_max = 3 };
	static const struct gyre_varint_options late = { .frame_bytes_max = 3, .fail_late = true };
	const struct codec_case cases[] = {
		{ gyre_varint_codec(), NULL, "\3abc\0\1d\2e", 9, "[abc][][d]" },
		{ gyre_varint_codec(), NULL, "\x82\0ab\x81\x80\x80\x80\0c", 10, "[ab][c]" },
		{ gyre_varint_codec(), NULL, "\x80\x80\x80\x80\x80\0", 6, "!proto" },
		{ gyre_varint_codec(), NULL, "\x80\x80\x80\x80\x10", 5, "!proto" },
		{ gyre_varint_codec(), NULL, "\xff\xff\xff\xff\x0f", 5, "!size" },
		{ gyre_varint_codec(), NULL, "\xff\xff\xff\xff", 4, "" },
		{ gyre_varint_codec(), &max, "\2ab\3abc\4abcd\1x", 14, "[ab][abc]!size[x]" },
		{ gyre_varint_codec(), &late, "\4abc", 4, "" },
		{ gyre_varint_codec(), &late, "\4abcd\1x", 7, "!size[x]" },
	};

	expect_frames(cases, gy_countof(cases));
}

Test(codec, refuses_options_that_are_out_of_their_bounds, .init = begin, .fini = end)
{
	static const struct gyre_fixed_options fixed = { .frame_bytes = GYRE_FRAME_BYTES_MAX + 1 };
	static const struct gyre_line_options line = { .frame_bytes_max =
							       GYRE_FRAME_BYTES_MAX + 1 };
	static const struct gyre_span empty = { "", 0 };
	static const struct gyre_delimiter_options delimiters[] = {
		{ .delimiters_count = 1 },
		{ .delimiters = several },
		{ .delimiters = several, .delimiters_count = GYRE_DELIMITERS_MAX + 1 },
		{ .delimiters = &empty, .delimiters_count = 1 },
		{ .delimiters = several,
		  .delimiters_count = 1,
		  .frame_bytes_max = GYRE_FRAME_BYTES_MAX + 1 },
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

	cr_expect_eq(codec_rig_add(&rig, gyre_fixed_codec(), &fixed), -EINVAL);
	cr_expect_eq(codec_rig_add(&rig, gyre_fixed_codec(), NULL), -EINVAL);
	cr_expect_eq(codec_rig_add(&rig, gyre_line_codec(), &line), -EINVAL);
	cr_expect_eq(codec_rig_add(&rig, gyre_delimiter_codec(), NULL), -EINVAL);
	for (size_t i = 0; i < gy_countof(delimiters); i++) {
		cr_expect_eq(codec_rig_add(&rig, gyre_delimiter_codec(), &delimiters[i]), -EINVAL);
	}
	for (size_t i = 0; i < gy_countof(lengths); i++) {
		cr_expect_eq(codec_rig_add(&rig, gyre_length_codec(), &lengths[i]), -EINVAL);
	}
	cr_expect_eq(codec_rig_add(&rig, gyre_length_prepender(), &prepender), -EINVAL);
	cr_expect_eq(codec_rig_add(&rig, gyre_varint_codec(), &varint), -EINVAL);
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

	expect_output(gyre_line_codec(), NULL, "hello", 5);
	expect_output(gyre_line_codec(), &lf, "hello\n", 6);
	expect_output(gyre_line_codec(), &crlf, "hello\r\n", 7);
	expect_output(gyre_delimiter_codec(), &append, "hello--", 7);
	expect_output(gyre_delimiter_codec(), &leave, "hello", 5);
	expect_output(gyre_length_prepender(), NULL, "\0\0\0\5hello", 9);
	expect_output(gyre_length_prepender(), &three, "\5\0\0hello", 8);
	expect_output(gyre_length_prepender(), &itself, "\10hello", 6);
	expect_output(gyre_varint_codec(), NULL, "\5hello", 6);
}

Test(codec, refuses_to_write_a_length_that_does_not_fit, .init = begin, .fini = end)
{
	static const struct gyre_prepender_options fits = { .length_field_bytes = 1,
							    .length_adjustment = 250 };
	static const struct gyre_prepender_options large = { .length_field_bytes = 1,
							     .length_adjustment = 251 };
	static const struct gyre_prepender_options negative = { .length_adjustment = -6 };

	expect_output(gyre_length_prepender(), &fits, "\377hello", 6);
	cr_assert_eq(codec_rig_add(&rig, gyre_length_prepender(), &large), 0);
	cr_expect_eq(write_text("hello"), -EMSGSIZE);
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "length_prepender"), 0);
	cr_assert_eq(codec_rig_add(&rig, gyre_length_prepender(), &negative), 0);
	cr_expect_eq(write_text("hello"), -EINVAL);
}

Test(codec, writes_empty_frames, .init = begin, .fini = end)
{
	char bytes[8];

	cr_assert_eq(codec_rig_add(&rig, gyre_varint_codec(), NULL), 0);
	cr_expect_eq(write_text(""), 0);
	cr_expect_eq(codec_rig_output(&rig, bytes, sizeof(bytes)), 1);
	cr_expect_eq(bytes[0], 0);
}
