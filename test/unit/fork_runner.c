/*
 * Runs tests that are written with Criterion, each in a fork of this program.
 *
 * Criterion starts the program anew for each test. That takes longer than most tests, and with a
 * sanitizer ten times as long: its start, and two dozen libraries of Criterion's own. So programs
 * are linked with this file and fork_asserts.c in place of Criterion's library, unless the option
 * unit_runner says otherwise. Its headers remain: they put a pointer to each test and suite into a
 * section, which is read here.
 *
 * A test passes when its process has come to its end, exits with the status that is expected, and
 * no assertion failed; or when the signal that is expected ended it in its body. A sanitizer that
 * finds something at the exit changes the status. What Criterion forgives fails here: an assertion
 * that fails in .fini, an exit in the body, a status of a failed exit, and a filter that matches
 * nothing.
 *
 * The runner has one thread, so that a fork is a whole process, and opens nothing that a test
 * inherits.
 *
 * usage: PROGRAM [--filter PATTERN] [--jobs N] [--list] [--tap[=-]] [--quiet] [--exempt FILE]
 *
 * FILE is a list of tests that are skipped; see fork_exempt.h. With it a test that skips itself
 * fails: the list is to be all of them. A pattern is matched with SUITE/NAME. Results are lines of
 * TAP, with or without --tap and --quiet.
 */
#include "fork_runner.h"
#include "fork_exempt.h"
#include "fork_leaks.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MAX = 256, MISUSE = 2 };

static const uint64_t never_ns = UINT64_MAX;

struct job {
	const struct criterion_test *test; /* NULL: free */
	pid_t process;
	uint64_t begun_ns;
	uint64_t deadline_ns;
	bool timed_out;
	struct fork_report *report;
};

struct runner {
	const char *filter;
	bool list;
	bool has_list; /* of tests that are exempt */
	long jobs_count;
	const struct criterion_test **tests;
	size_t tests_count;
	size_t failed;
	pid_t process;
	sigset_t mask; /* of tests */
	sigset_t ends; /* SIGCHLD, which is blocked, and waited for */
	struct job jobs[JOBS_MAX];
};

static struct runner runner;

/* The linker's, around the sections of Criterion's macros. A program may have no suite. */
extern struct criterion_test *__start_cr_tst[];
extern struct criterion_test *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

static void must(bool works, const char *what)
{
	if (!works) {
		perror(what);
		exit(EXIT_FAILURE);
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	must(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "clock_gettime");
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- which tests there are ---- */

static int compare(const void *one, const void *other)
{
	const struct criterion_test *a = *(const struct criterion_test *const *)one;
	const struct criterion_test *b = *(const struct criterion_test *const *)other;
	int suites = strcmp(a->category, b->category);

	return suites != 0 ? suites : strcmp(a->name, b->name);
}

static bool wanted(const struct criterion_test *test)
{
	return runner.filter == NULL ||
	       fnmatch(runner.filter, test->data->identifier_, FNM_EXTMATCH) == 0;
}

static void collect(void)
{
	size_t all = (size_t)(__stop_cr_tst - __start_cr_tst);
	size_t count = 0;

	runner.tests = (const struct criterion_test **)calloc(all + 1, sizeof(runner.tests[0]));
	must(runner.tests != NULL, "calloc");
	for (size_t i = 0; i < all; i++) {
		const struct criterion_test *test = __start_cr_tst[i];

		/* A sanitizer may leave room between them. */
		if (test == NULL) {
			continue;
		}
		count++;
		(void)fork_exempt_reason(test->data->identifier_);
		if (!wanted(test)) {
			continue;
		}
		if (test->data->kind_ != CR_TEST_NORMAL) {
			(void)fprintf(stderr, "%s: this runner knows no parameters\n",
				      test->data->identifier_);
			exit(MISUSE);
		}
		runner.tests[runner.tests_count++] = test;
	}
	qsort(runner.tests, runner.tests_count, sizeof(runner.tests[0]), compare);
	if (!fork_exempt_fits(count)) {
		exit(EXIT_FAILURE);
	}
}

static const struct criterion_suite *suite_of(const struct criterion_test *test)
{
	size_t all = __start_cr_sts == NULL ? 0 : (size_t)(__stop_cr_sts - __start_cr_sts);

	for (size_t i = 0; i < all; i++) {
		const struct criterion_suite *suite = __start_cr_sts[i];

		if (suite != NULL && strcmp(suite->name, test->category) == 0) {
			return suite;
		}
	}
	return NULL;
}

static bool is_disabled(const struct criterion_test *test)
{
	const struct criterion_suite *suite = suite_of(test);

	return test->data->disabled ||
	       (suite != NULL && suite->data != NULL && suite->data->disabled);
}

static uint64_t timeout_ns(const struct criterion_test *test)
{
	const struct criterion_suite *suite = suite_of(test);
	double seconds = test->data->timeout;

	if (seconds <= 0 && suite != NULL && suite->data != NULL) {
		seconds = suite->data->timeout;
	}
	return seconds > 0 && isfinite(seconds) ? (uint64_t)(seconds * 1e9) : never_ns;
}

/* ---- what came out ---- */

static void print_line(const char *outcome, const struct criterion_test *test, const char *more)
{
	(void)printf("%s - %s::%s %s\n", outcome, test->category, test->name, more);
}

static void print_text(const struct fork_report *report)
{
	uint32_t bytes = report->text_bytes;
	bool begins = true;

	if (bytes > sizeof(report->text)) {
		bytes = sizeof(report->text);
	}
	for (uint32_t i = 0; i < bytes; i++) {
		if (begins) {
			(void)printf("#   ");
		}
		(void)putchar(report->text[i]);
		begins = report->text[i] == '\n';
	}
	if (!begins) {
		(void)putchar('\n');
	}
	if (report->text_bytes > bytes) {
		(void)printf("#   and more\n");
	}
}

/* How far a test has come, for who reads of its end. */
static const char *place_of(uint32_t stage)
{
	static const char *const places[] = {
		[FORK_NOT_BEGUN] = "before its begin", [FORK_INIT] = "in its .init",
		[FORK_MAIN] = "in its body",	       [FORK_FINI] = "in its .fini",
		[FORK_ENDED] = "after its end",	       [FORK_SKIPPED] = "after it was skipped",
	};

	return stage <= FORK_SKIPPED ? places[stage] : "nowhere";
}

/* Whether a test that ended with @status, of wait(), has passed; if not, why, in @why. */
static bool passes(const struct job *job, int status, char *why, size_t why_bytes)
{
	const struct criterion_test_extra_data *expected = job->test->data;
	uint32_t stage = __atomic_load_n(&job->report->stage, __ATOMIC_SEQ_CST);
	uint32_t failures = __atomic_load_n(&job->report->failures, __ATOMIC_SEQ_CST);
	bool ended = stage == FORK_ENDED || stage == FORK_SKIPPED;

	if (job->timed_out) {
		(void)snprintf(why, why_bytes, "timed out");
	} else if (failures > 0) {
		(void)snprintf(why, why_bytes, "%" PRIu32 " assertions failed", failures);
	} else if (WIFSIGNALED(status) && expected->signal == WTERMSIG(status) &&
		   stage == FORK_MAIN) {
		return true;
	} else if (WIFSIGNALED(status)) {
		(void)snprintf(why, why_bytes, "unexpected signal %d (%s) %s", WTERMSIG(status),
			       strsignal(WTERMSIG(status)), place_of(stage));
	} else if (stage == FORK_SKIPPED && runner.has_list) {
		(void)snprintf(why, why_bytes, "skips itself, and no list says so: %.200s",
			       job->report->skip);
	} else if (stage == FORK_SKIPPED && WEXITSTATUS(status) == 0) {
		return true;
	} else if (expected->signal != 0) {
		(void)snprintf(why, why_bytes, "signal %d did not come, exit status %d",
			       expected->signal, WEXITSTATUS(status));
	} else if (WEXITSTATUS(status) != expected->exit_code) {
		(void)snprintf(why, why_bytes, "exit status %d %s", WEXITSTATUS(status),
			       place_of(stage));
	} else if (ended || (expected->exit_code != 0 && stage == FORK_MAIN)) {
		return true;
	} else {
		(void)snprintf(why, why_bytes, "an exit %s", place_of(stage));
	}
	return false;
}

static void judge(const struct job *job, int status)
{
	double seconds = (double)(now_ns() - job->begun_ns) / 1e9;
	uint32_t stage = __atomic_load_n(&job->report->stage, __ATOMIC_SEQ_CST);
	char why[256];
	char more[640];

	if (!passes(job, status, why, sizeof(why))) {
		runner.failed++;
		(void)snprintf(more, sizeof(more), "%s (%.2fs)", why, seconds);
		print_line("not ok", job->test, more);
		print_text(job->report);
	} else if (stage == FORK_SKIPPED) {
		(void)snprintf(more, sizeof(more), " # SKIP %s", job->report->skip);
		print_line("ok", job->test, more);
	} else {
		(void)snprintf(more, sizeof(more), " (%.2fs)", seconds);
		print_line("ok", job->test, more);
	}
}

/* ---- running ---- */

static void begin_job(struct job *job, const struct criterion_test *test)
{
	const struct criterion_suite *suite = suite_of(test);
	uint64_t limit_ns = timeout_ns(test);

	*job->report = (struct fork_report){ 0 };
	job->test = test;
	job->timed_out = false;
	job->begun_ns = now_ns();
	job->deadline_ns = limit_ns == never_ns ? never_ns : job->begun_ns + limit_ns;
	(void)fflush(stdout); /* else both write what is in it */
	job->process = fork();
	must(job->process >= 0, "fork");
	if (job->process == 0) {
		/* A test ends with its runner, and what it has forked with the test. */
		if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
		    getppid() != runner.process ||
		    sigprocmask(SIG_SETMASK, &runner.mask, NULL) != 0 ||
		    dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || !fork_leaks_begin()) {
			_exit(EXIT_FAILURE);
		}
		fork_play(test, suite, job->report);
	}
	(void)setpgid(job->process, job->process); /* whoever is first */
}

/* Ends a test, and what it has forked, which would go on to write where the next test reports. */
static void end_group(const struct job *job)
{
	(void)kill(-job->process, SIGKILL);
}

/* Ends those that are late. Returns when the next one will be. */
static uint64_t end_late(void)
{
	uint64_t next_ns = never_ns;
	uint64_t at_ns = now_ns();

	for (long i = 0; i < runner.jobs_count; i++) {
		struct job *job = &runner.jobs[i];

		if (job->test == NULL || job->timed_out) {
			continue;
		}
		if (job->deadline_ns <= at_ns) {
			job->timed_out = true;
			end_group(job);
		} else if (job->deadline_ns < next_ns) {
			next_ns = job->deadline_ns;
		}
	}
	return next_ns;
}

/* Waits until a child may have ended, or until then. */
static void wait_until(uint64_t until_ns)
{
	uint64_t at_ns = now_ns();
	uint64_t left_ns = until_ns > at_ns ? until_ns - at_ns : 0;
	const struct timespec left = { (time_t)(left_ns / 1000000000),
				       (long)(left_ns % 1000000000) };

	if (sigtimedwait(&runner.ends, NULL, until_ns == never_ns ? NULL : &left) < 0) {
		must(errno == EAGAIN || errno == EINTR, "sigtimedwait");
	}
}

/* Waits for the end of any test, and judges it. Returns its place, which is free then. */
static struct job *end_job(void)
{
	for (;;) {
		int status;
		pid_t process = waitpid(-1, &status, WNOHANG);

		must(process >= 0, "waitpid");
		if (process == 0) {
			wait_until(end_late());
			continue;
		}
		for (long i = 0; i < runner.jobs_count; i++) {
			struct job *job = &runner.jobs[i];

			if (job->test != NULL && job->process == process) {
				end_group(job);
				judge(job, status);
				job->test = NULL;
				return job;
			}
		}
	}
}

/* Whether a test is not to run, which is then told. */
static bool is_left_out(const struct criterion_test *test)
{
	const char *reason = fork_exempt_reason(test->data->identifier_);
	char more[640];

	if (reason == NULL && is_disabled(test)) {
		reason = "disabled";
	}
	if (reason != NULL) {
		(void)snprintf(more, sizeof(more), " # SKIP %s", reason);
		print_line("ok", test, more);
	}
	return reason != NULL;
}

static void run_all(void)
{
	long busy = 0;

	for (size_t i = 0; i < runner.tests_count; i++) {
		struct job *job;

		if (is_left_out(runner.tests[i])) {
			continue;
		}
		job = busy < runner.jobs_count ? &runner.jobs[busy++] : end_job();
		begin_job(job, runner.tests[i]);
	}
	for (; busy > 0; busy--) {
		(void)end_job();
	}
}

/* ---- the program ---- */

static void prepare(void)
{
	int nothing = open("/dev/null", O_RDONLY);

	must(nothing >= 0 && dup2(nothing, STDIN_FILENO) == STDIN_FILENO, "/dev/null");
	if (nothing != STDIN_FILENO) {
		(void)close(nothing);
	}
	for (long i = 0; i < runner.jobs_count; i++) {
		void *pages = mmap(NULL, sizeof(struct fork_report), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		must(pages != MAP_FAILED, "mmap");
		runner.jobs[i].report = (struct fork_report *)pages;
	}
	fork_leaks_prepare();
	runner.process = getpid();
	must(sigemptyset(&runner.ends) == 0 && sigaddset(&runner.ends, SIGCHLD) == 0 &&
		     sigprocmask(SIG_BLOCK, &runner.ends, &runner.mask) == 0,
	     "sigprocmask");
}

static _Noreturn void misuse(const char *program)
{
	(void)fprintf(stderr,
		      "usage: %s [--filter PATTERN] [--jobs N] [--list] [--tap[=-]] [--quiet] "
		      "[--exempt FILE]\n",
		      program);
	exit(MISUSE);
}

static void read_arguments(int argc, char **argv)
{
	static const struct option options[] = {
		{ "exempt", required_argument, NULL, 'e' },
		{ "filter", required_argument, NULL, 'f' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "list", no_argument, NULL, 'l' },
		{ "tap", optional_argument, NULL, 't' },
		{ "quiet", no_argument, NULL, 'q' },
		{ NULL, 0, NULL, 0 },
	};
	char *end = NULL;
	int option;

	runner.jobs_count = sysconf(_SC_NPROCESSORS_ONLN);
	while ((option = getopt_long(argc, argv, "f:j:lq", options, NULL)) != -1) {
		if (option == 'f') {
			runner.filter = optarg;
		} else if (option == 'j') {
			runner.jobs_count = strtol(optarg, &end, 10);
			if (end == optarg || *end != '\0' || runner.jobs_count < 0) {
				misuse(argv[0]);
			}
		} else if (option == 'l') {
			runner.list = true;
		} else if (option == 'e') {
			runner.has_list = true;
			if (!fork_exempt_read(optarg)) {
				exit(MISUSE);
			}
		} else if (option == '?' ||
			   (option == 't' && optarg != NULL && strcmp(optarg, "-") != 0)) {
			misuse(argv[0]);
		}
	}
	if (optind < argc) {
		misuse(argv[0]);
	}
	if (runner.jobs_count <= 0) { /* 0, or nobody knows */
		runner.jobs_count = 1;
	}
	if (runner.jobs_count > JOBS_MAX) {
		runner.jobs_count = JOBS_MAX;
	}
}

int main(int argc, char **argv)
{
	read_arguments(argc, argv);
	collect();
	if (runner.tests_count == 0) {
		(void)fprintf(stderr, "no test matches %s\n",
			      runner.filter == NULL ? "" : runner.filter);
		return EXIT_FAILURE;
	}
	if (runner.list) {
		for (size_t i = 0; i < runner.tests_count; i++) {
			(void)printf("%s\n", runner.tests[i]->data->identifier_);
		}
		return EXIT_SUCCESS;
	}
	prepare();
	(void)printf("TAP version 13\n1..%zu\n", runner.tests_count);
	run_all();
	free(runner.tests);
	must(!ferror(stdout) && fflush(stdout) == 0, "standard output");
	return runner.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
