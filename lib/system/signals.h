/*
 * Signals that actors watch; see signals.c.
 */
#ifndef GY_SYSTEM_SIGNALS_H
#define GY_SYSTEM_SIGNALS_H

#include <signal.h>

struct gyre_system;

/*
 * In the thread of gyre_system_run(), which blocked @before at first: blocks what is watched now,
 * adds it to @ret_late, and tells.
 */
void gy_signals_block(struct gyre_system *system, const sigset_t *before, sigset_t *ret_late);

#endif
