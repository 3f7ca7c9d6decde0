/*
 * How lines get from their buffers to the hook, and when the thread that does it sleeps.
 */
#include "base/log/log_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "base/memory/memory.h"
#include "base/thread.h"

/* ---- writing; the mutex is held ---- */

static void write_out(struct gy_log_writer *writer, enum gyre_log_level level, uint64_t time_ns,
		      const char *text)
{
	const struct gyre_log_line line = {
		.level = level, .time_ns = time_ns, .date_ns = gy_log_date_ns(time_ns), .text = text
	};

	if (level >= GYRE_LOG_ERROR) {
		gy_count(&writer->errors, 1);
	}
	gy_log_write(&writer->sink, &line);
}

/* Losses are told of at whatever level is written: the lines that were lost may have been errors.
 */
static void write_loss(struct gy_log_writer *writer, const struct gy_log_source *source,
		       uint64_t lost, uint64_t time_ns)
{
	enum gyre_log_level level =
		writer->sink.level > GYRE_LOG_WARNING ? writer->sink.level : GYRE_LOG_WARNING;
	char whose[32] = "threads outside of loops";
	char text[GY_LOG_LINE_BYTES];

	if (source != &writer->outside) {
		(void)snprintf(whose, sizeof(whose), "loop %u", (unsigned)(source - writer->loops));
	}
	(void)snprintf(text, sizeof(text),
		       "%" PRIu64
		       " lines of the log lost: %s logged faster than they were written; "
		       "log less, write faster, or raise log_buffer_bytes, which is %" PRId64,
		       lost, whose, writer->buffer_bytes);
	write_out(writer, level, time_ns, text);
}

/* The source with that number, from 0 to @loops_max; a source that is not made has no buffer. */
static struct gy_log_source *source_at(struct gy_log_writer *writer, uint32_t number)
{
	return number == 0 ? &writer->outside : &writer->loops[number - 1];
}

/* The buffer with the oldest line; NULL when there is no line that is whole. */
static struct gy_log_buffer *oldest(struct gy_log_writer *writer)
{
	struct gy_log_buffer *found = NULL;
	uint64_t found_ns = UINT64_MAX;

	for (uint32_t i = 0; i <= writer->loops_max; i++) {
		struct gy_log_buffer *buffer = gy_load_acquire(&source_at(writer, i)->buffer);
		uint64_t time_ns;

		if (buffer != NULL && gy_log_buffer_peek(buffer, &time_ns) && time_ns < found_ns) {
			found = buffer;
			found_ns = time_ns;
		}
	}
	return found;
}

static void write_next(struct gy_log_writer *writer, struct gy_log_buffer *buffer)
{
	struct gy_log_record record;

	gy_log_buffer_take(buffer, &record);
	if (record.lost > 0) {
		write_loss(writer, buffer->source, record.lost, record.time_ns);
	}
	write_out(writer, record.level, record.time_ns, record.text);
}

/* Losses behind the last lines. */
static void write_last_losses(struct gy_log_writer *writer)
{
	for (uint32_t i = 0; i <= writer->loops_max; i++) {
		const struct gy_log_source *source = source_at(writer, i);
		struct gy_log_buffer *buffer = gy_load_acquire(&source->buffer);
		uint64_t lost = buffer == NULL ? 0 : gy_log_buffer_take_lost(buffer);

		if (lost > 0) {
			write_loss(writer, source, lost, gy_clock_machine_ns());
		}
	}
}

static void drain(struct gy_log_writer *writer)
{
	struct gy_log_buffer *buffer;

	while ((buffer = oldest(writer)) != NULL) {
		write_next(writer, buffer);
	}
	write_last_losses(writer);
}

void gy_log_writer_flush(struct gy_log_writer *writer)
{
	(void)pthread_mutex_lock(&writer->mutex);
	drain(writer);
	(void)pthread_mutex_unlock(&writer->mutex);
}

/* ---- the thread ---- */

static bool has_any(struct gy_log_writer *writer)
{
	for (uint32_t i = 0; i <= writer->loops_max; i++) {
		const struct gy_log_buffer *buffer = gy_load_acquire(&source_at(writer, i)->buffer);

		if (buffer != NULL && gy_log_buffer_has_any(buffer)) {
			return true;
		}
	}
	return false;
}

static void sleep_until_woken(struct gy_log_writer *writer)
{
	bool any;

	gy_store_full(&writer->asleep, 1);
	/* While it looks nobody else takes lines, which clears what it looks at. */
	(void)pthread_mutex_lock(&writer->mutex);
	any = has_any(writer);
	(void)pthread_mutex_unlock(&writer->mutex);
	if (!any && gy_load_full(&writer->ending) == 0) {
		gy_wakeup_wait(&writer->wakeup);
	}
	gy_store_full(&writer->asleep, 0);
}

static void wake(struct gy_log_writer *writer)
{
	if (gy_load_full(&writer->asleep) != 0 && gy_exchange_full(&writer->asleep, 0) != 0) {
		gy_wakeup_post(&writer->wakeup);
	}
}

void gy_log_writer_run(struct gy_log_writer *writer)
{
	while (gy_load_acquire(&writer->ending) == 0) {
		gy_log_writer_flush(writer);
		sleep_until_woken(writer);
	}
}

static void *run(void *arg)
{
	gy_thread_name("log");
	gy_log_writer_run((struct gy_log_writer *)arg);
	return NULL;
}

int gy_log_writer_start(struct gy_log_writer *writer)
{
	int r;

	gy_assert(gy_load_relaxed(&writer->started) == 0);
	if (writer->buffer_bytes == GY_LOG_UNBUFFERED) {
		return 0;
	}
	r = gy_thread_start(NULL, run, writer, &writer->thread);
	if (r == 0) {
		gy_store_release(&writer->started, 1);
	}
	return r;
}

void gy_log_writer_stop(struct gy_log_writer *writer)
{
	if (gy_load_relaxed(&writer->started) == 0) {
		return;
	}
	gy_store_full(&writer->ending, 1);
	wake(writer);
	(void)pthread_join(writer->thread, NULL);
	gy_store_release(&writer->started, 0);
	gy_log_writer_flush(writer);
}

bool gy_log_writer_put(struct gy_log_buffer *buffer, enum gyre_log_level level, const char *text,
		       size_t count)
{
	struct gy_log_source *source = buffer->source;
	struct gy_log_writer *writer = source->writer;
	bool taken = gy_log_buffer_put(buffer, level, gy_clock_machine_ns(), text, count);

	(void)gy_add_relaxed(taken ? &source->lines : &source->lost, 1);
	if (gy_load_acquire(&writer->started) != 0) {
		wake(writer); /* after a loss too, which is to be told of */
	} else {
		gy_log_writer_flush(writer);
	}
	return taken;
}

/* ---- without buffers ---- */

static void write_now(const struct gyre_log_line *line, void *arg)
{
	struct gy_log_source *source = (struct gy_log_source *)arg;
	struct gy_log_writer *writer = source->writer;

	(void)gy_add_relaxed(&source->lines, 1);
	(void)pthread_mutex_lock(&writer->mutex);
	write_out(writer, line->level, line->time_ns, line->text);
	(void)pthread_mutex_unlock(&writer->mutex);
}

/* ---- life ---- */

static int make_source(struct gy_log_writer *writer, struct gy_log_source *source)
{
	struct gy_log_buffer *buffer = NULL;

	if (source->writer != NULL) {
		return 0;
	}
	if (writer->buffer_bytes != GY_LOG_UNBUFFERED) {
		buffer = gy_log_buffer_create(source, (size_t)writer->buffer_bytes);
		if (buffer == NULL) {
			return -ENOMEM;
		}
	}
	source->writer = writer;
	source->log = (struct gy_log){ .write = buffer == NULL ? write_now : NULL,
				       .arg = source,
				       .level = writer->sink.level,
				       .buffer = buffer };
	gy_store_release(&source->buffer, buffer);
	return 0;
}

struct gy_log_writer *gy_log_writer_create(const struct gy_log *sink, int64_t buffer_bytes)
{
	struct gy_log_writer *writer = (struct gy_log_writer *)gy_memory_get(sizeof(*writer));

	gy_assert(sink->buffer == NULL);
	if (writer == NULL) {
		return NULL;
	}
	writer->sink = *sink;
	writer->buffer_bytes = buffer_bytes;
	(void)pthread_mutex_init(&writer->mutex, NULL);
	gy_wakeup_init(&writer->wakeup);
	if (make_source(writer, &writer->outside) < 0) {
		gy_log_writer_destroy(writer);
		return NULL;
	}
	return writer;
}

void gy_log_writer_destroy(struct gy_log_writer *writer)
{
	if (writer == NULL) {
		return;
	}
	gy_log_writer_stop(writer);
	gy_assert(!has_any(writer));
	for (uint32_t i = 0; i <= writer->loops_max; i++) {
		gy_log_buffer_destroy(source_at(writer, i)->buffer);
	}
	gy_memory_put(writer->loops);
	gy_wakeup_fini(&writer->wakeup);
	(void)pthread_mutex_destroy(&writer->mutex);
	gy_memory_put(writer);
}

int gy_log_writer_reserve(struct gy_log_writer *writer, uint32_t loops_max)
{
	gy_assert(writer->loops == NULL && gy_load_relaxed(&writer->started) == 0);
	writer->loops = (struct gy_log_source *)gy_memory_get(loops_max * sizeof(*writer->loops));
	if (writer->loops == NULL) {
		return -ENOMEM;
	}
	writer->loops_max = loops_max;
	return 0;
}

int gy_log_writer_add(struct gy_log_writer *writer, uint32_t loop)
{
	gy_assert(loop < writer->loops_max);
	return make_source(writer, &writer->loops[loop]);
}

void gy_log_writer_count(const struct gy_log_writer *writer, uint64_t *ret_lines,
			 uint64_t *ret_lost)
{
	uint64_t lines = gy_load_relaxed(&writer->outside.lines);
	uint64_t lost = gy_load_relaxed(&writer->outside.lost);

	for (uint32_t i = 0; i < writer->loops_max; i++) {
		lines += gy_load_relaxed(&writer->loops[i].lines);
		lost += gy_load_relaxed(&writer->loops[i].lost);
	}
	*ret_lines = lines;
	*ret_lost = lost;
}
