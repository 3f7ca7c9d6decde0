/*
 * A pool of objects of one size, owned by one thread.
 *
 * What is free stands in an array of pointers, used as a stack. Against the usual list threaded
 * through the free objects this touches no object before it is used, so that the next one can be
 * fetched into the cache in time; that counts for objects that come home from another core. The
 * array has room for every object of the pool, so putting one back cannot fail.
 */
#ifndef GY_BASE_POOL_H
#define GY_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/macros.h"

struct gy_pool {
	void **free;
	uint32_t free_count;
	uint32_t total;	   /* objects that exist, free or out */
	uint32_t capacity; /* of @free, at least @total */
	uint32_t object_bytes;
	bool used; /* something was taken since the last trim */
	uint64_t grown;
	const char *name;
} GY_ALIGNED_LINE;

void gy_pool_init(struct gy_pool *pool, const char *name, size_t object_bytes);
/* Returns how many objects were still out, which is a leak of the caller's. */
uint32_t gy_pool_fini(struct gy_pool *pool);
/* Brings in a batch of objects from the heap; -ENOMEM if not even one could be had. */
GY_COLD int gy_pool_grow(struct gy_pool *pool);
/* For a pool that nobody used since the last call: frees all but @keep. Whether it is to be looked
 * at again. */
bool gy_pool_trim(struct gy_pool *pool, uint32_t keep);

/* NULL when there is no memory. The contents are undefined. */
static inline void *gy_pool_get(struct gy_pool *pool)
{
	uint32_t count = pool->free_count;

	if (gy_unlikely(count == 0)) {
		if (gy_pool_grow(pool) < 0) {
			return NULL;
		}
		count = pool->free_count;
	}
	pool->used = true;
	pool->free_count = --count;
	gy_prefetch_write(pool->free[count == 0 ? 0 : count - 1]);
	return pool->free[count];
}

static inline void gy_pool_put(struct gy_pool *pool, void *object)
{
	gy_assert(pool->free_count < pool->total);
	pool->free[pool->free_count++] = object;
}

#endif
