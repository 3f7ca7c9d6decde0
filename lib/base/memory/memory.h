/*
 * The one way to the heap. Every allocation is counted, so that a program can show that its steady
 * state makes none; the counter is the process's, since the heap is.
 */
#ifndef GY_BASE_MEMORY_MEMORY_H
#define GY_BASE_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* Zeroed, aligned to a cache line; NULL when there is no memory. */
void *gy_memory_get(size_t bytes);
/* As gy_memory_get(), but the contents are undefined. */
void *gy_memory_get_raw(size_t bytes);
/* As gy_memory_get(), for what belongs to the process and outlives all systems: a host that is
 * simulated shares it with the others. */
void *gy_memory_get_lasting(size_t bytes);
/* Moves to @bytes, keeping the first @old_bytes; NULL leaves @memory as it was. */
void *gy_memory_resize(void *memory, size_t old_bytes, size_t bytes);
/* Frees. Any thread; NULL is allowed. */
void gy_memory_put(void *memory);

/* Returns free memory of the calling thread's heap to the system, as far as that is possible. */
void gy_memory_trim(void);
/*
 * Begins, or ends, a time in which what is freed goes to the system at once, and is not kept for a
 * while in case that it is wanted again. It is slower so. Such times of several systems may
 * overlap. Any thread.
 */
void gy_memory_hurry(bool begins);

/* Returns how many allocations the process has made. Any thread. */
uint64_t gy_memory_allocations(void);

#endif
