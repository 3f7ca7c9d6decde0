/*
 * Hints for tools that cannot see the kernel write. Valgrind would take bytes that came through the
 * ring for uninitialised. A buffer that was given back belongs to the kernel: address sanitizer and
 * valgrind can report whoever touches it.
 */
#ifndef GY_RING_SANITIZE_H
#define GY_RING_SANITIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "gyre_config.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GY_SANITIZE_ADDRESS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define GY_SANITIZE_ADDRESS 1
#endif

#if defined(GY_SANITIZE_ADDRESS)
#include <sanitizer/asan_interface.h>
#define GY_SANITIZE_GIVE(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#define GY_SANITIZE_TAKE(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#elif defined(__has_include) && GY_ASSERT_LEVEL >= 2
/* Even outside of valgrind its requests cost a few instructions for each receive. */
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define GY_SANITIZE_GIVE(p, n) (void)VALGRIND_MAKE_MEM_DEFINED((p), (n))
#define GY_SANITIZE_TAKE(p, n) (void)VALGRIND_MAKE_MEM_NOACCESS((p), (n))
#define GY_SANITIZE_VALGRIND   (RUNNING_ON_VALGRIND != 0)
#endif
#endif

#if !defined(GY_SANITIZE_GIVE)
#define GY_SANITIZE_GIVE(p, n) ((void)(p), (void)(n))
#define GY_SANITIZE_TAKE(p, n) ((void)(p), (void)(n))
#endif
#if !defined(GY_SANITIZE_VALGRIND)
#define GY_SANITIZE_VALGRIND false
#endif

/* The kernel wrote there, and the bytes are the program's from now on. */
static inline void gy_sanitize_give(void *bytes, size_t count)
{
	GY_SANITIZE_GIVE(bytes, count);
}

/* The bytes are the kernel's from now on. */
static inline void gy_sanitize_take(void *bytes, size_t count)
{
	GY_SANITIZE_TAKE(bytes, count);
}

/* Whether the process runs under valgrind. */
static inline bool gy_sanitize_valgrind(void)
{
	return GY_SANITIZE_VALGRIND;
}

#endif
