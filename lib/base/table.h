/*
 * A hash table of intrusive items with 64-bit keys, for one thread: mask indexing, load factor 2.0,
 * no buckets before the first item; it shrinks when it has grown to 4 times its first size and is
 * under half full. Keys that count up spread perfectly; keys that do not are mixed by the caller
 * first.
 */
#ifndef GY_BASE_TABLE_H
#define GY_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory/size_pools.h"

enum { GY_TABLE_FIRST = 8, GY_TABLE_LOAD = 2, GY_TABLE_SHRINK_FROM = 4 * GY_TABLE_FIRST };

struct gy_table_item {
	struct gy_table_item *next;
	uint64_t key;
};

struct gy_table {
	struct gy_table_item **buckets;
	uint32_t count;
	uint32_t size; /* of @buckets, a power of two or 0 */
};

/* Changes the number of buckets. */
GY_COLD int gy_table_resize(struct gy_table *table, struct gy_sizes *sizes, uint32_t size);
void gy_table_fini(struct gy_table *table, struct gy_sizes *sizes);

/* Mixes a key, one to one: mixed keys differ where the keys do, and every bit of the key changes
 * the low bits. */
static inline uint64_t gy_table_mix(uint64_t key)
{
	key ^= key >> 32;
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return key ^ (key >> 32);
}

/* -ENOMEM only where there are no buckets at all; a table that cannot grow gets slower. */
static inline int gy_table_add(struct gy_table *table, struct gy_sizes *sizes,
			       struct gy_table_item *item)
{
	struct gy_table_item **bucket;

	if (gy_unlikely(table->count >= table->size * GY_TABLE_LOAD)) {
		int r = gy_table_resize(table, sizes,
					table->size == 0 ? GY_TABLE_FIRST : table->size * 2);

		if (r < 0 && table->size == 0) {
			return r;
		}
	}
	bucket = &table->buckets[item->key & (table->size - 1)];
	item->next = *bucket;
	*bucket = item;
	table->count++;
	return 0;
}

static inline struct gy_table_item *gy_table_find(const struct gy_table *table, uint64_t key)
{
	struct gy_table_item *item;

	if (table->size == 0) {
		return NULL;
	}
	item = table->buckets[key & (table->size - 1)];
	while (item != NULL && item->key != key) {
		item = item->next;
	}
	return item;
}

/* Takes out what @link leads to. */
static inline void gy_table_unlink(struct gy_table *table, struct gy_sizes *sizes,
				   struct gy_table_item **link)
{
	*link = (*link)->next;
	table->count--;
	if (gy_unlikely(table->size >= GY_TABLE_SHRINK_FROM && table->count < table->size / 2)) {
		(void)gy_table_resize(table, sizes, table->size / 2);
	}
}

/* Asserts that each item stands in the bucket of its key, and that the count is right. */
void gy_table_check(const struct gy_table *table);

/* Takes out the item of @key and returns it; NULL when there is none. */
static inline struct gy_table_item *gy_table_take(struct gy_table *table, struct gy_sizes *sizes,
						  uint64_t key)
{
	struct gy_table_item **link;
	struct gy_table_item *item;

	if (table->size == 0) {
		return NULL;
	}
	link = &table->buckets[key & (table->size - 1)];
	while ((item = *link) != NULL && item->key != key) {
		link = &item->next;
	}
	if (item == NULL) {
		return NULL;
	}
	gy_table_unlink(table, sizes, link);
	return item;
}

/* Takes out an item that stands in the table, also where several have its key. */
static inline void gy_table_remove(struct gy_table *table, struct gy_sizes *sizes,
				   const struct gy_table_item *item)
{
	struct gy_table_item **link = &table->buckets[item->key & (table->size - 1)];

	while (*link != item) {
		link = &(*link)->next;
	}
	gy_table_unlink(table, sizes, link);
}

#endif
