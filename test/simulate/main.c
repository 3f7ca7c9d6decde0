/*
 * Simulates worlds, each from many seeds, and says which seed finds something wrong.
 *
 *	simulate [--world NAME] [--seeds FROM[-TO]] [--minutes M]
 *		 [--record FILE] [--replay FILE] [--trace FILE] [--list] [--digests]
 *
 * A run is a process of its own, so that one which crashes, or never ends, is found as any other
 * violation, and so that what is global is new to each. The exit status is 0 if all runs were
 * clean, 1 if one was not, and 2 if something else is wrong.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "sim/sim.h"
#include "world.h"

enum { CLEAN, VIOLATED, WRONG };

enum {
	RUN_SECONDS_MAX = 300, /* real ones, of a run that ends */
	PARTS_MAX = 1024,
	FAULTS = 2000,
	REFUSALS = 20,
};

static const struct world *const worlds[] = {
	&world_actors,	&world_barriers, &world_chat,
	&world_crowd,	&world_echo,	 &world_ends,
	&world_files,	&world_handover, &world_kv,
	&world_lan,	&world_nodes,	 &world_services,
	&world_silence, &world_streams,	 &world_thefts,
	&world_tide,	&world_watches,	 NULL,
};

static const char usage[] =
	"usage: simulate [options]\n"
	"\n"
	"Runs worlds in simulation, and says which seeds find something wrong.\n"
	"\n"
	"  --world NAME       only this one\n"
	"  --seeds FROM[-TO]  from 0 to 2^64 - 1 (1-100)\n"
	"  --minutes M        ends after so many at most\n"
	"  --record FILE      writes the decisions of the last run\n"
	"  --replay FILE      takes the decisions from there\n"
	"  --trace FILE       writes what happens in the last run\n"
	"  --digests          prints the digest of each run\n"
	"  --list             prints the names of the worlds\n"
	"  --help";

struct settings {
	const char *world;
	uint64_t from;
	uint64_t to;
	uint64_t minutes;
	struct gyre_sim_options sim;
	bool digests;
};

/* What a run tells the process that has started it. */
struct report {
	char violation[512];
	bool is_wrong; /* it is none, but the run could not be made */
	bool is_over;  /* the run has come to its end */
	uint64_t digest;
	uint64_t virtual_ns;
	uint64_t turns; /* of tasks and timers */
};

struct totals {
	uint64_t runs;
	uint64_t violations;
	double virtual_s;
	uint64_t turns;
	double begin_s;
};

static double now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- a run ---- */

struct going_on {
	const struct world *world;
	const void *state;
	uint64_t before[PARTS_MAX];
};

static uint32_t first_that_stands(const struct going_on *going_on)
{
	uint32_t part = 0;

	while (part < going_on->world->parts &&
	       going_on->world->progress(going_on->state, part) > going_on->before[part]) {
		part++;
	}
	return part;
}

static bool all_go_on(void *arg)
{
	const struct going_on *going_on = (const struct going_on *)arg;

	return first_that_stands(going_on) == going_on->world->parts;
}

static int demand_progress(struct gyre_sim *sim, const struct world *world, const void *state,
			   struct report *report)
{
	struct going_on going_on = { .world = world, .state = state };
	int r;

	if (world->parts == 0 || world->parts > PARTS_MAX) {
		return -EINVAL; /* it could not fail, or not be looked at */
	}
	for (uint32_t part = 0; part < world->parts; part++) {
		going_on.before[part] = world->progress(state, part);
	}
	r = gyre_sim_run_until(sim, all_go_on, &going_on, GYRE_SECONDS(world->go_on_seconds));
	if (r == -ETIMEDOUT) {
		uint32_t part = first_that_stands(&going_on);

		(void)snprintf(report->violation, sizeof(report->violation),
			       "part %" PRIu32 " stands still at %" PRIu64 " after the heal", part,
			       going_on.before[part]);
		return 0;
	}
	return r;
}

static int play(struct gyre_sim *sim, const struct world *world, void *state, struct report *report)
{
	int r = world->build(sim, state);

	r = r < 0 ? r : gyre_sim_check(sim, world->name, world_violation, NULL);
	r = r < 0 ? r : world_make_trouble(sim, world);
	if (r == 0) {
		gyre_sim_heal(sim);
		if (world->healed != NULL) {
			world->healed(state);
		}
		r = gyre_sim_run(sim, GYRE_SECONDS(world->calm_seconds));
	}
	return r < 0 ? r : demand_progress(sim, world, state, report);
}

/* In a process of its own. */
static void run(const struct gyre_sim_options *options, const struct world *world,
		struct report *report)
{
	void *state = calloc(1, world->state_bytes);
	struct gyre_sim *sim = NULL;
	int r = state == NULL ? -ENOMEM : gyre_sim_create(options, &sim);

	if (r == 0) {
		r = play(sim, world, state, report);
	}
	if (r == -ENOTRECOVERABLE) {
		(void)snprintf(report->violation, sizeof(report->violation), "%s",
			       gyre_sim_failure(sim));
	} else if (r < 0) {
		report->is_wrong = true;
		(void)snprintf(report->violation, sizeof(report->violation),
			       "the run could not be made: %s", strerrordesc_np(-r));
	}
	if (sim != NULL) {
		report->digest = gyre_sim_digest(sim);
		report->virtual_ns = gyre_sim_now(sim);
		report->turns = sim->events;
	}
	gyre_sim_destroy(sim);
	if (state != NULL && world->end != NULL) {
		world->end(state);
	}
	free(state);
	report->is_over = true;
}

static void describe_end(struct report *report, int status)
{
	if (WIFSIGNALED(status)) {
		(void)snprintf(report->violation, sizeof(report->violation),
			       WTERMSIG(status) == SIGALRM ? "it has not ended in %d seconds"
							   : "it was ended by signal %d",
			       WTERMSIG(status) == SIGALRM ? RUN_SECONDS_MAX : WTERMSIG(status));
	} else if ((WEXITSTATUS(status) != 0 || !report->is_over) && report->violation[0] == '\0') {
		(void)snprintf(report->violation, sizeof(report->violation),
			       "it has ended before its end, with status %d", WEXITSTATUS(status));
	}
}

static void run_apart(const struct gyre_sim_options *options, const struct world *world,
		      struct report *report)
{
	int status = 0;
	pid_t child;

	*report = (struct report){ 0 };
	(void)fflush(NULL);
	child = fork();
	if (child < 0) {
		perror("simulate: fork");
		exit(WRONG);
	}
	if (child == 0) {
		(void)alarm(RUN_SECONDS_MAX);
		run(options, world, report);
		exit(CLEAN);
	}
	if (waitpid(child, &status, 0) != child) {
		perror("simulate: waitpid");
		exit(WRONG);
	}
	describe_end(report, status);
}

/* ---- all runs ---- */

static bool is_time_up(const struct settings *settings, const struct totals *totals)
{
	return settings->minutes != 0 &&
	       now_s() - totals->begin_s >= 60.0 * (double)settings->minutes;
}

static void run_seed(const struct settings *settings, uint64_t seed, struct report *report,
		     struct totals *totals)
{
	struct gyre_sim_options options = settings->sim;

	options.seed = seed;
	for (const struct world *const *at = worlds; *at != NULL; at++) {
		const struct world *world = *at;

		if ((settings->world != NULL && strcmp(world->name, settings->world) != 0) ||
		    is_time_up(settings, totals)) {
			continue;
		}
		options.faults = (world->trouble & TROUBLE_FAULTS) != 0 ? FAULTS : 0;
		options.refusals = (world->trouble & TROUBLE_REFUSALS) != 0 ? REFUSALS : 0;
		run_apart(&options, world, report);
		if (report->is_wrong) {
			(void)fprintf(stderr, "simulate: %s seed %" PRIu64 ": %s\n", world->name,
				      seed, report->violation);
			exit(WRONG);
		}
		totals->runs++;
		totals->virtual_s += (double)report->virtual_ns / 1e9;
		totals->turns += report->turns;
		if (settings->digests) {
			(void)printf("%s seed %" PRIu64 ": %016" PRIx64 "\n", world->name, seed,
				     report->digest);
		}
		if (report->violation[0] != '\0') {
			totals->violations++;
			(void)printf("violation: %s seed %" PRIu64 ": %s\n", world->name, seed,
				     report->violation);
			(void)fflush(stdout);
		}
	}
}

static int run_all(const struct settings *settings)
{
	struct report *report = (struct report *)mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
						      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct totals totals = { .begin_s = now_s() };
	double real_s;

	if (report == MAP_FAILED) {
		perror("simulate: mmap");
		return WRONG;
	}
	for (uint64_t seed = settings->from; !is_time_up(settings, &totals); seed++) {
		run_seed(settings, seed, report, &totals);
		if (seed == settings->to) {
			break;
		}
	}
	real_s = now_s() - totals.begin_s;
	(void)printf("%" PRIu64 " runs, %" PRIu64 " violations, %.0f virtual seconds and %" PRIu64
		     " turns in %.1f (%.0f times as fast)\n",
		     totals.runs, totals.violations, totals.virtual_s, totals.turns, real_s,
		     totals.virtual_s / real_s);
	(void)munmap(report, sizeof(*report));
	return totals.violations == 0 ? CLEAN : VIOLATED;
}

/* ---- options ---- */

static bool parse_number(const char *text, uint64_t *ret_number, char end)
{
	char *rest;

	errno = 0;
	*ret_number = strtoull(text, &rest, 10);
	return errno == 0 && rest != text && text[0] != '-' && (*rest == '\0' || *rest == end);
}

static bool parse_seeds(const char *text, struct settings *settings)
{
	const char *dash = strchr(text, '-');

	if (!parse_number(text, &settings->from, '-')) {
		return false;
	}
	settings->to = settings->from;
	return dash == NULL ||
	       (parse_number(dash + 1, &settings->to, '\0') && settings->to >= settings->from);
}

static bool is_world(const char *name)
{
	for (const struct world *const *at = worlds; *at != NULL; at++) {
		if (strcmp((*at)->name, name) == 0) {
			return true;
		}
	}
	return false;
}

static void list_worlds(void)
{
	for (const struct world *const *at = worlds; *at != NULL; at++) {
		(void)puts((*at)->name);
	}
	exit(CLEAN);
}

static bool take_option(struct settings *settings, int option)
{
	switch (option) {
	case 'w':
		settings->world = optarg;
		return is_world(optarg);
	case 's':
		return parse_seeds(optarg, settings);
	case 'm':
		return parse_number(optarg, &settings->minutes, '\0') && settings->minutes > 0;
	case 'r':
		settings->sim.record = optarg;
		return true;
	case 'p':
		settings->sim.replay = optarg;
		return true;
	case 't':
		settings->sim.trace = optarg;
		return true;
	case 'd':
		settings->digests = true;
		return true;
	case 'l':
		list_worlds();
		return true;
	case 'h':
		(void)puts(usage);
		exit(CLEAN);
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "world", required_argument, NULL, 'w' },
		{ "seeds", required_argument, NULL, 's' },
		{ "minutes", required_argument, NULL, 'm' },
		{ "record", required_argument, NULL, 'r' },
		{ "replay", required_argument, NULL, 'p' },
		{ "trace", required_argument, NULL, 't' },
		{ "digests", no_argument, NULL, 'd' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct settings settings = { .from = 1, .to = 100, .sim.leaks = true };
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (!take_option(&settings, option)) {
			(void)fprintf(stderr, "simulate: bad option or value%s%s; see --help\n",
				      optarg == NULL ? "" : ": ", optarg == NULL ? "" : optarg);
			return WRONG;
		}
	}
	if (optind < argc) {
		(void)fprintf(stderr, "simulate: unknown argument: %s; see --help\n", argv[optind]);
		return WRONG;
	}
	return run_all(&settings);
}
