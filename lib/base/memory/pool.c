/*
 * Growing and shrinking of pools. A pool grows by 8 objects at least, and by as many as it has, up
 * to 8 KiB; from then on by a quarter, up to 64 objects, or 32 KiB of small ones. What is out at
 * once varies by a share of itself: a pool that grew in small steps would go on for long before it
 * had the most. Each object is an allocation of its own, so that shrinking gives memory back one by
 * one.
 */
#include "base/memory/pool.h"

#include <errno.h>
#include <stdio.h>

#include "base/memory/memory.h"

enum {
	GROW_MIN = 8,
	GROW_MAX = 64,
	GROW_DOUBLE_BYTES = 8192,
	GROW_BYTES_MAX = 32768,
	TEXT_BYTES = 256,
};

void gy_pool_init(struct gy_pool *pool, const char *name, size_t object_bytes)
{
	*pool = (struct gy_pool){ .name = name, .object_bytes = (uint32_t)object_bytes };
}

void gy_pool_know_all(struct gy_pool *pool)
{
	gy_assert(pool->total == 0);
	pool->is_known = true;
}

void gy_pool_keep_apart(struct gy_pool *pool)
{
	gy_assert(pool->total == 0);
	pool->is_apart = true;
}

void gy_pool_exchange(struct gy_pool *pool, uint32_t *existing)
{
	gy_assert(pool->total == 0 && !pool->is_known && existing != NULL);
	pool->existing = existing;
}

/* ---- what is free, of all ---- */

/*
 * A free object holds, in its first bytes, its index in @free. Any other object is told from it by
 * a look at @free: a sparse set, after P. Briggs and L. Torczon. Another thread may write to an
 * object that is out meanwhile, and a free one may be poison, so the sanitizers leave out these two
 * functions.
 */
__attribute__((no_sanitize_address)) static void mark_free(const struct gy_pool *pool,
							   uint32_t from)
{
	for (uint32_t i = from; i < pool->free_count; i++) {
		*(volatile uint64_t *)pool->free[i] = i;
	}
}

__attribute__((no_sanitize_address, no_sanitize_thread)) static bool
is_marked(const struct gy_pool *pool, const void *object, uint32_t from)
{
	uint64_t at = *(const volatile uint64_t *)object;

	return at >= from && at < pool->free_count && pool->free[at] == object;
}

/* Forgets the free objects from @from on, which are about to be freed. */
static void forget_free(const struct gy_pool *pool, uint32_t from)
{
	uint32_t left = 0;

	mark_free(pool, from);
	for (uint32_t i = 0; i < pool->total; i++) {
		if (!is_marked(pool, pool->all[i], from)) {
			pool->all[left++] = pool->all[i];
		}
	}
	gy_assert(left == pool->total - (pool->free_count - from));
}

void gy_pool_check(const struct gy_pool *pool)
{
	uint32_t known = 0;

	gy_assert(pool->free_count <= pool->capacity);
	mark_free(pool, 0);
	for (uint32_t i = 0; i < pool->free_count; i++) {
		gy_assert(is_marked(pool, pool->free[i], i) &&
			  !is_marked(pool, pool->free[i], i + 1));
	}
	if (!pool->is_known) {
		return;
	}
	gy_assert(pool->free_count <= pool->total && pool->total <= pool->capacity);
	for (uint32_t i = 0; i < pool->total; i++) {
		known += is_marked(pool, pool->all[i], 0);
	}
	gy_assert(known == pool->free_count);
}

void gy_pool_each_lost(struct gy_pool *pool, gy_lost_fn lost, void *arg)
{
	if (!pool->is_known || pool->free_count == pool->total) {
		return;
	}
	mark_free(pool, 0);
	for (uint32_t i = 0; i < pool->total; i++) {
		if (!is_marked(pool, pool->all[i], 0)) {
			lost(arg, pool->all[i]);
		}
	}
}

/* ---- growing and shrinking ---- */

/* What an object takes. */
static uint32_t bytes_taken(const struct gy_pool *pool)
{
	return pool->is_apart ? (uint32_t)gy_pool_bytes_apart(pool->object_bytes)
			      : pool->object_bytes;
}

void gy_pool_use_add(const struct gy_pool *pool, struct gy_pool_use *sum)
{
	uint32_t total = gy_load_relaxed(&pool->total);
	uint32_t free_count = gy_load_relaxed(&pool->free_count);
	int32_t used = (int32_t)(total - free_count);

	/* Another thread may have changed one between the two loads. */
	if (pool->existing == NULL && used < 0) {
		used = 0;
	}
	sum->used += used;
	sum->used_bytes += (int64_t)used * bytes_taken(pool);
	sum->free += free_count;
	sum->free_bytes += (uint64_t)free_count * bytes_taken(pool);
}

/* Of all pools that exchange objects. */
static void count_existing(const struct gy_pool *pool, uint32_t change)
{
	if (pool->existing != NULL) {
		(void)gy_add_relaxed(pool->existing, change);
	}
}

int32_t gy_pool_fini(struct gy_pool *pool)
{
	int32_t out = (int32_t)(pool->total - pool->free_count);

	for (uint32_t i = 0; i < pool->free_count; i++) {
		gy_memory_put(pool->free[i]);
	}
	count_existing(pool, 0 - pool->free_count);
	pool->free_count = 0;
	if (pool->free != NULL) {
		gy_memory_put((void *)(pool->free - 1));
	}
	pool->free = NULL;
	gy_memory_put((void *)pool->all);
	pool->all = NULL;
	pool->total = 0;
	pool->capacity = 0;
	return out;
}

static int resize(void ***array, uint32_t count, uint32_t capacity)
{
	void **moved = (void **)gy_memory_resize((void *)*array, count * sizeof(void *),
						 capacity * sizeof(void *));

	if (moved == NULL) {
		return -ENOMEM;
	}
	*array = moved;
	return 0;
}

/* The array of free objects has a NULL before its first element. */
static int resize_free(struct gy_pool *pool, uint32_t capacity)
{
	void **array = pool->free == NULL ? NULL : pool->free - 1;
	int r = resize(&array, pool->free_count + 1, capacity + 1);

	if (r == 0) {
		array[0] = NULL;
		pool->free = array + 1;
	}
	return r;
}

static int reserve(struct gy_pool *pool, uint32_t objects)
{
	uint32_t capacity = pool->capacity == 0 ? GROW_MAX : pool->capacity;

	while (capacity < objects) {
		capacity *= 2;
	}
	if (capacity == pool->capacity) {
		return 0;
	}
	if (resize_free(pool, capacity) < 0 ||
	    (pool->is_known && resize(&pool->all, pool->total, capacity) < 0)) {
		return -ENOMEM;
	}
	pool->capacity = capacity;
	return 0;
}

/* How many objects may come back at most. A pool that freed more objects of others than it made has
 * a negative total. */
static uint32_t most(const struct gy_pool *pool)
{
	uint32_t total = (int32_t)pool->total < 0 ? 0 : pool->total;
	uint32_t existing = pool->existing == NULL ? total : gy_load_relaxed(pool->existing);

	return total < existing ? total : existing;
}

/* By how many objects a pool of @total grows. */
static uint32_t step(const struct gy_pool *pool, uint32_t total)
{
	uint64_t doubled = gy_lesser(total, GROW_DOUBLE_BYTES / pool->object_bytes);
	uint64_t max = gy_greater(GROW_MAX, GROW_BYTES_MAX / pool->object_bytes);

	return (uint32_t)gy_greater(GROW_MIN, gy_greater(doubled, gy_lesser(total / 4, max)));
}

int gy_pool_grow(struct gy_pool *pool)
{
	uint32_t total = most(pool);
	uint32_t wanted = step(pool, total);
	uint32_t got = 0;

	if (reserve(pool, total + wanted) < 0) {
		return -ENOMEM;
	}
	while (got < wanted) {
		void *object = gy_memory_get_raw(bytes_taken(pool));

		if (object == NULL) {
			break;
		}
		if (pool->is_known) {
			pool->all[pool->total] = object;
		}
		gy_count(&pool->total, 1);
		gy_pool_push(pool, object);
		got++;
	}
	pool->grown += got;
	count_existing(pool, got);
	return got > 0 ? 0 : -ENOMEM;
}

void gy_pool_put_surplus(struct gy_pool *pool, void *object)
{
	gy_assert(!pool->is_known);
	gy_memory_put(object);
	gy_store_relaxed(&pool->total, pool->total - 1);
	count_existing(pool, UINT32_MAX);
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
	if (pool->is_known && pool->free_count > keep) {
		forget_free(pool, keep);
	}
	while (pool->free_count > keep) {
		uint32_t last = pool->free_count - 1;

		gy_memory_put(pool->free[last]);
		gy_store_relaxed(&pool->free_count, last);
		gy_store_relaxed(&pool->total, pool->total - 1);
		count_existing(pool, UINT32_MAX);
	}
	return false;
}
