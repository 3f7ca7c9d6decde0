/* Water marks: crossings, the pause of reading above the high one, refusals, and the cap. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/codec.h>

#include "rig.h"

TestSuite(channel_mark, .timeout = 60);

enum { LOW = 10000, HIGH = 20000, MAX = 100000 };

static const struct rig_options marks = { .low_bytes = LOW, .high_bytes = HIGH, .max_bytes = MAX };

struct heard {
	uint32_t unwritable;
	uint32_t writable;
	int reason;
	bool inactive;
	size_t most; /* bytes ever queued */
};

static struct rig rig;
static struct heard heard;
static struct gyre_channel *channel;
static int fd;

static void on_writability(struct gyre_handler_context *ctx, bool writable)
{
	(void)ctx;
	heard.writable += writable;
	heard.unwritable += !writable;
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	heard.reason = gyre_channel_reason(gyre_context_channel(ctx));
	heard.inactive = true;
}

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	size_t queued;

	(void)gyre_context_write(ctx, data);
	queued = gyre_channel_queued_bytes(gyre_context_channel(ctx));
	heard.most = queued > heard.most ? queued : heard.most;
}

static const struct gyre_handler listener = {
	.name = "listener",
	.read = on_read,
	.writability = on_writability,
	.inactive = on_inactive,
};
static const struct gyre_handler *const listeners[] = { &listener, NULL };

/* The kernel takes little, so that the rest queues up. */
static void make_narrow(void)
{
	int bytes = 1;

	cr_assert_eq(setsockopt(channel->endpoint.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)),
		     0);
	rig_settle(&rig);
}

static void begin_with(const struct gyre_channel_options *options)
{
	memset(&heard, 0, sizeof(heard));
	rig_init(&rig, &marks);
	fd = rig_open(&rig, listeners, NULL, options, &channel);
	make_narrow();
}

static void begin(void)
{
	begin_with(NULL);
}

static void end(void)
{
	(void)close(fd);
	rig_fini(&rig);
}

static struct gyre_buffer *bytes_of(size_t count)
{
	static unsigned char bytes[2 * MAX];
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
	return buffer;
}

static int write_bytes(size_t count)
{
	return gyre_context_write(gyre_channel_tail(channel), bytes_of(count));
}

static void drain_peer(void)
{
	unsigned char bytes[4096];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
	}
}

static bool is_empty(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	drain_peer();
	return gyre_channel_queued_bytes(channel) == 0 && heard.writable > 0;
}

static bool is_inactive(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	return heard.inactive;
}

Test(channel_mark, is_heard_of_once_above_and_once_below, .init = begin, .fini = end)
{
	cr_assert_eq(write_bytes(HIGH), 0);
	cr_expect(gyre_channel_is_writable(channel));
	cr_assert_eq(write_bytes(1), 0);
	cr_expect(!gyre_channel_is_writable(channel));
	cr_assert_eq(write_bytes(HIGH), 0);
	cr_expect_eq(heard.unwritable, 0, "not inside the write");
	rig_settle(&rig);
	cr_expect_eq(heard.unwritable, 1);
	cr_expect_eq(heard.writable, 0);
	cr_assert(rig_until(&rig, is_empty, NULL));
	cr_expect(gyre_channel_is_writable(channel));
	cr_expect_eq(heard.unwritable, 1);
	cr_expect_eq(heard.writable, 1);
}

/* As a line codec writes what is published to many: the line is shared, and its end is not. */
static int write_shared_line(struct gyre_bytes *line)
{
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(gyre_buffer_append_shared(buffer, line), 0);
	cr_assert_eq(gyre_buffer_append(buffer, "\n", 1), 0);
	return gyre_context_write(gyre_channel_tail(channel), buffer);
}

Test(channel_mark, is_reached_by_short_lines_of_shared_bytes_in_as_much_memory_as_it_says,
     .init = begin, .fini = end)
{
	const struct gy_pool *pages = &rig_channels(&rig)->pools.pages;
	struct gyre_bytes *line = gyre_bytes_create("hi", 2);

	cr_assert_eq(write_bytes(1), 0);
	while (gyre_channel_is_writable(channel)) {
		cr_assert_eq(write_shared_line(line), 0);
	}
	cr_expect_leq(gyre_channel_queued_bytes(channel), HIGH + 3);
	cr_expect_leq(pages->total - pages->free_count, HIGH / GY_POOL_PAGE_BYTES + 2);
	gyre_bytes_unref(line);
	cr_assert(rig_until(&rig, is_empty, NULL));
}

Test(channel_mark, between_the_two_changes_nothing, .init = begin, .fini = end)
{
	cr_assert_eq(write_bytes(HIGH + 1000), 0);
	rig_settle(&rig);
	while (gyre_channel_queued_bytes(channel) > (LOW + HIGH) / 2) {
		unsigned char byte[100];

		(void)recv(fd, byte, sizeof(byte), MSG_DONTWAIT);
		rig_turn(&rig);
	}
	cr_expect_gt(gyre_channel_queued_bytes(channel), LOW);
	cr_expect(!gyre_channel_is_writable(channel));
	cr_expect_eq(heard.writable, 0);
}

Test(channel_mark, makes_try_write_refuse_and_leave_the_buffer, .init = begin, .fini = end)
{
	struct gyre_handler_context *tail = gyre_channel_tail(channel);
	struct gyre_buffer *buffer = bytes_of(100);

	cr_expect_eq(gyre_context_try_write(tail, bytes_of(HIGH + 1)), 0);
	cr_expect_eq(gyre_context_try_write(tail, buffer), -EAGAIN);
	cr_expect_eq(gyre_buffer_bytes(buffer), 100);
	cr_assert(rig_until(&rig, is_empty, NULL));
	cr_expect_eq(gyre_context_try_write(tail, buffer), 0);
	cr_expect_eq(gyre_context_try_write(tail, NULL), -ENOMEM);
	cr_expect_eq(gyre_context_try_write(NULL, NULL), -EINVAL);
	buffer = bytes_of(MAX + 1);
	cr_expect_eq(gyre_context_try_write(tail, buffer), -EMSGSIZE);
	gyre_context_close(tail);
	cr_expect_eq(gyre_context_try_write(tail, buffer), -EPIPE);
	gyre_buffer_destroy(buffer);
}

Test(channel_mark, leaves_room_for_what_codecs_add_to_a_try_write, .init = begin, .fini = end)
{
	static char end[GYRE_DELIMITER_BYTES_MAX];
	const struct gyre_span delimiter = { end, sizeof(end) };
	const struct gyre_delimiter_options options = { .delimiters = &delimiter,
							.delimiters_count = 1,
							.append = true };
	struct gyre_handler_context *tail = gyre_channel_tail(channel);
	struct gyre_buffer *buffer = bytes_of(MAX);

	cr_assert_eq(gyre_delimiter_codec_add(channel, GYRE_LAST, &options), 0);
	cr_expect_eq(gyre_context_try_write(tail, buffer), -EMSGSIZE);
	cr_expect_eq(gyre_channel_reason(channel), 0);
	(void)gyre_buffer_skip(buffer, sizeof(end));
	cr_expect_eq(gyre_context_try_write(tail, buffer), 0);
	cr_expect_eq(gyre_channel_queued_bytes(channel), MAX);
	cr_expect_eq(gyre_channel_reason(channel), 0);
}

Test(channel_mark, is_crossed_by_a_write_that_is_refused_so_that_its_writer_hears_when_to_try_again,
     .init = begin, .fini = end)
{
	struct gyre_handler_context *tail = gyre_channel_tail(channel);
	struct gyre_buffer *large = bytes_of(MAX - 1000);

	cr_assert_eq(write_bytes(HIGH - 1000), 0);
	rig_settle(&rig);
	cr_assert(gyre_channel_is_writable(channel));
	cr_expect_eq(gyre_context_try_write(tail, large), -EAGAIN, "it would go over the cap");
	rig_settle(&rig);
	cr_expect_eq(heard.unwritable, 1);
	cr_expect_eq(heard.writable, 0);
	cr_assert(rig_until(&rig, is_empty, NULL));
	cr_expect_eq(heard.writable, 1);
	cr_expect_eq(gyre_context_try_write(tail, large), 0);
}

Test(channel_mark, that_is_the_cap_closes_the_channel_with_a_reason, .init = begin, .fini = end)
{
	char address[GYRE_ADDRESS_TEXT_MAX];
	char line[RIG_LOG_BYTES];

	cr_assert_gt(gyre_address_format(gyre_channel_address(channel), sizeof(address), address),
		     0);
	(void)snprintf(line, sizeof(line),
		       "actor owner: channel %s is closed: 1 bytes were written behind 100000 that "
		       "wait, and its cap (write_max_bytes) is 100000; write while "
		       "gyre_channel_is_writable()",
		       address);
	cr_expect_eq(write_bytes(MAX), 0);
	cr_expect_eq(write_bytes(1), -ENOBUFS);
	cr_expect_eq(write_bytes(1), -EPIPE);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_expect_eq(heard.reason, -ENOBUFS);
	cr_expect_eq(heard.unwritable, 0, "there was no time to heed it");
	cr_expect_eq(gy_channels_counters(&rig.home)->write_max_closed, 1);
	cr_expect_str_eq(rig.last_log, line);
	rig.warnings_expected = 1;
}

Test(channel_mark, of_one_channel_may_differ_from_those_of_others)
{
	const struct gyre_channel_options own = { .write_low_bytes = LOW / 10,
						  .write_high_bytes = HIGH / 10,
						  .write_max_bytes = MAX / 10 };

	begin_with(&own);
	cr_assert_eq(write_bytes(HIGH / 10), 0);
	cr_expect(gyre_channel_is_writable(channel));
	cr_assert_eq(write_bytes(1), 0);
	cr_expect(!gyre_channel_is_writable(channel));
	rig_settle(&rig);
	while (gyre_channel_queued_bytes(channel) > LOW / 10) {
		unsigned char byte[100];

		cr_expect(!gyre_channel_is_writable(channel));
		(void)recv(fd, byte, sizeof(byte), MSG_DONTWAIT);
		rig_turn(&rig);
	}
	cr_assert(rig_until(&rig, is_empty, NULL));
	cr_expect_eq(gyre_context_try_write(gyre_channel_tail(channel), bytes_of(MAX / 10)), 0);
	cr_expect_eq(write_bytes(1), -ENOBUFS);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_expect_eq(heard.reason, -ENOBUFS);
	rig.warnings_expected = 1;
	end();
}

static void flood(struct rig_stream *stream)
{
	for (int i = 0; i < 200; i++) {
		rig_stream_send(stream);
		rig_turn(&rig);
	}
}

Test(channel_mark, stops_reading_so_that_an_echo_cannot_be_flooded, .fini = end)
{
	struct rig_stream stream = { .total = 5 << 20 };
	const int bytes = 65536;

	rig_init(&rig, &marks);
	fd = rig_open_tcp(&rig, listeners, NULL, NULL, &channel);
	make_narrow();
	/* Nor do they hold what is to be sent. */
	cr_assert_eq(setsockopt(channel->endpoint.fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)),
		     0);
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), 0);
	stream.fd = fd;
	flood(&stream);
	cr_expect_lt(stream.sent, stream.total);
	cr_expect_leq(heard.most, HIGH + gy_ring_buffer_bytes(rig.home.loop.ring));
	cr_expect(!heard.inactive);
	cr_assert(rig_until(&rig, rig_streamed, &stream));
	cr_expect(!stream.wrong && !stream.ended);
	cr_expect_leq(heard.most, HIGH + gy_ring_buffer_bytes(rig.home.loop.ring));
	cr_expect_gt(heard.writable, 10);
	cr_expect_leq(heard.unwritable - heard.writable, 1, "they take turns");
}

Test(channel_mark, reaches_the_cap_when_reading_goes_on_by_request)
{
	const struct gyre_channel_options options = { .keep_reading = true };
	struct rig_stream stream = { .total = 5 << 20 };

	begin_with(&options);
	stream.fd = fd;
	flood(&stream);
	cr_expect(heard.inactive);
	cr_expect_eq(heard.reason, -ENOBUFS);
	rig.warnings_expected = 1;
	end();
}

Test(channel_mark, does_not_hold_up_a_peer_that_sends_nothing_meanwhile, .init = begin, .fini = end)
{
	struct rig_stream stream = { .fd = fd, .total = 100 };

	cr_assert_eq(write_bytes(HIGH + 1), 0);
	rig_settle(&rig);
	cr_expect(channel->receive.armed, "a pause without input costs nothing");
	cr_assert(rig_until(&rig, is_empty, NULL));
	cr_assert(rig_until(&rig, rig_streamed, &stream));
	cr_expect(!stream.wrong);
}
