/* Channels: what comes in goes through the handlers and out again, whatever the sizes and the
 * speed. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel/output/output.h"
#include "rig.h"

TestSuite(channel, .timeout = 120);

static struct rig rig;

static void stream_back(struct rig_stream *stream)
{
	cr_expect(rig_until(&rig, rig_streamed, stream), "stuck at %lu of %lu, %lu sent",
		  stream->received, stream->total, stream->sent);
	cr_expect(!stream->wrong && !stream->ended);
	cr_expect_eq(stream->received, stream->total);
	(void)close(stream->fd);
}

Test(channel, costs_little_memory_while_it_is_idle)
{
	cr_expect_leq(sizeof(struct gyre_channel) + sizeof(struct gy_context), 1024);
}

Test(channel, sends_back_what_it_receives)
{
	struct rig_stream stream = { .total = 5 };

	rig_init(&rig, NULL);
	stream.fd = rig_open(&rig, rig_echo_only, NULL, NULL, NULL);
	stream_back(&stream);
	rig_fini(&rig);
}

Test(channel, sends_back_100_megabytes_byte_for_byte)
{
	struct rig_stream stream = { .total = 100 << 20 };

	rig_init(&rig, NULL);
	stream.fd = rig_open_tcp(&rig, rig_echo_only, NULL, NULL, NULL);
	stream_back(&stream);
	rig_fini(&rig);
}

Test(channel, keeps_the_order_of_many_small_pieces)
{
	static const size_t pieces[] = { 1, 3, 100, 255, 256, 257, 1000 };

	rig_init(&rig, NULL);
	for (size_t i = 0; i < gy_countof(pieces); i++) {
		struct rig_stream stream = { .total = pieces[i] * 1000, .piece = pieces[i] };

		stream.fd = rig_open_tcp(&rig, rig_echo_only, NULL, NULL, NULL);
		stream_back(&stream);
	}
	rig_fini(&rig);
}

Test(channel, goes_on_after_each_short_write_where_the_last_one_ended)
{
	struct rig_stream stream = { .total = 3 << 20 };
	struct gyre_channel *channel;
	int bytes = 1;

	rig_init(&rig, NULL);
	stream.fd = rig_open(&rig, rig_echo_only, NULL, NULL, &channel);
	cr_assert_eq(setsockopt(channel->endpoint.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)),
		     0);
	stream_back(&stream);
	rig_fini(&rig);
}

Test(channel, works_with_receive_buffers_of_any_size)
{
	static const uint32_t sizes[] = { 512, 1000, 4096, 65536 };

	for (size_t i = 0; i < 2 * gy_countof(sizes); i++) {
		const struct rig_options options = { .buffer_bytes = sizes[i / 2],
						     .buffer_count = 16,
						     .whole_buffers = i % 2 == 0 };
		struct rig_stream stream = { .total = 2 << 20 };

		rig_init(&rig, &options);
		stream.fd = rig_open_tcp(&rig, rig_echo_only, NULL, NULL, NULL);
		stream_back(&stream);
		rig_fini(&rig);
	}
}

/* ---- writing ---- */

struct written {
	int fd;
	size_t received;
	size_t wanted;
	unsigned char bytes[1 << 20];
};

static bool written_arrived(struct rig *r, void *arg)
{
	struct written *written = (struct written *)arg;
	ssize_t count;

	(void)r;
	while ((count = recv(written->fd, written->bytes + written->received,
			     sizeof(written->bytes) - written->received, MSG_DONTWAIT)) > 0) {
		written->received += (size_t)count;
	}
	return written->received >= written->wanted;
}

static struct gyre_buffer *pattern(size_t position, size_t count)
{
	static unsigned char bytes[1 << 20];
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	rig_fill(bytes, count, position);
	cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
	return buffer;
}

Test(channel, sends_what_was_written_piece_by_piece_in_that_order)
{
	static struct written written;
	struct gyre_channel *channel;
	size_t at = 0;

	rig_init(&rig, NULL);
	written.fd = rig_open(&rig, rig_echo_only, NULL, NULL, &channel);
	for (size_t piece = 1; at + piece < 200000; piece += 17) {
		cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), pattern(at, piece)), 0);
		at += piece;
		if (piece % 5 == 0) {
			gyre_context_flush(gyre_channel_tail(channel));
		}
		if (piece % 7 == 0) {
			rig_turn(&rig);
		}
	}
	written.wanted = at;
	cr_assert(rig_until(&rig, written_arrived, &written));
	cr_expect(rig_check(written.bytes, at, 0));
	cr_expect_eq(written.received, at);
	cr_expect_eq(gyre_channel_queued_bytes(channel), 0);
	(void)close(written.fd);
	rig_fini(&rig);
}

Test(channel, gathers_more_slices_than_one_send_takes)
{
	enum { PIECES = 5 * GY_GATHER_SLICES, PIECE = 300 };
	static struct written written;
	struct gyre_channel *channel;

	rig_init(&rig, NULL);
	written.fd = rig_open(&rig, rig_echo_only, NULL, NULL, &channel);
	written.wanted = PIECES * PIECE;
	for (size_t i = 0; i < PIECES; i++) {
		/* Too many slices in one buffer, and pieces that are not worth a copy. */
		struct gyre_buffer *buffer = pattern(i * PIECE, PIECE / 2);

		cr_assert_eq(gyre_buffer_join(buffer, pattern(i * PIECE + PIECE / 2, PIECE / 2)),
			     0);
		cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), buffer), 0);
	}
	cr_assert(rig_until(&rig, written_arrived, &written));
	cr_expect(rig_check(written.bytes, PIECES * PIECE, 0));
	(void)close(written.fd);
	rig_fini(&rig);
}

Test(channel, puts_small_pieces_behind_one_another_into_few_pages)
{
	struct gyre_channel *channel;
	int fd;

	rig_init(&rig, NULL);
	fd = rig_open(&rig, rig_echo_only, NULL, NULL, &channel);
	for (size_t i = 0; i < 1000; i++) {
		cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), pattern(i, 1)), 0);
	}
	cr_expect_eq(channel->output_buffers, 1);
	cr_expect_eq(gyre_channel_queued_bytes(channel), 1000);
	(void)close(fd);
	rig_fini(&rig);
}

Test(channel, takes_an_empty_buffer_and_sends_nothing)
{
	struct gyre_channel *channel;
	int fd;

	rig_init(&rig, NULL);
	fd = rig_open(&rig, rig_echo_only, NULL, NULL, &channel);
	cr_expect_eq(gyre_context_write(gyre_channel_tail(channel), pattern(0, 0)), 0);
	cr_expect_eq(gyre_context_write(gyre_channel_tail(channel), NULL), -ENOMEM);
	cr_expect_eq(gyre_channel_queued_bytes(channel), 0);
	(void)close(fd);
	rig_fini(&rig);
}

/* ---- reading on request ---- */

struct reader {
	uint64_t bytes;
	uint32_t reads;
	bool wrong;
};

static void count_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct reader *reader = (struct reader *)gyre_context_arg(ctx);
	unsigned char bytes[65536];
	size_t count = gyre_buffer_read(data, bytes, sizeof(bytes));

	reader->wrong = reader->wrong || !rig_check(bytes, count, reader->bytes);
	reader->bytes += count;
	reader->reads++;
	gyre_buffer_destroy(data);
}

static const struct gyre_handler counting = { .name = "counting", .read = count_read };
static const struct gyre_handler *const counting_only[] = { &counting, NULL };

static bool read_once_more(struct rig *r, void *arg)
{
	static uint32_t seen;
	struct reader *reader = (struct reader *)arg;
	bool more = reader->reads != seen;

	(void)r;
	seen = reader->reads;
	return more;
}

Test(channel, reads_only_what_was_asked_for_when_it_is_told_to)
{
	const struct gyre_channel_options options = { .manual_read = true };
	struct rig_stream stream = { .total = 40000 };
	struct reader reader = { 0 };
	struct gyre_channel *channel;

	rig_init(&rig, NULL);
	stream.fd = rig_open(&rig, counting_only, &reader, &options, &channel);
	rig_stream_send(&stream);
	rig_settle(&rig);
	cr_expect_eq(reader.reads, 0);
	while (reader.bytes < stream.total) {
		uint32_t before = reader.reads;

		gyre_context_read(gyre_channel_tail(channel));
		cr_assert(rig_until(&rig, read_once_more, &reader));
		rig_settle(&rig);
		cr_assert_eq(reader.reads, before + 1);
	}
	cr_expect(!reader.wrong);
	(void)close(stream.fd);
	rig_fini(&rig);
}

static bool all_read(struct rig *r, void *arg)
{
	(void)r;
	return ((struct reader *)arg)->bytes == 300000;
}

Test(channel, keeps_in_order_what_arrives_while_reading_is_off)
{
	struct rig_stream stream = { .total = 0 };
	struct reader reader = { 0 };
	struct gyre_channel *channel;

	rig_init(&rig, NULL);
	stream.fd = rig_open(&rig, counting_only, &reader, NULL, &channel);
	for (int i = 0; i < 6; i++) {
		uint64_t before = reader.bytes;

		stream.total += 50000;
		gyre_channel_set_auto_read(channel, false);
		rig_stream_send(&stream);
		rig_settle(&rig);
		cr_expect_eq(reader.bytes, before);
		gyre_channel_set_auto_read(channel, true);
		rig_settle(&rig);
		cr_expect_gt(reader.bytes, before);
	}
	rig_stream_send(&stream);
	cr_expect(rig_until(&rig, all_read, &reader));
	cr_expect(!reader.wrong);
	(void)close(stream.fd);
	rig_fini(&rig);
}

/* ---- receive buffers ---- */

enum { CROWD = 60 };

static bool all_streamed(struct rig *r, void *arg)
{
	struct rig_stream *streams = (struct rig_stream *)arg;
	bool all = true;

	for (int i = 0; i < CROWD; i++) {
		all = rig_streamed(r, &streams[i]) && all;
	}
	return all;
}

Test(channel, waits_for_receive_buffers_when_there_are_none_and_goes_on_when_there_are)
{
	const struct rig_options options = { .buffer_count = 16, .buffer_bytes = 512 };
	static struct rig_stream streams[CROWD];

	rig_init(&rig, &options);
	for (int i = 0; i < CROWD; i++) {
		streams[i] = (struct rig_stream){ .total = 50000 };
		streams[i].fd = rig_open(&rig, rig_echo_only, NULL, NULL, NULL);
	}
	cr_assert(rig_until(&rig, all_streamed, streams));
	for (int i = 0; i < CROWD; i++) {
		cr_expect(!streams[i].wrong);
		(void)close(streams[i].fd);
	}
	cr_expect_gt(gy_channels_counters(&rig.home)->buffer_stalls, 0);
	rig_fini(&rig);
}

enum { PARKED = 12, WITHOUT_NEED = 8, HOARD_PAGES = 16 };

/* Keeps all that it gets, and with the first of it takes from the others their wish to read. */
struct hoarder {
	struct gyre_channel *others[WITHOUT_NEED];
	struct gyre_buffer *hoard[2 * HOARD_PAGES];
	size_t count;
};

static void hoard(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct hoarder *hoarder = (struct hoarder *)gyre_context_arg(ctx);

	for (size_t i = 0; hoarder->count == 0 && i < WITHOUT_NEED; i++) {
		gyre_channel_set_auto_read(hoarder->others[i], false);
	}
	cr_assert_lt(hoarder->count, gy_countof(hoarder->hoard));
	hoarder->hoard[hoarder->count++] = data;
}

static const struct gyre_handler hoarding = { .name = "hoarding", .read = hoard };
static const struct gyre_handler *const hoarding_only[] = { &hoarding, NULL };

static bool those_in_need_have_read(struct rig *r, void *arg)
{
	const struct reader *readers = (const struct reader *)arg;
	bool all = true;

	(void)r;
	for (size_t i = WITHOUT_NEED; i < PARKED; i++) {
		all = all && readers[i].bytes == 1;
	}
	return all;
}

Test(channel, passes_on_the_wake_up_that_it_has_no_need_of_any_more)
{
	const struct rig_options options = { .buffer_count = HOARD_PAGES, .buffer_bytes = 512 };
	static unsigned char bytes[HOARD_PAGES * 512];
	struct reader readers[PARKED] = { 0 };
	struct hoarder hoarder = { .count = 0 };
	int fds[PARKED + 1];

	rig_init(&rig, &options);
	for (size_t i = 0; i < PARKED; i++) {
		struct gyre_channel *channel;

		fds[i] = rig_open(&rig, counting_only, &readers[i], NULL, &channel);
		if (i < WITHOUT_NEED) {
			hoarder.others[i] = channel;
		}
	}
	fds[PARKED] = rig_open_tcp(&rig, hoarding_only, &hoarder, NULL, NULL);
	rig_settle(&rig);
	/* The first to send has all pages; the others find none, and park. */
	cr_assert_eq(write(fds[PARKED], bytes, sizeof(bytes)), (ssize_t)sizeof(bytes));
	for (size_t i = 0; i < PARKED; i++) {
		cr_assert_eq(write(fds[i], bytes, 1), 1);
	}
	cr_assert(rig_until(&rig, those_in_need_have_read, readers));
	cr_expect_geq(gy_channels_counters(&rig.home)->buffer_stalls, PARKED);
	cr_expect_eq(readers[0].bytes, 0);
	for (size_t i = 0; i < hoarder.count; i++) {
		gyre_buffer_destroy(hoarder.hoard[i]);
	}
	for (size_t i = 0; i <= PARKED; i++) {
		(void)close(fds[i]);
	}
	rig_fini(&rig);
}

Test(channel, is_not_shut_out_by_others_that_do_not_take_their_output)
{
	const struct rig_options options = { .buffer_count = 16, .buffer_bytes = 512 };
	struct rig_stream slow[8];
	struct rig_stream stream = { .total = 1 << 20 };

	rig_init(&rig, &options);
	for (size_t i = 0; i < gy_countof(slow); i++) {
		slow[i] = (struct rig_stream){ .total = 4 << 20 };
		slow[i].fd = rig_open(&rig, rig_echo_only, NULL, NULL, NULL);
	}
	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < gy_countof(slow); i++) {
			rig_stream_send(&slow[i]);
		}
		rig_turn(&rig);
	}
	cr_expect_lt(slow[0].sent, slow[0].total, "the slow ones were to be full");
	stream.fd = rig_open(&rig, rig_echo_only, NULL, NULL, NULL);
	stream_back(&stream);
	for (size_t i = 0; i < gy_countof(slow); i++) {
		stream_back(&slow[i]);
	}
	rig_fini(&rig);
}

/* Their receives are of different kinds, and share buffers. */
Test(channel, does_not_mix_up_what_comes_over_sockets_of_both_kinds)
{
	static struct rig_stream streams[CROWD];

	rig_init(&rig, NULL);
	for (int i = 0; i < CROWD; i++) {
		streams[i] = (struct rig_stream){ .total = 1 << 17, .piece = 1 + 37 * (size_t)i };
		streams[i].fd = i % 2 == 0 ? rig_open(&rig, rig_echo_only, NULL, NULL, NULL)
					   : rig_open_tcp(&rig, rig_echo_only, NULL, NULL, NULL);
	}
	cr_assert(rig_until(&rig, all_streamed, streams));
	for (int i = 0; i < CROWD; i++) {
		cr_expect(!streams[i].wrong);
		(void)close(streams[i].fd);
	}
	rig_fini(&rig);
}

static void keep(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	*(struct gyre_buffer **)gyre_context_arg(ctx) = data;
}

static const struct gyre_handler keeping = { .name = "keeping", .read = keep };
static const struct gyre_handler *const keeping_only[] = { &keeping, NULL };

static bool is_kept(struct rig *r, void *arg)
{
	(void)r;
	return *(struct gyre_buffer **)arg != NULL;
}

Test(channel, keeps_a_page_that_it_shares_until_the_last_slice_of_it_is_gone)
{
	struct rig_stream stream = { .total = 3 << 20 };
	struct gyre_buffer *kept = NULL;
	char bytes[5];
	int fd;

	rig_init(&rig, &(struct rig_options){ .buffer_count = 16, .buffer_bytes = 1024 });
	fd = rig_open(&rig, keeping_only, &kept, NULL, NULL);
	stream.fd = rig_open(&rig, rig_echo_only, NULL, NULL, NULL);
	cr_assert_eq(write(fd, "a bit", 5), 5);
	cr_assert(rig_until(&rig, is_kept, &kept));
	stream_back(&stream);
	cr_expect_eq(rig_channels(&rig)->pools.lent, 1);
	cr_expect_eq(gyre_buffer_copy(kept, 0, bytes, 5), 5);
	cr_expect_eq(memcmp(bytes, "a bit", 5), 0);
	gyre_buffer_destroy(kept);
	cr_expect_eq(rig_channels(&rig)->pools.lent, 0);
	(void)close(fd);
	rig_fini(&rig);
}

Test(channel, holds_ring_pages_only_as_long_as_its_handlers_keep_them)
{
	struct rig_stream stream = { .total = 100000 };
	struct reader reader = { 0 };

	rig_init(&rig, NULL);
	stream.fd = rig_open(&rig, counting_only, &reader, NULL, NULL);
	rig_stream_send(&stream);
	rig_settle(&rig);
	cr_expect_gt(reader.bytes, 0);
	cr_expect_eq(rig_channels(&rig)->pools.lent, 0);
	(void)close(stream.fd);
	rig_fini(&rig);
}
