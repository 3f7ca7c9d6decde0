/*
 * Wake-ups by a semaphore: a post is one system call if the thread sleeps, and none if it does not.
 */
#include "base/wakeup.h"

#include <errno.h>

#include "base/assert.h"

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

void gy_wakeup_post(struct gy_wakeup *wakeup)
{
	int r = sem_post(&wakeup->semaphore);

	gy_assert(r == 0);
	(void)r;
}
