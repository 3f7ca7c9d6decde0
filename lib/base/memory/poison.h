/*
 * Poison for memory that nobody may use for now. At assertions=full the memory is filled with a
 * byte that strikes the eye, so that late readers see nonsense at once and always; under the
 * address sanitizer any access is reported. In other builds nothing is done.
 *
 * Memory that is read on purpose after its return, as a promise is by a stale future, may not be
 * poisoned.
 */
#ifndef GY_BASE_MEMORY_POISON_H
#define GY_BASE_MEMORY_POISON_H

#include <stddef.h>
#include <string.h>

#include "gyre_config.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GY_POISON_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define GY_POISON_SANITIZED 1
#endif

/* A heap other than the sanitizer's own hands out memory without telling it. */
#if defined(GY_POISON_SANITIZED) && GY_ASSERT_LEVEL >= 2 && !GY_ALLOCATOR_MIMALLOC
#include <sanitizer/asan_interface.h>
#else
#undef GY_POISON_SANITIZED
#endif

enum { GY_POISON_BYTE = 0xdb };

/* Marks memory that nobody uses any more. Poison may not be poisoned again. */
static inline void gy_poison(void *memory, size_t bytes)
{
#if defined(GY_POISON_SANITIZED)
	(void)*(volatile const char *)memory; /* reported */
	ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
#endif
#if GY_ASSERT_LEVEL >= 2
	memset(memory, GY_POISON_BYTE, bytes);
#else
	(void)memory;
	(void)bytes;
#endif
#if defined(GY_POISON_SANITIZED)
	ASAN_POISON_MEMORY_REGION(memory, bytes);
#endif
}

/* Marks the first @bytes as in use again; the bytes behind them stay poison. */
static inline void gy_unpoison(void *memory, size_t bytes)
{
#if defined(GY_POISON_SANITIZED)
	ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
#else
	(void)memory;
	(void)bytes;
#endif
}

#endif
