/*
 * A pool of objects of one size, owned by one thread.
 *
 * Pointers to the free objects stand in an array that is used as a stack. Unlike the usual list
 * threaded through the free objects, the array lets the pool fetch the next object into the cache
 * without touching the one before; that counts for objects that come home from another core. The
 * array has room for every object of the pool, so putting one back cannot fail.
 *
 * Pools of one kind may exchange objects: what one has made is put back to another. Then only the
 * sum of their totals tells how many objects there are. The total of one that gives goes up without
 * end, and that of one that takes goes down. So these pools share a count of all their objects, and
 * none makes room for more.
 */
#ifndef GY_BASE_MEMORY_POOL_H
#define GY_BASE_MEMORY_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/macros.h"

struct gy_pool {
	void **free;	     /* free[-1] is NULL: what is prefetched when the last is taken */
	uint32_t free_count; /* read from any thread, as is @total */
	uint32_t total;	     /* objects made here and not freed here */
	uint32_t capacity;   /* of @free: @total at least, unless the pool exchanges objects */
	uint32_t object_bytes;
	bool used;     /* something was taken since the last trim */
	bool is_known; /* @all is kept */
	bool is_apart; /* none has another in its pair of cache lines */
	uint64_t grown;
	void **all; /* every object of @total, where somebody wants to know what was lost */
	const char *name;
	uint32_t *existing; /* of all pools that exchange objects with this one; NULL for none */
} GY_ALIGNED_LINE;

/* What is in use may be negative in a pool that has got objects of others. */
struct gy_pool_use {
	int64_t used; /* objects */
	int64_t used_bytes;
	uint64_t free;
	uint64_t free_bytes;
};

void gy_pool_init(struct gy_pool *pool, const char *name, size_t object_bytes);
/*
 * Makes an empty pool keep a list of all its objects, for gy_pool_each_lost(). The list takes 8
 * bytes an object, and work only where the pool grows or shrinks. Each object must come back to
 * this pool, and to no other.
 */
void gy_pool_know_all(struct gy_pool *pool);

/*
 * Makes an empty pool keep its objects apart, for those which other threads write to: processors
 * fetch the line beside one that they want, so two objects of a line each that lie side by side go
 * to and fro between two threads as one. Takes as much memory again for objects of one line.
 */
void gy_pool_keep_apart(struct gy_pool *pool);
/* What an object of @bytes takes then. */
static inline size_t gy_pool_bytes_apart(size_t bytes)
{
	return gy_greater(bytes, (size_t)2 * GY_CACHE_LINE);
}

/* Has an empty pool exchange objects with all others that have the same @existing, an atomic count
 * of their objects. */
void gy_pool_exchange(struct gy_pool *pool, uint32_t *existing);

typedef void (*gy_lost_fn)(void *arg, const void *object);
/* Calls @lost for each object that is out. No thread may use the pool meanwhile; free objects are
 * written to. */
void gy_pool_each_lost(struct gy_pool *pool, gy_lost_fn lost, void *arg);
/*
 * Returns how many objects were still out, which is a leak of the caller's. Where pools of one kind
 * exchange objects, the sum over these pools must be 0.
 */
int32_t gy_pool_fini(struct gy_pool *pool);
/* Brings in a batch of objects from the heap; -ENOMEM if not even one could be had. */
GY_COLD int gy_pool_grow(struct gy_pool *pool);
/* Frees all free objects but @keep, if the pool was not used since the last call. Returns whether
 * it should be called again. */
bool gy_pool_trim(struct gy_pool *pool, uint32_t keep);

/* Asserts that the free objects differ from each other, and are of this pool where it knows its
 * objects. On the pool's thread: writes to the begin of free objects. */
void gy_pool_check(const struct gy_pool *pool);

/* Adds the figures of the pool to @sum, as they were at about that time. Any thread. Only the sum
 * over all pools that exchange objects says how many are in use. */
void gy_pool_use_add(const struct gy_pool *pool, struct gy_pool_use *sum);

/* A free object, or NULL: the pool does not grow. The contents are undefined. */
static inline void *gy_pool_take(struct gy_pool *pool)
{
	uint32_t count = pool->free_count;

	if (gy_unlikely(count == 0)) {
		return NULL;
	}
	pool->used = true;
	gy_store_relaxed(&pool->free_count, --count);
	gy_prefetch_write(pool->free[(ptrdiff_t)count - 1]);
	gy_assume(pool->free[count] != NULL);
	return pool->free[count];
}

/* Returns whether two objects can be taken without growing. */
static inline bool gy_pool_has_two(const struct gy_pool *pool)
{
	return pool->free_count > 1;
}

/* A free object; the pool grows if it has none. NULL when there is no memory. The contents are
 * undefined. */
static inline void *gy_pool_get(struct gy_pool *pool)
{
	if (gy_unlikely(pool->free_count == 0) && gy_pool_grow(pool) < 0) {
		return NULL;
	}
	return gy_pool_take(pool);
}

/* @count: the number of free objects, for those who have looked at that already. */
static inline void gy_pool_push_at(struct gy_pool *pool, uint32_t count, void *object)
{
	pool->free[count] = object;
	gy_store_relaxed(&pool->free_count, count + 1);
}

static inline void gy_pool_push(struct gy_pool *pool, void *object)
{
	gy_pool_push_at(pool, pool->free_count, object);
}

/* Frees an object that was taken or has come from elsewhere, as when the array has no room. */
GY_COLD void gy_pool_put_surplus(struct gy_pool *pool, void *object);

/* Puts back an object of this pool, or of a pool of the same kind that another thread owns. */
static inline void gy_pool_put_any(struct gy_pool *pool, void *object)
{
	if (gy_unlikely(pool->free_count >= pool->capacity)) {
		gy_pool_put_surplus(pool, object);
		return;
	}
	gy_pool_push(pool, object);
}

/* Ends the program: more was put back than was taken. Names the kind of object. */
_Noreturn GY_COLD void gy_pool_put_twice(const struct gy_pool *pool);

/* Puts back an object of this pool. */
static inline void gy_pool_put(struct gy_pool *pool, void *object)
{
#if GY_ASSERT_LEVEL >= 1
	if (gy_unlikely(pool->free_count >= pool->total)) {
		gy_pool_put_twice(pool);
	}
#endif
	gy_pool_push(pool, object);
}

#endif
