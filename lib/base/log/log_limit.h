/*
 * Limits on what goes into the log: so many lines of one matter in a window of time. Lines above
 * the limit are counted; the next line that is written says how many there were, and whoever owns
 * the limit may ask for the rest of the count, when a window or the system is over.
 *
 * A window begins with its first line. Any thread may write at any time: a limit that is reached
 * costs two relaxed atomic operations, and formats nothing.
 */
#ifndef GY_BASE_LOG_LOG_LIMIT_H
#define GY_BASE_LOG_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log/log.h"
#include "base/macros.h"

enum { GY_LOG_NOTE_BYTES = 64 };

struct gy_log_limit {
	uint64_t window;   /* atomic: its first millisecond, and in the low bits its lines */
	uint64_t unlogged; /* atomic: lines since the last one that was written */
	uint32_t lines_max;
	uint32_t window_ms;
};

/* @lines: in each window, from 1 to 65535; @window_ms: at least 1. */
static inline void gy_log_limit_init(struct gy_log_limit *limit, uint32_t lines, uint32_t window_ms)
{
	*limit = (struct gy_log_limit){ .lines_max = lines, .window_ms = window_ms };
}

/* Returns whether one more line may be written at @now_ns, by the monotonic clock; else the line is
 * counted. */
bool gy_log_limit_admit(struct gy_log_limit *limit, uint64_t now_ns);

/* Returns how many lines were not written since the last call. */
uint64_t gy_log_limit_take(struct gy_log_limit *limit);

/* gy_log_limit_take() in words, for the end of a line that was admitted; empty for none. Returns
 * @text. */
const char *gy_log_limit_note(struct gy_log_limit *limit, char text[GY_LOG_NOTE_BYTES]);

/*
 * gy_log() within a limit, with the count of the lines that were not written before this one. True
 * if the line was written, or is below the level of the log; false if it was counted.
 */
GY_PRINTF(5, 6)
GY_COLD bool gy_log_limited(const struct gy_log *log, struct gy_log_limit *limit, uint64_t now_ns,
			    enum gyre_log_level level, const char *format, ...);

#endif
