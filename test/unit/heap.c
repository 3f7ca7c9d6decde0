#include "heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/memory/memory.h"
#include "loop/foreign_nodes.h"

static uint64_t allocations; /* atomic, as all of these */
static uint64_t out;
static uint32_t begun; /* something is to fail */
static uint32_t once;
static uint32_t left; /* before that */
static uint32_t failed;

static void begin(uint32_t count, bool only_one)
{
	gy_store_relaxed(&failed, 0);
	gy_store_relaxed(&left, count);
	gy_store_relaxed(&once, only_one);
	gy_store_release(&begun, 1);
}

void heap_end_after(uint32_t count)
{
	begin(count, false);
}

void heap_lack_once_after(uint32_t count)
{
	begin(count, true);
}

bool heap_recover(void)
{
	gy_store_release(&begun, 0);
	return gy_load_acquire(&failed) > 0;
}

uint64_t heap_out(void)
{
	/* The pools of threads that turn no loop stay, and keep nodes for the next use. */
	gy_foreign_nodes_free_mine();
	gy_foreign_nodes_trim(true);
	return gy_load_acquire(&out) - gy_foreign_nodes_use().pools;
}

static bool has_one(void)
{
	uint32_t before;

	(void)gy_fetch_add(&allocations, 1);
	if (gy_load_acquire(&begun) == 0) {
		return true;
	}
	before = gy_fetch_add(&left, -1U);
	if ((int32_t)before > 0 || (gy_load_relaxed(&once) != 0 && before != 0)) {
		return true;
	}
	(void)gy_fetch_add(&failed, 1);
	return false;
}

/* What the functions below share: none of them calls another, which the simulator may stand for. */
static void *allocate(size_t bytes)
{
	void *memory = NULL;

	if (has_one()) {
		memory = aligned_alloc(GY_CACHE_LINE,
				       (bytes + GY_CACHE_LINE - 1) / GY_CACHE_LINE * GY_CACHE_LINE);
		(void)gy_fetch_add(&out, memory != NULL);
	}
	return memory;
}

static void *allocate_zeroed(size_t bytes)
{
	void *memory = allocate(bytes);

	if (memory != NULL) {
		memset(memory, 0, bytes);
	}
	return memory;
}

static void release(void *memory)
{
	(void)gy_fetch_add(&out, -(uint64_t)(memory != NULL));
	free(memory);
}

void *gy_memory_get_raw(size_t bytes)
{
	return allocate(bytes);
}

void *gy_memory_get(size_t bytes)
{
	return allocate_zeroed(bytes);
}

void *gy_memory_get_lasting(size_t bytes)
{
	return allocate_zeroed(bytes);
}

void *gy_memory_resize(void *memory, size_t old_bytes, size_t bytes)
{
	void *moved = allocate(bytes);

	if (moved != NULL && memory != NULL) {
		memcpy(moved, memory, old_bytes < bytes ? old_bytes : bytes);
		release(memory);
	}
	return moved;
}

void gy_memory_put(void *memory)
{
	release(memory);
}

void gy_memory_trim(void)
{
}

void gy_memory_hurry(bool begins)
{
	(void)begins;
}

uint64_t gy_memory_allocations(void)
{
	return gy_load_relaxed(&allocations);
}
