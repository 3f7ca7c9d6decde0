/*
 * The writer of a log: a thread that takes lines out of the buffers of all loops and gives them to
 * the hook, so that a hook which blocks blocks no loop.
 *
 * The thread is there from gy_log_writer_start() on. Before that, and after gy_log_writer_stop(),
 * whoever logs writes out what is buffered before it goes on. In either case one thread at a time
 * is in the hook.
 *
 * Lines are written in the order of their times, as far as they are there; those of one buffer in
 * the order in which they were put. When the thread finds none it sleeps. It says so first, and
 * then looks once more; who puts a line looks afterwards whether the thread sleeps. All four are
 * sequentially consistent, so that no line is left waiting.
 */
#ifndef GY_BASE_LOG_LOG_WRITER_H
#define GY_BASE_LOG_LOG_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log/log.h"
#include "base/log/log_buffer.h"
#include "base/wakeup.h"

enum { GY_LOG_UNBUFFERED = -1 };

/* One of the logs that a writer writes: that of a loop, or of all threads that are none. */
struct gy_log_source {
	struct gy_log log;
	struct gy_log_writer *writer;
	struct gy_log_buffer *buffer; /* atomic; NULL until it is made, and with no buffers */
	uint64_t lines;		      /* atomic: that were taken */
	uint64_t lost;		      /* atomic: that were not */
};

struct gy_log_writer {
	struct gy_log sink; /* where lines go in the end */
	int64_t buffer_bytes;
	uint64_t errors;  /* atomic: lines of that level that were written */
	uint32_t asleep;  /* atomic, as the next two */
	uint32_t started; /* there is a thread */
	uint32_t ending;
	struct gy_wakeup wakeup;
	pthread_t thread;
	pthread_mutex_t mutex; /* held by who writes */
	uint32_t loops_max;
	struct gy_log_source *loops;
	struct gy_log_source outside;
};

/*
 * @sink: the hook, and the least level
 * @buffer_bytes: of each buffer, at least 4096; GY_LOG_UNBUFFERED for none: whoever logs writes
 *
 * NULL when there is no memory. The log of threads that are no loop's is there from now on.
 */
struct gy_log_writer *gy_log_writer_create(const struct gy_log *sink, int64_t buffer_bytes);
/* Stops it too; afterwards nothing is buffered. NULL is allowed. */
void gy_log_writer_destroy(struct gy_log_writer *writer);

/* Makes room for the logs of @loops_max loops, once, before the start. -ENOMEM. */
int gy_log_writer_reserve(struct gy_log_writer *writer, uint32_t loops_max);
/* Makes the log of a loop, if it is not there. -ENOMEM. */
int gy_log_writer_add(struct gy_log_writer *writer, uint32_t loop);

/* Each is valid as long as the writer; whatever is logged in one keeps its order. */
static inline const struct gy_log *gy_log_writer_outside(const struct gy_log_writer *writer)
{
	return &writer->outside.log;
}

static inline const struct gy_log *gy_log_writer_loop(const struct gy_log_writer *writer,
						      uint32_t loop)
{
	return &writer->loops[loop].log;
}

/* Starts the thread; a negative errno, and then nothing is changed. */
int gy_log_writer_start(struct gy_log_writer *writer);
/* Ends the thread, when it has written all that was buffered. No loop turns any more. */
void gy_log_writer_stop(struct gy_log_writer *writer);
/* What the thread does: it writes, and sleeps, until it is to end. */
void gy_log_writer_run(struct gy_log_writer *writer);
/* Writes all that is buffered; blocks with the hook. */
void gy_log_writer_flush(struct gy_log_writer *writer);

/* Counts lines of all logs: those that were taken, and those that were lost. Any thread. */
void gy_log_writer_count(const struct gy_log_writer *writer, uint64_t *ret_lines,
			 uint64_t *ret_lost);

/* Puts a line of @count bytes; false when it is lost. Any thread. */
bool gy_log_writer_put(struct gy_log_buffer *buffer, enum gyre_log_level level, const char *text,
		       size_t count);

#endif
