/*
 * mimalloc or the C library behind one door, with a count of the calls. The count, what hurries
 * the heap, and the mutex that keeps trims apart, are mutable objects of file scope, as the heap
 * that they belong to is just as global. The others in gyre are in base/sized.c,
 * loop/foreign_process.c, system/rcu.c, system/observe/stall.c and system/process.c.
 */
#include "base/memory/memory.h"

#include <string.h>

#include "base/atomic.h"
#include "gyre_config.h"

#include <pthread.h>

#if GY_ALLOCATOR_MIMALLOC
#include <mimalloc.h>
#else
#include <malloc.h>
#include <stdlib.h>
#endif

static uint64_t allocations;
#if GY_ALLOCATOR_MIMALLOC
static const mi_option_t delays[] = {
#if MI_MALLOC_VERSION >= 212
	mi_option_purge_delay,
#else
	mi_option_decommit_delay,
	mi_option_segment_decommit_delay,
#endif
};
static struct {
	pthread_mutex_t mutex;
	int users;
	long before[sizeof(delays) / sizeof(*delays)]; /* the delays that the process has else */
} hurry = { .mutex = PTHREAD_MUTEX_INITIALIZER };
#endif
#if !GY_ALLOCATOR_MIMALLOC && defined(__GLIBC__)
static pthread_mutex_t trimming = PTHREAD_MUTEX_INITIALIZER;
#endif

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

void *gy_memory_get_lasting(size_t bytes)
{
	return gy_memory_get(bytes);
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

void gy_memory_trim(void)
{
#if GY_ALLOCATOR_MIMALLOC
	mi_collect(true);
#elif defined(__GLIBC__)
	/*
	 * Trims one at a time: where another allocator stands in for malloc(), the first trim sets
	 * up glibc's own heap, and glibc does not expect that of two threads at once. A trim covers
	 * the arenas of all threads, so there is nothing to wait for.
	 */
	if (pthread_mutex_trylock(&trimming) == 0) {
		(void)malloc_trim(0);
		(void)pthread_mutex_unlock(&trimming);
	}
#endif
}

/*
 * What mimalloc has been given back it returns after a delay, and looks at the time only when it is
 * given more in the same place: without that a process that is idle keeps it for ever.
 */
void gy_memory_hurry(bool begins)
{
#if GY_ALLOCATOR_MIMALLOC
	(void)pthread_mutex_lock(&hurry.mutex);
	for (size_t i = 0; i < sizeof(delays) / sizeof(*delays); i++) {
		if (begins && hurry.users == 0) {
			hurry.before[i] = mi_option_get(delays[i]);
			mi_option_set(delays[i], 0);
		} else if (!begins && hurry.users == 1) {
			mi_option_set(delays[i], hurry.before[i]);
		}
	}
	hurry.users += begins ? 1 : -1;
	(void)pthread_mutex_unlock(&hurry.mutex);
#else
	(void)begins;
#endif
}

uint64_t gy_memory_allocations(void)
{
	return gy_load_relaxed(&allocations);
}
