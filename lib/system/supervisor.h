/*
 * Who has started the process and watches it, if it wants to be notified.
 */
#ifndef GY_SYSTEM_SUPERVISOR_H
#define GY_SYSTEM_SUPERVISOR_H

#include "system/system.h"

/* Finds out where, if the options ask for it. Setup. What is wrong is logged. */
int gy_supervisor_find(struct gyre_system *system);
void gy_supervisor_forget(struct gyre_system *system);
/* The system serves, and if it @succeeds another then it is the one to be watched. Any thread. */
void gy_supervisor_ready(struct gyre_system *system, bool succeeds);
void gy_supervisor_stopping(struct gyre_system *system);

#endif
