/*
 * The peers of channels: the test writes bytes to a pipeline and reads what it has written, slowly
 * or not at all, and ends the connection in each way there is.
 */
#include "echo.h"
#include "testkit_rig.h"

static const char here[] = "testkit_peer_test.c:";

static const struct gyre_acceptor_options echo_options = { .init_channel = init_echo };

/* ---- pipelines ---- */

static void answer_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)gyre_buffer_printf(buffer, "%zu", gyre_buffer_bytes(line));
	gyre_buffer_destroy(line);
	(void)gyre_context_write(ctx, buffer);
}

static int init_lines(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler counts = { .name = "counts", .read = answer_line };
	static const struct gyre_line_options lines = { .frame_bytes_max = 100,
							.append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &counts, arg);
}

/* How a channel has ended. */
struct end {
	uint32_t count;
	int reason;
};

static int note_end(struct gyre_stack *stack, const struct gyre_listen_event *event,
		    struct gyre_channel *channel, void *arg)
{
	struct end *end = (struct end *)arg;

	(void)stack;
	(void)channel;
	if (event->step == GYRE_LISTEN_CLOSED) {
		end->count++;
		end->reason = event->reason;
	}
	return 0;
}

/* ---- what works ---- */

static void count_lines(struct gyre_test *test, void *arg)
{
	const struct gyre_acceptor_options options = { .init_channel = init_lines };
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &options);

	(void)arg;
	(void)gyre_test_channel_write_text(peer, "one\nthr");
	(void)gyre_test_channel_expect_text(peer, "3\n");
	(void)gyre_test_channel_expect_none(peer, GYRE_SECONDS(1));
	(void)gyre_test_channel_write_text(peer, "ee\n\n");
	(void)gyre_test_channel_expect(peer, "5\n0\n", 4, GYRE_SECONDS(1));
}

Test(sim_testkit_peer, writes_to_a_pipeline_and_reads_from_it)
{
	pass(count_lines, NULL);
}

static void echo_much(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &echo_options);
	static char bytes[60000];
	static char back[sizeof(bytes)];
	size_t done = 0;
	int64_t count;

	(void)arg;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (char)(i % 251);
	}
	(void)gyre_test_channel_write(peer, bytes, sizeof(bytes), GYRE_SECONDS(1));
	while (done < sizeof(back) &&
	       (count = gyre_test_channel_read(peer, back + done, sizeof(back) - done,
					       GYRE_SECONDS(1))) > 0) {
		done += (size_t)count;
	}
	cr_assert_eq(done, sizeof(back));
	cr_assert_eq(memcmp(bytes, back, sizeof(bytes)), 0);
	cr_assert_eq(gyre_test_channel_read(peer, back, 1, GYRE_SECONDS(1)), -EAGAIN);
}

Test(sim_testkit_peer, passes_many_bytes)
{
	pass(echo_much, NULL);
}

/* An echo whose peer does not read takes no more at some time, and goes on when the peer does. */
static void press_back(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &echo_options);
	static char bytes[1 << 16];
	uint64_t written = 0;
	uint64_t read = 0;
	int64_t count;

	while (gyre_test_channel_write(peer, bytes, sizeof(bytes), GYRE_SECONDS(1)) == 0) {
		written += sizeof(bytes);
		cr_assert(written < UINT64_C(1) << 30, "nothing holds the peer up");
	}
	cr_assert_eq(((struct told *)arg)->count, 1);
	while ((count = gyre_test_channel_read(peer, bytes, sizeof(bytes), GYRE_SECONDS(1))) > 0) {
		read += (uint64_t)count;
	}
	cr_assert_eq(count, -EAGAIN);
	cr_assert(read >= written);
	cr_assert_eq(gyre_test_channel_write(peer, bytes, 100, GYRE_SECONDS(1)), 0);
}

Test(sim_testkit_peer, holds_a_pipeline_up_and_is_held_up)
{
	struct told told = { 0 };
	const struct gyre_test_options options = { .failure = tell, .failure_arg = &told };

	cr_assert_eq(gyre_test_run(&options, press_back, &told), -ENOTRECOVERABLE);
	cr_assert_eq(told.count, 1);
	cr_assert_neq(strstr(told.text, "bytes cannot be written: Connection timed out"), NULL,
		      "%s", told.text);
}

/* The same without a failure. */
static void try_to_write(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &echo_options);
	static char bytes[1 << 16];
	int64_t written = 0;
	int64_t count;

	(void)arg;
	cr_assert_eq(gyre_test_channel_try_write(peer, "text", GYRE_TEST_TEXT, 0), 4);
	while ((count = gyre_test_channel_try_write(peer, bytes, sizeof(bytes), GYRE_SECONDS(1))) >
	       0) {
		written += count;
		cr_assert(written < INT64_C(1) << 30, "nothing holds the peer up");
	}
	cr_assert_eq(count, -EAGAIN);
	(void)gyre_test_channel_expect_text(peer, "text");
	while ((count = gyre_test_channel_read(peer, bytes, sizeof(bytes), GYRE_SECONDS(1))) > 0) {
		written -= count;
	}
	cr_assert_eq(written, 0, "just what was written comes back");
	cr_assert_eq(gyre_test_channel_half_close(peer), 0);
	cr_assert_eq(gyre_test_channel_try_write(peer, bytes, 1, GYRE_SECONDS(1)), -EPIPE);
	gyre_test_channel_close(peer);
	cr_assert_eq(gyre_test_channel_try_write(peer, bytes, 1, GYRE_SECONDS(1)), -EBADF);
}

Test(sim_testkit_peer, writes_what_there_is_room_for)
{
	pass(try_to_write, NULL);
}

static void half_close(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &echo_options);

	(void)arg;
	(void)gyre_test_channel_write_text(peer, "the last words");
	cr_assert_eq(gyre_test_channel_half_close(peer), 0);
	(void)gyre_test_channel_expect_text(peer, "the last words");
	(void)gyre_test_channel_expect_end(peer, GYRE_SECONDS(1));
	gyre_test_channel_close(peer);
	gyre_test_channel_close(peer);
	cr_assert_eq(gyre_test_channel_half_close(peer), -EBADF);
	cr_assert_eq(gyre_test_channel_read(peer, NULL, 0, 0), -EBADF);
}

Test(sim_testkit_peer, half_closes_and_hears_of_the_end)
{
	pass(half_close, NULL);
}

static void close_and_reset(struct gyre_test *test, void *arg)
{
	struct end ends[2] = { 0 };
	struct gyre_acceptor_options options = { .init_channel = init_echo,
						 .report = note_end,
						 .report_arg = &ends[0] };
	struct gyre_test_channel *closing = gyre_test_channel_open(test, &options);
	struct gyre_test_channel *resetting;

	(void)arg;
	options.report_arg = &ends[1];
	resetting = gyre_test_channel_open(test, &options);
	gyre_test_advance(test, GYRE_MILLISECONDS(10));
	gyre_test_channel_close(closing);
	gyre_test_channel_reset(resetting);
	gyre_test_advance(test, GYRE_MILLISECONDS(10));
	cr_assert_eq(ends[0].count, 1);
	cr_assert_eq(ends[0].reason, 0);
	cr_assert_eq(ends[1].count, 1);
	cr_assert_eq(ends[1].reason, -ECONNRESET);
}

Test(sim_testkit_peer, closes_and_resets)
{
	pass(close_and_reset, NULL);
}

static void connect_twice(struct gyre_test *test, void *arg)
{
	uint16_t port = 0;
	const struct gyre_acceptor_options options = { .init_channel = init_lines,
						       .ret_port = &port };
	struct gyre_test_channel *first = gyre_test_channel_open(test, &options);
	struct gyre_test_channel *second = gyre_test_channel_connect(test, port);

	(void)arg;
	(void)gyre_test_channel_write_text(first, "x\n");
	(void)gyre_test_channel_write_text(second, "xx\n");
	(void)gyre_test_channel_expect_text(first, "1\n");
	(void)gyre_test_channel_expect_text(second, "2\n");
}

Test(sim_testkit_peer, connects_to_a_port_that_the_system_listens_on)
{
	pass(connect_twice, NULL);
}

/* ---- what fails ---- */

static void expect_other_bytes(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &echo_options);

	(void)arg;
	(void)gyre_test_channel_write_text(peer, "same\n\x01other");
	cr_assert_eq(gyre_test_channel_expect_text(peer, "same\n\x01otter"), -EBADMSG);
}

Test(sim_testkit_peer, fails_where_other_bytes_come)
{
	fail(expect_other_bytes, NULL, here,
	     "expected \"same\\n\\x01otter\", and got \"same\\n\\x01other\"");
}

static void expect_more_bytes(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &echo_options);

	(void)arg;
	(void)gyre_test_channel_write_text(peer, "abc");
	cr_assert_eq(gyre_test_channel_expect_text(peer, "abcd"), -ETIMEDOUT);
}

Test(sim_testkit_peer, fails_where_too_few_bytes_come)
{
	fail(expect_more_bytes, NULL, here, "expected \"d\", and got \"\" in time");
}

static void expect_after_the_end(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &echo_options);

	(void)arg;
	cr_assert_eq(gyre_test_channel_half_close(peer), 0);
	cr_assert_eq(gyre_test_channel_expect_text(peer, "a"), -ENODATA);
}

Test(sim_testkit_peer, fails_where_the_channel_ends_before_its_bytes)
{
	fail(expect_after_the_end, NULL, here, "the channel has ended");
}

static void expect_no_bytes(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &echo_options);

	(void)arg;
	(void)gyre_test_channel_write_text(peer, "a");
	cr_assert_eq(gyre_test_channel_expect_none(peer, GYRE_SECONDS(1)), -EBADMSG);
	(void)gyre_test_channel_expect_text(peer, "a");
}

Test(sim_testkit_peer, fails_where_bytes_come_that_must_not)
{
	fail(expect_no_bytes, NULL, here, "expected no bytes");
}

static void expect_no_end(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &echo_options);

	(void)arg;
	cr_assert_eq(gyre_test_channel_half_close(peer), 0);
	cr_assert_eq(gyre_test_channel_expect_none(peer, GYRE_SECONDS(1)), -ENODATA);
}

Test(sim_testkit_peer, fails_where_the_channel_ends_and_must_not)
{
	fail(expect_no_end, NULL, here, "the channel has ended");
}

static void expect_end_in_vain(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &echo_options);

	(void)arg;
	cr_assert_eq(gyre_test_channel_expect_end(peer, GYRE_SECONDS(1)), -ETIMEDOUT);
}

Test(sim_testkit_peer, fails_where_the_channel_does_not_end)
{
	fail(expect_end_in_vain, NULL, here, "the channel has not ended");
}

static void expect_end_with_bytes(struct gyre_test *test, void *arg)
{
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &echo_options);

	(void)arg;
	(void)gyre_test_channel_write_text(peer, "a");
	cr_assert_eq(gyre_test_channel_half_close(peer), 0);
	cr_assert_eq(gyre_test_channel_expect_end(peer, GYRE_SECONDS(1)), -EBADMSG);
}

Test(sim_testkit_peer, fails_where_bytes_come_before_the_end)
{
	fail(expect_end_with_bytes, NULL, here, "expected the end, and there are bytes");
}

static void connect_in_vain(struct gyre_test *test, void *arg)
{
	(void)arg;
	cr_assert_null(gyre_test_channel_connect(test, 9));
}

Test(sim_testkit_peer, fails_where_nobody_listens)
{
	fail(connect_in_vain, NULL, here, "the test cannot connect: Connection refused");
}

static void open_without_handlers(struct gyre_test *test, void *arg)
{
	const struct gyre_acceptor_options options = { .init_channel = NULL };

	(void)arg;
	cr_assert_null(gyre_test_channel_open(test, &options));
}

Test(sim_testkit_peer, fails_where_it_cannot_listen)
{
	fail(open_without_handlers, NULL, here, "the test cannot listen: Invalid argument");
}
