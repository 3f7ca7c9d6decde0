/*
 * A buffer of lines of the log: many threads put lines in, one at a time takes them out. It is
 * bounded: a line that does not fit is lost, and counted. Nobody waits, takes a lock or memory.
 *
 * Lines stand one behind the other in a ring of words. Who puts one reserves its words by moving
 * @head on, fills them, and at last writes the first word, which says that the line is whole and
 * how long it is. Who takes one finds that word, copies the line, clears its words and moves @tail
 * on. So a first word is 0 until its line is whole, and a line that is still being written, by a
 * thread that was preempted, holds up those behind it and nobody who puts.
 *
 * A line carries how many were lost before it, so that the gap shows where it is.
 */
#ifndef GY_BASE_LOG_LOG_BUFFER_H
#define GY_BASE_LOG_LOG_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log/log.h"
#include "base/macros.h"

struct gy_log_source;

struct gy_log_buffer {
	struct gy_log_source *source; /* the writer's; NULL in a test of the buffer alone */
	uint64_t words_count;

	/* Of those who put. */
	uint64_t head GY_ALIGNED_LINE; /* atomic: the word where the next line begins, ever more */
	uint64_t lost;		       /* atomic: lines that did not fit, and nobody was told of */

	/* Of who takes. */
	uint64_t tail GY_ALIGNED_LINE; /* atomic */
	uint64_t words[];
};

/* A line that was taken. */
struct gy_log_record {
	uint64_t time_ns;
	uint64_t lost; /* since the line before */
	enum gyre_log_level level;
	char text[GY_LOG_LINE_BYTES];
};

/* Makes a buffer of about @bytes, at least 4096; NULL when there is no memory. */
struct gy_log_buffer *gy_log_buffer_create(struct gy_log_source *source, size_t bytes);
/* NULL is allowed. */
void gy_log_buffer_destroy(struct gy_log_buffer *buffer);

/* Puts a line of @count bytes, below GY_LOG_LINE_BYTES; false when it is lost. Any thread. */
bool gy_log_buffer_put(struct gy_log_buffer *buffer, enum gyre_log_level level, uint64_t time_ns,
		       const char *text, size_t count);

/* ---- one thread at a time ---- */

/* When the oldest line was logged; false when there is none that is whole. */
bool gy_log_buffer_peek(const struct gy_log_buffer *buffer, uint64_t *ret_time_ns);
/* Takes the oldest line, which is there. */
void gy_log_buffer_take(struct gy_log_buffer *buffer, struct gy_log_record *ret_record);
/* How many were lost behind the last line that was put; they are told of by that. */
uint64_t gy_log_buffer_take_lost(struct gy_log_buffer *buffer);
/* Whether there is a whole line, or a loss to be told of; orders as gy_load_full() does. */
bool gy_log_buffer_has_any(const struct gy_log_buffer *buffer);

#endif
