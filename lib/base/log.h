/*
 * The log of the library. A system has one log, set at its creation; code that has no system yet
 * uses the default, which writes to standard error from warnings up.
 */
#ifndef GY_BASE_LOG_H
#define GY_BASE_LOG_H

#include <gyre/log.h>

#include "base/macros.h"

struct gy_log {
	gyre_log_fn write; /* NULL: standard error */
	void *arg;
	enum gyre_log_level level; /* the least that is written */
};

/* Whether lines of that level are written at all. */
static inline bool gy_log_is_written(const struct gy_log *log, enum gyre_log_level level)
{
	return level >= (log != NULL ? log->level : GYRE_LOG_WARNING);
}

/* Hands a line to the hook, on the calling thread, or writes it to standard error. */
GY_COLD void gy_log_write(const struct gy_log *log, const struct gyre_log_line *line);

/* Writes one line, printf-formatted; @log NULL is the default log. */
GY_PRINTF(3, 4)
GY_COLD void gy_log(const struct gy_log *log, enum gyre_log_level level, const char *format, ...);

#endif
