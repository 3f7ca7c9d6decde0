/*
 * Growing and shrinking of pools. A pool grows by a quarter of what it has, from 8 to 64 objects at
 * a time: each object is an allocation of its own, so that shrinking gives memory back one by one.
 */
#include "base/pool.h"

#include <errno.h>
#include <stdio.h>

#include "base/memory.h"

enum { GROW_MIN = 8, GROW_MAX = 64, TEXT_BYTES = 256 };

void gy_pool_init(struct gy_pool *pool, const char *name, size_t object_bytes)
{
	*pool = (struct gy_pool){ .name = name, .object_bytes = (uint32_t)object_bytes };
}

void gy_pool_use_add(const struct gy_pool *pool, struct gy_pool_use *sum)
{
	uint32_t total = gy_load_relaxed(&pool->total);
	uint32_t free_count = gy_load_relaxed(&pool->free_count);

	/* The two are of two moments. */
	total = total < free_count || (int32_t)total < 0 ? free_count : total;
	sum->used += total - free_count;
	sum->free += free_count;
	sum->bytes += (uint64_t)total * pool->object_bytes;
}

int32_t gy_pool_fini(struct gy_pool *pool)
{
	int32_t out = (int32_t)(pool->total - pool->free_count);

	for (uint32_t i = 0; i < pool->free_count; i++) {
		gy_memory_put(pool->free[i]);
	}
	pool->free_count = 0;
	gy_memory_put(pool->free);
	pool->free = NULL;
	pool->total = 0;
	pool->capacity = 0;
	return out;
}

static int reserve(struct gy_pool *pool, uint32_t objects)
{
	uint32_t capacity = pool->capacity == 0 ? GROW_MAX : pool->capacity;
	void **moved;

	while (capacity < objects) {
		capacity *= 2;
	}
	if (capacity == pool->capacity) {
		return 0;
	}
	moved = (void **)gy_memory_resize((void *)pool->free, pool->free_count * sizeof(void *),
					  capacity * sizeof(void *));
	if (moved == NULL) {
		return -ENOMEM;
	}
	pool->free = moved;
	pool->capacity = capacity;
	return 0;
}

int gy_pool_grow(struct gy_pool *pool)
{
	/* Fewer than none were made here, if those of others were freed. */
	uint32_t total = (int32_t)pool->total < 0 ? 0 : pool->total;
	uint32_t wanted = total / 4;
	uint32_t got = 0;

	wanted = wanted < GROW_MIN ? GROW_MIN : wanted > GROW_MAX ? GROW_MAX : wanted;
	if (reserve(pool, total + wanted) < 0) {
		return -ENOMEM;
	}
	while (got < wanted) {
		void *object = gy_memory_get_raw(pool->object_bytes);

		if (object == NULL) {
			break;
		}
		gy_count(&pool->total, 1);
		gy_pool_push(pool, object);
		got++;
	}
	pool->grown += got;
	return got > 0 ? 0 : -ENOMEM;
}

void gy_pool_put_surplus(struct gy_pool *pool, void *object)
{
	gy_memory_put(object);
	gy_store_relaxed(&pool->total, pool->total - 1);
}

void gy_pool_put_twice(const struct gy_pool *pool)
{
	char text[TEXT_BYTES];

	(void)snprintf(text, sizeof(text),
		       "a %s is freed that was freed or given away before: of %u, all are free; a "
		       "call that takes a %s owns it from then on",
		       pool->name, (unsigned)pool->total, pool->name);
	gy_assert_failed(text, __FILE__, __LINE__);
}

bool gy_pool_trim(struct gy_pool *pool, uint32_t keep)
{
	bool used = pool->used;

	pool->used = false;
	if (used) {
		return true;
	}
	while (pool->free_count > keep) {
		uint32_t last = pool->free_count - 1;

		gy_memory_put(pool->free[last]);
		gy_store_relaxed(&pool->free_count, last);
		gy_store_relaxed(&pool->total, pool->total - 1);
	}
	return false;
}
