/*
 * Codecs of programs: what becomes of the answers of a decoder, right ones and wrong ones, and what
 * it may do while it is asked.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/datagram.h>
#include <gyre/frame_decoder.h>

#include "base/macros.h"
#include "codec_kit.h"

enum { LIMIT = 16, DIGITS_MAX = 3 };

static struct codec_kit kit;

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

static const struct gyre_system_options logs = {
	.log = logged,
	.log_buffer_bytes = GYRE_LOG_UNBUFFERED,
};

static void end(void)
{
	if (plan.added != plan.removed) {
		abort(); /* Criterion forgets an assertion that fails here */
	}
}

TestSuite(frame_decoder, .fini = end);

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

static int add_decoder(struct gyre_channel *channel, struct gyre_position position,
		       const void *decoder)
{
	position.name = NULL;
	return gyre_frame_decoder_add(channel, position, (const struct gyre_frame_decoder *)decoder,
				      &plan);
}

static void add(const struct gyre_frame_decoder *decoder)
{
	codec_kit_add(&kit, add_decoder, decoder);
}

static void begin(struct gyre_test *test, const struct gyre_frame_decoder *decoder)
{
	codec_kit_open(&kit, test);
	add(decoder);
}

static void feed(const char *bytes)
{
	codec_kit_feed(&kit, bytes, strlen(bytes), strlen(bytes));
}

static void feed_each(const char *bytes)
{
	for (; *bytes != '\0'; bytes++) {
		codec_kit_feed(&kit, bytes, 1, 1);
	}
}

/* Since the beginning; with a full stop where the end has come. */
static void expect(const char *frames)
{
	cr_expect_str_eq(codec_kit_seen(&kit), frames, "%s, and not %s", kit.text, frames);
}

/* ---- frames ---- */

KIT_TEST_WITH(frame_decoder, cuts_the_same_frames_from_a_stream_however_it_comes, &logs)
{
	static const char stream[] = "3:abc,0:,10:0123456789,1::,";
	const size_t count = sizeof(stream) - 1;

	for (size_t first = 0; first <= count; first++) {
		for (size_t slice = 1; slice <= 3; slice++) {
			begin(test, &netstring);
			if (first > 0) {
				codec_kit_feed(&kit, stream, first, slice);
			}
			if (first < count) {
				codec_kit_feed(&kit, stream + first, count - first, slice);
			}
			expect("[abc][][0123456789][:]");
		}
	}
	begin(test, &netstring);
	feed_each(stream);
	expect("[abc][][0123456789][:]");
}

KIT_TEST_WITH(frame_decoder, is_not_asked_before_there_is_what_it_needs, &logs)
{
	begin(test, &netstring);
	feed_each("12:0123456789ab,");
	expect("[0123456789ab]");
	cr_expect_eq(plan.calls, 4, "for two digits, the colon and the comma, not %u times",
		     plan.calls);
}

KIT_TEST_WITH(frame_decoder, finds_again_how_far_it_has_looked, &logs)
{
	begin(test, &text);
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

KIT_TEST_WITH(frame_decoder, throws_away_what_is_skipped_and_does_not_count_it, &logs)
{
	begin(test, &text);
	feed("#a comment that is longer than the limit\n#\nabc\n#d\n");
	expect("[abc]");
}

static void fire_length(struct gyre_handler_context *ctx, struct gyre_buffer *frame)
{
	char length[8];
	int bytes = snprintf(length, sizeof(length), "<%zu>", gyre_buffer_bytes(frame));

	cr_assert_eq(gyre_context_arg(ctx), &plan);
	gyre_buffer_destroy(frame);
	frame = gyre_context_buffer(ctx);
	cr_assert_eq(gyre_buffer_append(frame, length, (size_t)bytes), 0);
	gyre_context_fire_read(ctx, frame);
}

static const struct gyre_frame_decoder lengths = { .decode = decode_text, .frame = fire_length };

KIT_TEST_WITH(frame_decoder, may_make_something_else_of_its_frames, &logs)
{
	begin(test, &lengths);
	feed("abc\n\nab");
	feed("\n");
	expect("[<3>][<0>][<2>]");
}

/* ---- limits and errors ---- */

KIT_TEST_WITH(frame_decoder, lets_frames_be_as_long_as_the_limit_and_no_longer, &logs)
{
	begin(test, &text);
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

KIT_TEST_WITH(frame_decoder, refuses_a_long_frame_that_has_come_at_once_too, &logs)
{
	begin(test, &text);
	feed("a\n0123456789abcdef\nb\n");
	expect("[a]!size");
}

KIT_TEST_WITH(frame_decoder, refuses_a_long_frame_as_soon_as_its_length_is_known, &logs)
{
	begin(test, &netstring);
	feed("1:a,14:");
	expect("[a]!size");
}

KIT_TEST_WITH(frame_decoder, closes_the_channel_with_its_error, &logs)
{
	begin(test, &netstring);
	kit.pass_errors = true;
	feed("1:a,nonsense");
	expect("[a]!other");
	(void)gyre_test_channel_expect_end(kit.peer, 0);
	codec_kit_feed_unread(&kit, "1:b,");
	expect("[a]!other");
	gyre_test_channel_close(kit.peer);
	(void)gyre_tap_expect_inactive(kit.tap, -EBADMSG, GYRE_SECONDS(1));
	cr_expect_eq(plan.calls, 2);
	cr_expect_eq(plan.lines, 0, "the program knows");
}

KIT_TEST_WITH(frame_decoder, is_not_asked_again_after_an_error_that_a_handler_keeps, &logs)
{
	begin(test, &netstring);
	feed("x");
	feed("1:a,");
	(void)gyre_test_channel_expect_none(kit.peer, GYRE_SECONDS(1)); /* it is open */
	codec_kit_end(&kit);
	expect("!other.");
	cr_expect_eq(plan.calls, 1);
}

static void expect_misuse(struct gyre_test *test, int64_t result, struct gyre_decoded_frame frame)
{
	plan.calls = 0;
	plan.lines = 0;
	plan.result = result;
	plan.frame = frame;
	begin(test, &planned);
	feed("abcd");
	feed("efgh");
	expect("!invalid");
	cr_expect_eq(plan.calls, 1);
	cr_expect_eq(plan.lines, 1);
	cr_expect_not_null(strstr(plan.line, "decoder frame_decoder"), "%s", plan.line);
	cr_expect_not_null(strstr(plan.line, "4 bytes"), "%s", plan.line);
}

KIT_TEST_WITH(frame_decoder, whose_answer_fits_no_bytes_is_told_of_its_mistake, &logs)
{
	expect_misuse(test, 0, (struct gyre_decoded_frame){ 0 });
	expect_misuse(test, 5, (struct gyre_decoded_frame){ 0 });
	expect_misuse(test, INT64_MAX, (struct gyre_decoded_frame){ 0 });
	expect_misuse(test, INT64_MIN, (struct gyre_decoded_frame){ 0 });
	expect_misuse(test, 4, (struct gyre_decoded_frame){ .front = 5 });
	expect_misuse(test, 4, (struct gyre_decoded_frame){ .front = 2, .back = 3 });
	expect_misuse(test, 4, (struct gyre_decoded_frame){ .front = 1, .back = SIZE_MAX });
	expect_misuse(test, 4, (struct gyre_decoded_frame){ .reserved = { 0, 1 } });
	expect_misuse(test, -EAGAIN, (struct gyre_decoded_frame){ .scanned = 5 });
	expect_misuse(test, -EAGAIN, (struct gyre_decoded_frame){ .reserved = { 1 } });
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

KIT_TEST_WITH(frame_decoder, may_end_the_channel_and_then_its_answer_does_not_count, &logs)
{
	static void (*const ways[])(struct gyre_handler_context * ctx) = { abort_channel,
									   close_channel };

	for (size_t i = 0; i < gy_countof(ways); i++) {
		static const char *const streams[] = { "1:a,1:b,", "1:a", "x" };

		for (size_t k = 0; k < gy_countof(streams); k++) {
			begin(test, &netstring);
			plan.act = ways[i];
			plan.calls = 0;
			feed(streams[k]);
			gyre_test_advance(test, GYRE_MILLISECONDS(1));
			expect("");
			cr_expect_eq(plan.calls, 1);
		}
	}
}

/* Output over its mark stops the reading. */
static void write_much(struct gyre_handler_context *ctx)
{
	static const char bytes[1 << 20]; /* for which no socket has room */
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	cr_assert_eq(gyre_buffer_append(buffer, bytes, sizeof(bytes)), 0);
	cr_assert_eq(gyre_context_write(ctx, buffer), 0);
}

KIT_TEST_WITH(frame_decoder, may_stop_reading_and_is_not_asked_twice_about_the_frame_that_waits,
	      &logs)
{
	begin(test, &netstring);
	plan.act = write_much;
	feed("1:a,1:b,1");
	expect("");
	cr_expect_eq(plan.calls, 1);
	codec_kit_feed_unread(&kit, ":");
	expect("");
	cr_expect_eq(plan.calls, 1);
	codec_kit_drain_output(&kit);
	expect("[a][b]");
	cr_expect_eq(plan.calls, 4, "for the second one, the digit, and the colon behind it");
	feed("c,");
	expect("[a][b][c]");
}

static void pause_behind(struct codec_kit *k, struct gyre_handler_context *ctx)
{
	(void)k;
	gyre_channel_set_auto_read(gyre_context_channel(ctx), false);
}

KIT_TEST_WITH(frame_decoder, lets_frames_wait_while_nothing_is_read, &logs)
{
	begin(test, &netstring);
	kit.on_frame = pause_behind;
	feed("1:a,1:b,1:c,");
	expect("[a]");
	codec_kit_read_by_itself(&kit, true);
	expect("[a][b]");
	codec_kit_read_by_itself(&kit, true);
	expect("[a][b][c]");
	cr_expect_eq(plan.calls, 3);
}

KIT_TEST_WITH(frame_decoder, gives_one_frame_a_request_and_asks_on_behind_what_is_skipped, &logs)
{
	static const struct gyre_channel_options on_request = { .manual_read = true };

	codec_kit_open_with(&kit, test, &on_request);
	add(&text);
	codec_kit_ask(&kit);
	feed("#x\n");
	feed("#x\na\n#y\nb\n"); /* nothing was read, so it reads on */
	expect("[a]");
	codec_kit_feed_unread(&kit, "c\n");
	codec_kit_ask(&kit);
	expect("[a][b]");
}

static void remove_it(struct gyre_handler_context *ctx)
{
	gyre_context_remove(ctx);
}

KIT_TEST_WITH(frame_decoder, may_leave_and_then_all_bytes_are_the_next_handlers, &logs)
{
	begin(test, &netstring);
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

KIT_TEST_WITH(frame_decoder, may_be_replaced_and_then_its_successor_gets_all_bytes, &logs)
{
	begin(test, &netstring);
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

KIT_TEST_WITH(frame_decoder, may_change_the_pipeline_behind_it, &logs)
{
	begin(test, &netstring);
	plan.act = add_behind;
	feed("4:abcd,");
	expect("[ab][cd]");
}

static void read_more(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *more = gyre_context_buffer(ctx);

	cr_assert_eq(gyre_buffer_append(more, "1:b,", 4), 0);
	gyre_context_fire_read(gyre_pipeline_get(gyre_context_channel(ctx), "slices"), more);
}

KIT_TEST_WITH(frame_decoder, may_be_given_more_while_it_looks, &logs)
{
	begin(test, &netstring);
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

KIT_TEST_WITH(frame_decoder, may_leave_behind_a_frame_and_then_the_rest_is_the_next_handlers, &logs)
{
	begin(test, &first_only);
	feed("a\nb\nc");
	expect("[a][b\nc]");
}

/* ---- the end ---- */

KIT_TEST_WITH(frame_decoder, raises_an_error_for_a_frame_that_is_cut_off, &logs)
{
	begin(test, &netstring);
	feed("1:a,3:ab");
	codec_kit_end(&kit);
	expect("[a]!proto.");
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

KIT_TEST_WITH(frame_decoder, is_asked_about_the_rest_until_nothing_is_left, &logs)
{
	begin(test, &ends);
	feed("a\nbcde");
	cr_expect_eq(plan.last_calls, 0);
	codec_kit_end(&kit);
	expect("[a][bc][de].");
	cr_expect_eq(plan.last_calls, 2);
}

KIT_TEST_WITH(frame_decoder, that_cannot_use_the_rest_raises_an_error, &logs)
{
	begin(test, &ends);
	feed("a\nbcd");
	codec_kit_end(&kit);
	expect("[a][bc]!proto.");
}

KIT_TEST_WITH(frame_decoder, is_not_asked_about_a_rest_that_is_none, &logs)
{
	begin(test, &ends);
	feed("a\n");
	codec_kit_end(&kit);
	expect("[a].");
	cr_expect_eq(plan.last_calls, 0);
}

KIT_TEST_WITH(frame_decoder, lets_the_end_wait_behind_a_last_frame, &logs)
{
	begin(test, &ends);
	kit.on_frame = pause_behind;
	feed("a\nbc");
	codec_kit_end(&kit);
	expect("[a]");
	codec_kit_read_by_itself(&kit, true);
	expect("[a][bc].");
	cr_expect_eq(plan.last_calls, 1);
}

KIT_TEST_WITH(frame_decoder, may_leave_at_the_end_and_its_successor_gets_the_bytes_and_the_end,
	      &logs)
{
	begin(test, &ends);
	feed("bc");
	plan.last_act = replace_it;
	codec_kit_end(&kit);
	expect("!proto."); /* of the successor, which has no last frames */
}

KIT_TEST_WITH(frame_decoder, may_end_the_channel_at_the_end, &logs)
{
	begin(test, &ends);
	feed("bc");
	plan.last_act = close_channel;
	codec_kit_end(&kit);
	expect("");
	cr_expect_eq(plan.last_calls, 1);
}

KIT_TEST_WITH(frame_decoder, may_end_the_channel_at_the_end_though_it_judges_no_rest, &logs)
{
	begin(test, &text);
	feed("bc");
	plan.act = close_channel;
	codec_kit_end(&kit);
	expect("");
}

KIT_TEST_WITH(frame_decoder, ends_a_channel_that_is_half_closed_in_the_midst_of_a_frame, &logs)
{
	static const struct gyre_channel_options allowed = { .allow_half_close = true };

	codec_kit_open_with(&kit, test, &allowed);
	add(&netstring);
	kit.pass_errors = true;
	feed("0:,3:ab");
	(void)gyre_tap_expect_read(kit.tap, "", 0, 0);
	codec_kit_end(&kit);
	(void)gyre_tap_expect_exception(kit.tap, -EPROTO, 0);
	(void)gyre_tap_expect_inactive(kit.tap, -EPROTO, GYRE_SECONDS(1));
}

/* ---- datagrams ---- */

static int init_datagrams(struct gyre_channel *channel, void *tap)
{
	int r = gyre_frame_decoder_add(channel, GYRE_LAST, &netstring, &plan);

	return r < 0 ? r : gyre_tap_add(channel, GYRE_LAST, (struct gyre_tap *)tap);
}

static void send_datagrams(struct gyre_test *test, uint16_t port)
{
	static const char *const datagrams[] = { "1:a,2:b", "1:c,x", "1:d," };
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (size_t i = 0; i < gy_countof(datagrams); i++) {
		ssize_t count = (ssize_t)strlen(datagrams[i]);

		cr_assert_eq(sendto(fd, datagrams[i], (size_t)count, 0,
				    (const struct sockaddr *)&to, sizeof(to)),
			     count);
		gyre_test_advance(test, GYRE_MILLISECONDS(1));
	}
	(void)close(fd);
}

KIT_TEST_WITH(frame_decoder, takes_each_datagram_for_a_stream, &logs)
{
	uint16_t port = 0;
	struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						 .init_channel = init_datagrams,
						 .ret_port = &port };

	kit.tap = gyre_tap_create(test);
	options.init_arg = kit.tap;
	cr_assert_eq(gyre_system_datagram_open(gyre_test_system(test), &options, NULL), 0);
	send_datagrams(test, port);
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

static int add_refusing(struct gyre_handler_context *ctx, void *arg)
{
	static const struct gyre_frame_decoder refuses = { .name = "refuses",
							   .decode = decode_text,
							   .added = refuse };
	static const struct gyre_frame_decoder leaves = { .name = "leaves",
							  .decode = decode_text,
							  .added = leave_and_refuse,
							  .removed = count_removed };
	struct gyre_channel *channel = gyre_context_channel(ctx);

	(void)arg;
	cr_expect_eq(gyre_frame_decoder_add(channel, GYRE_FIRST, &refuses, &plan), -EACCES);
	cr_expect_null(gyre_pipeline_get(channel, "refuses"));
	cr_expect_eq(gyre_frame_decoder_add(channel, GYRE_FIRST, &leaves, &plan), -EACCES);
	cr_expect_null(gyre_pipeline_get(channel, "leaves"));
	cr_expect_eq(plan.removed, 1);
	return 0;
}

KIT_TEST_WITH(frame_decoder, that_refuses_is_out_again, &logs)
{
	codec_kit_open(&kit, test);
	cr_assert_eq(gyre_tap_do(kit.tap, add_refusing, NULL), 0);
	feed("passes");
	expect("[passes]");
}

static int add_by_names(struct gyre_handler_context *ctx, void *arg)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct gyre_position other = GYRE_FIRST;

	(void)arg;
	other.name = "other";
	cr_expect_eq(gyre_frame_decoder_add(channel, GYRE_FIRST, &netstring, &plan), -EEXIST);
	cr_expect_eq(gyre_frame_decoder_add(channel, other, &netstring, &plan), 0);
	cr_expect_not_null(gyre_pipeline_get(channel, "netstring"));
	cr_expect_not_null(gyre_pipeline_get(channel, "frame_decoder"));
	cr_expect_not_null(gyre_pipeline_get(channel, "other"));
	cr_expect_eq(gyre_context_arg(gyre_pipeline_get(channel, "other")), &plan);
	return 0;
}

KIT_TEST_WITH(frame_decoder, has_its_own_name_or_that_of_its_position, &logs)
{
	begin(test, &netstring);
	add(&planned);
	cr_assert_eq(gyre_tap_do(kit.tap, add_by_names, NULL), 0);
}

static int add_out_of_bounds(struct gyre_handler_context *ctx, void *arg)
{
	static const struct gyre_frame_decoder blind = { .decode_last = decode_rest };
	static const struct gyre_frame_decoder huge = { .decode = decode_text,
							.frame_bytes_max =
								GYRE_FRAME_BYTES_MAX + 1 };
	static const struct gyre_frame_decoder largest = { .decode = decode_text,
							   .frame_bytes_max =
								   GYRE_FRAME_BYTES_MAX };
	struct gyre_channel *channel = gyre_context_channel(ctx);

	(void)arg;
	cr_expect_eq(gyre_frame_decoder_add(channel, GYRE_FIRST, &blind, NULL), -EINVAL);
	cr_expect_eq(gyre_frame_decoder_add(channel, GYRE_FIRST, &huge, NULL), -EINVAL);
	cr_expect_eq(gyre_frame_decoder_add(channel, GYRE_FIRST, NULL, NULL), -EINVAL);
	cr_expect_eq(gyre_frame_decoder_add(NULL, GYRE_FIRST, &largest, NULL), -EINVAL);
	return gyre_frame_decoder_add(channel, GYRE_FIRST, &largest, &plan);
}

KIT_TEST_WITH(frame_decoder, is_refused_where_it_is_out_of_its_bounds, &logs)
{
	codec_kit_open(&kit, test);
	cr_assert_eq(gyre_tap_do(kit.tap, add_out_of_bounds, NULL), 0);
}
