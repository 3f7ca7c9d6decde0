/*
 * Timers of threads that turn no loop; see foreign_timers.c.
 */
#ifndef GY_SYSTEM_OUTSIDE_FOREIGN_TIMERS_H
#define GY_SYSTEM_OUTSIDE_FOREIGN_TIMERS_H

#include <pthread.h>

#include <gyre/address.h>

struct gy_foreign_timers {
	pthread_mutex_t mutex;
	struct gyre_address keeper; /* nobody until there is a timer */
};

void gy_foreign_timers_init(struct gy_foreign_timers *timers);
void gy_foreign_timers_fini(struct gy_foreign_timers *timers);

#endif
