/*
 * Assertions at two levels. gy_assert() is O(1) and stays in release builds unless the option
 * `assertions` is off; gy_verify() walks whole structures and runs only at level full.
 */
#ifndef GY_BASE_ASSERT_H
#define GY_BASE_ASSERT_H

#include "base/macros.h"
#include "gyre_config.h"

_Noreturn GY_COLD void gy_assert_failed(const char *what, const char *file, int line);

#if GY_ASSERT_LEVEL >= 1
#define gy_assert(condition) \
	(gy_likely(condition) ? (void)0 : gy_assert_failed(#condition, __FILE__, __LINE__))
#else
#define gy_assert(condition) ((void)sizeof(!(condition)))
#endif

#if GY_ASSERT_LEVEL >= 2
#define gy_verify(condition) gy_assert(condition)
#else
#define gy_verify(condition) ((void)sizeof(!(condition)))
#endif

#endif
