/*
 * The atomic operations that cross threads, by name. They work on plain objects, so that a field
 * may be touched plainly by the only thread that has it; and they are all here, so that a model
 * checker can put its own in their place. All that order memory are also where delays are planted.
 */
#ifndef GY_BASE_ATOMIC_H
#define GY_BASE_ATOMIC_H

#include "base/delay.h"

#define gy_load_relaxed(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define gy_load_acquire(p)     (gy_delay(), __atomic_load_n((p), __ATOMIC_ACQUIRE))
#define gy_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define gy_store_release(p, v) (gy_delay(), __atomic_store_n((p), (v), __ATOMIC_RELEASE))
#define gy_load_full(p)	       (gy_delay(), __atomic_load_n((p), __ATOMIC_SEQ_CST))
#define gy_store_full(p, v)    (gy_delay(), __atomic_store_n((p), (v), __ATOMIC_SEQ_CST))
#define gy_exchange(p, v)      (gy_delay(), __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL))
#define gy_exchange_full(p, v) (gy_delay(), __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST))
#define gy_fetch_add(p, v)     (gy_delay(), __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL))
#define gy_fetch_or(p, v)      (gy_delay(), __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL))
#define gy_fetch_and(p, v)     (gy_delay(), __atomic_fetch_and((p), (v), __ATOMIC_ACQ_REL))
#define gy_add_full(p, v)      (gy_delay(), __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST))
#define gy_add_relaxed(p, v)   __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)

/* Puts @v in the place of what @expected points to. Whether it did; else @expected gets what is
 * there, which only gy_compare_exchange() acquires. */
#define gy_compare_exchange(p, expected, v) \
	(gy_delay(),                        \
	 __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
#define gy_compare_exchange_full(p, expected, v) \
	(gy_delay(),                             \
	 __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
#define gy_compare_exchange_relaxed(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)

/*
 * A counter that one thread writes and others read: no locked instruction, and no torn read. Where
 * the compiler would make three instructions of it, it is told the one.
 */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define gy_count(p, v)                                                                             \
	do {                                                                                       \
		__typeof__(p) gy_counter = (p);                                                    \
		__asm__("add%z0 %1, %0" : "+m"(*gy_counter) : "er"((__typeof__(*gy_counter))(v))); \
	} while (0)
#else
#define gy_count(p, v) gy_store_relaxed((p), gy_load_relaxed(p) + (v))
#endif

#if defined(__x86_64__) || defined(__i386__)
#define gy_pause() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define gy_pause() __asm__ volatile("yield")
#else
#define gy_pause() ((void)0)
#endif

#endif
