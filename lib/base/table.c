/*
 * Changing the size of a table. The buckets come from pools, so that tables may come and go without
 * asking the heap.
 */
#include "base/table.h"

#include <errno.h>
#include <string.h>

static size_t bytes_of(uint32_t size)
{
	return size * sizeof(struct gy_table_item *);
}

static void put_buckets(struct gy_table *table, struct gy_sizes *sizes)
{
	if (table->buckets != NULL) {
		gy_sizes_put(sizes, (void *)table->buckets, gy_sizes_class(bytes_of(table->size)));
	}
}

int gy_table_resize(struct gy_table *table, struct gy_sizes *sizes, uint32_t size)
{
	struct gy_table_item **buckets = (struct gy_table_item **)gy_sizes_get(
		sizes, bytes_of(size), gy_sizes_class(bytes_of(size)));

	if (buckets == NULL) {
		return -ENOMEM;
	}
	memset((void *)buckets, 0, bytes_of(size));
	for (uint32_t i = 0; i < table->size; i++) {
		struct gy_table_item *item = table->buckets[i];

		while (item != NULL) {
			struct gy_table_item *next = item->next;
			struct gy_table_item **bucket = &buckets[item->key & (size - 1)];

			item->next = *bucket;
			*bucket = item;
			item = next;
		}
	}
	put_buckets(table, sizes);
	table->buckets = buckets;
	table->size = size;
	return 0;
}

void gy_table_fini(struct gy_table *table, struct gy_sizes *sizes)
{
	gy_assert(table->count == 0);
	put_buckets(table, sizes);
	*table = (struct gy_table){ 0 };
}

void gy_table_check(const struct gy_table *table)
{
	uint32_t count = 0;

	gy_assert((table->size & (table->size - 1)) == 0 || table->size == 0);
	for (uint32_t i = 0; i < table->size; i++) {
		const struct gy_table_item *item = table->buckets[i];

		for (; item != NULL; item = item->next) {
			gy_assert((item->key & (table->size - 1)) == i);
			count++;
		}
	}
	gy_assert(count == table->count);
}
