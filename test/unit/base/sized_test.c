/*
 * Structures of programs that are smaller or larger than ours.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/log/log.h"
#include "base/sized.h"

enum { THREADS = 4, ROUNDS = 200 };

struct thing {
	uint64_t first;
	uint64_t second;
	uint64_t third;
};

static char said[512];

static void hear(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	(void)snprintf(said, sizeof(said), "%s", line->text);
}

static struct gy_table_copies copies;

static void forget(void)
{
	gy_table_copies_fini(&copies);
}

static const struct gy_log log_here = { .write = hear, .level = GYRE_LOG_WARNING };

Test(sized, reads_what_an_older_program_has_and_zero_for_the_rest)
{
	uint64_t given[2] = { 1, 2 };
	struct thing thing;

	memset(&thing, 0xff, sizeof(thing));
	cr_assert_eq(GY_SIZED_READ(thing, &thing, given, sizeof(given), &log_here), 0);
	cr_assert_eq(thing.first, 1);
	cr_assert_eq(thing.second, 2);
	cr_assert_eq(thing.third, 0);
}

Test(sized, reads_null_as_all_zero)
{
	struct thing thing = { 1, 2, 3 };

	cr_assert_eq(GY_SIZED_READ(thing, &thing, NULL, sizeof(thing), &log_here), 0);
	cr_assert_eq(thing.first + thing.second + thing.third, 0);
}

Test(sized, takes_a_newer_program_that_sets_nothing_new, .fini = forget)
{
	uint64_t given[4] = { 1, 2, 3, 0 };
	const struct thing *table = (const struct thing *)(void *)given;
	struct thing thing;

	cr_assert_eq(GY_SIZED_READ(thing, &thing, given, sizeof(given), &log_here), 0);
	cr_assert_eq(thing.third, 3);
	cr_assert_eq(GY_SIZED_TABLE(thing, &copies, &table, sizeof(given), &log_here), 0);
	cr_assert_eq((const void *)table, (const void *)given);
}

Test(sized, refuses_a_newer_program_that_sets_more_and_says_why, .fini = forget)
{
	uint64_t given[4] = { 1, 2, 3, 4 };
	const struct thing *table = (const struct thing *)(void *)given;
	struct thing thing;

	cr_assert_eq(GY_SIZED_READ(thing, &thing, given, sizeof(given), &log_here), -E2BIG);
	cr_assert_not_null(strstr(said, "struct thing has 32 bytes in the program and 24 in"));
	cr_assert_not_null(strstr(said, "newer gyre, which must be installed"));
	cr_assert_eq(thing.third, 3, "what is known is read all the same");
	cr_assert_eq(GY_SIZED_TABLE(thing, &copies, &table, sizeof(given), &log_here), -E2BIG);
}

Test(sized, refuses_a_size_that_is_none)
{
	uint64_t given[3] = { 0 };
	struct thing thing;

	cr_assert_eq(GY_SIZED_READ(thing, &thing, given, SIZE_MAX, &log_here), -E2BIG);
}

Test(sized, writes_as_much_as_the_program_has_room_for)
{
	const struct thing thing = { 1, 2, 3 };
	uint64_t smaller[3] = { 9, 9, 9 };
	uint64_t larger[5] = { 9, 9, 9, 9, 9 };

	gy_sized_write(smaller, 2 * sizeof(uint64_t), &thing, sizeof(thing));
	cr_assert_eq(smaller[1], 2);
	cr_assert_eq(smaller[2], 9);
	gy_sized_write(larger, 4 * sizeof(uint64_t), &thing, sizeof(thing));
	cr_assert_eq(larger[2], 3);
	cr_assert_eq(larger[3], 0);
	cr_assert_eq(larger[4], 9);
}

Test(sized, keeps_one_copy_of_a_table_however_often_it_comes, .fini = forget)
{
	uint64_t given[2] = { 11, 12 };
	uint64_t same[2] = { 11, 12 };
	const struct thing *one = (const struct thing *)(void *)given;
	const struct thing *two = (const struct thing *)(void *)same;

	cr_assert_eq(GY_SIZED_TABLE(thing, &copies, &one, sizeof(given), &log_here), 0);
	cr_assert_eq(GY_SIZED_TABLE(thing, &copies, &two, sizeof(same), &log_here), 0);
	cr_assert_eq(one, two);
	cr_assert_neq((const void *)one, (const void *)given);
	cr_assert_eq(one->second, 12);
	cr_assert_eq(one->third, 0);
}

static pthread_barrier_t together;

static void *bring(void *arg)
{
	const struct thing **ret_table = (const struct thing **)arg;
	uint64_t given[2] = { 31, 32 };

	*ret_table = (const struct thing *)(void *)given;
	(void)pthread_barrier_wait(&together);
	cr_expect_eq(GY_SIZED_TABLE(thing, &copies, ret_table, sizeof(given), &log_here), 0);
	return NULL;
}

Test(sized, keeps_one_copy_of_a_table_that_several_threads_bring, .fini = forget)
{
	pthread_t threads[THREADS];
	const struct thing *tables[THREADS];

	cr_assert_eq(pthread_barrier_init(&together, NULL, THREADS), 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < THREADS; i++) {
			cr_assert_eq(pthread_create(&threads[i], NULL, bring, &tables[i]), 0);
		}
		for (int i = 0; i < THREADS; i++) {
			(void)pthread_join(threads[i], NULL);
			cr_assert_eq(tables[i], tables[0]);
		}
		cr_assert_eq(tables[0]->second, 32);
		gy_table_copies_fini(&copies);
		cr_assert_null(copies.newest);
	}
}

Test(sized, another_table_at_the_same_address_has_a_copy_of_its_own, .fini = forget)
{
	uint64_t given[2] = { 21, 22 };
	const struct thing *one = (const struct thing *)(void *)given;
	const struct thing *two = one;

	cr_assert_eq(GY_SIZED_TABLE(thing, &copies, &one, sizeof(given), &log_here), 0);
	given[1] = 23;
	cr_assert_eq(GY_SIZED_TABLE(thing, &copies, &two, sizeof(given), &log_here), 0);
	cr_assert_eq(one->second, 22);
	cr_assert_eq(two->second, 23);
}

Test(sized, a_table_of_our_size_and_none_stay_where_they_are, .fini = forget)
{
	const struct thing ours = { 1, 2, 3 };
	const struct thing *table = &ours;

	cr_assert_eq(GY_SIZED_TABLE(thing, &copies, &table, sizeof(ours), &log_here), 0);
	cr_assert_eq(table, &ours);
	table = NULL;
	cr_assert_eq(GY_SIZED_TABLE(thing, &copies, &table, sizeof(ours) - 8, &log_here), 0);
	cr_assert_null(table);
}

Test(sized, refuses_reserved_members_that_are_set)
{
	struct {
		uint64_t reserved[2];
	} some = { { 0, 0 } };

	cr_assert_eq(GY_SIZED_RESERVED(some, &some, &log_here), 0);
	some.reserved[1] = UINT64_C(1) << 40;
	cr_assert_eq(GY_SIZED_RESERVED(some, &some, &log_here), -EINVAL);
	cr_assert_not_null(strstr(said, "reserved members of struct some are set"));
}
