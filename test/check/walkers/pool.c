/*
 * Damage to pools and hash tables.
 */
#include "base/memory/pool.h"

#include "base/table.h"
#include "walkers.h"

static void fill(struct gy_pool *pool, bool known)
{
	gy_pool_init(pool, "object", 64);
	if (known) {
		gy_pool_know_all(pool);
	}
	gy_pool_put(pool, gy_pool_get(pool));
}

static void is_free_twice(bool damaged)
{
	static struct gy_pool pool;

	fill(&pool, false);
	if (damaged) {
		pool.free[1] = pool.free[0];
	}
	gy_pool_check(&pool);
}

static void is_of_elsewhere(bool damaged)
{
	static struct gy_pool pool;
	static char object[64];

	fill(&pool, true);
	if (damaged) {
		pool.free[1] = object;
	}
	gy_pool_check(&pool);
}

static void counts_more_than_it_has_room_for(bool damaged)
{
	static struct gy_pool pool;

	fill(&pool, false);
	if (damaged) {
		pool.capacity = pool.free_count - 1;
	}
	gy_pool_check(&pool);
}

static void has_a_pool_of_another_size(bool damaged)
{
	static struct gy_sizes sizes;

	gy_sizes_init(&sizes, "object");
	if (damaged) {
		sizes.pools[2].object_bytes = 64;
	}
	gy_sizes_check(&sizes);
}

static struct gy_table table;
static struct gy_table_item items[3];

static void fill_table(void)
{
	static struct gy_sizes sizes;

	gy_sizes_init(&sizes, "bucket");
	for (uint32_t i = 0; i < 3; i++) {
		items[i].key = i;
		(void)gy_table_add(&table, &sizes, &items[i]);
	}
}

static void has_an_item_in_another_bucket(bool damaged)
{
	fill_table();
	items[1].key = damaged ? 2 : 1;
	gy_table_check(&table);
}

static void has_lost_an_item(bool damaged)
{
	fill_table();
	table.count += damaged;
	gy_table_check(&table);
}

const struct walker_case pool_cases[] = {
	{ "pool: an object is free twice", is_free_twice },
	{ "pool: a free object is of another pool", is_of_elsewhere },
	{ "pool: more is free than there is room for", counts_more_than_it_has_room_for },
	{ "sizes: a pool has another size", has_a_pool_of_another_size },
	{ "table: an item is in another bucket", has_an_item_in_another_bucket },
	{ "table: an item is lost", has_lost_an_item },
	{ 0 },
};
