/*
 * What a process is, once for all its systems: threads that turn loops, and descriptors; see
 * process.c.
 */
#ifndef GY_SYSTEM_PROCESS_H
#define GY_SYSTEM_PROCESS_H

#include "base/log/log.h"

struct gy_worker;

/* The worker that this thread is, for its loop turns here; NULL for other threads. Signal safe. */
const struct gy_worker *gy_current_worker(void);
void gy_current_worker_set(const struct gy_worker *worker);
/* Opens what is closed of the descriptors 0 to 2. */
int gy_process_open_standard(const struct gy_log *log);
/* Makes room for the descriptors that the process may open; without it they are opened slowly. */
void gy_process_reserve_descriptors(const struct gy_log *log);

#endif
