/*
 * Every kind of operation can be cancelled, and then ends with exactly one final completion.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "ring/ring_support.h"

/* Cancels while it is pending; looks on for a while to see that nothing more comes. */
static void cancel_pending(struct gy_ring *ring, struct record *record, int32_t result)
{
	turn_for(ring, 3000000);
	cr_assert_eq(record->rounds, 0);
	cr_assert(record->op.armed);
	cr_assert_eq(gy_ring_cancel(ring, &record->op), 0);
	turn_until_final(ring, record);
	turn_for(ring, 3000000);
	cr_assert_eq(record->rounds, 1);
	cr_assert_eq(record->finals, 1);
	cr_assert_not(record->op.armed);
	cr_assert_eq(record_last(record)->result, result);
}

static void fill(int fd)
{
	char block[4096] = { 0 };
	ssize_t sent;

	do {
		sent = send(fd, block, sizeof(block), MSG_DONTWAIT);
	} while (sent > 0);
	cr_assert_eq(errno, EAGAIN);
}

Test(ring, ends_a_cancelled_receive_with_one_final_completion)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct record record;
	int fds[2];

	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	cancel_pending(ring, &record, -ECANCELED);
	cr_assert_eq(gy_ring_buffers_available(ring), 16);
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, ends_a_cancelled_accept_with_one_final_completion)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct sockaddr_in address;
	int listener = listener_open(&address, 4);
	struct record record;

	record_init(&record);
	cr_assert_eq(gy_ring_accept(ring, &record.op, listener), 0);
	cancel_pending(ring, &record, -ECANCELED);
	(void)close(listener);
	gy_ring_destroy(ring);
}

Test(ring, ends_a_cancelled_poll_with_one_final_completion)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct record record;
	int fds[2];

	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_poll(ring, &record.op, fds[0], POLLIN), 0);
	cancel_pending(ring, &record, -ECANCELED);
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, ends_a_cancelled_send_with_one_final_completion)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct record record;
	int fds[2];

	pair_open(fds);
	fill(fds[0]);
	record_init(&record);
	cr_assert_eq(gy_ring_send(ring, &record.op, fds[0], "x", 1), 0);
	cancel_pending(ring, &record, -ECANCELED);
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, ends_a_cancelled_message_with_one_final_completion)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct iovec part = { .iov_base = (char[]){ "x" }, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct record record;
	int fds[2];

	pair_open(fds);
	fill(fds[0]);
	record_init(&record);
	cr_assert_eq(gy_ring_send_message(ring, &record.op, fds[0], &message), 0);
	cancel_pending(ring, &record, -ECANCELED);
	pair_close(fds);
	gy_ring_destroy(ring);
}

/* A listener whose queue is full leaves further attempts unanswered. */
Test(ring, ends_a_cancelled_connect_with_one_final_completion)
{
	enum { FILLERS = 4 };
	struct gy_ring *ring = ring_open(0, 0);
	struct sockaddr_in address;
	int listener = listener_open(&address, 0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int fillers[FILLERS];
	struct record record;

	for (int i = 0; i < FILLERS; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(fillers[i], (struct sockaddr *)&address, sizeof(address));
	}
	record_init(&record);
	cr_assert_eq(
		gy_ring_connect(ring, &record.op, fd, (struct sockaddr *)&address, sizeof(address)),
		0);
	cancel_pending(ring, &record, -ECANCELED);
	for (int i = 0; i < FILLERS; i++) {
		(void)close(fillers[i]);
	}
	(void)close(fd);
	(void)close(listener);
	gy_ring_destroy(ring);
}

/* These cannot be pending for long: they become what they would have, or are cancelled in time. */
Test(ring, ends_a_cancelled_shutdown_or_close_with_one_final_completion)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct record ending, closing;
	int fds[2];

	pair_open(fds);
	record_init(&ending);
	record_init(&closing);
	cr_assert_eq(gy_ring_shutdown(ring, &ending.op, fds[0], SHUT_RDWR), 0);
	cr_assert_eq(gy_ring_cancel(ring, &ending.op), 0);
	turn_until_final(ring, &ending);
	cr_assert_eq(gy_ring_close(ring, &closing.op, fds[0]), 0);
	cr_assert_eq(gy_ring_cancel(ring, &closing.op), 0);
	turn_until_final(ring, &closing);
	turn_for(ring, 5000000);
	cr_assert_eq(ending.rounds, 1);
	cr_assert_eq(closing.rounds, 1);
	if (record_last(&closing)->result == -ECANCELED) {
		cr_assert_eq(close(fds[0]), 0);
	} else {
		cr_assert_eq(record_last(&closing)->result, 0);
	}
	cr_assert_eq(close(fds[1]), 0);
	gy_ring_destroy(ring);
}

Test(ring, prepares_nothing_for_the_cancel_of_what_is_not_armed)
{
	struct gy_ring *ring = ring_open(0, 0);
	struct record record;

	record_init(&record);
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	cr_assert_not(gy_ring_has_prepared(ring));
	gy_ring_destroy(ring);
}

Test(ring, cancels_what_the_kernel_has_not_seen_yet)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct record record;
	int fds[2];

	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	turn_until_final(ring, &record);
	cr_assert_eq(record_last(&record)->result, -ECANCELED);
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, takes_a_second_cancel_and_one_that_comes_too_late)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct record record;
	int fds[2];

	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	cr_assert_geq(gy_ring_submit(ring), 1);
	/* The end of the stream is there before the cancels, but its completion is not reaped. */
	cr_assert_eq(close(fds[1]), 0);
	cr_assert_geq(gy_ring_submit_and_wait(ring, UINT64_MAX), 0);
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	turn_until_final(ring, &record);
	turn_for(ring, 3000000);
	cr_assert_eq(record.rounds, 1);
	cr_assert_eq(record_last(&record)->result, 0);
	cr_assert_eq(gy_ring_counters(ring)->completions, 1);
	cr_assert_eq(close(fds[0]), 0);
	gy_ring_destroy(ring);
}

/* A cancel of the first use must not hit the second one of the same struct. */
Test(ring, cancels_by_generation)
{
	struct gy_ring *ring = ring_open(16, 1024);
	struct record record;
	int fds[2];

	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	cr_assert_geq(gy_ring_submit(ring), 1);
	record.op.generation--;
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	record.op.generation++;
	turn_for(ring, 5000000);
	cr_assert_eq(record.rounds, 0);
	cancel_pending(ring, &record, -ECANCELED);
	pair_close(fds);
	gy_ring_destroy(ring);
}
