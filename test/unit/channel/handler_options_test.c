/*
 * Handlers of the library are added with their options: what is refused, options of programs that
 * are older or newer than the library, and that nothing of the program's is kept.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <gyre/idle.h>
#include <gyre/tls.h>

#include "channel/codec/codec_rig.h"

static struct codec_rig rig;
static uint32_t lines;

static void count_line(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	cr_expect_eq(line->level, GYRE_LOG_ERROR);
	cr_expect_not_null(strstr(line->text, "newer gyre"), "%s", line->text);
	lines++;
}

static const struct gy_log to_count = { .write = count_line };

static void begin(void)
{
	codec_rig_init(&rig);
	rig.home.loop.options.log = &to_count;
}

static void end(void)
{
	codec_rig_fini(&rig);
}

TestSuite(handler_options, .init = begin, .fini = end);

static void feed(const char *text)
{
	codec_rig_feed(&rig, text, strlen(text), 3);
}

static void expect_frames(size_t frames, const char *bytes)
{
	cr_expect_eq(rig.log.events_count, frames);
	cr_expect_eq(rig.log.bytes_count, strlen(bytes));
	cr_expect_arr_eq(rig.log.bytes, bytes, strlen(bytes));
}

Test(handler_options, need_a_channel)
{
	static const struct gyre_span comma = { ",", 1 };
	static const struct gyre_fixed_options fixed = { .frame_bytes = 1 };
	static const struct gyre_delimiter_options delimiter = { .delimiters = &comma,
								 .delimiters_count = 1 };
	static const struct gyre_idle_options idle = { .read_ns = 1 };
	static const struct gyre_tls_options tls = { .any_name = true };

	cr_expect_eq(gyre_fixed_codec_add(NULL, GYRE_LAST, &fixed), -EINVAL);
	cr_expect_eq(gyre_line_codec_add(NULL, GYRE_LAST, NULL), -EINVAL);
	cr_expect_eq(gyre_delimiter_codec_add(NULL, GYRE_LAST, &delimiter), -EINVAL);
	cr_expect_eq(gyre_length_codec_add(NULL, GYRE_LAST, NULL), -EINVAL);
	cr_expect_eq(gyre_length_prepender_add(NULL, GYRE_LAST, NULL), -EINVAL);
	cr_expect_eq(gyre_varint_codec_add(NULL, GYRE_LAST, NULL), -EINVAL);
	cr_expect_eq(gyre_idle_add(NULL, GYRE_LAST, &idle), -EINVAL);
	cr_expect_eq(gyre_tls_server_add(NULL, GYRE_LAST, &tls), -EINVAL);
	cr_expect_eq(gyre_tls_client_add(NULL, GYRE_LAST, &tls), -EINVAL);
}

Test(handler_options, go_with_any_position)
{
	static const struct gyre_fixed_options two = { .frame_bytes = 2 };

	cr_assert_eq(gyre_line_codec_add(&rig.channel, GYRE_FIRST, NULL), 0);
	cr_expect_eq(gyre_line_codec_add(&rig.channel, GYRE_LAST, NULL), -EEXIST);
	cr_expect_eq(gyre_fixed_codec_add(&rig.channel, GYRE_AFTER("none"), &two), -ENOENT);
	cr_assert_eq(gyre_fixed_codec_add(&rig.channel, GYRE_AFTER("line"), &two), 0);
	feed("abcd\nef\n");
	expect_frames(3, "abcdef");
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "line"), 0);
	cr_assert_eq(gyre_line_codec_add(&rig.channel, GYRE_REPLACE("fixed"), NULL), 0);
	cr_expect_null(gyre_pipeline_get(&rig.channel, "fixed"));
	cr_assert_eq(gyre_fixed_codec_add(&rig.channel, GYRE_BEFORE("line"), &two), 0);
	feed("g\nhi\n");
	expect_frames(4, "abcdefg");
}

Test(handler_options, go_with_no_position_of_a_newer_program)
{
	struct gyre_position position = GYRE_LAST;

	position.reserved = 1;
	cr_expect_eq(gyre_line_codec_add(&rig.channel, position, NULL), -EINVAL);
	cr_expect_eq(lines, 1);
	cr_expect_null(gyre_pipeline_get(&rig.channel, "line"));
}

Test(handler_options, may_differ_for_two_codecs_of_a_kind_that_have_two_names)
{
	static const struct gyre_line_options keep = { .keep_end = true };
	struct gyre_position inner = GYRE_AFTER("line");

	inner.name = "inner";
	cr_assert_eq(gyre_line_codec_add(&rig.channel, GYRE_FIRST, &keep), 0);
	cr_assert_eq(gyre_line_codec_add(&rig.channel, inner, NULL), 0);
	feed("ab\ncd\n");
	expect_frames(2, "abcd");
	cr_expect_eq(gyre_pipeline_remove(&rig.channel, "inner"), 0);
	feed("e\n");
	expect_frames(3, "abcde\n");
}

Test(handler_options, are_copied_with_all_that_they_point_to)
{
	char semicolon[] = ";";
	char end_of_record[] = "--";
	struct gyre_span delimiters[] = { { semicolon, 1 }, { end_of_record, 2 } };
	struct gyre_delimiter_options options = { .delimiters = delimiters, .delimiters_count = 2 };

	cr_assert_eq(gyre_delimiter_codec_add(&rig.channel, GYRE_FIRST, &options), 0);
	memset(semicolon, 'x', sizeof(semicolon));
	memset(end_of_record, 'x', sizeof(end_of_record));
	memset(delimiters, 0, sizeof(delimiters));
	memset(&options, 0xff, sizeof(options));
	feed("a;xb--c");
	expect_frames(2, "axb");
}

Test(handler_options, of_an_older_program_end_where_it_says)
{
	enum { KNOWN = offsetof(struct gyre_line_options, keep_end) };
	static const struct gyre_line_options options = { .keep_end = true };

	cr_assert_eq(gyre_line_codec_add_sized(&rig.channel, GYRE_FIRST, &options, KNOWN), 0);
	feed("ab\n");
	expect_frames(1, "ab");
}

Test(handler_options, of_a_newer_program_are_taken_unless_they_ask_for_what_is_unknown)
{
	struct {
		struct gyre_line_options known;
		uint64_t later;
	} newer = { .later = 1 };

	cr_expect_eq(
		gyre_line_codec_add_sized(&rig.channel, GYRE_FIRST, &newer.known, sizeof(newer)),
		-E2BIG);
	cr_expect_eq(lines, 1);
	cr_expect_null(gyre_pipeline_get(&rig.channel, "line"));
	newer.later = 0;
	cr_expect_eq(
		gyre_line_codec_add_sized(&rig.channel, GYRE_FIRST, &newer.known, sizeof(newer)),
		0);
}
