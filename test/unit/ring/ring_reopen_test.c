/*
 * A ring that is shut when its thread has ended, and opened again for another one.
 */
#include <pthread.h>

#include "ring/ring_private.h"
#include "ring/ring_support.h"

enum { BUFFERS = 16, BUFFER_BYTES = 512 };

static int reopen(struct gy_ring *ring)
{
	return gy_ring_reopen(ring, &(struct gy_ring_options){ .engine = engine_of_tests(),
							       .entries = 8,
							       .buffer_count = BUFFERS,
							       .buffer_bytes = BUFFER_BYTES });
}

static void *use_it(void *arg)
{
	struct gy_ring *ring = arg;

	cr_assert_eq(gy_ring_enable(ring), 0);
	gy_ring_wake(ring);
	cr_assert_geq(gy_ring_submit_and_wait(ring, UINT64_MAX), 0);
	cr_assert_eq(gy_ring_reap(ring), 0);
	gy_ring_disown(ring);
	return NULL;
}

static void use_by_a_thread(struct gy_ring *ring)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, use_it, ring), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
}

Test(ring_reopen, serves_one_thread_after_the_other)
{
	struct gy_ring *ring = ring_make(BUFFERS, BUFFER_BYTES);

	for (int i = 0; i < 10; i++) {
		uint64_t enters = gy_ring_counters(ring)->enters;

		use_by_a_thread(ring);
		cr_assert_gt(gy_ring_counters(ring)->enters, enters, "counters go on");
		gy_ring_shut(ring);
		cr_assert_eq(reopen(ring), 0);
		cr_assert_eq(gy_ring_buffers_available(ring), BUFFERS);
	}
	gy_ring_destroy(ring);
}

Test(ring_reopen, keeps_a_wake_that_comes_while_it_is_shut)
{
	struct gy_ring *ring = ring_make(0, 0);
	struct gy_ring *other = ring_open(0, 0);

	use_by_a_thread(ring);
	gy_ring_shut(ring);
	gy_ring_wake(ring);
	gy_ring_wake_from(ring, other);
	/* It has no kernel to send it by, and has written to the other's descriptor instead. */
	cr_assert_geq(gy_ring_submit_and_wait(other, UINT64_MAX), 0);
	cr_assert_eq(reopen(ring), 0);
	cr_assert_eq(gy_ring_enable(ring), 0);
	cr_assert_geq(gy_ring_submit_and_wait(ring, UINT64_MAX), 0);
	gy_ring_destroy(ring);
	gy_ring_destroy(other);
}

Test(ring_reopen, has_only_its_waker_left_while_it_is_shut)
{
	struct gy_ring *ring = ring_make(BUFFERS, BUFFER_BYTES);

	use_by_a_thread(ring);
	gy_ring_shut(ring);
	cr_assert_null(ring->buffers[GY_RING_STREAM_GROUP].memory);
	cr_assert_geq(ring->wake_fd, 0);
	gy_ring_destroy(ring);
}
