/*
 * The side of a test: what Criterion's macros call, where test/unit/fork_runner.c stands in for its
 * library.
 *
 * A failed assertion is recorded in the report that the runner reads, and leaves the test by a
 * jump, as with Criterion. Only the thread that runs the test can do so; another one, or a process
 * that the test has forked, aborts. A failed assertion in .init or .fini fails the test.
 */
#include "fork_runner.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Criterion's headers do not say that these parameters are formats. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

struct criterion_options criterion_options;

static const struct criterion_test *the_test;
static const struct criterion_suite *the_suite;
static struct fork_report *the_report;
static pid_t the_thread; /* that plays the test */
static jmp_buf leave;

/* ---- the course of a test ---- */

static void end_elsewhere(const char *what)
{
	(void)fprintf(stderr, "%s, in a thread or process of a test\n", what);
	abort();
}

static void reach(enum fork_stage stage)
{
	if (gettid() != the_thread) {
		end_elsewhere("the end of a test");
	}
	__atomic_store_n(&the_report->stage, stage, __ATOMIC_SEQ_CST);
}

static const struct criterion_test_extra_data *suite_data(void)
{
	static const struct criterion_test_extra_data none;

	return the_suite != NULL && the_suite->data != NULL ? the_suite->data : &none;
}

static void call(void (*fixture)(void))
{
	if (fixture != NULL) {
		fixture();
	}
}

void criterion_internal_test_setup(void)
{
	the_thread = gettid();
	reach(FORK_INIT);
	if (setjmp(leave) != 0) {
		_exit(EXIT_FAILURE); /* there is nothing to test, and nothing whole to take down */
	}
	call(suite_data()->init);
	call(the_test->data->init);
}

void criterion_internal_test_main(void (*body)(void))
{
	reach(FORK_MAIN);
	if (setjmp(leave) == 0) {
		body();
	}
}

void criterion_internal_test_teardown(void)
{
	reach(FORK_FINI);
	if (setjmp(leave) == 0) {
		call(the_test->data->fini);
		call(suite_data()->fini);
	}
	reach(FORK_ENDED);
}

void fork_play(const struct criterion_test *test, const struct criterion_suite *suite,
	       struct fork_report *report)
{
	the_test = test;
	the_suite = suite;
	the_report = report;
	fork_course(test);
	exit(EXIT_SUCCESS); /* with all that is done at an exit, such as looking for leaks */
}

/* ---- assertions ---- */

static void record(const char *line)
{
	uint32_t bytes = (uint32_t)strlen(line);
	uint32_t at = __atomic_fetch_add(&the_report->text_bytes, bytes, __ATOMIC_SEQ_CST);

	if (at < sizeof(the_report->text)) {
		uint32_t room = (uint32_t)sizeof(the_report->text) - at;

		memcpy(the_report->text + at, line, bytes < room ? bytes : room);
	}
}

static void record_format(const char *format, va_list arguments)
{
	char line[2048];

	(void)vsnprintf(line, sizeof(line), format, arguments);
	record(line);
}

void fork_say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	record_format(format, arguments);
	va_end(arguments);
}

void fork_fail(const char *format, ...)
{
	va_list arguments;

	(void)__atomic_fetch_add(&the_report->failures, 1, __ATOMIC_SEQ_CST);
	va_start(arguments, format);
	record_format(format, arguments);
	va_end(arguments);
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
	if (!stats->passed) {
		fork_fail("%s:%u: Assertion failed: %.1500s\n", stats->file, stats->line,
			  stats->message != NULL ? stats->message : "(no message)");
	}
}

void criterion_abort_test(void)
{
	if (gettid() != the_thread) {
		end_elsewhere("an assertion of Criterion");
	}
	longjmp(leave, 1);
}

void criterion_continue_test(void)
{
}

void cri_asserts_passed_incr(void)
{
}

void criterion_skip_test(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(the_report->skip, sizeof(the_report->skip), format, arguments);
	va_end(arguments);
	reach(FORK_SKIPPED);
	exit(EXIT_SUCCESS);
}

/* ---- what assertions say ---- */

int cr_asprintf(char **ret_text, const char *format, ...)
{
	va_list arguments;
	int bytes;

	va_start(arguments, format);
	bytes = vasprintf(ret_text, format, arguments);
	va_end(arguments);
	return bytes;
}

void cr_asprintf_free(char *text)
{
	free(text);
}

char *cr_translate_assert_msg(int index, ...)
{
	static const char *const formats[] = {
		[CRITERION_ASSERT_MSG_FAIL] = "The conditions for this assertion were not met.",
		[CRITERION_ASSERT_MSG_EXPR_FALSE] = "The expression %s is false.",
		[CRITERION_ASSERT_MSG_EXPR_AS_STRINGS_FALSE] =
			"The expression (as strings) %s is false: actual=`%s` expected=`%s`.",
		[CRITERION_ASSERT_MSG_IS_NULL] = "%s is null.",
		[CRITERION_ASSERT_MSG_IS_NOT_NULL] = "%s is not null.",
		[CRITERION_ASSERT_MSG_IS_EMPTY] = "%s is empty.",
		[CRITERION_ASSERT_MSG_IS_NOT_EMPTY] = "%s (`%s`) is not empty.",
		[CRITERION_ASSERT_MSG_FILE_STR_MATCH] = "What is in %s is not \"%s\".",
	};
	const char *format = NULL;
	char *text = NULL;
	va_list arguments;

	if (index >= 0 && (size_t)index < sizeof(formats) / sizeof(formats[0])) {
		format = formats[index];
	}
	if (format == NULL) {
		return strdup("The assertion is of a kind that this runner does not know.");
	}
	va_start(arguments, index);
	if (vasprintf(&text, format, arguments) < 0) {
		text = NULL;
	}
	va_end(arguments);
	return text;
}

/* ---- what a test writes to standard error ---- */

static int redirected = -1;

void cr_redirect_stderr(void)
{
	redirected = memfd_create("stderr", MFD_CLOEXEC);
	if (redirected < 0 || dup2(redirected, STDERR_FILENO) < 0) {
		perror("cr_redirect_stderr");
		abort();
	}
}

int cr_stderr_match_str(const char *expected)
{
	char *found = NULL;
	struct stat about;
	int same = 0;

	(void)fflush(stderr);
	if (redirected >= 0 && fstat(redirected, &about) == 0) {
		found = (char *)calloc(1, (size_t)about.st_size + 1);
	}
	if (found != NULL && pread(redirected, found, (size_t)about.st_size, 0) == about.st_size) {
		same = strcmp(found, expected) == 0;
	}
	free(found);
	return same;
}
