/*
 * Plays programs that are drawn from seeds, each in its turn, in processes of its own so that one
 * that fails or crashes leaves the others. A seed that failed can be played again alone:
 *
 *	random SEED [COUNT] [--loops N] [--steps N] [--jobs N] [--seconds N] [--tap]
 *
 * COUNT seeds from SEED on, or until the seconds are over. With --loops and --steps these are not
 * drawn. The status is 1 when one has failed, and its number and report are printed.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"

enum { HANG_SECONDS = 120 };

enum { JOBS_MAX = 16, FAILURES_MAX = 10 };

struct arguments {
	uint64_t seed;
	uint64_t count;
	uint32_t loops;
	uint32_t steps;
	uint32_t jobs;
	uint64_t end_ns; /* 0 for none */
	bool tap;
};

struct worker {
	pid_t pid;
	int pipe;
	uint64_t next; /* the seed that it plays, as an offset */
};

static uint64_t failed;
static uint64_t played;
static struct tally tally;

static void *watch_over_hangs(void *arg)
{
	for (;;) {
		if (world_hangs(GYRE_SECONDS(HANG_SECONDS))) {
			violated(world_now(), 0, "it does not end", " it is %s",
				 gy_load_acquire(&world_now()->doing));
		}
		pause_ns(GYRE_MILLISECONDS(500));
	}
	return arg;
}

static bool is_over(const struct arguments *arguments)
{
	return arguments->end_ns != 0 && now_ns() > arguments->end_ns;
}

static void work(const struct arguments *arguments, uint64_t from, int out)
{
	pthread_t watcher;

	if (pthread_create(&watcher, NULL, watch_over_hangs, NULL) != 0) {
		_exit(1);
	}
	for (uint64_t i = from; i < arguments->count && !is_over(arguments); i += arguments->jobs) {
		struct plan plan =
			plan_draw(arguments->seed + i, arguments->loops, arguments->steps);
		struct tally one = { 0 };

		play(&plan, &one);
		if (write(out, &one, sizeof(one)) != (ssize_t)sizeof(one)) {
			_exit(1);
		}
	}
	exit(0); /* not _exit(): a sanitizer looks for leaks */
}

static void begin(const struct arguments *arguments, struct worker *worker)
{
	int ends[2];

	(void)fflush(NULL);
	if (pipe(ends) < 0 || (worker->pid = fork()) < 0) {
		perror("random");
		exit(1);
	}
	if (worker->pid == 0) {
		(void)close(ends[0]);
		work(arguments, worker->next, ends[1]);
	}
	(void)close(ends[1]);
	worker->pipe = ends[0];
}

static void report(const struct arguments *arguments, uint64_t offset, bool held)
{
	played++;
	failed += !held;
	if (arguments->tap) {
		(void)printf("%s %" PRIu64 " - seed %" PRIu64 "\n", held ? "ok" : "not ok", played,
			     arguments->seed + offset);
	} else if (!held) {
		(void)printf("failed: seed %" PRIu64 "\n", arguments->seed + offset);
	}
	(void)fflush(stdout);
}

static void add_tally(const struct tally *one)
{
	tally.sent += one->sent;
	tally.spawned += one->spawned;
	tally.restarted += one->restarted;
	tally.stolen += one->stolen;
	tally.asks += one->asks;
}

/* The process has ended: with its last seed, or with one that failed; then another goes on. */
static void end(const struct arguments *arguments, struct worker *worker)
{
	int status = 0;

	(void)close(worker->pipe);
	worker->pipe = -1;
	(void)waitpid(worker->pid, &status, 0);
	if (status == 0) {
		return;
	}
	(void)fprintf(stderr, "random: status 0x%x while seed %" PRIu64 " was played\n", status,
		      arguments->seed + worker->next);
	report(arguments, worker->next, false);
	worker->next += arguments->jobs;
	if (worker->next < arguments->count && failed < FAILURES_MAX) {
		begin(arguments, worker);
	}
}

static void hear(const struct arguments *arguments, struct worker *worker)
{
	struct tally one;

	if (read(worker->pipe, &one, sizeof(one)) == (ssize_t)sizeof(one)) {
		add_tally(&one);
		report(arguments, worker->next, true);
		worker->next += arguments->jobs;
	} else {
		end(arguments, worker);
	}
}

static void play_all(const struct arguments *arguments)
{
	struct worker workers[JOBS_MAX];
	struct pollfd polled[JOBS_MAX];
	uint32_t open = arguments->jobs;

	for (uint32_t i = 0; i < arguments->jobs; i++) {
		workers[i].next = i;
		begin(arguments, &workers[i]);
	}
	while (open > 0) {
		for (uint32_t i = 0; i < arguments->jobs; i++) {
			polled[i] = (struct pollfd){ .fd = workers[i].pipe, .events = POLLIN };
		}
		(void)poll(polled, arguments->jobs, -1);
		open = 0;
		for (uint32_t i = 0; i < arguments->jobs; i++) {
			if (polled[i].fd >= 0 && polled[i].revents != 0) {
				hear(arguments, &workers[i]);
			}
			open += workers[i].pipe >= 0;
		}
	}
}

static uint64_t number_of(const char *text)
{
	char *end = NULL;
	uint64_t number = text == NULL ? 0 : strtoull(text, &end, 0);

	if (text == NULL || end == text || *end != '\0') {
		(void)fprintf(stderr, "usage: random SEED [COUNT] [--loops N] [--steps N] "
				      "[--jobs N] [--seconds N] [--tap]\n");
		exit(2);
	}
	return number;
}

static struct arguments read_arguments(int argc, char **argv)
{
	struct arguments arguments = { .count = 1, .jobs = 1 };
	int place = 0;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(argv[i], "--tap") == 0) {
			arguments.tap = true;
		} else if (strcmp(argv[i], "--loops") == 0) {
			arguments.loops = (uint32_t)number_of(value);
			i++;
		} else if (strcmp(argv[i], "--steps") == 0) {
			arguments.steps = (uint32_t)number_of(value);
			i++;
		} else if (strcmp(argv[i], "--jobs") == 0) {
			arguments.jobs = (uint32_t)number_of(value);
			i++;
		} else if (strcmp(argv[i], "--seconds") == 0) {
			arguments.end_ns = now_ns() + GYRE_SECONDS(number_of(value));
			arguments.count = UINT64_MAX;
			i++;
		} else if (place++ == 0) {
			arguments.seed = number_of(argv[i]);
		} else {
			arguments.count = number_of(argv[i]);
		}
	}
	if (place == 0 || arguments.jobs == 0 || arguments.jobs > JOBS_MAX ||
	    arguments.loops > LOOPS_MAX) {
		(void)number_of(NULL);
	}
	return arguments;
}

int main(int argc, char **argv)
{
	struct arguments arguments = read_arguments(argc, argv);

	if (arguments.tap) {
		(void)printf("1..%" PRIu64 "\n", arguments.count);
	}
	play_all(&arguments);
	(void)printf("# %" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " failed: %" PRIu64
		     " messages, %" PRIu64 " actors, %" PRIu64 " restarts, %" PRIu64
		     " thefts, %" PRIu64 " promises\n",
		     played, arguments.seed, failed, tally.sent, tally.spawned, tally.restarted,
		     tally.stolen, tally.asks);
	return failed > 0 || played == 0;
}
