/*
 * The log. Each loop of a system has one, and the system one more for all other threads, which one
 * writer brings together: see log_writer.h. Code that has no system yet uses the default, which
 * writes to standard error from warnings up.
 */
#ifndef GY_BASE_LOG_LOG_H
#define GY_BASE_LOG_LOG_H

#include <gyre/log.h>

#include <stdarg.h>

#include "base/log/log_text.h"
#include "base/macros.h"

struct gy_log_buffer;

struct gy_log {
	gyre_log_fn write; /* NULL: standard error */
	void *arg;
	enum gyre_log_level level;    /* the least that is written */
	struct gy_log_buffer *buffer; /* where lines wait for the writer; NULL: written at once */
};

/* Whether lines of that level are written at all. */
static inline bool gy_log_is_written(const struct gy_log *log, enum gyre_log_level level)
{
	return level >= (log != NULL ? log->level : GYRE_LOG_WARNING);
}

/* Passes a line to the hook, on the calling thread, or writes it to standard error. */
GY_COLD void gy_log_write(const struct gy_log *log, const struct gyre_log_line *line);

/* Logs one line, printf-formatted; @log NULL is the default log. Bytes that are no text are
 * escaped: see log_text.h. */
GY_PRINTF(3, 4)
GY_COLD void gy_log(const struct gy_log *log, enum gyre_log_level level, const char *format, ...);
/* Likewise, with @before in front of the line and @after behind it, which is not cut off: up to
 * half a line and 64 bytes. False when the line is lost, since its buffer is full. */
GY_PRINTF(5, 0)
GY_COLD bool gy_log_between(const struct gy_log *log, enum gyre_log_level level, const char *before,
			    const char *after, const char *format, va_list args);

/* The present date of a moment of the monotonic clock, in nanoseconds of the Unix epoch. */
uint64_t gy_log_date_ns(uint64_t time_ns);

#endif
