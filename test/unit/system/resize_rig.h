/* What tests of resizing share. */
#ifndef GY_TEST_RESIZE_RIG_H
#define GY_TEST_RESIZE_RIG_H

#include "fixture.h"

#include <gyre/resize.h>

#include <sched.h>

#include "base/atomic.h"

enum { LOOPS_MAX = 4 };

static inline void open_with(uint32_t loops)
{
	const struct gyre_system_options options = { .loops = loops, .loops_max = LOOPS_MAX };

	fixture_open_with(&options);
}

static inline void begin(uint32_t loops)
{
	open_with(loops);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static inline int resize(uint32_t loops)
{
	return gyre_system_resize(fixture.system, loops);
}

static inline void wait_for(const uint32_t *value, uint32_t least)
{
	while (gy_load_acquire(value) < least) {
		(void)sched_yield();
	}
}

/* Not more mail under way than a loop can work off while it retires. */
enum { UNDER_WAY_MAX = 5000 };

#endif
