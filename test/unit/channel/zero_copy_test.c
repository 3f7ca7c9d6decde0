/*
 * Sends without a copy: what arrives, when it is left, and that pages are held for as long as the
 * kernel has them and no longer.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rig.h"
#include "ring_engine.h"

TestSuite(zero_copy, .timeout = 60);

enum { DUE_BYTES = 65536, LARGE_BYTES = 1 << 20 };

static const struct rig_options with_it = { .max_bytes = 4 << 20,
					    .linger_ns = GYRE_SECONDS(3600),
					    .zero_copy_bytes = DUE_BYTES };

static struct rig rig;
static struct gyre_channel *channel;
static unsigned char bytes[LARGE_BYTES];
static uint64_t written;

static const struct gyre_handler silent = { .name = "silent" };
static const struct gyre_handler *const silents[] = { &silent, NULL };

static void begin(const struct rig_options *options)
{
	written = 0;
	rig_init(&rig, options);
}

static void begin_without_copies(const struct rig_options *options)
{
	ONLY_OF_IO_URING("epoll sends nothing without a copy");
	begin(options);
}

/* Goes on with a stream that the far end can check. */
static void write_bytes(size_t count)
{
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	rig_fill(bytes, count, written);
	written += count;
	cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
	cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), buffer), 0);
}

/* A connection whose peer does not read: its kernel takes a little, ours the rest. */
static int open_tcp(const struct gyre_channel_options *options)
{
	int fd = rig_open_tcp(&rig, silents, NULL, options, &channel);

	rig_settle(&rig);
	return fd;
}

static const struct gy_channels_counters *counters(void)
{
	return gy_channels_counters(&rig.home);
}

static bool all_sent(struct rig *r, void *arg)
{
	(void)arg;
	return gy_channels_counters(&r->home)->bytes_sent == written;
}

static bool is_closed(struct rig *r, void *arg)
{
	(void)arg;
	return r->home.channel_ops->open_count(&r->home) == 0;
}

static bool is_held(struct rig *r, void *arg)
{
	(void)arg;
	return rig_channels(r)->zero_copies_count > 0 && channel->output_bytes == 0;
}

static void expect_all(int fd)
{
	struct rig_stream stream = { .fd = fd, .total = written };

	cr_assert(rig_until(&rig, rig_streamed, &stream));
	cr_expect_eq(stream.received, written);
	cr_expect(!stream.wrong);
}

static void end(int fd)
{
	(void)close(fd);
	cr_expect(rig_until(&rig, is_closed, NULL));
	rig_fini(&rig);
}

Test(zero_copy, brings_large_output_unharmed_while_pages_are_used_again)
{
	int fd;

	begin_without_copies(&with_it);
	fd = open_tcp(NULL);
	for (int i = 0; i < 20; i++) {
		struct rig_stream stream = { .fd = fd, .received = written };

		write_bytes(LARGE_BYTES);
		stream.total = written;
		cr_assert(rig_until(&rig, rig_streamed, &stream));
		cr_assert(!stream.wrong);
	}
	cr_expect_gt(counters()->zero_copy_sends, 0);
	end(fd);
}

Test(zero_copy, is_given_up_for_a_peer_on_the_same_machine_once_the_kernel_says_that_it_copied)
{
	uint64_t sends;
	int fd;

	begin_without_copies(&with_it);
	fd = open_tcp(NULL);
	write_bytes(LARGE_BYTES);
	expect_all(fd);
	while (rig_channels(&rig)->zero_copies_count > 0) {
		rig_turn(&rig);
	}
	if (!rig_channels(&rig)->zero_copy_reports) {
		end(fd);
		cr_skip_test("this kernel does not tell whether it copied");
	}
	cr_expect_gt(counters()->zero_copies_copied, 0);
	sends = counters()->zero_copy_sends;
	write_bytes(LARGE_BYTES);
	{
		struct rig_stream stream = { .fd = fd, .received = LARGE_BYTES, .total = written };

		cr_assert(rig_until(&rig, rig_streamed, &stream));
		cr_expect(!stream.wrong);
	}
	cr_expect_eq(counters()->zero_copy_sends, sends);
	end(fd);
}

Test(zero_copy, is_for_what_is_large_enough)
{
	int fd;

	begin_without_copies(&with_it);
	fd = open_tcp(NULL);
	write_bytes(DUE_BYTES - 1);
	expect_all(fd);
	cr_expect_eq(counters()->zero_copy_sends, 0);
	write_bytes(DUE_BYTES);
	cr_assert(rig_until(&rig, all_sent, NULL));
	cr_expect_gt(counters()->zero_copy_sends, 0);
	end(fd);
}

Test(zero_copy, is_not_for_a_system_that_does_not_ask_for_it)
{
	int fd;

	begin(&(struct rig_options){ .max_bytes = 4 << 20 });
	fd = open_tcp(NULL);
	write_bytes(LARGE_BYTES);
	expect_all(fd);
	cr_expect_eq(counters()->zero_copy_sends, 0);
	end(fd);
}

Test(zero_copy, is_given_up_where_the_socket_cannot_and_nothing_is_lost)
{
	int fd;

	begin(&with_it);
	fd = rig_open(&rig, silents, NULL, NULL, &channel); /* a Unix socket */
	rig_settle(&rig);
	write_bytes(LARGE_BYTES);
	expect_all(fd);
	cr_expect_eq(counters()->zero_copy_sends, 0);
	cr_expect(channel->no_zero_copy);
	end(fd);
}

Test(zero_copy, holds_the_pages_until_the_peer_has_acknowledged_them)
{
	int fd;

	begin_without_copies(&with_it);
	fd = open_tcp(NULL);
	write_bytes(LARGE_BYTES);
	cr_assert(rig_until(&rig, is_held, NULL), "all is in the kernel, and it needs the pages");
	cr_expect_gt(rig_channels(&rig)->pools.pages.total -
			     rig_channels(&rig)->pools.pages.free_count,
		     0);
	expect_all(fd);
	while (rig_channels(&rig)->zero_copies_count > 0) {
		rig_turn(&rig);
	}
	cr_expect_eq(rig_channels(&rig)->pools.pages.total,
		     rig_channels(&rig)->pools.pages.free_count);
	end(fd);
}

static void expect_all_after_the_close(const struct gyre_channel_options *options, bool half_close)
{
	struct rig_stream stream = { 0 };

	begin_without_copies(&with_it);
	stream.fd = open_tcp(options);
	write_bytes(LARGE_BYTES);
	cr_assert(rig_until(&rig, is_held, NULL));
	if (half_close) {
		cr_assert_eq(shutdown(stream.fd, SHUT_WR), 0);
	}
	gyre_context_close(gyre_channel_tail(channel));
	rig_settle(&rig);
	cr_expect(!is_closed(&rig, NULL), "it waits");
	cr_assert(rig_until(&rig, rig_stream_ended, &stream));
	cr_expect_eq(stream.error, 0, "%s", strerror(stream.error));
	cr_expect_eq(stream.received, written);
	cr_expect(!stream.wrong);
	end(stream.fd);
}

Test(zero_copy, loses_nothing_when_the_channel_is_closed_meanwhile)
{
	expect_all_after_the_close(NULL, false);
}

Test(zero_copy, loses_nothing_when_the_peer_has_ended_before)
{
	expect_all_after_the_close(NULL, true);
}

Test(zero_copy, loses_nothing_when_the_channel_does_not_linger)
{
	expect_all_after_the_close(&(struct gyre_channel_options){ .no_linger = true }, false);
}

Test(zero_copy, ends_with_an_abort_and_gives_the_pages_back_though_the_peer_never_reads)
{
	int fd;

	begin_without_copies(&with_it);
	fd = open_tcp(NULL);
	write_bytes(LARGE_BYTES);
	cr_assert(rig_until(&rig, is_held, NULL));
	write_bytes(LARGE_BYTES); /* and one that is under way, if not complete */
	gyre_channel_abort(channel, -EIO);
	cr_expect(rig_until(&rig, is_closed, NULL));
	cr_expect_eq(rig_channels(&rig)->pools.pages.total,
		     rig_channels(&rig)->pools.pages.free_count);
	end(fd);
}

Test(zero_copy, ends_with_the_linger_time_when_the_peer_never_reads)
{
	struct rig_options options = with_it;
	int fd;

	options.linger_ns = GYRE_MILLISECONDS(50);
	begin_without_copies(&options);
	fd = open_tcp(NULL);
	write_bytes(LARGE_BYTES);
	cr_assert(rig_until(&rig, is_held, NULL));
	gyre_context_close(gyre_channel_tail(channel));
	cr_expect(rig_until_later(&rig, is_closed, NULL));
	cr_expect_eq(counters()->linger_timeouts, 1);
	end(fd);
}
