/*
 * What each operation does, over real sockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

#include "ring/ring_support.h"

static void receive_text(struct gy_ring *ring, struct record *record, const char *text)
{
	const struct gy_completion *last;
	uint32_t rounds = record->rounds;

	turn_until(ring, record, rounds + 1);
	last = record_last(record);
	cr_assert_eq(last->result, (int32_t)strlen(text));
	cr_assert(last->has_buffer);
	cr_assert_eq(memcmp(last->bytes, text, strlen(text)), 0);
	gy_ring_buffer_return(ring, last->buffer);
}

Test(ring, accepts_receives_and_sends_over_loopback)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct record accepting, receiving, sending;
	struct sockaddr_in address;
	int listener = listener_open(&address, 16);
	char answer[8] = { 0 };
	int client, peer;

	record_init(&accepting);
	record_init(&receiving);
	record_init(&sending);
	cr_assert_eq(gy_ring_accept(ring, &accepting.op, listener), 0);
	client = client_open(&address);
	turn_until(ring, &accepting, 1);
	peer = record_last(&accepting)->result;
	cr_assert_geq(peer, 0);
	cr_assert_eq(gy_ring_receive(ring, &receiving.op, peer), 0);
	cr_assert_eq(write(client, "ping", 4), 4);
	receive_text(ring, &receiving, "ping");
	cr_assert_eq(gy_ring_send(ring, &sending.op, peer, "pong", 4), 0);
	turn_until_final(ring, &sending);
	cr_assert_eq(record_last(&sending)->result, 4);
	cr_assert_eq(read(client, answer, sizeof(answer)), 4);
	cr_assert_str_eq(answer, "pong");
	cr_assert_eq(close(client), 0);
	turn_until_final(ring, &receiving);
	cr_assert_eq(record_last(&receiving)->result, 0);
	cr_assert_eq(gy_ring_cancel(ring, &accepting.op), 0);
	turn_until_final(ring, &accepting);
	(void)close(peer);
	(void)close(listener);
	gy_ring_destroy(ring);
}

Test(ring, accepts_many_by_one_operation_and_closes_them_on_exec)
{
	enum { CLIENTS = 20 };
	struct gy_ring *ring = ring_open(0, 0);
	struct record accepting;
	struct sockaddr_in address;
	int listener = listener_open(&address, CLIENTS);
	int clients[CLIENTS];

	record_init(&accepting);
	cr_assert_eq(gy_ring_accept(ring, &accepting.op, listener), 0);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = client_open(&address);
	}
	turn_until(ring, &accepting, CLIENTS);
	for (int i = 0; i < CLIENTS; i++) {
		const struct gy_completion *completion = &accepting.completions[i];

		cr_assert(completion->more);
		cr_assert_eq(fcntl(completion->result, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		(void)close(completion->result);
		(void)close(clients[i]);
	}
	cr_assert_eq(gy_ring_cancel(ring, &accepting.op), 0);
	turn_until_final(ring, &accepting);
	(void)close(listener);
	gy_ring_destroy(ring);
}

Test(ring, receives_several_chunks_by_one_operation_and_then_the_end)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct record receiving;
	int fds[2];

	pair_open(fds);
	record_init(&receiving);
	cr_assert_eq(gy_ring_receive(ring, &receiving.op, fds[0]), 0);
	for (int i = 0; i < 40; i++) {
		char text[16];
		int length = snprintf(text, sizeof(text), "chunk %d", i);

		cr_assert_eq(write(fds[1], text, (size_t)length), length);
		receive_text(ring, &receiving, text);
		cr_assert(record_last(&receiving)->more);
	}
	cr_assert_eq(shutdown(fds[1], SHUT_WR), 0);
	turn_until_final(ring, &receiving);
	cr_assert_eq(record_last(&receiving)->result, 0);
	cr_assert_not(record_last(&receiving)->has_buffer);
	cr_assert_eq(gy_ring_buffers_available(ring), 16);
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, connects_to_a_listener_and_reports_a_refused_connection)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct record connecting;
	struct sockaddr_in address;
	int listener = listener_open(&address, 4);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	record_init(&connecting);
	cr_assert_eq(gy_ring_connect(ring, &connecting.op, fd, (struct sockaddr *)&address,
				     sizeof(address)),
		     0);
	turn_until_final(ring, &connecting);
	cr_assert_eq(record_last(&connecting)->result, 0);
	(void)close(fd);
	(void)close(listener);

	fd = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(gy_ring_connect(ring, &connecting.op, fd, (struct sockaddr *)&address,
				     sizeof(address)),
		     0);
	turn_until(ring, &connecting, 2);
	cr_assert_eq(record_last(&connecting)->result, -ECONNREFUSED);
	(void)close(fd);
	gy_ring_destroy(ring);
}

Test(ring, sends_a_gathered_message)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct iovec parts[] = {
		{ .iov_base = (char[]){ "one " }, .iov_len = 4 },
		{ .iov_base = (char[]){ "two" }, .iov_len = 3 },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	struct record sending;
	char text[16] = { 0 };
	int fds[2];

	pair_open(fds);
	record_init(&sending);
	cr_assert_eq(gy_ring_send_message(ring, &sending.op, fds[0], &message), 0);
	turn_until_final(ring, &sending);
	cr_assert_eq(record_last(&sending)->result, 7);
	cr_assert_eq(read(fds[1], text, sizeof(text)), 7);
	cr_assert_str_eq(text, "one two");
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, reports_a_broken_pipe_without_a_signal)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct record sending;
	int fds[2];

	pair_open(fds);
	record_init(&sending);
	cr_assert_eq(close(fds[1]), 0);
	cr_assert_eq(gy_ring_send(ring, &sending.op, fds[0], "x", 1), 0);
	turn_until_final(ring, &sending);
	cr_assert_eq(record_last(&sending)->result, -EPIPE);
	cr_assert_eq(close(fds[0]), 0);
	gy_ring_destroy(ring);
}

Test(ring, shuts_one_direction_down)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct record ending;
	char byte;
	int fds[2];

	pair_open(fds);
	record_init(&ending);
	cr_assert_eq(gy_ring_shutdown(ring, &ending.op, fds[0], SHUT_WR), 0);
	turn_until_final(ring, &ending);
	cr_assert_eq(record_last(&ending)->result, 0);
	cr_assert_eq(read(fds[1], &byte, 1), 0);
	cr_assert_eq(write(fds[1], "x", 1), 1);
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, closes_a_descriptor)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct record closing;
	int fds[2];

	pair_open(fds);
	record_init(&closing);
	cr_assert_eq(gy_ring_close(ring, &closing.op, fds[0]), 0);
	turn_until_final(ring, &closing);
	cr_assert_eq(record_last(&closing)->result, 0);
	cr_assert_eq(fcntl(fds[0], F_GETFD), -1);
	cr_assert_eq(gy_ring_close(ring, &closing.op, fds[0]), 0);
	turn_until(ring, &closing, 2);
	cr_assert_eq(record_last(&closing)->result, -EBADF);
	cr_assert_eq(close(fds[1]), 0);
	gy_ring_destroy(ring);
}

Test(ring, polls_once)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct record polling;
	int fds[2];

	pair_open(fds);
	record_init(&polling);
	cr_assert_eq(gy_ring_poll(ring, &polling.op, fds[0], POLLIN), 0);
	turn_for(ring, 5000000);
	cr_assert_eq(polling.rounds, 0);
	cr_assert_eq(write(fds[1], "x", 1), 1);
	turn_until_final(ring, &polling);
	cr_assert_eq(record_last(&polling)->result & POLLIN, POLLIN);
	pair_close(fds);
	gy_ring_destroy(ring);
}

/* Two operations with one struct, as when a slot was used again: only the younger may report. */
Test(ring, drops_what_an_earlier_generation_brings_and_keeps_its_buffer)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct record record;
	int fds[2], other[2];

	pair_open(fds);
	pair_open(other);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	record.op.armed = false;
	cr_assert_eq(gy_ring_receive(ring, &record.op, other[0]), 0);
	cr_assert_eq(write(fds[1], "old", 3), 3);
	turn_for(ring, 5000000);
	cr_assert_eq(record.rounds, 0);
	cr_assert_eq(gy_ring_counters(ring)->stale, 1);
	cr_assert_eq(gy_ring_buffers_available(ring), 16);
	cr_assert_eq(write(other[1], "new", 3), 3);
	receive_text(ring, &record, "new");
	cr_assert_eq(shutdown(fds[1], SHUT_WR), 0);
	cr_assert_eq(shutdown(other[1], SHUT_WR), 0);
	turn_until_final(ring, &record);
	turn_for(ring, 5000000);
	cr_assert_eq(gy_ring_counters(ring)->stale, 2);
	pair_close(fds);
	pair_close(other);
	gy_ring_destroy(ring);
}

Test(ring, polls_a_file_for_input_and_output_alone)
{
	static const uint32_t never[] = { POLLPRI, POLLRDHUP, POLLPRI | POLLRDHUP };
	struct gy_ring *ring = ring_open(0, 0);
	struct record polling;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	for (uint32_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		record_init(&polling);
		cr_assert_eq(gy_ring_poll(ring, &polling.op, fd, never[i]), 0);
		turn_until_final(ring, &polling);
		cr_assert_eq(record_last(&polling)->result, -EINVAL);
	}
	record_init(&polling);
	cr_assert_eq(gy_ring_poll(ring, &polling.op, fd, POLLIN | POLLPRI), 0);
	turn_until_final(ring, &polling);
	cr_assert_eq(record_last(&polling)->result, POLLIN);
	(void)close(fd);
	gy_ring_destroy(ring);
}
