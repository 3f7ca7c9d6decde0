/*
 * Provided buffers that several receives share: where their bytes are, and when a buffer is out.
 */
#include <errno.h>

#include "base/memory/poison.h"
#include "gyre_config.h"
#include "ring/ring_private.h"
#include "ring/ring_support.h"

TestSuite(ring_shared, .timeout = 60);

enum { BUFFERS = 16, BYTES = 4096 };

static struct gy_ring *ring;
static struct record record;
static int fds[2];

static void begin(void)
{
	ring = ring_open_shared(BUFFERS, BYTES);
	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
}

static void end(void)
{
	if (record.op.armed) {
		record.finals = 0;
		cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
		turn_until_final(ring, &record);
	}
	pair_close(fds);
	gy_ring_destroy(ring);
}

/* Sends @count bytes of a pattern that begins with @first, and receives them. */
static void pass(unsigned char first, size_t count)
{
	static unsigned char bytes[2 * BYTES];
	uint32_t rounds = record.rounds;
	size_t got = 0;

	for (size_t i = 0; i < count; i++) {
		bytes[i] = (unsigned char)(first + i);
	}
	cr_assert_eq(write(fds[1], bytes, count), (ssize_t)count);
	while (got < count) {
		const struct gy_completion *next = &record.completions[rounds++];

		turn_until(ring, &record, rounds);
		cr_assert(next->has_buffer && next->result > 0);
		cr_expect_eq(memcmp(next->bytes, bytes + got, (size_t)next->result), 0);
		got += (size_t)next->result;
	}
}

Test(ring_shared, makes_few_large_buffers_of_the_same_memory)
{
	static const struct {
		uint32_t count, bytes, shared_count, shared_bytes;
	} cases[] = {
		{ 1024, 4096, 64, 65536 }, { 16, 512, 16, 512 },    { 32, 512, 16, 1024 },
		{ 64, 65536, 64, 65536 },  { 128, 1000, 16, 8000 },
	};

	for (size_t i = 0; i < gy_countof(cases); i++) {
		struct gy_ring *one = ring_open_shared(cases[i].count, cases[i].bytes);

		cr_expect(gy_ring_buffers_are_shared(one));
		cr_expect_eq(gy_ring_buffer_count(one), cases[i].shared_count);
		cr_expect_eq(gy_ring_buffer_bytes(one), cases[i].shared_bytes);
		gy_ring_destroy(one);
	}
}

Test(ring_shared, are_whole_ones_if_that_is_asked_for)
{
	struct gy_ring *one = ring_open(1024, 4096);

	cr_expect_not(gy_ring_buffers_are_shared(one));
	cr_expect_eq(gy_ring_buffer_count(one), 1024);
	cr_expect_eq(gy_ring_buffer_bytes(one), 4096);
	gy_ring_destroy(one);
}

Test(ring_shared, receives_behind_each_other_into_a_buffer_until_it_is_full, .init = begin,
     .fini = end)
{
	const struct gy_completion *got = record.completions;

	pass(1, 100);
	pass(2, 1000);
	cr_expect(got[0].filling && got[1].filling);
	cr_expect_eq(got[0].buffer, got[1].buffer);
	cr_expect_eq(got[1].bytes, got[0].bytes + 100);
	cr_expect_eq(got[0].bytes, gy_ring_buffer(ring, got[0].buffer));
	cr_expect_eq(gy_ring_buffers_available(ring), BUFFERS);
	pass(3, BYTES - 1100);
	cr_expect_not(got[2].filling);
	cr_expect_eq(got[2].buffer, got[0].buffer);
	cr_expect_eq(gy_ring_buffers_available(ring), BUFFERS - 1);
	pass(4, 1);
	cr_expect_neq(got[3].buffer, got[0].buffer);
	cr_expect_eq(memcmp(got[2].bytes, &(unsigned char){ 3 }, 1), 0, "it is not written to");
	gy_ring_buffer_return(ring, got[0].buffer);
	cr_expect_eq(gy_ring_buffers_available(ring), BUFFERS);
}

Test(ring_shared, divides_what_does_not_fit_into_the_rest_of_a_buffer, .init = begin, .fini = end)
{
	const struct gy_completion *got = record.completions;

	pass(1, BYTES - 10);
	pass(2, 50);
	cr_expect_eq(got[1].result, 10);
	cr_expect_not(got[1].filling);
	cr_expect_eq(got[2].result, 40);
	cr_expect(got[2].filling);
	cr_expect_eq(got[2].bytes, gy_ring_buffer(ring, got[2].buffer));
	gy_ring_buffer_return(ring, got[0].buffer);
}

Test(ring_shared, serves_several_operations_from_one_buffer, .init = begin, .fini = end)
{
	static struct record second;
	int others[2];

	pair_open(others);
	record_init(&second);
	cr_assert_eq(gy_ring_receive(ring, &second.op, others[0]), 0);
	for (uint32_t i = 0; i < 20; i++) {
		pass((unsigned char)i, 10);
		cr_assert_eq(write(others[1], "other", 5), 5);
		turn_until(ring, &second, i + 1);
		cr_expect_eq(memcmp(record_last(&second)->bytes, "other", 5), 0);
		cr_expect_eq(record_last(&second)->bytes, record_last(&record)->bytes + 10);
	}
	cr_assert_eq(gy_ring_cancel(ring, &second.op), 0);
	turn_until_final(ring, &second);
	pair_close(others);
}

Test(ring_shared, runs_out_when_all_are_full_and_goes_on_when_one_is_back, .init = begin,
     .fini = end)
{
	const struct gy_completion *got = record.completions;

	for (int i = 0; i < BUFFERS; i++) {
		pass((unsigned char)i, BYTES);
	}
	cr_expect_eq(gy_ring_buffers_available(ring), 0);
	cr_assert_eq(write(fds[1], "more", 4), 4);
	turn_until_final(ring, &record);
	cr_expect_eq(record_last(&record)->result, -ENOBUFS);
	gy_ring_buffer_return(ring, got[3].buffer);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	turn_until(ring, &record, record.rounds + 1);
	cr_expect_eq(record_last(&record)->buffer, got[3].buffer);
	cr_expect_eq(memcmp(record_last(&record)->bytes, "more", 4), 0);
}

Test(ring_shared, uses_again_first_what_was_used_last, .init = begin, .fini = end)
{
	for (int i = 0; i < 10 * BUFFERS; i++) {
		record.rounds = 0;
		pass((unsigned char)i, BYTES);
		cr_assert_not(record_last(&record)->filling);
		cr_expect_lt(record_last(&record)->buffer, BUFFERS);
		gy_ring_buffer_return(ring, record_last(&record)->buffer);
	}
	cr_expect_eq(gy_ring_buffers_available(ring), BUFFERS);
}

enum { OFFERED = 8, LARGE = 65536 };

Test(ring_shared, offers_no_more_of_them_when_they_run_out)
{
	struct gy_ring *large = ring_open_shared(16, LARGE);
	static struct record records[OFFERED + 1];
	static unsigned char bytes[LARGE];
	int pairs[OFFERED + 1][2];

	cr_assert_eq(gy_ring_buffers_on_offer(large), OFFERED);
	for (int i = 0; i <= OFFERED; i++) {
		pair_open(pairs[i]);
		record_init(&records[i]);
		cr_assert_eq(write(pairs[i][1], bytes, LARGE), LARGE);
		cr_assert_eq(gy_ring_receive_once(large, &records[i].op, pairs[i][0]), 0);
	}
	for (int i = 0; i <= OFFERED; i++) {
		turn_until(large, &records[i], 1);
		cr_expect_eq(records[i].completions[0].result, i < OFFERED ? LARGE : -ENOBUFS);
	}
	cr_expect_eq(gy_ring_buffers_on_offer(large), OFFERED);
	cr_assert_eq(gy_ring_receive_once(large, &records[OFFERED].op, pairs[OFFERED][0]), 0);
	turn_until(large, &records[OFFERED], 2);
	cr_expect_eq(records[OFFERED].completions[1].result, LARGE);
	cr_expect_eq(large->buffers[GY_RING_STREAM_GROUP].warm, OFFERED);
	cr_expect_eq(gy_ring_buffers_available(large), 16 - OFFERED - 1);
	for (int i = 0; i <= OFFERED; i++) {
		pair_close(pairs[i]);
	}
	gy_ring_destroy(large);
}

struct stale {
	uint32_t calls;
	uint16_t buffer;
};

static void was_stale(void *arg, uint16_t buffer)
{
	struct stale *stale = (struct stale *)arg;

	stale->calls++;
	stale->buffer = buffer;
}

/* Two operations with one struct, as when a slot was used again. */
Test(ring_shared, tells_whoever_has_the_rest_of_a_buffer_that_its_end_was_for_nobody, .init = begin,
     .fini = end)
{
	static const unsigned char bytes[BYTES];
	struct stale stale = { 0 };
	int others[2];
	uint16_t buffer;

	gy_ring_on_stale(ring, was_stale, &stale);
	pass(1, 100);
	buffer = record.completions[0].buffer;
	pair_open(others);
	record.op.armed = false;
	cr_assert_eq(gy_ring_receive(ring, &record.op, others[0]), 0);
	cr_assert_eq(write(fds[1], bytes, 10), 10);
	turn_for(ring, 5000000);
	cr_expect_eq(stale.calls, 0, "the kernel goes on with it");
	cr_assert_eq(write(fds[1], bytes, BYTES - 110), BYTES - 110);
	while (stale.calls == 0) {
		turn_for(ring, 1000000);
	}
	cr_expect_eq(stale.buffer, buffer);
	cr_expect_eq(gy_ring_buffers_available(ring), BUFFERS - 1);
	gy_ring_buffer_return(ring, buffer);
	cr_expect_eq(record.rounds, 1);
	cr_assert_eq(shutdown(others[1], SHUT_WR), 0);
	turn_until_final(ring, &record);
	pair_close(others);
	cr_assert_eq(shutdown(fds[1], SHUT_RDWR), 0);
	while (gy_ring_counters(ring)->stale < 3) {
		turn_for(ring, 1000000);
	}
}

#if GY_ASSERT_LEVEL >= 2
/* Past the sanitizer, which would find it first. */
__attribute__((no_sanitize_address)) static void write_there(volatile unsigned char *bytes)
{
	*bytes = 'x';
}

Test(ring_shared, aborts_when_the_rest_of_a_buffer_is_written_to, .init = begin, .signal = SIGABRT)
{
	pass(1, 100);
	write_there(record.completions[0].bytes + 100);
	pass(2, 100);
}

Test(ring_shared, aborts_when_an_idle_buffer_was_written_to, .signal = SIGABRT)
{
	ring = ring_open_shared(BUFFERS, 1 << 16);
	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	for (uint16_t i = 0; i < BUFFERS; i++) {
		write_there((unsigned char *)gy_ring_buffer(ring, i) + 1000);
	}
	for (int i = 0; i < 200; i++) {
		record.rounds = 0;
		pass(1, BYTES);
	}
}
#endif
