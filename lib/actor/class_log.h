/*
 * The log of a class: at most ten lines a second about its actors, on however many loops they live.
 * Further lines are counted, and the count is logged within a second.
 */
#ifndef GY_ACTOR_CLASS_LOG_H
#define GY_ACTOR_CLASS_LOG_H

#include "base/macros.h"

struct gy_class_log;
struct gy_home;
struct gy_class_info;

void gy_class_logs_init(struct gy_home *home);

/* The log of a class, by its name, which all loops share; NULL when there is no memory. */
struct gy_class_log *gy_class_log_get(struct gy_home *home, const char *name);
/* Returns a log when no loop turns any more; the last return logs the rest of the count. */
void gy_class_log_put(struct gy_home *home, struct gy_class_log *log);

/* Logs a warning that begins with the name of the class; on @home's thread. */
GY_PRINTF(3, 4)
GY_COLD void gy_class_warn(struct gy_home *home, const struct gy_class_info *info,
			   const char *format, ...);

#endif
