/*
 * Handlers of the library are added with their options: what is refused, options of programs that
 * are older or newer than the library, and that nothing of the program's is kept.
 */
#include <errno.h>
#include <string.h>

#include <gyre/idle.h>
#include <gyre/tls.h>

#include "channel/codec/codec_kit.h"

static struct codec_kit kit;
static uint32_t lines;

static void count_line(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	cr_expect_eq(line->level, GYRE_LOG_ERROR);
	cr_expect_not_null(strstr(line->text, "newer gyre"), "%s", line->text);
	lines++;
}

static const struct gyre_system_options counts_lines = {
	.log = count_line,
	.log_buffer_bytes = GYRE_LOG_UNBUFFERED,
};

static void feed(const char *text)
{
	codec_kit_feed(&kit, text, strlen(text), 3);
}

/* Since the beginning. */
static void expect_frames(const char *frames)
{
	cr_expect_str_eq(codec_kit_seen(&kit), frames, "%s, and not %s", kit.text, frames);
}

/* What is added, and what is not, in a handler of the channel. */
static void act(struct gyre_test *test, gyre_tap_do_fn what)
{
	if (kit.test != test) {
		codec_kit_open(&kit, test);
	}
	cr_assert_eq(gyre_tap_do(kit.tap, what, NULL), 0);
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

static const struct gyre_fixed_options two = { .frame_bytes = 2 };

static int add_two(struct gyre_handler_context *ctx, void *arg)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);

	(void)arg;
	cr_assert_eq(gyre_line_codec_add(channel, GYRE_AFTER("slices"), NULL), 0);
	cr_expect_eq(gyre_line_codec_add(channel, GYRE_LAST, NULL), -EEXIST);
	cr_expect_eq(gyre_fixed_codec_add(channel, GYRE_AFTER("none"), &two), -ENOENT);
	return gyre_fixed_codec_add(channel, GYRE_AFTER("line"), &two);
}

static int exchange_both(struct gyre_handler_context *ctx, void *arg)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);

	(void)arg;
	cr_assert_eq(gyre_pipeline_remove(channel, "line"), 0);
	cr_assert_eq(gyre_line_codec_add(channel, GYRE_REPLACE("fixed"), NULL), 0);
	cr_expect_null(gyre_pipeline_get(channel, "fixed"));
	return gyre_fixed_codec_add(channel, GYRE_BEFORE("line"), &two);
}

KIT_TEST(handler_options, go_with_any_position)
{
	act(test, add_two);
	feed("abcd\nef\n");
	expect_frames("[ab][cd][ef]");
	act(test, exchange_both);
	feed("g\nhi\n");
	expect_frames("[ab][cd][ef][g]");
}

static int add_newer_position(struct gyre_handler_context *ctx, void *arg)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct gyre_position position = GYRE_LAST;

	(void)arg;
	position.reserved = 1;
	cr_expect_eq(gyre_line_codec_add(channel, position, NULL), -EINVAL);
	cr_expect_null(gyre_pipeline_get(channel, "line"));
	return 0;
}

KIT_TEST_WITH(handler_options, go_with_no_position_of_a_newer_program, &counts_lines)
{
	act(test, add_newer_position);
	cr_expect_eq(lines, 1);
}

static int add_lines_twice(struct gyre_handler_context *ctx, void *arg)
{
	static const struct gyre_line_options keep = { .keep_end = true };
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct gyre_position inner = GYRE_AFTER("line");

	(void)arg;
	inner.name = "inner";
	cr_assert_eq(gyre_line_codec_add(channel, GYRE_AFTER("slices"), &keep), 0);
	return gyre_line_codec_add(channel, inner, NULL);
}

static int remove_inner(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	return gyre_pipeline_remove(gyre_context_channel(ctx), "inner");
}

KIT_TEST(handler_options, may_differ_for_two_codecs_of_a_kind_that_have_two_names)
{
	act(test, add_lines_twice);
	feed("ab\ncd\n");
	expect_frames("[ab][cd]");
	act(test, remove_inner);
	feed("e\n");
	expect_frames("[ab][cd][e\n]");
}

static int add_and_overwrite(struct gyre_handler_context *ctx, void *arg)
{
	char semicolon[] = ";";
	char end_of_record[] = "--";
	struct gyre_span delimiters[] = { { semicolon, 1 }, { end_of_record, 2 } };
	struct gyre_delimiter_options options = { .delimiters = delimiters, .delimiters_count = 2 };

	(void)arg;
	cr_assert_eq(
		gyre_delimiter_codec_add(gyre_context_channel(ctx), GYRE_AFTER("slices"), &options),
		0);
	memset(semicolon, 'x', sizeof(semicolon));
	memset(end_of_record, 'x', sizeof(end_of_record));
	memset(delimiters, 0, sizeof(delimiters));
	memset(&options, 0xff, sizeof(options));
	return 0;
}

KIT_TEST(handler_options, are_copied_with_all_that_they_point_to)
{
	act(test, add_and_overwrite);
	feed("a;xb--c");
	expect_frames("[a][xb]");
}

static int add_older(struct gyre_handler_context *ctx, void *arg)
{
	enum { KNOWN = offsetof(struct gyre_line_options, keep_end) };
	static const struct gyre_line_options options = { .keep_end = true };

	(void)arg;
	return gyre_line_codec_add_sized(gyre_context_channel(ctx), GYRE_AFTER("slices"), &options,
					 KNOWN);
}

KIT_TEST(handler_options, of_an_older_program_end_where_it_says)
{
	act(test, add_older);
	feed("ab\n");
	expect_frames("[ab]");
}

static int add_newer(struct gyre_handler_context *ctx, void *arg)
{
	struct {
		struct gyre_line_options known;
		uint64_t later;
	} newer = { .later = 1 };
	struct gyre_channel *channel = gyre_context_channel(ctx);

	(void)arg;
	cr_expect_eq(gyre_line_codec_add_sized(channel, GYRE_FIRST, &newer.known, sizeof(newer)),
		     -E2BIG);
	cr_expect_null(gyre_pipeline_get(channel, "line"));
	newer.later = 0;
	return gyre_line_codec_add_sized(channel, GYRE_FIRST, &newer.known, sizeof(newer));
}

KIT_TEST_WITH(handler_options, of_a_newer_program_are_taken_unless_they_ask_for_what_is_unknown,
	      &counts_lines)
{
	act(test, add_newer);
	cr_expect_eq(lines, 1);
}
