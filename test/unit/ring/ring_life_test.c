/*
 * Rings come and go without leaving anything behind, on one thread or on several.
 */
#include <pthread.h>

#include "ring/ring_support.h"

Test(ring, that_was_created_enabled_and_destroyed_leaves_no_descriptor)
{
	int before = descriptors_open();

	for (int i = 0; i < 50; i++) {
		struct gy_ring *ring = ring_open(16, 1024);

		cr_assert_gt(descriptors_open(), before);
		gy_ring_destroy(ring);
		cr_assert_eq(descriptors_open(), before);
	}
}

Test(ring, may_be_destroyed_though_it_was_never_enabled)
{
	int before = descriptors_open();

	gy_ring_destroy(ring_make(16, 1024));
	gy_ring_destroy(ring_make(0, 0));
	gy_ring_destroy(NULL);
	cr_assert_eq(descriptors_open(), before);
}

/* A thread has sixteen places for registered rings; rings beyond them do without. */
Test(ring, works_also_where_its_thread_has_more_rings_than_can_be_registered)
{
	enum { RINGS = 20 };
	struct gy_ring *rings[RINGS];
	int before = descriptors_open();

	for (int i = 0; i < RINGS; i++) {
		rings[i] = ring_open(0, 0);
	}
	for (int i = 0; i < RINGS; i++) {
		gy_ring_wake(rings[i]);
		cr_assert_geq(gy_ring_submit_and_wait(rings[i], UINT64_MAX), 0);
		gy_ring_destroy(rings[i]);
	}
	cr_assert_eq(descriptors_open(), before);
}

static void *use_ring(void *arg)
{
	struct gy_ring *ring = arg;

	cr_assert_eq(gy_ring_enable(ring), 0);
	gy_ring_wake(ring);
	cr_assert_geq(gy_ring_submit_and_wait(ring, UINT64_MAX), 0);
	return NULL;
}

Test(ring, is_made_by_one_thread_used_by_another_and_destroyed_by_the_first)
{
	int before = descriptors_open();

	for (int i = 0; i < 40; i++) {
		struct gy_ring *ring = ring_make(16, 1024);
		pthread_t thread;

		cr_assert_eq(pthread_create(&thread, NULL, use_ring, ring), 0);
		cr_assert_eq(pthread_join(thread, NULL), 0);
		gy_ring_destroy(ring);
	}
	cr_assert_eq(descriptors_open(), before);
}

Test(ring, knows_that_its_kernel_has_multishot_receive)
{
	struct gy_ring *ring = ring_make(0, 0);

	cr_assert(gy_ring_features(ring).multishot_receive);
	gy_ring_destroy(ring);
}

static void ignore(struct gy_op *op, const struct gy_completion *completion)
{
	(void)op;
	(void)completion;
}

Test(ring, operation_keeps_its_generation_when_it_is_initialised_anew)
{
	struct gy_op op = { .generation = 7, .armed = true };

	gy_op_init(&op, ignore);
	cr_assert_eq(op.generation, 7);
	cr_assert_not(op.armed);
}
