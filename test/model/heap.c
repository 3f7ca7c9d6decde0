/*
 * The heap of a model, in the place of lib/base/memory/memory.c: each run begins with an empty one
 * and gets the same addresses, and nothing is given out twice, so that any use after free is seen.
 */
#include <string.h>

#include "base/memory/memory.h"
#include "engine.h"

enum { LINES = HEAP_BYTES / GY_CACHE_LINE };

static unsigned char heap[HEAP_BYTES] GY_ALIGNED_LINE;
static uint8_t live[LINES];
static size_t used;

/* Stands in the line before each block. */
struct block {
	size_t bytes;
};

void heap_begin(void)
{
	memset(live, 0, used / GY_CACHE_LINE);
	used = 0;
}

bool heap_holds(uintptr_t address, size_t *ret_offset)
{
	*ret_offset = address - (uintptr_t)heap;
	return *ret_offset < HEAP_BYTES;
}

bool heap_is_live(size_t offset)
{
	return live[offset / GY_CACHE_LINE] != 0;
}

void *gy_memory_get_raw(size_t bytes)
{
	size_t lines = (bytes + GY_CACHE_LINE - 1) / GY_CACHE_LINE;
	struct block *block = (struct block *)(void *)&heap[used];

	if (used + (lines + 1) * GY_CACHE_LINE > HEAP_BYTES) {
		model_failed("the heap of the model is too small");
	}
	block->bytes = bytes;
	used += GY_CACHE_LINE;
	memset(&live[used / GY_CACHE_LINE], 1, lines);
	used += lines * GY_CACHE_LINE;
	return (unsigned char *)block + GY_CACHE_LINE;
}

void *gy_memory_get(size_t bytes)
{
	return memset(gy_memory_get_raw(bytes), 0, bytes);
}

void *gy_memory_get_lasting(size_t bytes)
{
	return gy_memory_get(bytes);
}

void *gy_memory_resize(void *memory, size_t old_bytes, size_t bytes)
{
	void *moved = gy_memory_get_raw(bytes);

	if (memory != NULL) {
		memcpy(moved, memory, old_bytes < bytes ? old_bytes : bytes);
		gy_memory_put(memory);
	}
	return moved;
}

void gy_memory_put(void *memory)
{
	size_t offset;

	if (memory == NULL) {
		return;
	}
	if (!heap_holds((uintptr_t)memory, &offset) || !heap_is_live(offset)) {
		model_failed("something is freed twice");
	}
	races_plain((uintptr_t)memory, 8, true);
	memset(&live[offset / GY_CACHE_LINE], 0,
	       (((struct block *)(void *)&heap[offset - GY_CACHE_LINE])->bytes + GY_CACHE_LINE -
		1) / GY_CACHE_LINE);
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
	return 0;
}
