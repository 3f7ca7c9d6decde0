/*
 * mimalloc or the C library behind one door, with a count of the calls. The count is the only
 * mutable object of file scope in gyre besides the current loop: the heap that it counts is just as
 * global.
 */
#include "base/memory.h"

#include <string.h>

#include "base/atomic.h"
#include "gyre_config.h"

#if GY_ALLOCATOR_MIMALLOC
#include <mimalloc.h>
#else
#include <stdlib.h>
#endif

static uint64_t allocations;

void *gy_memory_get_raw(size_t bytes)
{
	(void)gy_add_relaxed(&allocations, 1);
#if GY_ALLOCATOR_MIMALLOC
	return mi_malloc_aligned(bytes, GY_CACHE_LINE);
#else
	return aligned_alloc(GY_CACHE_LINE,
			     (bytes + GY_CACHE_LINE - 1) / GY_CACHE_LINE * GY_CACHE_LINE);
#endif
}

void *gy_memory_get(size_t bytes)
{
	void *memory;

#if GY_ALLOCATOR_MIMALLOC
	(void)gy_add_relaxed(&allocations, 1);
	memory = mi_zalloc_aligned(bytes, GY_CACHE_LINE);
#else
	memory = gy_memory_get_raw(bytes);
	if (memory != NULL) {
		memset(memory, 0, bytes);
	}
#endif
	return memory;
}

void *gy_memory_resize(void *memory, size_t old_bytes, size_t bytes)
{
	void *moved = gy_memory_get_raw(bytes);

	if (moved == NULL) {
		return NULL;
	}
	if (memory != NULL) {
		memcpy(moved, memory, old_bytes < bytes ? old_bytes : bytes);
		gy_memory_put(memory);
	}
	return moved;
}

void gy_memory_put(void *memory)
{
#if GY_ALLOCATOR_MIMALLOC
	mi_free(memory);
#else
	free(memory);
#endif
}

uint64_t gy_memory_allocations(void)
{
	return gy_load_relaxed(&allocations);
}
