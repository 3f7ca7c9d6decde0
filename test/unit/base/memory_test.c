/*
 * The door to the heap.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/memory/memory.h"

static void *trim(void *arg)
{
	uint32_t *waiting = (uint32_t *)arg;

	(void)gy_add_relaxed(waiting, UINT32_MAX);
	while (gy_load_relaxed(waiting) != 0) {
	}
	gy_memory_trim();
	return NULL;
}

/* In a process that has not trimmed yet; ends it. */
static void trim_in_two_threads(void)
{
	uint32_t waiting = 2;
	pthread_t other;

	if (pthread_create(&other, NULL, trim, &waiting) != 0) {
		_exit(1);
	}
	(void)trim(&waiting);
	(void)pthread_join(other, NULL);
	_exit(0);
}

/* Where another allocator stands in for malloc(), as under a sanitizer, glibc's first trim crashed.
 */
Test(memory, may_be_trimmed_by_two_threads_from_the_first_moment)
{
	for (int i = 0; i < 100; i++) {
		pid_t child = fork();
		int status = -1;

		cr_assert_geq(child, 0);
		if (child == 0) {
			trim_in_two_threads();
		}
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_assert_eq(status, 0);
	}
}

Test(memory, keeps_what_was_there_when_it_moves)
{
	uint64_t *memory = gy_memory_get(4 * sizeof(*memory));

	cr_assert_not_null(memory);
	for (uint64_t i = 0; i < 4; i++) {
		cr_expect_eq(memory[i], 0);
		memory[i] = i;
	}
	memory = gy_memory_resize(memory, 4 * sizeof(*memory), 400 * sizeof(*memory));
	cr_assert_not_null(memory);
	cr_expect_eq((uintptr_t)memory % GY_CACHE_LINE, 0);
	for (uint64_t i = 0; i < 4; i++) {
		cr_expect_eq(memory[i], i);
	}
	gy_memory_put(memory);
	gy_memory_put(NULL);
}

Test(memory, counts_how_often_the_heap_was_asked)
{
	uint64_t before = gy_memory_allocations();

	gy_memory_put(gy_memory_get(1));
	gy_memory_put(gy_memory_get_raw(1));
	gy_memory_put(gy_memory_resize(NULL, 0, 1));
	cr_expect_eq(gy_memory_allocations(), before + 3);
}
