/*
 * The provided buffers: they run out, come back, and are counted.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>

#include "base/memory/poison.h"
#include "gyre_config.h"
#include "ring/ring_private.h"
#include "ring/ring_support.h"

enum { BUFFERS = 4, BYTES = 256 };

Test(ring, runs_out_of_buffers_and_goes_on_when_they_are_returned)
{
	struct gy_ring *ring = ring_open(BUFFERS, BYTES);
	char sent[BYTES * (BUFFERS + 2)];
	struct record record;
	int fds[2];

	for (size_t i = 0; i < sizeof(sent); i++) {
		sent[i] = (char)(i * 7);
	}
	pair_open(fds);
	record_init(&record);
	cr_assert_eq(write(fds[1], sent, sizeof(sent)), (ssize_t)sizeof(sent));
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	turn_until_final(ring, &record);
	cr_assert_eq(record.rounds, BUFFERS + 1);
	cr_assert_eq(record_last(&record)->result, -ENOBUFS);
	cr_assert_not(record_last(&record)->has_buffer);
	cr_assert_eq(gy_ring_counters(ring)->no_buffers, 1);
	cr_assert_eq(gy_ring_buffers_available(ring), 0);
	for (uint32_t i = 0; i < BUFFERS; i++) {
		const struct gy_completion *completion = &record.completions[i];

		cr_assert_eq(completion->result, BYTES);
		cr_assert_eq(
			memcmp(gy_ring_buffer(ring, completion->buffer), sent + i * BYTES, BYTES),
			0);
		gy_ring_buffer_return(ring, completion->buffer);
	}
	cr_assert_eq(gy_ring_buffers_available(ring), BUFFERS);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	turn_until(ring, &record, BUFFERS + 3);
	for (uint32_t i = BUFFERS; i < BUFFERS + 2; i++) {
		const struct gy_completion *completion = &record.completions[i + 1];

		cr_assert_eq(
			memcmp(gy_ring_buffer(ring, completion->buffer), sent + i * BYTES, BYTES),
			0);
	}
	cr_assert_eq(gy_ring_buffers_available(ring), BUFFERS - 2);
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	record.finals = 0;
	turn_until_final(ring, &record);
	pair_close(fds);
	gy_ring_destroy(ring);
}

enum { ALL = 64, FEW = 8, LARGE = 1 << 15 };

Test(ring, offers_few_buffers_at_first_and_more_when_they_run_out)
{
	struct gy_ring *ring = ring_open(ALL, LARGE);
	const struct gy_ring_buffers *buffers = &ring->buffers[GY_RING_STREAM_GROUP];
	static struct record records[FEW + 1];
	int fds[FEW + 1][2];

	cr_assert_eq(buffers->warm, FEW);
	for (int i = 0; i <= FEW; i++) {
		pair_open(fds[i]);
		record_init(&records[i]);
		cr_assert_eq(write(fds[i][1], "b", 1), 1);
		cr_assert_eq(gy_ring_receive(ring, &records[i].op, fds[i][0]), 0);
		cr_assert_geq(gy_ring_submit(ring), 0);
	}
	for (int i = 0; i <= FEW; i++) {
		turn_until(ring, &records[i], 1);
		cr_expect_eq(records[i].completions[0].has_buffer, i < FEW);
	}
	cr_expect_eq(records[FEW].completions[0].result, -ENOBUFS);
	cr_assert_eq(gy_ring_receive(ring, &records[FEW].op, fds[FEW][0]), 0);
	turn_until(ring, &records[FEW], 2);
	cr_expect_eq(records[FEW].completions[1].result, 1);
	cr_expect_eq(buffers->warm, 2 * FEW);
	cr_expect_eq(gy_ring_buffers_available(ring), ALL - FEW - 1);
	for (int i = 0; i <= FEW; i++) {
		records[i].finals = 0;
		cr_assert_eq(gy_ring_cancel(ring, &records[i].op), 0);
		turn_until_final(ring, &records[i]);
		pair_close(fds[i]);
	}
	gy_ring_destroy(ring);
}

Test(ring, offers_fewer_buffers_again_when_they_are_not_used)
{
	enum { LONG = 6000 };
	struct gy_ring *ring = ring_open(ALL, LARGE);
	struct gy_ring_buffers *buffers = &ring->buffers[GY_RING_STREAM_GROUP];
	struct record record;
	int fds[2];

	buffers->warm = ALL; /* as after a burst */
	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	for (int i = 0; i < LONG; i++) {
		record.rounds = 0;
		cr_assert_eq(write(fds[1], "b", 1), 1);
		turn_until(ring, &record, 1);
		gy_ring_buffer_return(ring, record_last(&record)->buffer);
	}
	cr_expect_eq(buffers->warm, FEW);
	cr_expect_eq(gy_ring_buffers_available(ring), ALL);
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	turn_until_final(ring, &record);
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, gives_each_buffer_a_place_of_its_own)
{
	struct gy_ring *ring = ring_make(BUFFERS, BYTES);

	cr_assert_eq(gy_ring_buffer_bytes(ring), BYTES);
	for (uint16_t i = 1; i < BUFFERS; i++) {
		cr_assert_eq((char *)gy_ring_buffer(ring, i) - (char *)gy_ring_buffer(ring, 0),
			     i * BYTES);
	}
	gy_ring_destroy(ring);
}

/* More than 65536 returns: the tail that is shared with the kernel wraps round. */
Test(ring, goes_on_when_the_count_of_returned_buffers_wraps)
{
	enum { MESSAGES = 70000 };
	struct gy_ring *ring = ring_open(BUFFERS, BYTES);
	struct record record;
	int fds[2];

	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		uint32_t got;

		cr_assert_eq(write(fds[1], &i, sizeof(i)), (ssize_t)sizeof(i));
		record.rounds = 0;
		turn_until(ring, &record, 1);
		cr_assert_eq(record.completions[0].result, (int32_t)sizeof(i));
		memcpy(&got, gy_ring_buffer(ring, record.completions[0].buffer), sizeof(got));
		cr_assert_eq(got, i);
		gy_ring_buffer_return(ring, record.completions[0].buffer);
	}
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	turn_until_final(ring, &record);
	pair_close(fds);
	gy_ring_destroy(ring);
}

#if GY_ASSERT_LEVEL >= 2
static sigjmp_buf aborted;

static void come_back(int number)
{
	siglongjmp(aborted, number);
}

/* Coming back from abort() lets the test end in order, without leaks to be explained. */
Test(ring, aborts_when_a_buffer_is_returned_twice)
{
	const struct sigaction action = { .sa_handler = come_back };
	struct gy_ring *ring = ring_open(BUFFERS, BYTES);
	static struct record record;
	int fds[2];

	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	cr_assert_eq(write(fds[1], "a", 1), 1);
	turn_until(ring, &record, 1);
	cr_assert_eq(write(fds[1], "b", 1), 1);
	turn_until(ring, &record, 2);
	gy_ring_buffer_return(ring, record.completions[0].buffer);
	cr_assert_eq(sigaction(SIGABRT, &action, NULL), 0);
	if (sigsetjmp(aborted, 1) == 0) {
		gy_ring_buffer_return(ring, record.completions[0].buffer);
		cr_assert_fail("the buffer was taken back twice");
	}
	cr_assert_eq(gy_ring_buffers_available(ring), BUFFERS - 1);
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	turn_until_final(ring, &record);
	pair_close(fds);
	gy_ring_destroy(ring);
}

/* Past the sanitizer, which would find it first. */
__attribute__((no_sanitize_address)) static void write_there(volatile unsigned char *bytes)
{
	*bytes = 'x';
}

__attribute__((no_sanitize_address)) static bool is_poison(const volatile unsigned char *bytes,
							   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] != GY_POISON_BYTE) {
			return false;
		}
	}
	return true;
}

/* Receives a byte into each buffer, and gives all back. */
static void go_round(struct gy_ring *ring, int fds[2])
{
	static struct record record;

	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	for (uint32_t i = 0; i < BUFFERS; i++) {
		cr_assert_eq(write(fds[1], "a", 1), 1);
		turn_until(ring, &record, i + 1);
		gy_ring_buffer_return(ring, record.completions[i].buffer);
	}
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	turn_until_final(ring, &record);
}

Test(ring, poisons_a_buffer_that_is_given_back)
{
	struct gy_ring *ring = ring_open(BUFFERS, BYTES);
	int fds[2];

	pair_open(fds);
	cr_expect(is_poison((unsigned char *)gy_ring_buffer(ring, 0), BYTES));
	go_round(ring, fds);
	for (uint16_t i = 0; i < BUFFERS; i++) {
		cr_expect(is_poison((unsigned char *)gy_ring_buffer(ring, i), BYTES));
	}
	pair_close(fds);
	gy_ring_destroy(ring);
}

Test(ring, aborts_when_a_buffer_that_was_given_back_is_written_to, .signal = SIGABRT)
{
	struct gy_ring *ring = ring_open(BUFFERS, BYTES);
	int fds[2];

	pair_open(fds);
	go_round(ring, fds);
	write_there((unsigned char *)gy_ring_buffer(ring, 2) + BYTES - 1);
	go_round(ring, fds);
}
#endif
