/*
 * Who has started the process and watches it, if it wants to be notified.
 */
#ifndef GY_SYSTEM_SERVICE_NOTIFY_H
#define GY_SYSTEM_SERVICE_NOTIFY_H

#include "system/system.h"

/* Finds out where, if the options ask for it. Setup. What is wrong is logged. */
int gy_service_notify_find(struct gyre_system *system);
void gy_service_notify_forget(struct gyre_system *system);
/* The system serves, and if it @succeeds another then it is the one to be watched. Any thread. */
void gy_service_notify_ready(struct gyre_system *system, bool succeeds);
void gy_service_notify_stopping(struct gyre_system *system);

#endif
