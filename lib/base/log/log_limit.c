/*
 * The word of a window holds when it began and how many lines it has had, so that one exchange
 * decides who of several threads writes the last line of one window or the first of the next.
 */
#include "base/log/log_limit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/atomic.h"

enum { COUNT_BITS = 16, COUNT_MASK = (1 << COUNT_BITS) - 1 };

bool gy_log_limit_admit(struct gy_log_limit *limit, uint64_t now_ns)
{
	uint64_t now_ms = now_ns / UINT64_C(1000000);
	uint64_t window = gy_load_relaxed(&limit->window);
	uint64_t next;

	gy_assert(limit->lines_max > 0 && limit->lines_max <= COUNT_MASK && limit->window_ms > 0);
	do {
		uint64_t lines = window & COUNT_MASK;

		if (lines == 0 || now_ms >= (window >> COUNT_BITS) + limit->window_ms) {
			next = now_ms << COUNT_BITS | 1;
		} else if (lines < limit->lines_max) {
			next = window + 1;
		} else {
			(void)gy_add_relaxed(&limit->unlogged, 1);
			return false;
		}
	} while (!gy_compare_exchange_relaxed(&limit->window, &window, next));
	return true;
}

uint64_t gy_log_limit_take(struct gy_log_limit *limit)
{
	return gy_load_relaxed(&limit->unlogged) == 0 ? 0 : gy_exchange(&limit->unlogged, 0);
}

const char *gy_log_limit_note(struct gy_log_limit *limit, char text[GY_LOG_NOTE_BYTES])
{
	uint64_t unlogged = gy_log_limit_take(limit);

	text[0] = '\0';
	if (unlogged > 0) {
		(void)snprintf(text, GY_LOG_NOTE_BYTES, " (and %" PRIu64 " more before it)",
			       unlogged);
	}
	return text;
}

bool gy_log_limited(const struct gy_log *log, struct gy_log_limit *limit, uint64_t now_ns,
		    enum gyre_log_level level, const char *format, ...)
{
	char note[GY_LOG_NOTE_BYTES];
	va_list args;

	if (!gy_log_is_written(log, level)) {
		return true;
	}
	if (!gy_log_limit_admit(limit, now_ns)) {
		return false;
	}
	va_start(args, format);
	(void)gy_log_between(log, level, "", gy_log_limit_note(limit, note), format, args);
	va_end(args);
	return true;
}
