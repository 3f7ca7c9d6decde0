/*
 * The queue of jobs: two classes, first in first out in each, and the limit of starvation.
 */
#include <criterion/criterion.h>

#include "base/macros.h"
#include "loop/queue.h"

enum { JOBS = 400 };

static struct gy_job jobs[JOBS];

static int number_of(const struct gy_job *job)
{
	return (int)(job - jobs);
}

Test(queue, gives_high_before_normal_and_each_in_order)
{
	struct gy_queue queue = { .starvation_limit = 64 };
	const int expected[] = { 1, 3, 5, 0, 2, 4 };

	cr_assert(gy_queue_empty(&queue));
	cr_assert_null(gy_queue_pop(&queue));
	for (uint32_t i = 0; i < 6; i++) {
		gy_queue_push(&queue, &jobs[i], i % 2 == 1);
		cr_assert_eq(queue.count, i + 1);
	}
	for (int i = 0; i < 6; i++) {
		cr_assert_eq(number_of(gy_queue_pop(&queue)), expected[i]);
	}
	cr_assert(gy_queue_empty(&queue));
	cr_assert_null(gy_queue_pop(&queue));
}

/* A normal job at 0 and @high jobs after it: when is it given? */
static int position_of_normal(uint32_t limit, int high)
{
	struct gy_queue queue = { .starvation_limit = limit };

	gy_queue_push(&queue, &jobs[0], false);
	for (int i = 1; i <= high; i++) {
		gy_queue_push(&queue, &jobs[i], true);
	}
	for (int i = 0; i <= high; i++) {
		if (gy_queue_pop(&queue) == &jobs[0]) {
			return i;
		}
	}
	return -1;
}

Test(queue, lets_exactly_as_many_high_ones_pass_as_the_limit_says)
{
	cr_assert_eq(position_of_normal(64, 300), 64);
	cr_assert_eq(position_of_normal(64, 65), 64);
	cr_assert_eq(position_of_normal(64, 63), 63);
	cr_assert_eq(position_of_normal(1, 300), 1);
}

Test(queue, counts_anew_after_a_normal_one_has_gone)
{
	struct gy_queue queue = { .starvation_limit = 3 };
	const int expected[] = { 3, 4, 5, 0, 6, 7, 8, 1, 9, 10, 11, 2, 12 };

	for (int i = 0; i < 3; i++) {
		gy_queue_push(&queue, &jobs[i], false);
	}
	for (int i = 3; i < 13; i++) {
		gy_queue_push(&queue, &jobs[i], true);
	}
	for (int i = 0; i < 13; i++) {
		cr_assert_eq(number_of(gy_queue_pop(&queue)), expected[i]);
	}
}

Test(queue, counts_no_high_ones_that_passed_nobody)
{
	struct gy_queue queue = { .starvation_limit = 64 };

	for (int i = 1; i <= 100; i++) {
		gy_queue_push(&queue, &jobs[i], true);
	}
	for (int i = 1; i <= 100; i++) {
		cr_assert_eq(number_of(gy_queue_pop(&queue)), i);
	}
	gy_queue_push(&queue, &jobs[0], false);
	for (int i = 1; i <= 100; i++) {
		gy_queue_push(&queue, &jobs[i], true);
	}
	for (int i = 1; i <= 64; i++) {
		cr_assert_eq(number_of(gy_queue_pop(&queue)), i);
	}
	cr_assert_eq(number_of(gy_queue_pop(&queue)), 0);
}
