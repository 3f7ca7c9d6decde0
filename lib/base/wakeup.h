/*
 * What a thread sleeps on that is no loop. A wake-up that comes before the wait ends the wait; so
 * do several, and then later waits as well. Neither call blocks who wakes.
 */
#ifndef GY_BASE_WAKEUP_H
#define GY_BASE_WAKEUP_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

struct gy_wakeup {
	sem_t semaphore;
};

void gy_wakeup_init(struct gy_wakeup *wakeup);
void gy_wakeup_fini(struct gy_wakeup *wakeup);
/* Waits for one wake-up, and uses it up. */
void gy_wakeup_wait(struct gy_wakeup *wakeup);
/* The same until the machine's clock is at @until_ns; UINT64_MAX for no limit. Whether there was
 * one. */
bool gy_wakeup_wait_until(struct gy_wakeup *wakeup, uint64_t until_ns);
/* Any thread. */
void gy_wakeup_post(struct gy_wakeup *wakeup);

#endif
