/*
 * The writer of a log: lines reach the hook in their order, whoever is slow; what is lost is told
 * of; nobody waits for the hook; all is written in the end.
 */
#include <criterion/criterion.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/log/log_writer.h"

enum { BYTES = 4096, LINES_MAX = 1000, LINE_BYTES = 300, LOOPS = 3, HANG_SECONDS = 60 };

static struct gy_log_writer *writer;

/* What the hook has got; read when the writer has been stopped, or was never started. */
static struct {
	char lines[LINES_MAX][LINE_BYTES];
	enum gyre_log_level levels[LINES_MAX];
	uint64_t times[LINES_MAX];
	pthread_t threads[LINES_MAX];
	uint32_t count;
	uint32_t inside; /* atomic: threads that are in the hook */
	sem_t entered;	 /* posted when the hook is at a line "stop" */
	sem_t go_on;	 /* taken by the hook there */
} heard;

static void hear(const struct gyre_log_line *line, void *arg)
{
	cr_assert_eq(arg, &heard);
	cr_assert_eq(gy_fetch_add(&heard.inside, 1), 0, "one thread at a time");
	cr_assert_lt(heard.count, LINES_MAX);
	(void)snprintf(heard.lines[heard.count], LINE_BYTES, "%s", line->text);
	heard.levels[heard.count] = line->level;
	heard.times[heard.count] = line->time_ns;
	heard.threads[heard.count] = pthread_self();
	heard.count++;
	if (strcmp(line->text, "stop") == 0) {
		(void)sem_post(&heard.entered);
		(void)sem_wait(&heard.go_on);
	}
	(void)gy_fetch_add(&heard.inside, -1U);
}

static void open_with(int64_t bytes, enum gyre_log_level level)
{
	const struct gy_log sink = { .write = hear, .arg = &heard, .level = level };

	(void)alarm(HANG_SECONDS);
	cr_assert_eq(sem_init(&heard.entered, 0, 0), 0);
	cr_assert_eq(sem_init(&heard.go_on, 0, 0), 0);
	writer = gy_log_writer_create(&sink, bytes);
	cr_assert_not_null(writer);
	cr_assert_eq(gy_log_writer_reserve(writer, LOOPS), 0);
	for (uint32_t i = 0; i < LOOPS; i++) {
		cr_assert_eq(gy_log_writer_add(writer, i), 0);
	}
}

static void open_writer(void)
{
	open_with(BYTES, GYRE_LOG_INFO);
}

static void close_writer(void)
{
	gy_log_writer_destroy(writer);
	writer = NULL;
}

TestSuite(log_writer, .init = open_writer, .fini = close_writer);

static const struct gy_log *loop_log(uint32_t loop)
{
	return gy_log_writer_loop(writer, loop);
}

/* Lets the hook wait at a line, with the writer's thread in it. */
static void hold_hook(void)
{
	cr_assert_eq(gy_log_writer_start(writer), 0);
	gy_log(gy_log_writer_outside(writer), GYRE_LOG_ERROR, "stop");
	(void)sem_wait(&heard.entered);
}

static void release_hook(void)
{
	(void)sem_post(&heard.go_on);
}

static uint32_t index_of(const char *text)
{
	for (uint32_t i = 0; i < heard.count; i++) {
		if (strcmp(heard.lines[i], text) == 0) {
			return i;
		}
	}
	cr_assert(false, "nobody has heard of \"%s\"", text);
	return 0;
}

Test(log_writer, passes_lines_on_at_once_on_the_thread_that_logs_before_it_starts)
{
	gy_log(gy_log_writer_outside(writer), GYRE_LOG_WARNING, "number %d", 1);
	cr_expect_eq(heard.count, 1);
	cr_expect_str_eq(heard.lines[0], "number 1");
	cr_expect_eq(heard.levels[0], GYRE_LOG_WARNING);
	cr_expect(pthread_equal(heard.threads[0], pthread_self()));
	gy_log(loop_log(0), GYRE_LOG_WARNING, "number %d", 2);
	cr_expect_eq(heard.count, 2);
}

Test(log_writer, passes_lines_on_on_a_thread_of_its_own_when_it_has_started)
{
	hold_hook();
	release_hook();
	gy_log_writer_stop(writer);
	cr_assert_eq(heard.count, 1);
	cr_expect_not(pthread_equal(heard.threads[0], pthread_self()));
	gy_log(loop_log(1), GYRE_LOG_WARNING, "here again");
	cr_assert_eq(heard.count, 2);
	cr_expect(pthread_equal(heard.threads[1], pthread_self()));
}

Test(log_writer, leaves_out_what_is_below_its_level)
{
	gy_log(loop_log(0), GYRE_LOG_DEBUG, "no");
	cr_expect_eq(heard.count, 0);
	gy_log(loop_log(0), GYRE_LOG_INFO, "yes");
	cr_expect_eq(heard.count, 1);
}

Test(log_writer, lets_nobody_wait_for_a_hook_that_blocks)
{
	hold_hook();
	for (uint32_t i = 0; i < LOOPS; i++) {
		gy_log(loop_log(i), GYRE_LOG_INFO, "from loop %u", i);
	}
	cr_expect_eq(heard.count, 1, "the hook is still at the first");
	release_hook();
	gy_log_writer_stop(writer);
	cr_expect_eq(heard.count, 1 + LOOPS);
}

Test(log_writer, writes_lines_of_all_logs_in_the_order_of_their_times)
{
	hold_hook();
	for (uint32_t i = 0; i < 3 * LOOPS; i++) {
		uint64_t now_ns = gy_clock_machine_ns();

		gy_log(loop_log(i * 2 % LOOPS), GYRE_LOG_INFO, "%u", i);
		while (gy_clock_machine_ns() == now_ns) {
		}
	}
	release_hook();
	gy_log_writer_stop(writer);
	cr_assert_eq(heard.count, 1 + 3 * LOOPS);
	for (uint32_t i = 0; i < 3 * LOOPS; i++) {
		cr_expect_eq(strtoul(heard.lines[1 + i], NULL, 10), i, "%s", heard.lines[1 + i]);
		cr_expect_geq(heard.times[1 + i], heard.times[i]);
	}
}

Test(log_writer, says_how_many_lines_of_a_loop_were_lost_where_the_gap_is)
{
	uint64_t lines;
	uint64_t lost;
	uint32_t put = 0;
	char text[LINE_BYTES];

	hold_hook();
	do {
		gy_log(loop_log(1), GYRE_LOG_INFO, "%u", put++);
		gy_log_writer_count(writer, &lines, &lost);
	} while (lost < 5);
	cr_expect_eq(lines + lost, 1 + put, "the one that holds the hook is of another log");
	gy_log(loop_log(2), GYRE_LOG_INFO, "of another loop");
	release_hook();
	gy_log_writer_flush(writer);
	gy_log(loop_log(1), GYRE_LOG_INFO, "after");
	gy_log_writer_stop(writer);
	cr_expect_eq(writer->loops[1].lost, 5);
	cr_expect_eq(writer->loops[2].lost, 0, "each loop has its own room");
	(void)snprintf(text, sizeof(text), "%u", put - 6);
	cr_expect_eq(index_of("after"), index_of(text) + 3, "between are that line and the loss");
	(void)snprintf(text, sizeof(text),
		       "5 lines of the log lost: loop 1 logged faster than they were written; log "
		       "less, write faster, or raise log_buffer_bytes, which is %d",
		       BYTES);
	cr_expect_lt(index_of(text), index_of("after"));
	cr_expect_eq(heard.levels[index_of(text)], GYRE_LOG_WARNING);
}

Test(log_writer, says_what_threads_outside_have_lost_though_only_errors_are_written)
{
	char text[200];
	uint64_t lines;
	uint64_t lost;

	close_writer();
	open_with(BYTES, GYRE_LOG_ERROR);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	hold_hook();
	do {
		gy_log(gy_log_writer_outside(writer), GYRE_LOG_ERROR, "%s", text);
		gy_log_writer_count(writer, &lines, &lost);
	} while (lost < 3);
	release_hook();
	gy_log_writer_stop(writer);
	cr_assert_eq(heard.count, lines + 1);
	cr_expect_not_null(strstr(heard.lines[heard.count - 1],
				  "3 lines of the log lost: threads outside of loops logged"),
			   "%s", heard.lines[heard.count - 1]);
	cr_expect_eq(heard.levels[heard.count - 1], GYRE_LOG_ERROR);
}

Test(log_writer, writes_all_that_is_buffered_before_a_flush_returns)
{
	cr_assert_eq(gy_log_writer_start(writer), 0);
	for (uint32_t i = 1; i <= 20; i++) {
		gy_log(loop_log(i % LOOPS), GYRE_LOG_INFO, "%u", i);
		gy_log_writer_flush(writer);
		(void)pthread_mutex_lock(&writer->mutex);
		cr_assert_eq(heard.count, i);
		(void)pthread_mutex_unlock(&writer->mutex);
	}
}

Test(log_writer, writes_the_last_lines_when_it_is_destroyed, .fini = NULL)
{
	hold_hook();
	gy_log(loop_log(0), GYRE_LOG_INFO, "last");
	release_hook();
	close_writer();
	cr_assert_eq(heard.count, 2);
	cr_expect_str_eq(heard.lines[1], "last");
}

Test(log_writer, wakes_its_thread_for_each_line_that_comes_while_it_sleeps)
{
	cr_assert_eq(gy_log_writer_start(writer), 0);
	for (uint32_t i = 1; i <= 200; i++) {
		while (gy_load_full(&writer->asleep) == 0) {
			(void)sched_yield();
		}
		gy_log(loop_log(i % LOOPS), GYRE_LOG_INFO, "stop");
		(void)sem_wait(&heard.entered);
		release_hook();
	}
	gy_log_writer_stop(writer);
	cr_expect_eq(heard.count, 200);
}

Test(log_writer, without_buffers_has_who_logs_wait_for_the_hook)
{
	uint64_t lines;
	uint64_t lost;

	close_writer();
	open_with(GY_LOG_UNBUFFERED, GYRE_LOG_INFO);
	cr_assert_eq(gy_log_writer_start(writer), 0);
	gy_log(loop_log(0), GYRE_LOG_INFO, "at once");
	cr_assert_eq(heard.count, 1);
	cr_expect(pthread_equal(heard.threads[0], pthread_self()));
	gy_log_writer_count(writer, &lines, &lost);
	cr_expect_eq(lines, 1);
	cr_expect_eq(lost, 0);
}

Test(log_writer, counts_errors_that_it_has_written)
{
	gy_log(loop_log(0), GYRE_LOG_WARNING, "no");
	cr_expect_eq(writer->errors, 0);
	gy_log(loop_log(0), GYRE_LOG_ERROR, "yes");
	cr_expect_eq(writer->errors, 1);
}
