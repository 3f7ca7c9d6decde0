/*
 * Bytes and datagrams while there is no memory, from each allocation on: a stream comes back as it
 * was sent, or its channel is closed; a datagram comes back or is lost, and those that are sent
 * when there is memory again come back.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/datagram.h>
#include <gyre/frame_decoder.h>

#include "channel/codec/codec.h"
#include "echo.h"
#include "net/no_memory_rig.h"

TestSuite(no_memory_bytes, .timeout = 120);

enum { STREAM = 50000, FRAME = 3000, DATAGRAMS = 5, DATAGRAM = 1000 };

static bool echo_stream(const struct lean_round *round, const struct gyre_handler *const *handlers,
			void *arg)
{
	struct rig_stream stream = { .total = STREAM / FRAME * FRAME, .piece = 2000 };
	bool lacked;

	stream.fd = rig_open_tcp(&lean_rig, handlers, arg, NULL, NULL);
	rig_settle(&lean_rig);
	lean_begin(round);
	rig_stream_send(&stream);
	lacked = lean_recover();
	cr_expect(rig_until_later(&lean_rig, rig_streamed, &stream), "round %u", round->number);
	cr_expect_not(stream.wrong);
	cr_expect(lacked || stream.received == stream.total);
	(void)close(stream.fd);
	return lacked;
}

static bool echo_bytes(const struct lean_round *round)
{
	return echo_stream(round, rig_echo_only, NULL);
}

Test(no_memory_bytes, of_streams_come_back_right_or_not_at_all)
{
	lean_play(echo_bytes);
}

static bool echo_frames(const struct lean_round *round)
{
	static struct gyre_fixed_options fixed = { .frame_bytes = FRAME };
	const struct gyre_handler *const handlers[] = { &gy_fixed_handler, &echo_handler, NULL };

	return echo_stream(round, handlers, &fixed);
}

Test(no_memory_bytes, of_frames_come_back_right_or_not_at_all)
{
	lean_play(echo_frames);
}

static int64_t decode_frame(struct gyre_handler_context *ctx, const struct gyre_buffer *bytes,
			    struct gyre_decoded_frame *frame)
{
	(void)ctx;
	frame->needed = FRAME;
	return gyre_buffer_bytes(bytes) < FRAME ? -EAGAIN : FRAME;
}

static const struct gyre_frame_decoder decoder = { .name = "decoder", .decode = decode_frame };

/* The decoder comes without memory too. */
static void read_first(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);
	int r = gyre_frame_decoder_add(channel, GYRE_AFTER("first"), &decoder, NULL);

	if (r < 0) {
		cr_expect_eq(r, -ENOMEM);
		gyre_buffer_destroy(data);
		gyre_channel_abort(channel, r);
		return;
	}
	gyre_context_fire_read(ctx, data);
	gyre_context_remove(ctx);
}

static const struct gyre_handler first = { .name = "first", .read = read_first };

static bool echo_decoded(const struct lean_round *round)
{
	const struct gyre_handler *const handlers[] = { &first, &echo_handler, NULL };

	return echo_stream(round, handlers, NULL);
}

Test(no_memory_bytes, of_a_programs_decoder_come_back_right_or_not_at_all)
{
	lean_play(echo_decoded);
}

/* ---- datagrams ---- */

static int client;

/* Some that the kernel may hand over as one. */
static void send_some(void)
{
	static const char bytes[DATAGRAMS * DATAGRAM];

	(void)send(client, bytes, sizeof(bytes), MSG_NOSIGNAL);
}

static uint32_t returned;

static bool all_returned(struct rig *rig, void *arg)
{
	char bytes[DATAGRAM];

	(void)rig;
	(void)arg;
	while (recv(client, bytes, sizeof(bytes), 0) == DATAGRAM) {
		returned++;
	}
	return returned >= DATAGRAMS;
}

static bool echo_datagrams(const struct lean_round *round)
{
	struct gyre_socket_address address;
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .one_loop = true,
						       .init_channel = init_echo,
						       .ret_address = &address };
	const int each = DATAGRAM;
	bool lacked;

	cr_assert_eq(gyre_system_datagram_open(lean_system(), &options, NULL), 0);
	client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	cr_assert_eq(connect(client, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_assert_eq(setsockopt(client, SOL_UDP, UDP_SEGMENT, &each, sizeof(each)), 0);
	rig_settle(&lean_rig);
	lean_begin(round);
	send_some();
	lacked = lean_recover();
	returned = 0;
	cr_expect(lacked || rig_until(&lean_rig, all_returned, NULL));
	rig_settle(&lean_rig);
	(void)all_returned(&lean_rig, NULL);
	returned = 0;
	send_some();
	cr_expect(rig_until(&lean_rig, all_returned, NULL), "round %u", round->number);
	(void)close(client);
	return lacked;
}

Test(no_memory_bytes, of_datagrams_are_lost_and_the_later_ones_come_back)
{
	lean_play(echo_datagrams);
}
