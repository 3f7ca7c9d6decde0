/*
 * Lines of the log. A line is formatted into a buffer of fixed size on the stack, so that logging
 * needs no memory when memory is what ran out. Then it is put where the writer finds it, or, where
 * there is no writer, passed to the hook or written to standard error with one call, so that lines
 * of several threads do not mix.
 *
 * What comes from a peer may stand in a line. So nothing in it can begin a line of its own, or talk
 * to a terminal.
 */
#include "base/log/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log/log_writer.h"

enum { AFTER_BYTES_MAX = 64 };

static const char *const level_names[] = { "", "debug", "info", "warning", "error" };

uint64_t gy_log_date_ns(uint64_t time_ns)
{
	uint64_t now_ns = gy_clock_date_ns();

	return now_ns - (gy_clock_machine_ns() - time_ns);
}

void gy_log_write(const struct gy_log *log, const struct gyre_log_line *line)
{
	if (log != NULL && log->write != NULL) {
		log->write(line, log->arg);
	} else {
		(void)fprintf(stderr, "gyre: %s: %s\n", level_names[line->level], line->text);
	}
}

static void write_now(const struct gy_log *log, enum gyre_log_level level, const char *text)
{
	uint64_t now_ns = gy_clock_machine_ns();
	const struct gyre_log_line line = {
		.level = level, .time_ns = now_ns, .date_ns = gy_log_date_ns(now_ns), .text = text
	};

	gy_log_write(log, &line);
}

/* Ends of lines at the end of a text are a habit of who writes to a terminal. */
static size_t without_end(const char *text, size_t count)
{
	while (count > 0 && (text[count - 1] == '\n' || text[count - 1] == '\r')) {
		count--;
	}
	return count;
}

/* Adds what is formatted. */
GY_PRINTF(3, 0)
static void add_formatted(struct gy_log_text *line, size_t limit, const char *format, va_list args)
{
	char text[GY_LOG_LINE_BYTES];
	int count = vsnprintf(text, sizeof(text), format, args);

	if (count < 0) {
		count = snprintf(text, sizeof(text), "a line that cannot be formatted");
	}
	if ((size_t)count < sizeof(text)) {
		gy_log_text_add(line, text, without_end(text, (size_t)count), limit, false);
	} else {
		gy_log_text_add(line, text, sizeof(text) - 1, limit, true);
	}
}

bool gy_log_between(const struct gy_log *log, enum gyre_log_level level, const char *before,
		    const char *after, const char *format, va_list args)
{
	size_t limit = GY_LOG_LINE_BYTES - 1;
	size_t after_bytes = strlen(after);
	struct gy_log_text line;

	gy_assert(after_bytes <= AFTER_BYTES_MAX);
	if (!gy_log_is_written(log, level)) {
		return true;
	}
	line.count = 0;
	gy_log_text_add(&line, before, strlen(before), limit / 2, false);
	add_formatted(&line, limit - after_bytes, format, args);
	if (after_bytes > 0) {
		memcpy(line.bytes + line.count, after, after_bytes + 1);
		line.count += after_bytes;
	}
	if (log != NULL && log->buffer != NULL) {
		return gy_log_writer_put(log->buffer, level, line.bytes, line.count);
	}
	write_now(log, level, line.bytes);
	return true;
}

void gy_log(const struct gy_log *log, enum gyre_log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)gy_log_between(log, level, "", "", format, args);
	va_end(args);
}

_Noreturn void gy_assert_failed(const char *what, const char *file, int line)
{
	(void)fprintf(stderr, "gyre: assertion failed: %s (%s:%d)\n", what, file, line);
	abort();
}
