/*
 * In the place of lib/base/atomic.h for the code that is explored: each operation is a step of a
 * thread of the model, and knows where it stands. What goes round this header does not link.
 */
#ifndef GY_BASE_ATOMIC_H
#define GY_BASE_ATOMIC_H

#include "memory.h"

#define MODEL_SITE(kind, p) (&(const struct model_site){ __func__, __FILE__, #p, __LINE__, (kind) })
#define MODEL_TYPE(p)	    __typeof__(__atomic_load_n((p), __ATOMIC_RELAXED))
#define MODEL_VALUE(v)	    ((uint64_t)(uintptr_t)(v))
#define MODEL_AS(p, v)	    ((MODEL_TYPE(p))(uintptr_t)(v))

#define MODEL_LOAD_OF(p, kind) \
	MODEL_AS(p, model_load((p), (uint32_t)sizeof(*(p)), MODEL_SITE(kind, p)))
#define MODEL_STORE_OF(p, v, kind) \
	model_store((p), (uint32_t)sizeof(*(p)), MODEL_VALUE(v), MODEL_SITE(kind, p))
#define MODEL_EXCHANGE_OF(p, v, kind) \
	MODEL_AS(p,                   \
		 model_exchange((p), (uint32_t)sizeof(*(p)), MODEL_VALUE(v), MODEL_SITE(kind, p)))
#define MODEL_ADD_OF(p, v, kind) \
	MODEL_AS(p, model_add((p), (uint32_t)sizeof(*(p)), MODEL_VALUE(v), MODEL_SITE(kind, p)))
#define MODEL_COMPARE_OF(p, expected, v, kind) \
	model_compare((p), (uint32_t)sizeof(*(p)), (expected), MODEL_VALUE(v), MODEL_SITE(kind, p))

#define gy_load_relaxed(p)     MODEL_LOAD_OF(p, MODEL_LOAD_RELAXED)
#define gy_load_acquire(p)     MODEL_LOAD_OF(p, MODEL_LOAD_ACQUIRE)
#define gy_load_full(p)	       MODEL_LOAD_OF(p, MODEL_LOAD_FULL)
#define gy_store_relaxed(p, v) MODEL_STORE_OF(p, v, MODEL_STORE_RELAXED)
#define gy_store_release(p, v) MODEL_STORE_OF(p, v, MODEL_STORE_RELEASE)
#define gy_store_full(p, v)    MODEL_STORE_OF(p, v, MODEL_STORE_FULL)
#define gy_exchange(p, v)      MODEL_EXCHANGE_OF(p, v, MODEL_EXCHANGE)
#define gy_exchange_full(p, v) MODEL_EXCHANGE_OF(p, v, MODEL_EXCHANGE)
#define gy_fetch_add(p, v)     MODEL_ADD_OF(p, v, MODEL_ADD)
#define gy_add_full(p, v)      MODEL_ADD_OF(p, v, MODEL_ADD)
#define gy_add_relaxed(p, v)   MODEL_ADD_OF(p, v, MODEL_ADD_RELAXED)

#define gy_compare_exchange(p, expected, v)	 MODEL_COMPARE_OF(p, expected, v, MODEL_COMPARE)
#define gy_compare_exchange_full(p, expected, v) MODEL_COMPARE_OF(p, expected, v, MODEL_COMPARE)
#define gy_compare_exchange_relaxed(p, expected, v) \
	MODEL_COMPARE_OF(p, expected, v, MODEL_COMPARE_RELAXED)

#define gy_count(p, v) gy_store_relaxed((p), gy_load_relaxed(p) + (v))
#define gy_pause()     ((void)0)

#endif
