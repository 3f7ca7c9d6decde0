/*
 * Loops that come and go many times, from one thread or several.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "resize_rig.h"
#include "ring/sanitize.h"

TestSuite(resize_often, .timeout = 60);

static void *resize_often(void *arg)
{
	uint32_t first = *(uint32_t *)arg;

	for (uint32_t i = 0; i < 10; i++) {
		expect(resize(1 + (first + i) % LOOPS_MAX) == 0);
	}
	return NULL;
}

Test(resize_often, by_several_threads_at_once_comes_one_after_the_other)
{
	pthread_t threads[3];
	uint32_t first[3] = { 0, 1, 2 };

	begin(2);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, resize_often, &first[i]), 0);
	}
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	}
	fixture_close();
}

static const struct gyre_class idle_class = { .name = "idle" };

#if defined(GY_SANITIZE_ADDRESS)
size_t __sanitizer_get_current_allocated_bytes(void); /* gcc 12 has no header of it */

/* The sanitizer keeps for a while what was freed. */
static uint64_t bytes_in_use(void)
{
	return __sanitizer_get_current_allocated_bytes();
}
#else
static uint64_t bytes_in_use(void)
{
	unsigned long size = 0;
	unsigned long resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	cr_assert_not_null(file);
	cr_assert_eq(fscanf(file, "%lu %lu", &size, &resident), 2);
	(void)fclose(file);
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
#endif

Test(resize_often, a_hundred_times_leaks_neither_descriptors_nor_memory)
{
	int descriptors = 0;
	uint64_t bytes = 0;

	begin(1);
	for (uint32_t i = 0; i < 100; i++) {
		cr_assert_eq(resize(3), 0);
		for (uint32_t actor = 0; actor < 3; actor++) {
			(void)spawn_outside(&idle_class, 0);
		}
		cr_assert_eq(resize(1), 0);
		if (i == 9) {
			descriptors = descriptors_open();
			bytes = bytes_in_use();
		}
	}
	cr_expect_eq(descriptors_open(), descriptors);
	cr_expect_lt(bytes_in_use(), bytes + (8 << 20));
	fixture_close();
}
