/*
 * Hosts, their tasks and the clock.
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "sim_rig.h"

static uint64_t clock_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * GYRE_SECONDS(1) + (uint64_t)now.tv_nsec;
}

static int sleep_a_day(void *arg)
{
	uint64_t *slept_ns = (uint64_t *)arg;
	uint64_t from_ns = clock_ns();

	(void)sleep(86400);
	*slept_ns = clock_ns() - from_ns;
	return 0;
}

Test(sim, lets_a_host_sleep_for_a_day_in_no_time)
{
	struct gyre_sim *sim = sim_make(1);
	uint64_t slept_ns = 0;

	(void)sim_add(sim, "alpha", sleep_a_day, &slept_ns);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(86391)), 0);
	cr_assert_eq(slept_ns, 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(30)), 0);
	cr_assert(slept_ns >= GYRE_SECONDS(86400) && slept_ns < GYRE_SECONDS(86410));
	cr_assert_eq(gyre_sim_now(sim) / GYRE_SECONDS(1), 86421);
	gyre_sim_destroy(sim);
}

struct counting {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	uint32_t count;
};

static void *count_up(void *arg)
{
	struct counting *counting = (struct counting *)arg;

	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t seen;

		(void)pthread_mutex_lock(&counting->mutex);
		seen = counting->count;
		(void)usleep(1);
		counting->count = seen + 1;
		(void)pthread_cond_signal(&counting->condition);
		(void)pthread_mutex_unlock(&counting->mutex);
	}
	return NULL;
}

static int count_in_threads(void *arg)
{
	struct counting *counting = (struct counting *)arg;
	pthread_t threads[3];

	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, count_up, counting), 0);
	}
	(void)pthread_mutex_lock(&counting->mutex);
	while (counting->count < 3000) {
		(void)pthread_cond_wait(&counting->condition, &counting->mutex);
	}
	(void)pthread_mutex_unlock(&counting->mutex);
	for (uint32_t i = 0; i < 3; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	return 0;
}

Test(sim, has_mutexes_that_keep_threads_of_a_host_apart)
{
	struct gyre_sim *sim = sim_make(2);
	struct counting counting = { .mutex = PTHREAD_MUTEX_INITIALIZER,
				     .condition = PTHREAD_COND_INITIALIZER };

	(void)sim_add(sim, "alpha", count_in_threads, &counting);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
	cr_assert_eq(counting.count, 3000);
	gyre_sim_destroy(sim);
}

/* ---- a system ---- */

static int boot_system(void *arg)
{
	const struct gyre_system_options options = { .loops = 2 };
	struct gyre_system *system;
	int r = gyre_system_create(&options, &system);

	cr_assert_eq(r, 0);
	r = gyre_system_start(system);
	cr_assert_eq(r, 0);
	(void)sleep(3600);
	gyre_system_stop(system);
	cr_assert_eq(gyre_system_wait(system), 0);
	gyre_system_destroy(system);
	*(bool *)arg = true;
	return 0;
}

Test(sim, starts_and_stops_a_system)
{
	struct gyre_sim *sim = sim_make(3);
	bool done = false;

	(void)sim_add(sim, "alpha", boot_system, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(3700)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}

static uint64_t digest_of(uint64_t seed)
{
	struct gyre_sim *sim = sim_make(seed);
	bool done = false;
	uint64_t digest;

	(void)sim_add(sim, "alpha", boot_system, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(3700)), 0);
	cr_assert(done);
	digest = gyre_sim_digest(sim);
	gyre_sim_destroy(sim);
	return digest;
}

Test(sim, does_the_same_for_the_same_seed_and_something_else_for_another)
{
	uint64_t digest = digest_of(5);

	cr_assert_eq(digest_of(5), digest);
	cr_assert_neq(digest_of(6), digest);
}
