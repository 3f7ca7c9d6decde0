/*
 * Pools for objects of any size: one pool for each power of two from 64 bytes to 16 KiB. A larger
 * object is allocated from the heap each time, marked GY_SIZES_HEAP.
 */
#ifndef GY_BASE_MEMORY_SIZE_POOLS_H
#define GY_BASE_MEMORY_SIZE_POOLS_H

#include "base/memory/memory.h"
#include "base/memory/pool.h"

enum {
	GY_SIZES_SHIFT = 6,
	GY_SIZES_COUNT = 9,
	GY_SIZES_BYTES_MAX = 64 << (GY_SIZES_COUNT - 1),
	GY_SIZES_HEAP = 0xff,
};

struct gy_sizes {
	struct gy_pool pools[GY_SIZES_COUNT];
};

void gy_sizes_init(struct gy_sizes *sizes, const char *name);
/* gy_pool_exchange() for each; @existing has a count for each size. */
void gy_sizes_exchange(struct gy_sizes *sizes, uint32_t existing[GY_SIZES_COUNT]);
/* gy_pool_know_all() and gy_pool_each_lost() for each. */
void gy_sizes_know_all(struct gy_sizes *sizes);
void gy_sizes_each_lost(struct gy_sizes *sizes, gy_lost_fn lost, void *arg);
/* gy_pool_keep_apart() for each. */
void gy_sizes_keep_apart(struct gy_sizes *sizes);
/* Returns how many objects were still out: see gy_pool_fini(). */
int32_t gy_sizes_fini(struct gy_sizes *sizes);
/* gy_pool_trim() for each pool. Returns whether it should be called again. */
bool gy_sizes_trim(struct gy_sizes *sizes, uint32_t keep);

/* gy_pool_check() for each pool. */
void gy_sizes_check(const struct gy_sizes *sizes);

/* Adds the figures of all pools to @sum. Any thread. */
void gy_sizes_use_add(const struct gy_sizes *sizes, struct gy_pool_use *sum);

/* The pool that serves @bytes, or GY_SIZES_HEAP. */
static inline uint8_t gy_sizes_class(size_t bytes)
{
	if (gy_unlikely(bytes > GY_SIZES_BYTES_MAX)) {
		return GY_SIZES_HEAP;
	}
	/* All up to the smallest size count as that. */
	return (uint8_t)(64 - GY_SIZES_SHIFT -
			 __builtin_clzll((bytes - (bytes != 0)) | ((1U << GY_SIZES_SHIFT) - 1)));
}

/* The bytes of each object of a pool, however many of them are used. */
static inline size_t gy_sizes_bytes(uint8_t size_class)
{
	return (size_t)1 << (size_class + GY_SIZES_SHIFT);
}

/* NULL when there is no memory; the contents are undefined. */
static inline void *gy_sizes_get(struct gy_sizes *sizes, size_t bytes, uint8_t size_class)
{
	if (gy_unlikely(size_class == GY_SIZES_HEAP)) {
		return gy_memory_get_raw(bytes);
	}
	return gy_pool_get(&sizes->pools[size_class]);
}

static inline void gy_sizes_put(struct gy_sizes *sizes, void *object, uint8_t size_class)
{
	if (gy_unlikely(size_class == GY_SIZES_HEAP)) {
		gy_memory_put(object);
		return;
	}
	gy_pool_put_any(&sizes->pools[size_class], object);
}

/* gy_sizes_new() and gy_sizes_delete() are for objects whose size is known when they are put
 * back. */
static inline void *gy_sizes_new(struct gy_sizes *sizes, size_t bytes)
{
	return gy_sizes_get(sizes, bytes, gy_sizes_class(bytes));
}

static inline void gy_sizes_delete(struct gy_sizes *sizes, void *object, size_t bytes)
{
	gy_sizes_put(sizes, object, gy_sizes_class(bytes));
}

#endif
