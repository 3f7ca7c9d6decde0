/*
 * Lines of the log. A line is formatted into a buffer of fixed size on the stack, so that logging
 * needs no memory when memory is what ran out. Then it is put where the writer finds it, or, where
 * there is no writer, passed to the hook or written to standard error with one call, so that lines
 * of several threads do not mix.
 *
 * What comes from a peer may stand in a line. So nothing in it can begin a line of its own, or talk
 * to a terminal.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log_writer.h"

static const char *const level_names[] = { "", "debug", "info", "warning", "error" };
static const char cut_off[] = "...";

uint64_t gy_log_date_ns(uint64_t time_ns)
{
	struct timespec now;
	uint64_t now_ns;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * GYRE_SECONDS(1) + (uint64_t)now.tv_nsec;
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

static bool is_text(char byte)
{
	return (unsigned char)byte >= ' ' && byte != '\x7f';
}

/* Makes one line of it, and returns its length: ends are not words. */
static size_t clean(char *text, size_t count)
{
	while (count > 0 && !is_text(text[count - 1])) {
		count--;
	}
	for (size_t i = 0; i < count; i++) {
		if (!is_text(text[i])) {
			text[i] = ' ';
		}
	}
	text[count] = '\0';
	return count;
}

GY_PRINTF(3, 0)
static size_t format_line(char text[GY_LOG_LINE_BYTES], const char *prefix, const char *format,
			  va_list args)
{
	size_t before = strnlen(prefix, GY_LOG_LINE_BYTES / 2);
	size_t room = GY_LOG_LINE_BYTES - before;
	int count;

	memcpy(text, prefix, before);
	count = vsnprintf(text + before, room, format, args);
	if (count < 0) {
		count = snprintf(text + before, room, "a line that cannot be formatted");
	}
	if ((size_t)count >= room) {
		memcpy(text + GY_LOG_LINE_BYTES - sizeof(cut_off), cut_off, sizeof(cut_off));
		count = (int)room - 1;
	}
	return clean(text, before + (size_t)count);
}

void gy_log_prefixed(const struct gy_log *log, enum gyre_log_level level, const char *prefix,
		     const char *format, va_list args)
{
	char text[GY_LOG_LINE_BYTES];
	size_t count;

	if (!gy_log_is_written(log, level)) {
		return;
	}
	count = format_line(text, prefix, format, args);
	if (log != NULL && log->buffer != NULL) {
		gy_log_writer_put(log->buffer, level, text, count);
	} else {
		write_now(log, level, text);
	}
}

void gy_log(const struct gy_log *log, enum gyre_log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	gy_log_prefixed(log, level, "", format, args);
	va_end(args);
}

_Noreturn void gy_assert_failed(const char *what, const char *file, int line)
{
	(void)fprintf(stderr, "gyre: assertion failed: %s (%s:%d)\n", what, file, line);
	abort();
}
