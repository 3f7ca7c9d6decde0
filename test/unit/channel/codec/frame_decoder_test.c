/*
 * Codecs of programs: what becomes of the answers of a decoder, right ones and wrong ones, and what
 * it may do while it is asked.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../fault_rig.h"
#include "codec_rig.h"
#include <gyre/frame_decoder.h>

TestSuite(frame_decoder, .timeout = 60);

enum { LIMIT = 16, DIGITS_MAX = 3 };

static struct codec_rig rig;
static struct gy_log log_of_rig;

/* What the decoders are to do, and what has happened to them. */
static struct plan {
	uint32_t calls;	     /* of decode */
	uint32_t last_calls; /* of decode_last */
	uint32_t added;
	uint32_t removed;
	size_t scanned; /* as the last call has found it */
	int64_t result;
	struct gyre_decoded_frame frame;
	/* Done once inside of decode, before it looks. */
	void (*act)(struct gyre_handler_context *ctx);
	void (*last_act)(struct gyre_handler_context *ctx); /* and in decode_last */
	char line[512];					    /* the last of the log */
	uint32_t lines;
} plan;

static void logged(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	plan.lines++;
	(void)snprintf(plan.line, sizeof(plan.line), "%s", line->text);
}

static void begin(void)
{
	memset(&plan, 0, sizeof(plan));
	codec_rig_init(&rig);
	log_of_rig = (struct gy_log){ .write = logged, .level = GYRE_LOG_WARNING };
	rig.home.loop.options.log = &log_of_rig;
}

static void end(void)
{
	codec_rig_fini(&rig);
	if (plan.added != plan.removed) {
		abort(); /* Criterion forgets an assertion that fails here */
	}
}

static void act(struct gyre_handler_context *ctx, void (**what)(struct gyre_handler_context *ctx))
{
	void (*now)(struct gyre_handler_context * ctx) = *what;

	cr_assert_eq(gyre_context_arg(ctx), &plan);
	*what = NULL;
	if (now != NULL) {
		now(ctx);
	}
}

/* "3:abc," */
static int64_t decode_netstring(struct gyre_handler_context *ctx, const struct gyre_buffer *bytes,
				struct gyre_decoded_frame *frame)
{
	char text[DIGITS_MAX + 2] = { 0 };
	size_t there = gyre_buffer_copy(bytes, 0, text, sizeof(text) - 1);
	size_t digits = strspn(text, "0123456789");
	char comma;

	plan.calls++;
	act(ctx, &plan.act);
	if (digits == there && digits <= DIGITS_MAX) {
		return -EAGAIN;
	}
	if (digits == 0 || text[digits] != ':') {
		return -EBADMSG;
	}
	frame->front = digits + 1;
	frame->back = 1;
	frame->needed = digits + 2 + strtoul(text, NULL, 10);
	if (gyre_buffer_bytes(bytes) < frame->needed) {
		return -EAGAIN;
	}
	(void)gyre_buffer_copy(bytes, frame->needed - 1, &comma, 1);
	return comma == ',' ? (int64_t)frame->needed : -EBADMSG;
}

static int count_added(struct gyre_handler_context *ctx)
{
	cr_assert_eq(gyre_context_arg(ctx), &plan);
	plan.added++;
	return 0;
}

static void count_removed(struct gyre_handler_context *ctx)
{
	cr_assert_eq(gyre_context_arg(ctx), &plan);
	plan.removed++;
}

static const struct gyre_frame_decoder netstring = {
	.name = "netstring",
	.decode = decode_netstring,
	.frame_bytes_max = LIMIT,
	.added = count_added,
	.removed = count_removed,
};

/* Frames end in LF; '#' up to LF is skipped. */
static int64_t decode_text(struct gyre_handler_context *ctx, const struct gyre_buffer *bytes,
			   struct gyre_decoded_frame *frame)
{
	int64_t end = gyre_buffer_find(bytes, frame->scanned, '\n');
	char first = 0;

	plan.calls++;
	plan.scanned = frame->scanned;
	act(ctx, &plan.act);
	if (end < 0) {
		frame->scanned = gyre_buffer_bytes(bytes);
		return -EAGAIN;
	}
	(void)gyre_buffer_copy(bytes, 0, &first, 1);
	frame->skip = first == '#';
	frame->back = 1;
	return end + 1;
}

static const struct gyre_frame_decoder text = { .name = "text",
						.decode = decode_text,
						.frame_bytes_max = LIMIT };

static int64_t decode_planned(struct gyre_handler_context *ctx, const struct gyre_buffer *bytes,
			      struct gyre_decoded_frame *frame)
{
	(void)bytes;
	plan.calls++;
	act(ctx, &plan.act);
	*frame = plan.frame;
	return plan.result;
}

static const struct gyre_frame_decoder planned = { .decode = decode_planned,
						   .frame_bytes_max = LIMIT };

static void add(const struct gyre_frame_decoder *decoder)
{
	cr_assert_eq(gyre_frame_decoder_add(&rig.channel, GYRE_BEFORE("last"), decoder, &plan), 0);
}

static void feed(const char *bytes)
{
	codec_rig_feed(&rig, bytes, strlen(bytes), strlen(bytes));
}

static void feed_each(const char *bytes)
{
	for (; *bytes != '\0'; bytes++) {
		codec_rig_feed(&rig, bytes, 1, 1);
	}
}

static void expect(const char *frames)
{
	cr_expect_str_eq(codec_log_text(&rig.log), frames, "%s, and not %s",
			 codec_log_text(&rig.log), frames);
}

/* ---- frames ---- */

Test(frame_decoder, cuts_the_same_frames_from_a_stream_however_it_comes, .init = begin, .fini = end)
{
	static const char stream[] = "3:abc,0:,10:0123456789,1::,";
	const size_t count = sizeof(stream) - 1;

	for (size_t first = 0; first <= count; first++) {
		for (size_t slice = 1; slice <= 3; slice++) {
			add(&netstring);
			if (first > 0) {
				codec_rig_feed(&rig, stream, first, slice);
			}
			if (first < count) {
				codec_rig_feed(&rig, stream + first, count - first, slice);
			}
			expect("[abc][][0123456789][:]");
			codec_rig_reset(&rig);
		}
	}
	add(&netstring);
	feed_each(stream);
	expect("[abc][][0123456789][:]");
}

Test(frame_decoder, is_not_asked_before_there_is_what_it_needs, .init = begin, .fini = end)
{
	add(&netstring);
	feed_each("12:0123456789ab,");
	expect("[0123456789ab]");
	cr_expect_eq(plan.calls, 4, "for two digits, the colon and the comma, not %u times",
		     plan.calls);
}

Test(frame_decoder, finds_again_how_far_it_has_looked, .init = begin, .fini = end)
{
	add(&text);
	feed("abc");
	cr_expect_eq(plan.scanned, 0);
	feed("de");
	cr_expect_eq(plan.scanned, 3);
	feed("f\nxy");
	cr_expect_eq(plan.scanned, 0, "another frame");
	feed("\n");
	cr_expect_eq(plan.scanned, 2);
	expect("[abcdef][xy]");
}

Test(frame_decoder, throws_away_what_is_skipped_and_does_not_count_it, .init = begin, .fini = end)
{
	add(&text);
	feed("#a comment that is longer than the limit\n#\nabc\n#d\n");
	expect("[abc]");
}

static void fire_length(struct gyre_handler_context *ctx, struct gyre_buffer *frame)
{
	char length[8];
	int bytes = snprintf(length, sizeof(length), "<%zu>", gyre_buffer_bytes(frame));

	cr_assert_eq(gyre_context_arg(ctx), &plan);
	gyre_buffer_destroy(frame);
	gyre_context_fire_read(ctx, codec_rig_buffer(&rig, length, (size_t)bytes, 8));
}

static const struct gyre_frame_decoder lengths = { .decode = decode_text, .frame = fire_length };

Test(frame_decoder, may_make_something_else_of_its_frames, .init = begin, .fini = end)
{
	add(&lengths);
	feed("abc\n\nab");
	feed("\n");
	expect("[<3>][<0>][<2>]");
}

/* ---- limits and errors ---- */

Test(frame_decoder, lets_frames_be_as_long_as_the_limit_and_no_longer, .init = begin, .fini = end)
{
	add(&text);
	feed("0123456789abcde\n");
	feed_each("0123456789ABCDE\n");
	expect("[0123456789abcde][0123456789ABCDE]");
	feed_each("0123456789abcdef");
	expect("[0123456789abcde][0123456789ABCDE]!size");
	feed("\nmore\n");
	expect("[0123456789abcde][0123456789ABCDE]!size");
	cr_expect_eq(plan.lines, 1);
	cr_expect_not_null(strstr(plan.line, "16 bytes"), "%s", plan.line);
	cr_expect_not_null(strstr(plan.line, "decoder text"), "%s", plan.line);
	cr_expect_not_null(strstr(plan.line, "frame_bytes_max"), "%s", plan.line);
}

Test(frame_decoder, refuses_a_long_frame_that_has_come_at_once_too, .init = begin, .fini = end)
{
	add(&text);
	feed("a\n0123456789abcdef\nb\n");
	expect("[a]!size");
}

Test(frame_decoder, refuses_a_long_frame_as_soon_as_its_length_is_known, .init = begin, .fini = end)
{
	add(&netstring);
	feed("1:a,14:");
	expect("[a]!size");
}

Test(frame_decoder, closes_the_channel_with_its_error, .init = begin, .fini = end)
{
	add(&netstring);
	rig.pass_errors = true;
	feed("1:a,nonsense");
	expect("[a]!other");
	cr_expect_eq(rig.channel.reason, -EBADMSG);
	cr_expect(gy_channel_is_ending(&rig.channel));
	feed("1:b,");
	expect("[a]!other");
	cr_expect_eq(plan.calls, 2);
	cr_expect_eq(plan.lines, 0, "the program knows");
}

Test(frame_decoder, is_not_asked_again_after_an_error_that_a_handler_keeps, .init = begin,
     .fini = end)
{
	add(&netstring);
	feed("x");
	feed("1:a,");
	codec_rig_end(&rig);
	expect("!other");
	cr_expect_eq(plan.calls, 1);
	cr_expect_eq(rig.read_ends, 1);
	cr_expect_not(gy_channel_is_ending(&rig.channel));
}

static void expect_misuse(int64_t result, struct gyre_decoded_frame frame)
{
	plan.calls = 0;
	plan.lines = 0;
	plan.result = result;
	plan.frame = frame;
	add(&planned);
	feed("abcd");
	feed("efgh");
	expect("!invalid");
	cr_expect_eq(plan.calls, 1);
	cr_expect_eq(plan.lines, 1);
	cr_expect_not_null(strstr(plan.line, "decoder frame_decoder"), "%s", plan.line);
	cr_expect_not_null(strstr(plan.line, "4 bytes"), "%s", plan.line);
	codec_rig_reset(&rig);
	log_of_rig.level = GYRE_LOG_WARNING;
}

Test(frame_decoder, whose_answer_fits_no_bytes_is_told_of_its_mistake, .init = begin, .fini = end)
{
	expect_misuse(0, (struct gyre_decoded_frame){ 0 });
	expect_misuse(5, (struct gyre_decoded_frame){ 0 });
	expect_misuse(INT64_MAX, (struct gyre_decoded_frame){ 0 });
	expect_misuse(INT64_MIN, (struct gyre_decoded_frame){ 0 });
	expect_misuse(4, (struct gyre_decoded_frame){ .front = 5 });
	expect_misuse(4, (struct gyre_decoded_frame){ .front = 2, .back = 3 });
	expect_misuse(4, (struct gyre_decoded_frame){ .front = 1, .back = SIZE_MAX });
	expect_misuse(4, (struct gyre_decoded_frame){ .reserved = { 0, 1 } });
	expect_misuse(-EAGAIN, (struct gyre_decoded_frame){ .scanned = 5 });
	expect_misuse(-EAGAIN, (struct gyre_decoded_frame){ .reserved = { 1 } });
}

/* ---- what it does while it is asked ---- */

static void abort_channel(struct gyre_handler_context *ctx)
{
	gyre_channel_abort(gyre_context_channel(ctx), -ECANCELED);
}

static void close_channel(struct gyre_handler_context *ctx)
{
	gyre_context_close(ctx);
}

Test(frame_decoder, may_end_the_channel_and_then_its_answer_does_not_count, .init = begin,
     .fini = end)
{
	static void (*const ways[])(struct gyre_handler_context * ctx) = { abort_channel,
									   close_channel };

	for (size_t i = 0; i < gy_countof(ways); i++) {
		static const char *const streams[] = { "1:a,1:b,", "1:a", "x" };

		for (size_t k = 0; k < gy_countof(streams); k++) {
			add(&netstring);
			plan.act = ways[i];
			plan.calls = 0;
			feed(streams[k]);
			codec_rig_run(&rig);
			expect("");
			cr_expect_eq(plan.calls, 1);
			codec_rig_reset(&rig);
		}
	}
}

static void stop_reading(struct gyre_handler_context *ctx)
{
	(void)ctx;
	codec_rig_flags(&rig, GY_NO_READ_PAUSED, 0);
}

Test(frame_decoder, may_stop_reading_and_is_not_asked_twice_about_the_frame_that_waits,
     .init = begin, .fini = end)
{
	add(&netstring);
	plan.act = stop_reading;
	feed("1:a,1:b,1");
	expect("");
	cr_expect_eq(plan.calls, 1);
	codec_rig_run(&rig);
	feed(":");
	expect("");
	cr_expect_eq(plan.calls, 1);
	codec_rig_flags(&rig, 0, GY_NO_READ_PAUSED);
	codec_rig_run(&rig);
	expect("[a][b]");
	cr_expect_eq(plan.calls, 3);
	feed("c,");
	expect("[a][b][c]");
}

static void pause_behind(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	(void)r;
	stop_reading(ctx);
}

Test(frame_decoder, lets_frames_wait_while_nothing_is_read, .init = begin, .fini = end)
{
	add(&netstring);
	rig.on_frame = pause_behind;
	feed("1:a,1:b,1:c,");
	expect("[a]");
	codec_rig_flags(&rig, 0, GY_NO_READ_PAUSED);
	codec_rig_run(&rig);
	expect("[a][b]");
	codec_rig_flags(&rig, 0, GY_NO_READ_PAUSED);
	codec_rig_run(&rig);
	expect("[a][b][c]");
	cr_expect_eq(plan.calls, 3);
}

Test(frame_decoder, gives_one_frame_a_request_and_asks_on_behind_what_is_skipped, .init = begin,
     .fini = end)
{
	add(&text);
	codec_rig_flags(&rig, GY_INPUT_MANUAL, 0);
	feed("#x\n");
	cr_expect_eq(rig.channel.state & GY_NO_READ_NOT_ASKED, 0, "nothing was read");
	feed("#x\na\n#y\nb\n");
	expect("[a]");
	cr_expect_neq(rig.channel.state & GY_NO_READ_NOT_ASKED, 0);
	gyre_context_read(gyre_channel_tail(&rig.channel));
	codec_rig_run(&rig);
	expect("[a][b]");
}

static void remove_it(struct gyre_handler_context *ctx)
{
	gyre_context_remove(ctx);
}

Test(frame_decoder, may_leave_and_then_all_bytes_are_the_next_handlers, .init = begin, .fini = end)
{
	add(&netstring);
	plan.act = remove_it;
	feed("1:a,rest");
	expect("[1:a,rest]");
	cr_expect_eq(plan.removed, 1);
	feed("more");
	expect("[1:a,rest][more]");
}

static void replace_it(struct gyre_handler_context *ctx)
{
	cr_assert_eq(gyre_frame_decoder_add(gyre_context_channel(ctx), GYRE_REPLACE("netstring"),
					    &text, &plan),
		     0);
}

Test(frame_decoder, may_be_replaced_and_then_its_successor_gets_all_bytes, .init = begin,
     .fini = end)
{
	add(&netstring);
	plan.act = replace_it;
	feed("1:a,\nrest");
	expect("[1:a,]");
	feed("\n");
	expect("[1:a,][rest]");
}

static void add_behind(struct gyre_handler_context *ctx)
{
	static const struct gyre_fixed_options two = { .frame_bytes = 2 };

	cr_assert_eq(gyre_fixed_codec_add(gyre_context_channel(ctx), GYRE_AFTER("netstring"), &two),
		     0);
}

Test(frame_decoder, may_change_the_pipeline_behind_it, .init = begin, .fini = end)
{
	add(&netstring);
	plan.act = add_behind;
	feed("4:abcd,");
	expect("[ab][cd]");
}

static void read_more(struct gyre_handler_context *ctx)
{
	(void)ctx;
	feed("1:b,");
}

Test(frame_decoder, may_be_given_more_while_it_looks, .init = begin, .fini = end)
{
	add(&netstring);
	plan.act = read_more;
	feed("1:a,");
	expect("[a][b]");
}

static void remove_in_frame(struct gyre_handler_context *ctx, struct gyre_buffer *frame)
{
	gyre_context_remove(ctx);
	gyre_context_fire_read(ctx, frame);
}

static const struct gyre_frame_decoder first_only = { .decode = decode_text,
						      .frame = remove_in_frame,
						      .added = count_added,
						      .removed = count_removed };

Test(frame_decoder, may_leave_behind_a_frame_and_then_the_rest_is_the_next_handlers, .init = begin,
     .fini = end)
{
	add(&first_only);
	feed("a\nb\nc");
	expect("[a][b\nc]");
}

/* ---- the end ---- */

Test(frame_decoder, raises_an_error_for_a_frame_that_is_cut_off, .init = begin, .fini = end)
{
	add(&netstring);
	feed("1:a,3:ab");
	codec_rig_end(&rig);
	expect("[a]!proto");
	cr_expect_eq(rig.read_ends, 1);
}

/* Two bytes a frame; a single one is too few. */
static int64_t decode_rest(struct gyre_handler_context *ctx, const struct gyre_buffer *bytes,
			   struct gyre_decoded_frame *frame)
{
	(void)frame;
	plan.last_calls++;
	act(ctx, &plan.last_act);
	return gyre_buffer_bytes(bytes) >= 2 ? 2 : -EAGAIN;
}

static const struct gyre_frame_decoder ends = { .name = "netstring",
						.decode = decode_text,
						.decode_last = decode_rest };

Test(frame_decoder, is_asked_about_the_rest_until_nothing_is_left, .init = begin, .fini = end)
{
	add(&ends);
	feed("a\nbcde");
	cr_expect_eq(plan.last_calls, 0);
	codec_rig_end(&rig);
	expect("[a][bc][de]");
	cr_expect_eq(plan.last_calls, 2);
	cr_expect_eq(rig.read_ends, 1);
	cr_expect_eq(rig.ended_at, rig.log.events_count);
}

Test(frame_decoder, that_cannot_use_the_rest_raises_an_error, .init = begin, .fini = end)
{
	add(&ends);
	feed("a\nbcd");
	codec_rig_end(&rig);
	expect("[a][bc]!proto");
	cr_expect_eq(rig.read_ends, 1);
}

Test(frame_decoder, is_not_asked_about_a_rest_that_is_none, .init = begin, .fini = end)
{
	add(&ends);
	feed("a\n");
	codec_rig_end(&rig);
	expect("[a]");
	cr_expect_eq(plan.last_calls, 0);
	cr_expect_eq(rig.read_ends, 1);
}

Test(frame_decoder, lets_the_end_wait_behind_a_last_frame, .init = begin, .fini = end)
{
	add(&ends);
	feed("bc");
	codec_rig_flags(&rig, GY_NO_READ_PAUSED, 0);
	codec_rig_end(&rig);
	expect("");
	cr_expect_eq(rig.read_ends, 0);
	codec_rig_flags(&rig, 0, GY_NO_READ_PAUSED);
	codec_rig_run(&rig);
	expect("[bc]");
	cr_expect_eq(plan.last_calls, 1);
	cr_expect_eq(rig.read_ends, 1);
}

Test(frame_decoder, may_leave_at_the_end_and_its_successor_gets_the_bytes_and_the_end,
     .init = begin, .fini = end)
{
	add(&ends);
	feed("bc");
	plan.last_act = replace_it;
	codec_rig_end(&rig);
	expect("!proto"); /* of the successor, which has no last frames */
	cr_expect_eq(rig.read_ends, 1);
}

Test(frame_decoder, may_end_the_channel_at_the_end, .init = begin, .fini = end)
{
	add(&ends);
	feed("bc");
	plan.last_act = close_channel;
	codec_rig_end(&rig);
	expect("");
	cr_expect_eq(rig.read_ends, 0);
	cr_expect_eq(plan.last_calls, 1);
}

Test(frame_decoder, may_end_the_channel_at_the_end_though_it_judges_no_rest, .init = begin,
     .fini = end)
{
	add(&text);
	feed("bc");
	plan.act = close_channel;
	codec_rig_end(&rig);
	expect("");
	cr_expect_eq(rig.read_ends, 0);
}

Test(frame_decoder, ends_a_channel_that_is_half_closed_in_the_midst_of_a_frame)
{
	static const struct gyre_channel_options allowed = { .allow_half_close = true };

	memset(&plan, 0, sizeof(plan));
	fault_begin_open(&allowed);
	cr_assert_eq(gyre_frame_decoder_add(fault.channel, GYRE_FIRST, &netstring, &plan), 0);
	cr_assert_eq(send(fault.fd, "0:,3:ab", 7, MSG_NOSIGNAL), 7);
	rig_settle(&fault.rig);
	cr_expect_eq(fault.reads, 1);
	cr_expect_eq(fault.bytes, 0);
	cr_assert_eq(shutdown(fault.fd, SHUT_WR), 0);
	fault_end(-EPROTO);
	cr_expect_eq(fault.read_ends, 0);
	cr_expect_eq(fault.input_closed, 0);
	cr_expect_eq(plan.removed, 1);
}

/* ---- datagrams ---- */

Test(frame_decoder, takes_each_datagram_for_a_stream, .init = begin, .fini = end)
{
	add(&netstring);
	codec_rig_take_datagrams(&rig);
	feed("1:a,2:b");
	feed("1:c,x");
	feed("1:d,");
	expect("[a]!proto[c]!other[d]");
}

/* ---- adding ---- */

static int refuse(struct gyre_handler_context *ctx)
{
	(void)ctx;
	return -EACCES;
}

static int leave_and_refuse(struct gyre_handler_context *ctx)
{
	plan.added++;
	gyre_context_remove(ctx);
	return -EACCES;
}

Test(frame_decoder, that_refuses_is_out_again, .init = begin, .fini = end)
{
	static const struct gyre_frame_decoder refuses = { .name = "refuses",
							   .decode = decode_text,
							   .added = refuse };
	static const struct gyre_frame_decoder leaves = { .name = "leaves",
							  .decode = decode_text,
							  .added = leave_and_refuse,
							  .removed = count_removed };

	cr_expect_eq(gyre_frame_decoder_add(&rig.channel, GYRE_FIRST, &refuses, &plan), -EACCES);
	cr_expect_null(gyre_pipeline_get(&rig.channel, "refuses"));
	cr_expect_eq(gyre_frame_decoder_add(&rig.channel, GYRE_FIRST, &leaves, &plan), -EACCES);
	cr_expect_null(gyre_pipeline_get(&rig.channel, "leaves"));
	cr_expect_eq(plan.removed, 1);
	codec_rig_run(&rig);
	feed("passes");
	expect("[passes]");
}

Test(frame_decoder, has_its_own_name_or_that_of_its_position, .init = begin, .fini = end)
{
	struct gyre_position other = GYRE_FIRST;

	other.name = "other";
	add(&netstring);
	add(&planned);
	cr_expect_eq(gyre_frame_decoder_add(&rig.channel, GYRE_FIRST, &netstring, &plan), -EEXIST);
	cr_expect_eq(gyre_frame_decoder_add(&rig.channel, other, &netstring, &plan), 0);
	cr_expect_not_null(gyre_pipeline_get(&rig.channel, "netstring"));
	cr_expect_not_null(gyre_pipeline_get(&rig.channel, "frame_decoder"));
	cr_expect_not_null(gyre_pipeline_get(&rig.channel, "other"));
	cr_expect_eq(gyre_context_arg(gyre_pipeline_get(&rig.channel, "other")), &plan);
}

Test(frame_decoder, is_refused_where_it_is_out_of_its_bounds, .init = begin, .fini = end)
{
	static const struct gyre_frame_decoder blind = { .decode_last = decode_rest };
	static const struct gyre_frame_decoder huge = { .decode = decode_text,
							.frame_bytes_max =
								GYRE_FRAME_BYTES_MAX + 1 };
	static const struct gyre_frame_decoder largest = { .decode = decode_text,
							   .frame_bytes_max =
								   GYRE_FRAME_BYTES_MAX };

	cr_expect_eq(gyre_frame_decoder_add(&rig.channel, GYRE_FIRST, &blind, NULL), -EINVAL);
	cr_expect_eq(gyre_frame_decoder_add(&rig.channel, GYRE_FIRST, &huge, NULL), -EINVAL);
	cr_expect_eq(gyre_frame_decoder_add(&rig.channel, GYRE_FIRST, NULL, NULL), -EINVAL);
	cr_expect_eq(gyre_frame_decoder_add(NULL, GYRE_FIRST, &largest, NULL), -EINVAL);
	cr_expect_eq(gyre_frame_decoder_add(&rig.channel, GYRE_FIRST, &largest, &plan), 0);
}
