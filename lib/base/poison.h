/*
 * Poison for memory that nobody may use for now. In builds with all assertions it is filled with a
 * byte that strikes the eye, so that who still reads it sees nonsense at once and always, rather
 * than what was there until somebody else writes; and under the address sanitizer any access is
 * reported. In other builds nothing is done.
 *
 * Memory that is read on purpose after it was given back, as a promise is by a stale future, may
 * not be poisoned.
 */
#ifndef GY_BASE_POISON_H
#define GY_BASE_POISON_H

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

/* Another heap than the sanitizer's own hands out memory without telling it. */
#if defined(GY_POISON_SANITIZED) && GY_ASSERT_LEVEL >= 2 && !GY_ALLOCATOR_MIMALLOC
#include <sanitizer/asan_interface.h>
#else
#undef GY_POISON_SANITIZED
#endif

enum { GY_POISON_BYTE = 0xdb };

/* Nobody uses it any more. What is poison already may not be given back again. */
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

/* Somebody uses it again, from its begin on; what is behind @bytes stays as it is. */
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
