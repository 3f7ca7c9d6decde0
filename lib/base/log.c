/*
 * The log hook. A message is formatted into a buffer of fixed size on the stack, so that logging
 * needs no memory when memory is what ran out, and is then handed to the user's hook or written to
 * standard error with one call, so that lines of several threads do not mix.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"

enum { LINE_BYTES_MAX = 1024 };

static const char *const level_names[] = { "", "debug", "info", "warning", "error" };

static uint64_t date_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * GYRE_SECONDS(1) + (uint64_t)now.tv_nsec;
}

static void write_line(const struct gy_log *log, enum gyre_log_level level, const char *text)
{
	const struct gyre_log_line line = {
		.level = level, .time_ns = gy_clock_machine_ns(), .date_ns = date_ns(), .text = text
	};

	gy_log_write(log, &line);
}

void gy_log_write(const struct gy_log *log, const struct gyre_log_line *line)
{
	if (log != NULL && log->write != NULL) {
		log->write(line, log->arg);
	} else {
		(void)fprintf(stderr, "gyre: %s: %s\n", level_names[line->level], line->text);
	}
}

void gy_log(const struct gy_log *log, enum gyre_log_level level, const char *format, ...)
{
	char text[LINE_BYTES_MAX];
	va_list args;

	if (!gy_log_is_written(log, level)) {
		return;
	}
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	write_line(log, level, text);
}

_Noreturn void gy_assert_failed(const char *what, const char *file, int line)
{
	(void)fprintf(stderr, "gyre: assertion failed: %s (%s:%d)\n", what, file, line);
	abort();
}
