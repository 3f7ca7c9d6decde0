/*
 * Wake-ups by a semaphore: a post is one system call if the thread sleeps, and none if it does not.
 */
#include "base/wakeup.h"

#include <errno.h>
#include <time.h>

#include "base/assert.h"

static const uint64_t second_ns = 1000000000;

void gy_wakeup_init(struct gy_wakeup *wakeup)
{
	int r = sem_init(&wakeup->semaphore, 0, 0);

	gy_assert(r == 0);
	(void)r;
}

void gy_wakeup_fini(struct gy_wakeup *wakeup)
{
	(void)sem_destroy(&wakeup->semaphore);
}

void gy_wakeup_wait(struct gy_wakeup *wakeup)
{
	while (sem_wait(&wakeup->semaphore) < 0) {
		gy_assert(errno == EINTR);
	}
}

bool gy_wakeup_wait_until(struct gy_wakeup *wakeup, uint64_t until_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / second_ns),
					.tv_nsec = (long)(until_ns % second_ns) };

	if (until_ns == UINT64_MAX) {
		gy_wakeup_wait(wakeup);
		return true;
	}
	while (sem_clockwait(&wakeup->semaphore, CLOCK_MONOTONIC, &until) < 0) {
		if (errno == ETIMEDOUT) {
			return false;
		}
		gy_assert(errno == EINTR);
	}
	return true;
}

void gy_wakeup_post(struct gy_wakeup *wakeup)
{
	int r = sem_post(&wakeup->semaphore);

	gy_assert(r == 0);
	(void)r;
}
