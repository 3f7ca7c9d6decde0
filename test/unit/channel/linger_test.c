/*
 * Lingering: what a channel has queued when it is closed arrives, whatever the peer still sends;
 * and a peer that takes nothing, or never closes, does not keep it open for ever.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/mail/send.h"
#include "echo.h"
#include "rig.h"

TestSuite(linger, .timeout = 60);

enum { ANSWER_BYTES = 200000, REQUEST_BYTES = 1 << 20, PART_BYTES = 100000, TIMES = 50 };

/* For tests in which it shall run out. */
static const struct rig_options impatient = { .linger_ns = GYRE_MILLISECONDS(100) };

static struct rig rig;
static struct gyre_channel *channel;
static uint32_t reads;
static uint32_t inactive;
static int reason;
static unsigned char answer[1 << 20];

/* Writes the first @count bytes of a stream that the far end can check. */
static void write_answer(struct gyre_handler_context *ctx, size_t count)
{
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	rig_fill(answer, count, 0);
	cr_assert_eq(gyre_buffer_append(buffer, answer, count), 0);
	cr_assert_eq(gyre_context_write(ctx, buffer), 0);
}

static void answer_and_close(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	reads++;
	gyre_buffer_destroy(data);
	write_answer(ctx, ANSWER_BYTES);
	gyre_context_close(ctx);
}

static void note_end(struct gyre_handler_context *ctx)
{
	inactive++;
	reason = gyre_channel_reason(gyre_context_channel(ctx));
}

static const struct gyre_handler answerer = {
	.name = "answerer",
	.read = answer_and_close,
	.inactive = note_end,
};
static const struct gyre_handler *const answerers[] = { &answerer, NULL };

static bool is_closed(struct rig *r, void *arg)
{
	(void)arg;
	return r->home.channel_ops->open_count(&r->home) == 0;
}

/* ---- the peer still sends ---- */

/* Sends all the while, and receives; zeros go out, so that only what comes is checked. */
static bool sent_and_ended(struct rig *r, void *arg)
{
	static const unsigned char zeros[16384];
	struct rig_stream *stream = (struct rig_stream *)arg;
	ssize_t sent = 1;

	while (sent > 0 && stream->sent < stream->total) {
		sent = send(stream->fd, zeros, sizeof(zeros), MSG_DONTWAIT | MSG_NOSIGNAL);
		stream->sent += sent > 0 ? (uint64_t)sent : 0;
	}
	return rig_stream_ended(r, stream);
}

/* The same, but it does not receive before it has sent everything. */
static bool sent_then_ended(struct rig *r, void *arg)
{
	static const unsigned char zeros[16384];
	struct rig_stream *stream = (struct rig_stream *)arg;

	if (stream->sent < stream->total) {
		ssize_t sent = send(stream->fd, zeros, sizeof(zeros), MSG_DONTWAIT | MSG_NOSIGNAL);

		cr_assert(sent > 0 || errno == EAGAIN, "%s", strerror(errno));
		stream->sent += sent > 0 ? (uint64_t)sent : 0;
		return false;
	}
	return rig_stream_ended(r, stream);
}

static void expect_whole_answer(rig_condition_fn peer)
{
	struct rig_stream stream = { .total = REQUEST_BYTES };

	reads = 0;
	stream.fd = rig_open_tcp(&rig, answerers, NULL, NULL, NULL);
	cr_assert(rig_until(&rig, peer, &stream));
	cr_expect_eq(stream.error, 0, "%s", strerror(stream.error));
	cr_expect_eq(stream.received, ANSWER_BYTES);
	cr_expect(!stream.wrong);
	cr_expect_eq(reads, 1, "what comes after the close is not delivered");
	(void)close(stream.fd);
	cr_expect(rig_until(&rig, is_closed, NULL));
}

Test(linger, lets_a_peer_that_still_sends_have_the_whole_answer_and_a_proper_end)
{
	rig_init(&rig, NULL);
	for (int i = 0; i < TIMES; i++) {
		expect_whole_answer(sent_and_ended);
	}
	rig_fini(&rig);
}

Test(linger, takes_what_a_peer_sends_that_reads_only_afterwards)
{
	rig_init(&rig, NULL);
	for (int i = 0; i < TIMES; i++) {
		expect_whole_answer(sent_then_ended);
	}
	rig_fini(&rig);
}

static bool discards(struct rig *r, void *arg)
{
	struct rig_stream *stream = (struct rig_stream *)arg;

	cr_expect_eq(rig_channels(r)->pools.lent, 0, "it keeps what it throws away");
	return sent_and_ended(r, stream);
}

Test(linger, keeps_nothing_of_what_it_throws_away)
{
	struct rig_stream stream = { .total = (uint64_t)16 << 20 };
	uint32_t pages;

	rig_init(&rig, NULL);
	stream.fd = rig_open_tcp(&rig, answerers, NULL, NULL, &channel);
	cr_assert_eq(write(stream.fd, "?", 1), 1);
	while (reads == 0) {
		rig_turn(&rig);
	}
	pages = rig_channels(&rig)->pools.pages.total;
	cr_assert(rig_until(&rig, discards, &stream));
	cr_expect_eq(stream.received, ANSWER_BYTES);
	cr_expect_eq(rig_channels(&rig)->pools.pages.total, pages);
	cr_expect_eq(gy_channels_counters(&rig.home)->bytes_received, 1);
	(void)close(stream.fd);
	cr_expect(rig_until(&rig, is_closed, NULL));
	rig_fini(&rig);
}

/* ---- the peer does not do its part ---- */

static void expect_ended_for(int why)
{
	cr_expect_eq(inactive, 1);
	cr_expect_eq(reason, why, "%s", strerror(-reason));
	cr_expect_eq(gy_channels_counters(&rig.home)->linger_timeouts, why == -ETIMEDOUT);
}

/* A channel that has written as much as it may, and little of which the kernels hold. */
static int open_full(void)
{
	int small = 4096;
	int fd = rig_open_tcp(&rig, answerers, NULL, NULL, &channel);

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	cr_assert_eq(setsockopt(channel->endpoint.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)),
		     0);
	rig_settle(&rig);
	write_answer(gyre_channel_tail(channel), sizeof(answer));
	return fd;
}

Test(linger, ends_with_a_reason_when_the_peer_never_reads)
{
	uint64_t began_ns;
	int fd;

	rig_init(&rig, &impatient);
	fd = open_full();
	began_ns = rig.now_ns;
	gyre_context_close(gyre_channel_tail(channel));
	cr_assert(rig_until_later(&rig, is_closed, NULL));
	cr_expect_geq(rig.now_ns - began_ns, GYRE_MILLISECONDS(90));
	expect_ended_for(-ETIMEDOUT);
	(void)close(fd);
	rig_fini(&rig);
}

static bool is_all_in_the_kernel(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	return gyre_channel_queued_bytes(channel) == 0;
}

Test(linger, ends_with_a_reason_also_when_all_is_in_the_kernel_and_the_peer_never_reads)
{
	int small = 4096;
	int fd;

	rig_init(&rig, &impatient);
	fd = rig_open_tcp(&rig, answerers, NULL, NULL, &channel);
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	rig_settle(&rig);
	write_answer(gyre_channel_tail(channel), ANSWER_BYTES);
	cr_assert(rig_until(&rig, is_all_in_the_kernel, NULL));
	gyre_context_close(gyre_channel_tail(channel));
	cr_assert(rig_until_later(&rig, is_closed, NULL));
	expect_ended_for(-ETIMEDOUT);
	(void)close(fd);
	rig_fini(&rig);
}

static bool is_stopped(struct rig *r, void *arg)
{
	(void)arg;
	return r->home.houses == 0;
}

static const struct gyre_handler echoer = { .read = echo_read, .inactive = note_end };
static const struct gyre_handler *const echoers[] = { &echoer, NULL };

Test(linger, ends_with_a_reason_when_an_actor_stops_whose_peer_never_reads)
{
	struct rig_stream stream = { .total = UINT64_MAX };

	rig_init(&rig, &(struct rig_options){ .low_bytes = 4096,
					      .high_bytes = 8192,
					      .linger_ns = GYRE_MILLISECONDS(100) });
	stream.fd = rig_open_tcp(&rig, echoers, NULL, NULL, &channel);
	for (uint64_t sent = 1; sent != stream.sent;) {
		sent = stream.sent;
		rig_stream_send(&stream);
		rig_settle(&rig);
	}
	cr_assert_eq(gy_send_signal(&rig.home, gy_house_address(rig.house), &gy_type_stop,
				    GY_MAIL_EVENT),
		     0);
	cr_assert(rig_until_later(&rig, is_stopped, NULL));
	expect_ended_for(-ETIMEDOUT);
	(void)close(stream.fd);
	rig_fini(&rig);
}

struct slow_reader {
	struct rig_stream stream;
	uint64_t goal; /* how much may be untaken after the part that it reads */
};

static bool is_all_taken(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	return gy_channel_untaken_bytes(channel) == 0;
}

/* Reads until its kernel has taken more, and in the end until the end. */
static bool read_a_part(struct rig *r, void *arg)
{
	struct slow_reader *reader = (struct slow_reader *)arg;
	unsigned char bytes[65536];
	ssize_t got;

	(void)r;
	if (reader->goal > 0 && gy_channel_untaken_bytes(channel) <= reader->goal) {
		return true;
	}
	got = recv(reader->stream.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (got > 0) {
		reader->stream.wrong = reader->stream.wrong ||
				       !rig_check(bytes, (size_t)got, reader->stream.received);
		reader->stream.received += (uint64_t)got;
	}
	reader->stream.ended = got == 0 || (got < 0 && errno != EAGAIN);
	return reader->stream.ended;
}

/* In all it takes longer than the linger time. */
Test(linger, waits_for_a_peer_that_reads_slowly)
{
	struct slow_reader reader = { 0 };
	uint64_t began_ns;

	rig_init(&rig, &(struct rig_options){ .linger_ns = GYRE_SECONDS(1) });
	reader.stream.fd = rig_open_tcp(&rig, answerers, NULL, NULL, &channel);
	rig_settle(&rig);
	write_answer(gyre_channel_tail(channel), sizeof(answer));
	began_ns = rig.now_ns;
	gyre_context_close(gyre_channel_tail(channel));
	while (!reader.stream.ended) {
		cr_expect_eq(inactive, 0, "it is waited for");
		reader.goal = gy_channel_untaken_bytes(channel);
		reader.goal -= reader.goal > PART_BYTES ? PART_BYTES : reader.goal;
		cr_assert(rig_until(&rig, read_a_part, &reader));
		rig_pass(&rig, GYRE_MILLISECONDS(300));
	}
	cr_expect_gt(rig.now_ns - began_ns, GYRE_SECONDS(1));
	cr_expect_eq(reader.stream.received, sizeof(answer));
	cr_expect(!reader.stream.wrong);
	(void)close(reader.stream.fd);
	cr_assert(rig_until(&rig, is_closed, NULL));
	expect_ended_for(0);
	rig_fini(&rig);
}

Test(linger, ends_in_good_order_when_the_peer_has_all_and_never_closes)
{
	struct rig_stream stream = { 0 };
	uint64_t began_ns;

	rig_init(&rig, &(struct rig_options){ .linger_ns = GYRE_SECONDS(1) });
	stream.fd = rig_open_tcp(&rig, answerers, NULL, NULL, &channel);
	began_ns = rig.now_ns;
	cr_assert_eq(write(stream.fd, "?", 1), 1);
	cr_assert(rig_until(&rig, rig_stream_ended, &stream));
	cr_expect_eq(stream.received, ANSWER_BYTES);
	cr_expect_eq(inactive, 0, "the peer has had the end, and the channel waits for its");
	cr_assert(rig_until(&rig, is_all_taken, NULL));
	cr_assert(rig_until_later(&rig, is_closed, NULL));
	cr_expect_geq(rig.now_ns - began_ns, GYRE_MILLISECONDS(900));
	expect_ended_for(0);
	(void)close(stream.fd);
	rig_fini(&rig);
}

/* The same, until the channel is left. */
static bool sends_for_ever(struct rig *r, void *arg)
{
	(void)sent_and_ended(r, arg);
	return inactive > 0;
}

Test(linger, ends_with_a_peer_that_sends_for_ever)
{
	struct rig_stream stream = { .total = UINT64_MAX };

	rig_init(&rig, &impatient);
	stream.fd = rig_open_tcp(&rig, answerers, NULL, NULL, &channel);
	cr_assert(rig_until(&rig, sent_and_ended, &stream));
	cr_assert(rig_until(&rig, is_all_taken, NULL));
	cr_assert(rig_until_later(&rig, sends_for_ever, &stream));
	cr_expect_eq(stream.received, ANSWER_BYTES);
	expect_ended_for(0);
	(void)close(stream.fd);
	rig_fini(&rig);
}

/* ---- when it is left out ---- */

Test(linger, is_left_out_when_the_peer_has_ended_before)
{
	struct rig_stream stream = { 0 };

	rig_init(&rig, NULL);
	stream.fd = rig_open_tcp(&rig, answerers, NULL, NULL, &channel);
	cr_assert_eq(write(stream.fd, "?", 1), 1);
	cr_assert_eq(shutdown(stream.fd, SHUT_WR), 0);
	cr_assert(rig_until(&rig, is_closed, NULL));
	rig_stream_receive(&stream);
	cr_expect_eq(stream.received, ANSWER_BYTES);
	expect_ended_for(0);
	(void)close(stream.fd);
	rig_fini(&rig);
}

Test(linger, is_left_out_of_a_channel_that_shall_not)
{
	const struct gyre_channel_options options = { .no_linger = true };
	struct rig_stream stream = { 0 };

	rig_init(&rig, NULL);
	stream.fd = rig_open_tcp(&rig, answerers, NULL, &options, &channel);
	cr_assert_eq(write(stream.fd, "?", 1), 1);
	cr_assert(rig_until(&rig, is_closed, NULL));
	cr_assert(rig_until(&rig, rig_stream_ended, &stream));
	cr_expect_eq(stream.received, ANSWER_BYTES);
	expect_ended_for(0);
	(void)close(stream.fd);
	rig_fini(&rig);
}

Test(linger, is_ended_by_an_abort_and_does_not_hold_up_one)
{
	struct rig_stream stream = { 0 };

	for (int closing = 0; closing < 2; closing++) {
		inactive = 0;
		rig_init(&rig, NULL);
		stream.fd = open_full();
		if (closing != 0) {
			gyre_context_close(gyre_channel_tail(channel));
			rig_settle(&rig);
			cr_expect_eq(inactive, 0);
		}
		gyre_channel_abort(channel, -ECANCELED);
		cr_assert(rig_until(&rig, is_closed, NULL));
		expect_ended_for(-ECANCELED);
		(void)close(stream.fd);
		rig_fini(&rig);
	}
}

Test(linger, tells_no_handler_of_the_peers_end)
{
	const struct gyre_channel_options options = { .allow_half_close = true };
	struct rig_stream stream = { 0 };

	rig_init(&rig, NULL);
	stream.fd = rig_open_tcp(&rig, answerers, NULL, &options, &channel);
	cr_assert_eq(write(stream.fd, "?", 1), 1);
	cr_assert(rig_until(&rig, rig_stream_ended, &stream));
	cr_assert_eq(shutdown(stream.fd, SHUT_WR), 0);
	cr_assert(rig_until(&rig, is_closed, NULL));
	cr_expect_eq(reads, 1);
	expect_ended_for(0);
	(void)close(stream.fd);
	rig_fini(&rig);
}

/* ---- in a drain ---- */

Test(linger, does_not_wait_for_idle_peers_in_a_drain)
{
	struct rig_stream streams[50] = { 0 };

	rig_init(&rig, NULL);
	for (size_t i = 0; i < gy_countof(streams); i++) {
		streams[i].fd = rig_open_tcp(&rig, rig_echo_only, NULL, NULL, NULL);
		streams[i].total = 1000;
		cr_assert(rig_until(&rig, rig_streamed, &streams[i]));
	}
	rig.home.channel_ops->drain(&rig.home);
	cr_assert(rig_until_later(&rig, is_closed, NULL));
	for (size_t i = 0; i < gy_countof(streams); i++) {
		rig_stream_receive(&streams[i]);
		cr_expect(streams[i].ended);
		cr_expect_eq(streams[i].error, 0);
		cr_expect_eq(streams[i].received, streams[i].total);
		(void)close(streams[i].fd);
	}
	rig_fini(&rig);
}

static bool all_ended(struct rig *r, void *arg)
{
	struct rig_stream *streams = (struct rig_stream *)arg;
	bool all = true;

	for (size_t i = 0; i < 10; i++) {
		if (!streams[i].ended) {
			rig_stream_send(&streams[i]);
			all = rig_stream_ended(r, &streams[i]) && all;
		}
	}
	return all;
}

Test(linger, loses_nothing_that_was_written_when_a_drain_comes_into_heavy_traffic)
{
	for (int i = 0; i < TIMES / 5; i++) {
		struct rig_stream streams[10] = { 0 };
		uint64_t received = 0;

		rig_init(&rig, NULL);
		for (size_t j = 0; j < gy_countof(streams); j++) {
			streams[j].fd = rig_open_tcp(&rig, rig_echo_only, NULL, NULL, NULL);
			streams[j].total = UINT64_MAX;
		}
		for (int turn = 0; turn < 20 + i; turn++) {
			(void)all_ended(&rig, streams);
			rig_turn(&rig);
		}
		rig.home.channel_ops->drain(&rig.home);
		cr_assert(rig_until(&rig, all_ended, streams));
		for (size_t j = 0; j < gy_countof(streams); j++) {
			cr_expect_eq(streams[j].error, 0, "%s", strerror(streams[j].error));
			cr_expect(!streams[j].wrong);
			received += streams[j].received;
			(void)close(streams[j].fd);
		}
		cr_expect_eq(received, gy_channels_counters(&rig.home)->bytes_received);
		rig_fini(&rig);
	}
}
