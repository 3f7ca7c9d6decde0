/*
 * Limits on lines of the log: how many pass in a window, when the next one begins, and that each
 * line that was left out is counted once.
 */
#include <criterion/criterion.h>

#include <pthread.h>
#include <string.h>

#include "base/log/log_limit.h"

enum { LINES = 3, WINDOW_MS = 1000, THREADS = 4, LINES_OF_THREAD = 10000 };

static const uint64_t ms = 1000000;

static uint32_t written;
static char last_line[2048];

static void hook(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	written++;
	(void)strncpy(last_line, line->text, sizeof(last_line) - 1);
}

static const struct gy_log to_hook = { .write = hook, .level = GYRE_LOG_WARNING };
static struct gy_log_limit limit;

static void init_limit(void)
{
	gy_log_limit_init(&limit, LINES, WINDOW_MS);
}

TestSuite(log_limit, .init = init_limit);

static bool say(uint64_t now_ns)
{
	return gy_log_limited(&to_hook, &limit, now_ns, GYRE_LOG_WARNING, "number %d", 7);
}

Test(log_limit, lets_so_many_lines_pass_in_a_window)
{
	for (uint32_t i = 0; i < 10; i++) {
		cr_assert_eq(say(i), i < LINES);
	}
	cr_assert_eq(written, LINES);
	cr_assert_str_eq(last_line, "number 7");
}

Test(log_limit, begins_a_window_with_the_first_line_after_the_last_one)
{
	for (uint32_t i = 0; i < 10; i++) {
		(void)say(500 * ms);
	}
	cr_assert_not(say(1499 * ms));
	cr_assert(say(1500 * ms));
	cr_assert_eq(written, LINES + 1);
}

Test(log_limit, tells_with_the_next_line_how_many_there_were)
{
	for (uint32_t i = 0; i < 10; i++) {
		(void)say(0);
	}
	cr_assert(say(1000 * ms));
	cr_assert_str_eq(last_line, "number 7 (and 7 more before it)");
	cr_assert(say(1000 * ms));
	cr_assert_str_eq(last_line, "number 7");
}

Test(log_limit, gives_each_count_once)
{
	for (uint32_t i = 0; i < 10; i++) {
		(void)say(0);
	}
	cr_assert_eq(gy_log_limit_take(&limit), 7);
	cr_assert_eq(gy_log_limit_take(&limit), 0);
	cr_assert(say(1000 * ms));
	cr_assert_str_eq(last_line, "number 7");
}

Test(log_limit, does_not_count_what_is_below_the_level_of_the_log)
{
	for (uint32_t i = 0; i < 10; i++) {
		cr_assert(gy_log_limited(&to_hook, &limit, 0, GYRE_LOG_INFO, "no"));
	}
	cr_assert_eq(written, 0);
	cr_assert(say(0));
	cr_assert_str_eq(last_line, "number 7");
}

Test(log_limit, takes_a_clock_that_is_a_little_behind_for_the_same_window)
{
	for (uint32_t i = 0; i < LINES; i++) {
		cr_assert(say(5000 * ms));
	}
	cr_assert_not(say(4990 * ms));
}

static void *say_often(void *arg)
{
	uint64_t *admitted = (uint64_t *)arg;

	for (uint64_t i = 0; i < LINES_OF_THREAD; i++) {
		*admitted += gy_log_limit_admit(&limit, 10 * i * ms);
	}
	return NULL;
}

Test(log_limit, counts_every_line_of_several_threads)
{
	pthread_t threads[THREADS];
	uint64_t admitted[THREADS] = { 0 };
	uint64_t sum = 0;

	for (int i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, say_often, &admitted[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		(void)pthread_join(threads[i], NULL);
		sum += admitted[i];
	}
	/* Windows of 100 lines of a thread each; the first begins at 0. */
	cr_assert_leq(sum, (uint64_t)LINES * (LINES_OF_THREAD * 10 / WINDOW_MS));
	cr_assert_geq(sum, LINES);
	cr_assert_eq(sum + gy_log_limit_take(&limit), (uint64_t)THREADS * LINES_OF_THREAD);
}
