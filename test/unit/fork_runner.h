/*
 * What a test that runs in a fork of its program tells the runner: pages that both have mapped.
 *
 * Processes that the test forks in turn, and its threads, write to the same pages.
 */
#ifndef GY_TEST_FORK_RUNNER_H
#define GY_TEST_FORK_RUNNER_H

#include <stdint.h>

enum { FORK_TEXT_BYTES = 16384, FORK_SKIP_BYTES = 256 };

/* How far a test has come; its process stores it. */
enum fork_stage { FORK_NOT_BEGUN, FORK_INIT, FORK_MAIN, FORK_FINI, FORK_ENDED, FORK_SKIPPED };

struct fork_report {
	uint32_t stage;	     /* an enum fork_stage; atomic, as all numbers here */
	uint32_t failures;   /* assertions that failed */
	uint32_t text_bytes; /* asked for, also beyond the end of @text */
	char skip[FORK_SKIP_BYTES];
	char text[FORK_TEXT_BYTES]; /* of the assertions that failed, a line each */
};

struct criterion_suite;
struct criterion_test;

/* Runs @test in this process, which is a fork of the runner's, and ends it. @suite is NULL where
 * none was declared. */
_Noreturn void fork_play(const struct criterion_test *test, const struct criterion_suite *suite,
			 struct fork_report *report);

/* Calls @test->test, which is the whole of a test, where it is to run: fork_direct.c or
 * simulated/course.c. It has returned then, or failed. */
void fork_course(const struct criterion_test *test);

/* Adds to what the runner prints of a test that failed; fork_fail() fails it, too. */
__attribute__((format(printf, 1, 2))) void fork_say(const char *format, ...);
__attribute__((format(printf, 1, 2))) void fork_fail(const char *format, ...);

#endif
