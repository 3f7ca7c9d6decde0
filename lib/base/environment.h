/*
 * What a process finds around itself: variables, its number and user, its limits, the size of a
 * page. A simulator answers for the machine that it plays.
 */
#ifndef GY_BASE_ENVIRONMENT_H
#define GY_BASE_ENVIRONMENT_H

#include <stdint.h>
#include <sys/types.h>

/* The value of a variable, which is the environment's; or NULL. No other thread may change the
 * environment meanwhile. */
const char *gy_environment_value(const char *name);

/* Any thread, and a signal handler. */
pid_t gy_environment_process(void);
/* The effective user, who may change. Any thread. */
uid_t gy_environment_user(void);
/* How many descriptors the process may have open; 0 where the kernel does not tell. Any thread. */
uint64_t gy_environment_descriptors_max(void);
/* Any thread. */
uint64_t gy_environment_page_bytes(void);

#endif
