/*
 * The engine of the rings that tests make themselves: epoll when the environment says
 * GYRE_ENGINE=epoll, as for systems; else io_uring.
 */
#ifndef GY_TEST_RING_ENGINE_H
#define GY_TEST_RING_ENGINE_H

#include <stdlib.h>
#include <string.h>

#include "ring/ring.h"

static inline enum gy_ring_engine engine_of_tests(void)
{
	const char *name = getenv("GYRE_ENGINE");

	return name != NULL && strcmp(name, "epoll") == 0 ? GY_RING_EPOLL : GY_RING_IO_URING;
}

/* Ends a test of Criterion here, unless the engine is io_uring. */
#define ONLY_OF_IO_URING(reason)                             \
	do {                                                 \
		if (engine_of_tests() != GY_RING_IO_URING) { \
			cr_skip_test(reason);                \
		}                                            \
	} while (0)

#endif
