/*
 * The log hook. A message is formatted into a buffer of fixed size on the stack, so that logging
 * needs no memory when memory is what ran out, and is then handed to the user's hook or written to
 * standard error with one call, so that lines of several threads do not mix.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"

enum { LINE_BYTES_MAX = 1024 };

static const char *const level_names[] = { "", "debug", "info", "warning", "error" };

void gy_log(const struct gy_log *log, enum gyre_log_level level, const char *format, ...)
{
	char line[LINE_BYTES_MAX];
	va_list args;

	if (!gy_log_is_written(log, level)) {
		return;
	}
	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (log != NULL && log->write != NULL) {
		log->write(level, line, log->arg);
	} else {
		(void)fprintf(stderr, "gyre: %s: %s\n", level_names[level], line);
	}
}

_Noreturn void gy_assert_failed(const char *what, const char *file, int line)
{
	(void)fprintf(stderr, "gyre: assertion failed: %s (%s:%d)\n", what, file, line);
	abort();
}
