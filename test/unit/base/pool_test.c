/*
 * Pools: growing, reuse, trimming what nobody uses, and telling what is still out at the end.
 */
#include <criterion/criterion.h>

#include <string.h>

#include "base/memory/memory.h"
#include "base/memory/size_pools.h"

enum { OBJECTS = 500, OBJECT_BYTES = 96, GROWN_MAX = 4096 };

static struct gy_pool pool;
static void *objects[OBJECTS];
static void *grown_objects[GROWN_MAX];

static void setup(void)
{
	gy_pool_init(&pool, "test", OBJECT_BYTES);
}

static void get_all(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		objects[i] = gy_pool_get(&pool);
		cr_assert_not_null(objects[i]);
		memset(objects[i], (int)i, OBJECT_BYTES);
	}
}

static void put_all(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		gy_pool_put(&pool, objects[i]);
	}
}

TestSuite(pool, .init = setup);

Test(pool, takes_nothing_from_the_heap_before_it_is_used)
{
	cr_assert_eq(pool.total, 0);
	cr_assert_eq(gy_pool_fini(&pool), 0);
}

Test(pool, gives_each_object_once_aligned_to_a_cache_line_and_whole)
{
	get_all(OBJECTS);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		const unsigned char *bytes = (const unsigned char *)objects[i];

		cr_assert_eq((uintptr_t)bytes % GY_CACHE_LINE, 0);
		for (uint32_t k = 0; k < OBJECT_BYTES; k++) {
			cr_assert_eq(bytes[k], (unsigned char)i);
		}
	}
	put_all(OBJECTS);
	cr_assert_eq(gy_pool_fini(&pool), 0);
}

Test(pool, reuses_what_was_put_back_without_asking_the_heap)
{
	uint64_t allocations;

	get_all(OBJECTS);
	put_all(OBJECTS);
	allocations = gy_memory_allocations();
	for (uint32_t i = 0; i < 100; i++) {
		get_all(OBJECTS);
		put_all(OBJECTS);
	}
	cr_assert_eq(gy_memory_allocations(), allocations);
	cr_assert_eq(gy_pool_fini(&pool), 0);
}

/* Takes objects of @object_bytes until the pool has grown by @max at a time: by as many as it has
 * up to @doubled, and then by a quarter. */
static void check_growth(uint32_t object_bytes, uint32_t doubled, uint32_t max)
{
	uint32_t total = 0;
	uint32_t step = 0;
	struct gy_pool grown;

	gy_pool_init(&grown, "test", object_bytes);
	for (uint32_t i = 0; step < max; i++) {
		cr_assert_lt(i, GROWN_MAX);
		grown_objects[i] = gy_pool_get(&grown);
		if (i == total) {
			step = total < doubled ? total : doubled;
			step = step < total / 4 ? total / 4 : step;
			step = step < 8 ? 8 : step > max ? max : step;
			total += step;
		}
		cr_assert_eq(grown.total, total);
	}
	for (uint32_t used = grown.total - grown.free_count; used > 0; used--) {
		gy_pool_put(&grown, grown_objects[used - 1]);
	}
	cr_assert_eq(gy_pool_fini(&grown), 0);
}

Test(pool, grows_by_a_quarter_from_8_to_64_at_a_time)
{
	check_growth(1024, 8, 64);
	check_growth(4096, 2, 64);
}

Test(pool, of_small_objects_doubles_up_to_8_kib_and_grows_by_32_kib_at_most)
{
	check_growth(64, 128, 512);
	check_growth(96, 85, 341);
	check_growth(128, 64, 256);
}

Test(pool, keeps_objects_of_a_line_in_pairs_of_their_own)
{
	struct gy_pool_use use = { 0 };
	struct gy_pool apart;

	gy_pool_init(&apart, "test", GY_CACHE_LINE);
	gy_pool_keep_apart(&apart);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		objects[i] = gy_pool_get(&apart);
		for (uint32_t k = 0; k < i; k++) {
			uintptr_t one = (uintptr_t)objects[i];
			uintptr_t other = (uintptr_t)objects[k];

			cr_assert_geq(one > other ? one - other : other - one,
				      2 * (uintptr_t)GY_CACHE_LINE);
		}
	}
	gy_pool_use_add(&apart, &use);
	cr_assert_eq(use.used_bytes, (int64_t)OBJECTS * 2 * GY_CACHE_LINE);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		gy_pool_put(&apart, objects[i]);
	}
	cr_assert_eq(gy_pool_fini(&apart), 0);
}

Test(pool, is_trimmed_to_ten_at_the_second_look_without_use)
{
	get_all(OBJECTS);
	put_all(OBJECTS);
	cr_assert(gy_pool_trim(&pool, 10), "it was used since the last look");
	cr_assert_geq(pool.total, OBJECTS);
	cr_assert_not(gy_pool_trim(&pool, 10));
	cr_assert_eq(pool.total, 10);
	cr_assert_eq(pool.free_count, 10);
	get_all(20);
	put_all(20);
	cr_assert_eq(gy_pool_fini(&pool), 0);
}

Test(pool, trims_only_what_is_free)
{
	get_all(100);
	(void)gy_pool_trim(&pool, 10);
	(void)gy_pool_trim(&pool, 10);
	cr_assert_leq(pool.total, 110);
	put_all(100);
	(void)gy_pool_trim(&pool, 10);
	cr_assert_eq(pool.total, 10);
	cr_assert_eq(gy_pool_fini(&pool), 0);
}

Test(pool, tells_how_many_were_never_put_back)
{
	get_all(7);
	put_all(4);
	cr_assert_eq(gy_pool_fini(&pool), 3);
	for (uint32_t i = 4; i < 7; i++) {
		gy_memory_put(objects[i]);
	}
}

/* ---- what is lost ---- */

static const void *lost[OBJECTS];
static uint32_t lost_count;

static void note_lost(void *arg, const void *object)
{
	cr_assert_eq(arg, &pool);
	lost[lost_count++] = object;
}

/* Every third object is out, whatever it holds; the others are back. */
static void put_all_but_thirds(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i % 3 != 0) {
			gy_pool_put(&pool, objects[i]);
		}
	}
}

static bool is_lost(const void *object)
{
	for (uint32_t i = 0; i < lost_count; i++) {
		if (lost[i] == object) {
			return true;
		}
	}
	return false;
}

static void expect_thirds_lost(uint32_t count)
{
	gy_pool_each_lost(&pool, note_lost, &pool);
	cr_assert_eq(lost_count, (count + 2) / 3, "%u", lost_count);
	for (uint32_t i = 0; i < count; i += 3) {
		cr_assert(is_lost(objects[i]), "%u", i);
	}
	cr_assert_eq((uint32_t)gy_pool_fini(&pool), lost_count);
	for (uint32_t i = 0; i < count; i += 3) {
		gy_memory_put(objects[i]);
	}
}

Test(pool, that_knows_its_objects_tells_which_are_lost)
{
	gy_pool_know_all(&pool);
	get_all(OBJECTS);
	put_all_but_thirds(OBJECTS);
	expect_thirds_lost(OBJECTS);
}

Test(pool, that_was_trimmed_knows_what_is_left)
{
	gy_pool_know_all(&pool);
	get_all(OBJECTS);
	put_all_but_thirds(OBJECTS);
	for (uint32_t keep = 100; keep <= 100; keep -= 20) {
		(void)gy_pool_trim(&pool, keep);
		(void)gy_pool_trim(&pool, keep);
		cr_assert_eq(pool.free_count, keep);
	}
	expect_thirds_lost(OBJECTS);
}

Test(pool, that_grows_again_after_it_was_trimmed_knows_all)
{
	gy_pool_know_all(&pool);
	get_all(OBJECTS);
	put_all(OBJECTS);
	(void)gy_pool_trim(&pool, 10);
	(void)gy_pool_trim(&pool, 10);
	cr_assert_eq(pool.total, 10);
	get_all(100);
	put_all_but_thirds(100);
	expect_thirds_lost(100);
}

/* What is out may hold anything, also what a free object says of itself. */
Test(pool, takes_no_object_that_is_out_for_a_free_one)
{
	gy_pool_know_all(&pool);
	get_all(OBJECTS);
	put_all_but_thirds(OBJECTS);
	for (uint32_t i = 0; i < OBJECTS; i += 3) {
		*(uint64_t *)objects[i] = i % pool.free_count;
	}
	expect_thirds_lost(OBJECTS);
}

Test(pool, without_losses_tells_of_none)
{
	gy_pool_know_all(&pool);
	get_all(OBJECTS);
	put_all(OBJECTS);
	gy_pool_each_lost(&pool, note_lost, &pool);
	cr_assert_eq(lost_count, 0);
	cr_assert_eq(gy_pool_fini(&pool), 0);
}

/* ---- pools of all sizes ---- */

Test(sizes, choose_the_smallest_power_of_two_from_64_bytes_to_16_kib)
{
	cr_assert_eq(gy_sizes_class(0), 0);
	cr_assert_eq(gy_sizes_class(1), 0);
	cr_assert_eq(gy_sizes_class(64), 0);
	cr_assert_eq(gy_sizes_class(65), 1);
	cr_assert_eq(gy_sizes_class(128), 1);
	cr_assert_eq(gy_sizes_class(129), 2);
	cr_assert_eq(gy_sizes_class(8193), 8);
	cr_assert_eq(gy_sizes_class(16384), 8);
	cr_assert_eq(gy_sizes_class(16385), GY_SIZES_HEAP);
	for (size_t bytes = 1; bytes <= GY_SIZES_BYTES_MAX; bytes++) {
		size_t given = (size_t)64 << gy_sizes_class(bytes);

		cr_assert_geq(given, bytes);
		cr_assert(given == 64 || given / 2 < bytes);
	}
}

Test(sizes, serve_every_size_and_take_large_ones_from_the_heap_each_time)
{
	struct gy_sizes sizes;

	gy_sizes_init(&sizes, "test");
	for (size_t bytes = 40; bytes < 100000; bytes *= 2) {
		uint8_t size_class = gy_sizes_class(bytes);
		uint64_t allocations = gy_memory_allocations();
		void *object = gy_sizes_get(&sizes, bytes, size_class);

		cr_assert_not_null(object);
		memset(object, 1, bytes);
		gy_sizes_put(&sizes, object, size_class);
		cr_assert_gt(gy_memory_allocations(), allocations);
		allocations = gy_memory_allocations();
		gy_sizes_put(&sizes, gy_sizes_get(&sizes, bytes, size_class), size_class);
		cr_assert_eq(gy_memory_allocations() > allocations, size_class == GY_SIZES_HEAP);
	}
	cr_assert_eq(gy_sizes_fini(&sizes), 0);
}

Test(sizes, are_trimmed_each_and_tell_whether_to_look_again)
{
	struct gy_sizes sizes;

	gy_sizes_init(&sizes, "test");
	for (uint8_t i = 0; i < GY_SIZES_COUNT; i++) {
		for (uint32_t k = 0; k < 20; k++) {
			objects[k] = gy_sizes_get(&sizes, (size_t)64 << i, i);
		}
		for (uint32_t k = 0; k < 20; k++) {
			gy_sizes_put(&sizes, objects[k], i);
		}
	}
	cr_assert(gy_sizes_trim(&sizes, 10));
	gy_sizes_put(&sizes, gy_sizes_get(&sizes, 64, 0), 0);
	cr_assert(gy_sizes_trim(&sizes, 10), "one of them was used");
	cr_assert_gt(sizes.pools[0].total, 10);
	cr_assert_eq(sizes.pools[1].total, 10);
	cr_assert_not(gy_sizes_trim(&sizes, 10));
	cr_assert_eq(sizes.pools[0].total, 10);
	cr_assert_eq(gy_sizes_fini(&sizes), 0);
}

/* ---- pools that exchange objects ---- */

Test(pool, whose_objects_stay_with_another_makes_no_room_for_more_than_there_are)
{
	struct gy_pool other;
	uint32_t existing = 0;

	gy_pool_init(&other, "other", OBJECT_BYTES);
	gy_pool_exchange(&pool, &existing);
	gy_pool_exchange(&other, &existing);
	for (uint32_t round = 0; round < 200; round++) {
		get_all(OBJECTS);
		for (uint32_t i = 0; i < OBJECTS; i++) {
			gy_pool_put_any(&other, objects[i]);
		}
		cr_assert_eq(existing, pool.total + other.total);
	}
	cr_assert_gt(pool.total, 100 * OBJECTS, "as many have left");
	cr_assert_lt(pool.capacity, 4 * OBJECTS);
	(void)gy_pool_trim(&pool, 0);
	(void)gy_pool_trim(&pool, 0);
	cr_assert_eq(existing, pool.total + other.total);
	cr_assert_eq(gy_pool_fini(&pool) + gy_pool_fini(&other), 0);
}

Test(pool, whose_objects_stay_with_another_is_summed_up_with_it)
{
	struct gy_pool_use use = { 0 };
	struct gy_pool other;
	uint32_t existing = 0;

	gy_pool_init(&other, "other", OBJECT_BYTES);
	gy_pool_exchange(&pool, &existing);
	gy_pool_exchange(&other, &existing);
	get_all(OBJECTS);
	for (uint32_t i = 10; i < OBJECTS; i++) {
		gy_pool_put_any(&other, objects[i]);
	}
	gy_pool_use_add(&pool, &use);
	gy_pool_use_add(&other, &use);
	cr_assert_eq(use.used, 10);
	cr_assert_eq(use.used_bytes, 10 * OBJECT_BYTES);
	cr_assert_eq(use.free, pool.free_count + other.free_count);
	cr_assert_eq(use.free_bytes, use.free * OBJECT_BYTES);
	for (uint32_t i = 0; i < 10; i++) {
		gy_pool_put_any(&other, objects[i]);
	}
	cr_assert_eq(gy_pool_fini(&pool) + gy_pool_fini(&other), 0);
}
