/*
 * Small things of the language that every floor uses.
 */
#ifndef GY_BASE_MACROS_H
#define GY_BASE_MACROS_H

#include <stddef.h>
#include <stdint.h>

#define GY_CACHE_LINE 64

#define gy_container_of(pointer, type, member) \
	((type *)((uintptr_t)(pointer)-offsetof(type, member)))
#define gy_likely(x)   __builtin_expect(!!(x), 1)
#define gy_unlikely(x) __builtin_expect(!!(x), 0)
/* Tells the compiler what was found out in a way that it does not see. */
#define gy_assume(x)                             \
	do {                                     \
		if (!(x)) {                      \
			__builtin_unreachable(); \
		}                                \
	} while (0)
#define gy_countof(a) (sizeof(a) / sizeof((a)[0]))

#define gy_prefetch(pointer)	   __builtin_prefetch((pointer), 0, 3)
#define gy_prefetch_write(pointer) __builtin_prefetch((pointer), 1, 3)
#define GY_ALIGNED_LINE		   __attribute__((aligned(GY_CACHE_LINE)))
#define GY_COLD			   __attribute__((cold, noinline))
#define GY_PRINTF(text, first)	   __attribute__((format(printf, text, first)))

static inline uint64_t gy_lesser(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static inline uint64_t gy_greater(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

#endif
