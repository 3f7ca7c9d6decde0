/*
 * The kernel's random numbers. It gives up to 256 bytes whole or not at all; more can be cut short
 * by a signal.
 */
#include "base/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/clock.h"

enum { WHOLE_MAX = 256 };

int gy_random_fill(void *memory, size_t bytes)
{
	unsigned char *at = (unsigned char *)memory;

	while (bytes > 0) {
		ssize_t got = getrandom(at, bytes, 0);

		if (got > 0) {
			at += got;
			bytes -= (size_t)got;
		} else if (got == 0 || errno != EINTR) {
			return -EIO;
		}
	}
	return 0;
}

void gy_random_seed(void *memory, size_t bytes)
{
	unsigned char *at = (unsigned char *)memory;
	/* Two seeds of one moment differ by the places that they are for. */
	uint64_t state = gy_clock_machine_ns() ^ (uintptr_t)memory << 32;

	gy_assert(bytes <= WHOLE_MAX);
	if (getrandom(memory, bytes, GRND_NONBLOCK) == (ssize_t)bytes) {
		return;
	}
	while (bytes > 0) {
		uint64_t number = gy_random_next(&state);
		size_t count = bytes < sizeof(number) ? bytes : sizeof(number);

		memcpy(at, &number, count);
		at += count;
		bytes -= count;
	}
}
