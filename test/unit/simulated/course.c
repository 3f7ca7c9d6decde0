/*
 * A test is played in a host of a simulation, which is its machine: its threads are tasks, and
 * clocks, sockets and files are the simulator's. The environment variable GYRE_SIM_SEED has the
 * seed, which is 1 otherwise; GYRE_SIM_TRACE may have the name of a file for the trace.
 *
 * A test that has not ended in its time, by the simulation's clock, waits in vain: it fails, and
 * the report says what each of its tasks waits for. Likewise one that goes on and on while time
 * stands all but still.
 */
#include "fork_runner.h"

#include <criterion/criterion.h>

#include <gyre/sim.h>

#include <stdlib.h>
#include <string.h>

#include "sim/scheduler.h"

enum { TEST_SECONDS = 600, EVENTS_MAX = 20000000 };

static const uint64_t usual_seed = 1;

static uint64_t seed_of_tests(void)
{
	const char *text = getenv("GYRE_SIM_SEED");
	char *end = NULL;
	uint64_t seed;

	if (text == NULL || text[0] == '\0') {
		return usual_seed;
	}
	seed = strtoull(text, &end, 0);
	if (*end != '\0') {
		(void)fprintf(stderr, "GYRE_SIM_SEED is %s, which is no number\n", text);
		exit(EXIT_FAILURE);
	}
	return seed;
}

static int boot(void *arg)
{
	((const struct criterion_test *)arg)->test();
	return 0;
}

static bool is_over(void *arg)
{
	const struct gyre_sim *sim = (const struct gyre_sim *)arg;

	return !sim->hosts[0]->up || sim->events > EVENTS_MAX;
}

static void say(const char *line, void *arg)
{
	(void)arg;
	fork_say("  %s\n", line);
}

/* Why a test has not ended. */
static void fail(const struct gyre_sim *sim)
{
	const char *failure = gyre_sim_failure(sim);

	if (failure != NULL) {
		fork_fail("the simulation failed: %s\n", failure);
	} else if (sim->events > EVENTS_MAX) {
		fork_fail("no end after %d events, %.6f s of the simulation\n", (int)EVENTS_MAX,
			  (double)sim->now_ns / 1e9);
	} else {
		fork_fail("no end in %d s of the simulation\n", (int)TEST_SECONDS);
	}
	gy_sim_tasks_tell(sim, say, NULL);
}

static void must(int r, const char *what)
{
	if (r < 0) {
		fork_fail("%s: %s\n", what, strerror(-r));
		exit(EXIT_FAILURE);
	}
}

void fork_course(const struct criterion_test *test)
{
	const struct gyre_sim_options options = { .seed = seed_of_tests(),
						  .trace = getenv("GYRE_SIM_TRACE") };
	struct gyre_sim *sim = NULL;

	must(gyre_sim_create(&options, &sim), "gyre_sim_create");
	sim->calm = true;
	must(gyre_sim_host(sim, "test", boot, (void *)(uintptr_t)test, NULL), "gyre_sim_host");
	(void)gyre_sim_run_until(sim, is_over, sim, GYRE_SECONDS(TEST_SECONDS));
	if (sim->hosts[0]->up || gyre_sim_failure(sim) != NULL) {
		fail(sim);
		_exit(EXIT_FAILURE); /* what a test has that is cut off is no leak */
	}
	gyre_sim_destroy(sim);
}
