/*
 * Simulation: how many random actor programs of a thousand steps are played in a second. They are
 * those of test/random, drawn from their seeds but for the number of steps, and none is stopped in
 * the midst of it. A few whose actors wait for long make fewer steps in the time that they have.
 *
 * A program that violates its model ends the process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/sim.h>

#include "../test/random/random.h"
#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"

struct settings {
	int64_t seeds;
	int64_t first;
	int64_t steps;
	bool json;
};

struct program {
	struct plan plan;
	struct tally tally;
	bool ended;
};

static int play_one(void *arg)
{
	struct program *program = (struct program *)arg;

	play(&program->plan, &program->tally);
	program->ended = true;
	return 0;
}

static bool has_ended(void *arg)
{
	return ((const struct program *)arg)->ended;
}

static int simulate(const struct settings *settings, uint64_t seed, struct tally *tally)
{
	const struct gyre_sim_options options = { .seed = seed };
	struct program program = { .plan = plan_draw(seed, 0, (uint32_t)settings->steps),
				   .tally = *tally };
	struct gyre_sim *sim = NULL;
	int r = gyre_sim_create(&options, &sim);

	program.plan.abrupt = false;
	r = r < 0 ? r : gyre_sim_host(sim, "alpha", play_one, &program, NULL);
	r = r < 0 ? r : gyre_sim_run_until(sim, has_ended, &program, GYRE_SECONDS(600));
	r = r < 0 ? r : gyre_sim_run(sim, GYRE_MILLISECONDS(1)); /* the host is down then */
	gyre_sim_destroy(sim);
	*tally = program.tally;
	if (r < 0) {
		(void)fprintf(stderr, "sim_actors: seed %llu has not ended\n",
			      (unsigned long long)seed);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct settings settings = { .seeds = 200, .first = 1, .steps = 1000 };
	const struct perf_option options[] = {
		{ "seeds", PERF_OPTION_NUMBER, "programs that are played", &settings.seeds, 1,
		  1000000, NULL },
		{ "first", PERF_OPTION_NUMBER, "the first seed", &settings.first, 0, INT64_MAX / 2,
		  NULL },
		{ "steps", PERF_OPTION_NUMBER, "of each", &settings.steps, 1, 100000, NULL },
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	struct tally tally = { 0 };
	struct perf_report report;
	struct perf_cpu_time before;
	struct perf_cpu_time after;
	int r;

	perf_options_parse(argc, argv, "how many random actor programs are simulated in a second",
			   options, sizeof(options) / sizeof(options[0]));
	r = perf_cpu_time(0, &before);
	for (int64_t i = 0; r == 0 && i < settings.seeds; i++) {
		r = simulate(&settings, (uint64_t)(settings.first + i), &tally);
	}
	r = r < 0 ? r : perf_cpu_time(0, &after);
	if (r < 0) {
		return perf_fail("simulating", r);
	}
	perf_report_init(&report, "sim_actors");
	perf_report_number(&report, "steps_per_seed", (double)tally.steps / (double)settings.seeds);
	perf_report_number(&report, "mails_per_seed", (double)tally.sent / (double)settings.seeds);
	perf_report_number(&report, "seeds_per_cpu_s",
			   (double)settings.seeds * 1e9 /
				   (double)perf_cpu_time_since(&before, &after).total_ns);
	perf_report_print(&report, settings.json);
	return EXIT_SUCCESS;
}
