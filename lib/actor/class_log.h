/*
 * The log of a class: what the runtime has to say about its actors, and what these log themselves,
 * on however many loops they live. Each of the two has a limit: the runtime logs at most ten lines
 * a second, and the program log_lines_max, so that a noisy actor leaves room for the lines of
 * others. Further lines are dropped, and their count is logged within a second.
 *
 * Handlers of pipelines have such a log by their name, since all channels of the runtime's actors
 * would share one otherwise. What a program logs elsewhere has one limit for all of it.
 */
#ifndef GY_ACTOR_CLASS_LOG_H
#define GY_ACTOR_CLASS_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

struct gy_class_log;
struct gy_home;
struct gy_homes;
struct gy_class_info;

enum { GY_HANDLER_LOGS_MAX = 256 };

/* Once for a system, before its homes are made: each log takes @lines_max lines of the program a
 * second, 1 to 65535. */
void gy_class_logs_begin(struct gy_homes *homes, uint32_t lines_max);
/* Once for each home: the timer by which its loop logs how many lines were dropped. */
void gy_class_logs_init(struct gy_home *home);

/* The log of a class, by its name, which all loops share; NULL when there is no memory. */
struct gy_class_log *gy_class_log_get(struct gy_home *home, const char *name);
/* Returns a log when no loop turns any more; the last return logs the rest of the count. */
void gy_class_log_put(struct gy_home *home, struct gy_class_log *log);

/*
 * The log of the handlers of a name, which stays until the end; NULL when there is no memory, or
 * there are GY_HANDLER_LOGS_MAX.
 */
struct gy_class_log *gy_handler_log_get(struct gy_home *home, const char *name);
/* Frees the logs of handlers, and logs what is left of all counts. The last call, on any thread. */
void gy_class_logs_fini(struct gy_homes *homes);

/*
 * Whether the program may log one more line in @log; else the line is dropped and counted. Lines
 * that were dropped before are told of. On @home's thread.
 */
GY_COLD bool gy_class_log_admit(struct gy_home *home, struct gy_class_log *log);
/* Likewise for a line of no class or handler, with @home NULL on a thread that turns no loop. */
GY_COLD bool gy_class_logs_admit_other(struct gy_homes *homes, struct gy_home *home);

/* Logs a warning that begins with the name of the class; on @home's thread. */
GY_PRINTF(3, 4)
GY_COLD void gy_class_warn(struct gy_home *home, const struct gy_class_info *info,
			   const char *format, ...);
/* The two steps of it, for who takes pains over @before, which begins with the name of the class:
 * whether the warning may be logged, and its logging. */
GY_COLD bool gy_class_warn_admit(struct gy_home *home, const struct gy_class_info *info);
GY_PRINTF(4, 0)
GY_COLD void gy_class_warn_admitted(struct gy_home *home, const struct gy_class_info *info,
				    const char *before, const char *format, va_list args);

#endif
