/*
 * The machine's clocks. They have no errors: the kernel refuses none of the three numbers, and each
 * pointer is to a local variable.
 */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

#include "base/assert.h"

enum { SECOND_NS = 1000000000 };

static uint64_t read_ns(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

struct gy_clock gy_clock_machine(void)
{
	return (struct gy_clock){ 0 };
}

uint64_t gy_clock_machine_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t gy_clock_date_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

void gy_clock_sleep(uint64_t duration_ns)
{
	struct timespec left = { .tv_sec = (time_t)(duration_ns / SECOND_NS),
				 .tv_nsec = (long)(duration_ns % SECOND_NS) };
	int error;

	do {
		error = clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left);
	} while (error == EINTR);
	gy_assert(error == 0);
	(void)error;
}
