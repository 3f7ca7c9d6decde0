/*
 * Order between threads that the thread sanitizer cannot see. liburcu is not built with it, so the
 * sanitizer would report as races what liburcu orders: a write before an insertion and a lookup
 * after it, or a look before a grace period and the free after it. Other builds have nothing of
 * this.
 */
#ifndef GY_BASE_HAPPENS_H
#define GY_BASE_HAPPENS_H

#include <stdint.h>

#include "base/delay.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GY_SANITIZE_THREAD 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define GY_SANITIZE_THREAD 1
#endif

#if defined(GY_SANITIZE_THREAD)
#include <sanitizer/tsan_interface.h>
#define GY_HAPPENS_BEFORE(p) __tsan_release((void *)(p))
#define GY_HAPPENS_AFTER(p)  __tsan_acquire((void *)(p))
#else
#define GY_HAPPENS_BEFORE(p) ((void)(p))
#define GY_HAPPENS_AFTER(p)  ((void)(p))
#endif

/* Everything that this thread has done happens before everything that others do after
 * gy_happens_after(@object). */
static inline void gy_happens_before(const void *object)
{
	gy_delay();
	GY_HAPPENS_BEFORE((uintptr_t)object);
}

static inline void gy_happens_after(const void *object)
{
	gy_delay();
	GY_HAPPENS_AFTER((uintptr_t)object);
}

#endif
