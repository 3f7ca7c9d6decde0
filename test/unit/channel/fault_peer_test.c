/*
 * Peers that read nothing, or send and read a byte at a time: what a channel holds for them is
 * bounded, and others do not suffer.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fault_rig.h"

TestSuite(slow_peer, .timeout = 60);

enum { LOW = 10000, HIGH = 20000, MAX = 100000, CROWD = 50 };

static const struct rig_options marks = {
	.low_bytes = LOW, .high_bytes = HIGH, .max_bytes = MAX, .linger_ns = GYRE_MILLISECONDS(100)
};

/* ---- reads nothing ---- */

static void make_small(int fd, int option)
{
	const int small = 4096;

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, option, &small, sizeof(small)), 0);
}

/* Opens one that neither side's kernel holds much for. */
static struct rig_stream open_small(const struct gyre_handler *const *handlers,
				    const struct gyre_channel_options *options)
{
	struct gyre_channel *channel;
	struct rig_stream stream = { .total = 8 << 20 };

	stream.fd = rig_open_tcp(&fault.rig, handlers, NULL, options, &channel);
	make_small(stream.fd, SO_RCVBUF);
	make_small(stream.fd, SO_SNDBUF);
	make_small(channel->endpoint.fd, SO_SNDBUF);
	return stream;
}

/* All that channels hold: pages of the pool, and of the ring. */
static uint64_t held_bytes(void)
{
	const struct gy_channels *channels = rig_channels(&fault.rig);

	return (uint64_t)(channels->pools.pages.total - channels->pools.pages.free_count) *
		       GY_POOL_PAGE_BYTES +
	       (uint64_t)channels->pools.lent * gy_ring_buffer_bytes(channels->pools.ring);
}

/*
 * Of one channel: sixteen pages may be nearly empty, and those behind them, up to the mark, a
 * little less than half full; the last that came before reading stopped goes over it.
 */
static uint64_t held_bytes_max(void)
{
	return (16 + HIGH / (GY_POOL_PAGE_BYTES / 2) + 1) * (uint64_t)GY_POOL_PAGE_BYTES +
	       gy_ring_buffer_bytes(rig_channels(&fault.rig)->pools.ring);
}

static void flood(struct rig_stream *streams, size_t count)
{
	for (int i = 0; i < 300; i++) {
		for (size_t j = 0; j < count; j++) {
			rig_stream_send(&streams[j]);
		}
		rig_turn(&fault.rig);
	}
}

Test(slow_peer, that_reads_nothing_is_held_no_more_for_than_the_marks_say)
{
	struct rig_stream streams[CROWD];
	struct rig_stream other = { .total = 1 << 20 };

	fault_begin(&marks);
	for (size_t i = 0; i < CROWD; i++) {
		streams[i] = open_small(rig_echo_only, NULL);
	}
	flood(streams, CROWD);
	cr_expect_eq(fault.rig.home.channel_ops->open_count(&fault.rig.home), CROWD);
	for (size_t i = 0; i < CROWD; i++) {
		cr_expect_lt(streams[i].sent, streams[i].total);
	}
	cr_expect_leq(held_bytes(), CROWD * held_bytes_max(), "%lu", held_bytes());
	other.fd = rig_open_tcp(&fault.rig, rig_echo_only, NULL, NULL, NULL);
	cr_expect(rig_until(&fault.rig, rig_streamed, &other), "others do not suffer");
	(void)close(other.fd);
	for (size_t i = 0; i < CROWD; i++) {
		(void)close(streams[i].fd);
	}
	rig_fini(&fault.rig);
}

Test(slow_peer, that_reads_nothing_while_reading_goes_on_ends_at_the_cap_and_nothing_is_held)
{
	const struct gyre_channel_options options = { .keep_reading = true };
	struct rig_stream streams[CROWD];

	fault_begin(&marks);
	fault.echo = true;
	for (size_t i = 0; i < CROWD; i++) {
		streams[i] = open_small(fault_handlers, &options);
	}
	for (int i = 0; i < 3000 && fault.inactive < CROWD; i++) {
		flood(streams, CROWD);
		cr_expect_leq(held_bytes(), (uint64_t)CROWD * (MAX + 3 * 4096));
	}
	cr_expect_eq(fault.inactive, CROWD);
	cr_expect_eq(fault.reason, -ENOBUFS);
	cr_expect_eq(fault.rig.logged, 10, "and not a line each");
	fault.rig.warnings_expected = 11; /* with that of those left out */
	cr_expect_eq(held_bytes(), 0);
	for (size_t i = 0; i < CROWD; i++) {
		(void)close(streams[i].fd);
	}
	rig_fini(&fault.rig);
}

static void begin_full(void)
{
	fault_begin(&marks);
	fault_open(NULL);
	make_small(fault.fd, SO_RCVBUF);
	make_small(fault.channel->endpoint.fd, SO_SNDBUF);
	rig_settle(&fault.rig);
	cr_assert_eq(fault_write(MAX), 0);
	rig_settle(&fault.rig);
	cr_assert(fault.channel->send.armed);
}

Test(slow_peer, that_reads_nothing_is_not_waited_for_beyond_the_linger_time, .init = begin_full)
{
	gyre_context_close(gyre_channel_tail(fault.channel));
	fault_end(-ETIMEDOUT);
}

Test(slow_peer, that_reads_nothing_is_not_waited_for_in_a_drain_either, .init = begin_full)
{
	fault.rig.home.channel_ops->drain(&fault.rig.home);
	fault_end(-ETIMEDOUT);
}

Test(slow_peer, that_reads_nothing_and_has_ended_is_not_waited_for_either, .init = begin_full)
{
	cr_assert_eq(shutdown(fault.fd, SHUT_WR), 0);
	fault_end(-ETIMEDOUT);
}

/* ---- sends and reads a byte at a time ---- */

static bool drip(struct rig *rig, void *arg)
{
	struct rig_stream *stream = (struct rig_stream *)arg;
	unsigned char byte;

	(void)rig;
	if (stream->sent < stream->total && stream->sent - stream->received < 10) {
		rig_fill(&byte, 1, stream->sent);
		stream->sent += send(stream->fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
	}
	if (recv(stream->fd, &byte, 1, MSG_DONTWAIT) == 1) {
		stream->wrong = stream->wrong || !rig_check(&byte, 1, stream->received);
		stream->received++;
	}
	return stream->received == stream->total;
}

Test(slow_peer, that_drips_in_both_directions_is_served)
{
	struct rig_stream stream = { .total = 5000 };
	struct rig_stream other = { .total = 1 << 20 };

	fault_begin(NULL);
	stream.fd = rig_open_tcp(&fault.rig, rig_echo_only, NULL, NULL, NULL);
	other.fd = rig_open_tcp(&fault.rig, rig_echo_only, NULL, NULL, NULL);
	cr_assert(rig_until(&fault.rig, drip, &stream));
	cr_expect(!stream.wrong);
	cr_expect_eq(rig_channels(&fault.rig)->pools.lent, 0);
	cr_assert(rig_until(&fault.rig, rig_streamed, &other));
	(void)close(stream.fd);
	(void)close(other.fd);
	rig_fini(&fault.rig);
}

static bool sip(struct rig *rig, void *arg)
{
	struct rig_stream *stream = (struct rig_stream *)arg;
	unsigned char byte;

	(void)rig;
	for (int i = 0; i < 500 && recv(stream->fd, &byte, 1, MSG_DONTWAIT) == 1; i++) {
		stream->wrong = stream->wrong || !rig_check(&byte, 1, stream->received);
		stream->received++;
	}
	return stream->received == stream->total;
}

Test(slow_peer, that_reads_a_byte_at_a_time_gets_all_in_order)
{
	struct rig_stream stream = { .total = MAX };

	fault_begin(&marks);
	stream.fd = rig_open(&fault.rig, fault_handlers, NULL, NULL, &fault.channel);
	make_small(fault.channel->endpoint.fd, SO_SNDBUF);
	rig_settle(&fault.rig);
	cr_assert_eq(fault_write(MAX), 0);
	cr_assert(rig_until(&fault.rig, sip, &stream));
	cr_expect(!stream.wrong);
	(void)close(stream.fd);
	fault_end(0);
}

/* ---- drips what a handler collects ---- */

static struct gyre_buffer *collected;

static void collect(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)ctx;
	if (collected == NULL) {
		collected = data;
	} else {
		cr_assert_eq(gyre_buffer_join(collected, data), 0);
	}
}

static const struct gyre_handler collector = { .name = "collector", .read = collect };
static const struct gyre_handler *const collectors[] = { &collector, NULL };

static bool dripped(struct rig *rig, void *arg)
{
	struct rig_stream *stream = (struct rig_stream *)arg;
	unsigned char byte;

	(void)rig;
	if (stream->sent < stream->total && gyre_buffer_bytes(collected) == stream->sent) {
		rig_fill(&byte, 1, stream->sent);
		cr_assert_eq(send(stream->fd, &byte, 1, MSG_NOSIGNAL), 1);
		stream->sent++;
	}
	return gyre_buffer_bytes(collected) == stream->total;
}

Test(slow_peer, that_drips_what_a_handler_joins_takes_no_page_for_each_byte)
{
	static unsigned char bytes[10000];
	struct rig_stream stream = { .total = sizeof(bytes) };

	fault_begin(NULL);
	stream.fd = rig_open_tcp(&fault.rig, collectors, NULL, NULL, NULL);
	cr_assert(rig_until(&fault.rig, dripped, &stream));
	cr_expect_leq(held_bytes(), 2 * sizeof(bytes) + 4096, "%lu", held_bytes());
	cr_expect_eq(gyre_buffer_read(collected, bytes, sizeof(bytes)), sizeof(bytes));
	cr_expect(rig_check(bytes, sizeof(bytes), 0));
	gyre_buffer_destroy(collected);
	(void)close(stream.fd);
	rig_fini(&fault.rig);
}

/* ---- finds no receive buffers ---- */

static struct gyre_buffer *hoard[16];
static size_t hoarded;

static void keep(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)ctx;
	cr_assert_lt(hoarded, gy_countof(hoard));
	hoard[hoarded++] = data;
}

static const struct gyre_handler keeper = { .name = "keeper", .read = keep };
static const struct gyre_handler *const keepers[] = { &keeper, NULL };

Test(slow_peer, that_resets_while_there_are_no_receive_buffers_is_heard_of_when_there_are)
{
	static const unsigned char bytes[16 * 512];
	int fd;

	fault_begin(&(struct rig_options){ .buffer_count = 16, .buffer_bytes = 512 });
	fd = rig_open_tcp(&fault.rig, keepers, NULL, NULL, NULL);
	fault_open(NULL);
	rig_settle(&fault.rig);
	cr_assert_eq(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL), (ssize_t)sizeof(bytes));
	fault_send(100);
	fault_reset();
	while (fault.inactive == 0) {
		rig_turn(&fault.rig);
	}
	cr_expect_gt(gy_channels_counters(&fault.rig.home)->buffer_stalls, 0);
	cr_expect_eq(fault.bytes, 100);
	for (size_t i = 0; i < hoarded; i++) {
		gyre_buffer_destroy(hoard[i]);
	}
	cr_expect_eq(fault.reason, -ECONNRESET);
	(void)close(fd);
	rig_fini(&fault.rig);
}
