/*
 * The engine of a system's loops; see engine.c.
 */
#ifndef GY_SYSTEM_ENGINE_H
#define GY_SYSTEM_ENGINE_H

#include <gyre/system.h>

#include "base/log/log.h"

/* Where a program has chosen none, the environment may. -EINVAL, and a line in the log, when that
 * names no engine. */
int gy_engine_from_environment(const struct gy_log *log, enum gyre_engine *engine);

/* Decides between the engines, where the options of @system say auto, and says so in the log if it
 * is not io_uring. */
void gy_engine_choose(struct gyre_system *system);

#endif
