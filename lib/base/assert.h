/*
 * Assertions. The option `assertions` has three levels:
 *
 *   off     nothing is checked
 *   cheap   gy_assert(): the default, also in release builds. A condition is O(1) and states an
 *           invariant, an owner, a thread or a phase.
 *   full    gy_verify() and gy_walk() too. gy_verify() takes a condition that is not O(1).
 *           gy_walk() calls a walker, a function that asserts what holds of a whole structure. A
 *           walker is named gy_..._check() and takes time in proportion to the structure, so its
 *           callers sample: they call it now and then, or where a life ends.
 *
 * Walkers are compiled at every level, so that test/check/walkers/ can show that each finds a
 * structure that was damaged.
 */
#ifndef GY_BASE_ASSERT_H
#define GY_BASE_ASSERT_H

#include "base/macros.h"
#include "gyre_config.h"

/* Ends the program with one line on standard error. */
_Noreturn GY_COLD void gy_assert_failed(const char *what, const char *file, int line);

#if GY_ASSERT_LEVEL >= 1
#define gy_assert(condition) \
	(gy_likely(condition) ? (void)0 : gy_assert_failed(#condition, __FILE__, __LINE__))
#else
#define gy_assert(condition) ((void)sizeof(!(condition)))
#endif

#if GY_ASSERT_LEVEL >= 2
#define gy_verify(condition) gy_assert(condition)
#define gy_walk(call)	     (call)
#else
#define gy_verify(condition) ((void)sizeof(!(condition)))
#define gy_walk(call)	     ((void)sizeof(((call), 0)))
#endif

#endif
