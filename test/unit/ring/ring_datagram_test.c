/*
 * Datagrams in the ring: their own group of buffers, and what is told of each.
 */
#include <errno.h>
#include <netinet/udp.h>

#include "ring/ring_private.h"
#include "ring/ring_support.h"

enum { COUNT = 8, BYTES = 2000, FIRST = GY_RING_DATAGRAM_BUFFERS };

/* Two sockets that are connected with each other. */
static void open_pair(int fds[2], struct sockaddr_in addresses[2])
{
	socklen_t bytes = sizeof(addresses[0]);

	for (int i = 0; i < 2; i++) {
		addresses[i] = (struct sockaddr_in){ .sin_family = AF_INET,
						     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		fds[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		cr_assert_eq(bind(fds[i], (struct sockaddr *)&addresses[i], bytes), 0);
		cr_assert_eq(getsockname(fds[i], (struct sockaddr *)&addresses[i], &bytes), 0);
	}
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(connect(fds[i], (struct sockaddr *)&addresses[1 - i], bytes), 0);
	}
}

static struct gy_ring_datagram take(const struct record *record)
{
	const struct gy_completion *last = record_last(record);
	struct gy_ring_datagram got = { 0 };

	cr_assert(last->has_buffer);
	cr_assert_geq(last->buffer, FIRST);
	cr_assert(gy_ring_datagram(last, &got));
	return got;
}

static uint32_t datagrams_available(const struct gy_ring *ring)
{
	const struct gy_ring_buffers *buffers = &ring->buffers[GY_RING_DATAGRAM_GROUP];

	return buffers->offered + buffers->idles;
}

static void end(struct gy_ring *ring, struct record *receiving, const int fds[2])
{
	cr_assert_eq(gy_ring_cancel(ring, &receiving->op), 0);
	turn_until_final(ring, receiving);
	(void)close(fds[0]);
	(void)close(fds[1]);
	gy_ring_destroy(ring);
}

Test(ring_datagram, comes_with_its_sender_into_a_buffer_of_its_own_group)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct sockaddr_in addresses[2];
	struct gy_ring_datagram got;
	struct record receiving;
	int fds[2];

	open_pair(fds, addresses);
	record_init(&receiving);
	cr_assert_eq(gy_ring_add_datagram_buffers(ring, COUNT, BYTES), 0);
	cr_assert_eq(gy_ring_receive_datagrams(ring, &receiving.op, fds[0]), 0);
	cr_assert_eq(send(fds[1], "hello", 5, 0), 5);
	turn_until(ring, &receiving, 1);
	got = take(&receiving);
	cr_expect_eq(got.count, 5);
	cr_expect_eq(memcmp(got.bytes, "hello", 5), 0);
	cr_expect_eq(got.segment_bytes, 0);
	cr_expect(!got.truncated);
	cr_expect_eq(got.sender_bytes, sizeof(addresses[1]));
	cr_expect_eq(memcmp(got.sender, &addresses[1], sizeof(addresses[1])), 0);
	cr_expect_eq(gy_ring_buffers_available(ring), 16, "those for streams are untouched");
	cr_expect_eq(datagrams_available(ring), COUNT - 1);
	gy_ring_buffer_return(ring, record_last(&receiving)->buffer);
	cr_expect_eq(datagrams_available(ring), COUNT);
	end(ring, &receiving, fds);
}

Test(ring_datagram, tells_when_it_was_too_long_and_when_it_is_several)
{
	static char bytes[BYTES + 100];
	struct gy_ring *ring = ring_open(16, 1024);
	struct sockaddr_in addresses[2];
	struct gy_ring_datagram got;
	struct record receiving;
	const int on = 1;
	const int each = 300;
	int fds[2];

	open_pair(fds, addresses);
	record_init(&receiving);
	cr_assert_eq(setsockopt(fds[0], SOL_UDP, UDP_GRO, &on, sizeof(on)), 0);
	cr_assert_eq(gy_ring_add_datagram_buffers(ring, COUNT, BYTES), 0);
	cr_assert_eq(gy_ring_receive_datagrams(ring, &receiving.op, fds[0]), 0);
	cr_assert_eq(send(fds[1], bytes, sizeof(bytes), 0), (ssize_t)sizeof(bytes));
	turn_until(ring, &receiving, 1);
	got = take(&receiving);
	cr_expect(got.truncated);
	cr_expect_geq(got.count, BYTES);
	gy_ring_buffer_return(ring, record_last(&receiving)->buffer);
	cr_assert_eq(setsockopt(fds[1], SOL_UDP, UDP_SEGMENT, &each, sizeof(each)), 0);
	cr_assert_eq(send(fds[1], bytes, 1000, 0), 1000);
	turn_until(ring, &receiving, 2);
	got = take(&receiving);
	cr_expect_eq(got.count, 1000);
	cr_expect_eq(got.segment_bytes, 300);
	cr_expect(!got.truncated);
	gy_ring_buffer_return(ring, record_last(&receiving)->buffer);
	end(ring, &receiving, fds);
}

Test(ring_datagram, that_has_no_head_is_none)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct gy_ring_datagram got;

	cr_assert_eq(gy_ring_add_datagram_buffers(ring, COUNT, BYTES), 0);
	cr_expect(!gy_ring_datagram(
		&(struct gy_completion){ .result = 3, .bytes = gy_ring_buffer(ring, FIRST) },
		&got));
	gy_ring_destroy(ring);
}

Test(ring_datagram, ends_the_receive_when_no_buffer_is_left)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct sockaddr_in addresses[2];
	struct record receiving;
	int fds[2];

	open_pair(fds, addresses);
	record_init(&receiving);
	cr_assert_eq(gy_ring_add_datagram_buffers(ring, COUNT, BYTES), 0);
	for (int i = 0; i < COUNT + 1; i++) {
		cr_assert_eq(send(fds[1], "x", 1, 0), 1);
	}
	cr_assert_eq(gy_ring_receive_datagrams(ring, &receiving.op, fds[0]), 0);
	turn_until_final(ring, &receiving);
	cr_expect_eq(record_last(&receiving)->result, -ENOBUFS);
	cr_expect_eq(receiving.rounds, COUNT + 1);
	for (uint32_t i = 0; i < COUNT; i++) {
		gy_ring_buffer_return(ring, receiving.completions[i].buffer);
	}
	end(ring, &receiving, fds);
}

Test(ring_datagram, is_refused_and_not_kept_when_there_is_no_room_for_it)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct iovec byte = { .iov_base = (char[]){ "x" }, .iov_len = 1 };
	const struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1 };
	struct record sending;
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
	while (send(fds[0], "x", 1, MSG_DONTWAIT) == 1) {
	}
	record_init(&sending);
	cr_assert_eq(gy_ring_send_datagram(ring, &sending.op, fds[0], &message), 0);
	turn_until_final(ring, &sending);
	cr_expect_eq(record_last(&sending)->result, -EAGAIN);
	record_init(&sending);
	cr_assert_eq(gy_ring_send_datagram_piece(ring, &sending.op, fds[0], byte, NULL, 0), 0);
	turn_until_final(ring, &sending);
	cr_expect_eq(record_last(&sending)->result, -EAGAIN);
	(void)close(fds[0]);
	(void)close(fds[1]);
	gy_ring_destroy(ring);
}

Test(ring_datagram, of_one_piece_goes_to_an_address_or_to_whom_the_socket_is_connected_with)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct iovec piece = { .iov_base = (char[]){ "hello" }, .iov_len = 5 };
	struct sockaddr_in addresses[2];
	struct record sending;
	char got[8];
	int fds[2];
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(address);
	int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int third = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	open_pair(fds, addresses);
	record_init(&sending);
	cr_assert_eq(bind(third, (struct sockaddr *)&address, bytes), 0);
	cr_assert_eq(getsockname(third, (struct sockaddr *)&address, &bytes), 0);
	cr_assert_eq(gy_ring_send_datagram_piece(ring, &sending.op, fds[0], piece, NULL, 0), 0);
	turn_until_final(ring, &sending);
	cr_expect_eq(record_last(&sending)->result, 5);
	cr_expect_eq(recv(fds[1], got, sizeof(got), 0), 5);
	piece.iov_len = 0;
	record_init(&sending);
	cr_assert_eq(gy_ring_send_datagram_piece(ring, &sending.op, other, piece,
						 (struct sockaddr *)&address, bytes),
		     0);
	turn_until_final(ring, &sending);
	cr_expect_eq(record_last(&sending)->result, 0);
	cr_expect_eq(recv(third, got, sizeof(got), 0), 0, "an empty one");
	(void)close(third);
	(void)close(other);
	(void)close(fds[0]);
	(void)close(fds[1]);
	gy_ring_destroy(ring);
}
