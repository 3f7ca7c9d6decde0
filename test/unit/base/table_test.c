/*
 * The hash table: what it finds, and when it grows and shrinks.
 */
#include <criterion/criterion.h>

#include "base/table.h"
#include "fixture.h"

enum { MANY = 10000 };

static struct gy_sizes sizes;
static struct gy_table table;
static struct gy_table_item items[MANY];

static void setup(void)
{
	gy_sizes_init(&sizes, "test");
	table = (struct gy_table){ 0 };
}

static void teardown(void)
{
	gy_table_fini(&table, &sizes);
	must_hold(gy_sizes_fini(&sizes) == 0, "the buckets were given back");
}

static void add(uint32_t index, uint64_t key)
{
	items[index].key = key;
	cr_assert_eq(gy_table_add(&table, &sizes, &items[index]), 0);
}

TestSuite(table, .init = setup, .fini = teardown);

Test(table, has_no_buckets_before_the_first_item)
{
	cr_assert_eq(table.size, 0);
	cr_assert_null(table.buckets);
	cr_assert_null(gy_table_find(&table, 1));
	cr_assert_null(gy_table_take(&table, &sizes, 1));
	cr_assert_eq(sizes.pools[0].total, 0);
}

Test(table, finds_and_takes_by_key_also_where_keys_share_a_bucket)
{
	for (uint32_t i = 0; i < 5; i++) {
		add(i, 3 + 8 * (uint64_t)i);
	}
	cr_assert_null(gy_table_find(&table, 43));
	for (uint32_t i = 0; i < 5; i++) {
		cr_assert_eq(gy_table_find(&table, 3 + 8 * (uint64_t)i), &items[i]);
	}
	cr_assert_eq(gy_table_take(&table, &sizes, 19), &items[2]);
	cr_assert_null(gy_table_find(&table, 19));
	cr_assert_null(gy_table_take(&table, &sizes, 19));
	cr_assert_eq(table.count, 4);
	for (uint32_t i = 0; i < 5; i++) {
		if (i != 2) {
			cr_assert_eq(gy_table_take(&table, &sizes, 3 + 8 * (uint64_t)i), &items[i]);
		}
	}
	cr_assert_eq(table.count, 0);
}

Test(table, doubles_with_the_item_that_would_exceed_a_load_of_two)
{
	uint32_t size = GY_TABLE_FIRST;

	for (uint32_t i = 0; i < 1000; i++) {
		if (i == size * 2) {
			cr_assert_eq(table.size, size);
			size *= 2;
		}
		add(i, i);
		cr_assert_eq(table.size, size);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		cr_assert_eq(gy_table_take(&table, &sizes, i), &items[i]);
	}
}

/* Shrinks when it is at least four times its first size and under half full, item by item. */
Test(table, halves_when_grown_to_four_times_and_under_half_full_and_never_below)
{
	uint32_t count = 300;

	for (uint32_t i = 0; i < count; i++) {
		add(i, i);
	}
	cr_assert_eq(table.size, 256);
	while (count-- > 0) {
		uint32_t size = table.size;

		cr_assert_eq(gy_table_take(&table, &sizes, count), &items[count]);
		if (size >= 4 * GY_TABLE_FIRST && count < size / 2) {
			cr_assert_eq(table.size, size / 2);
		} else {
			cr_assert_eq(table.size, size);
		}
		for (uint32_t i = 0; i < count; i += 37) {
			cr_assert_eq(gy_table_find(&table, i), &items[i]);
		}
	}
	cr_assert_eq(table.size, 2 * GY_TABLE_FIRST);
}

Test(table, keeps_thousands_with_mixed_keys_apart)
{
	for (uint32_t i = 0; i < MANY; i++) {
		add(i, gy_table_mix((uint64_t)i << 32));
	}
	cr_assert_eq(table.count, MANY);
	for (uint32_t i = MANY; i-- > 0;) {
		uint64_t key = gy_table_mix((uint64_t)i << 32);

		cr_assert_eq(gy_table_find(&table, key), &items[i]);
		cr_assert_eq(gy_table_take(&table, &sizes, key), &items[i]);
	}
}

/* Keys that differ in their high bits only would all share one bucket without mixing. */
Test(table, mix_spreads_keys_that_differ_in_high_bits_only)
{
	uint32_t longest = 0;

	for (uint32_t i = 0; i < 1024; i++) {
		add(i, gy_table_mix((uint64_t)i << 40));
	}
	for (uint32_t i = 0; i < table.size; i++) {
		uint32_t length = 0;

		for (struct gy_table_item *item = table.buckets[i]; item != NULL;
		     item = item->next) {
			length++;
		}
		longest = length > longest ? length : longest;
	}
	cr_assert_lt(longest, 16);
	for (uint32_t i = 0; i < 1024; i++) {
		(void)gy_table_take(&table, &sizes, gy_table_mix((uint64_t)i << 40));
	}
}
