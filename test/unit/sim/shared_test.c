/*
 * What hosts share, as parts of one program.
 */
#include <pthread.h>

#include "net_rig.h"

static int contend(void *arg)
{
	static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

	for (uint32_t i = 0; i < 100; i++) {
		(void)pthread_mutex_lock(&shared);
		net_pause(GYRE_MICROSECONDS(1));
		(void)pthread_mutex_unlock(&shared);
	}
	++*(uint32_t *)arg;
	return 0;
}

Test(sim_shared, hands_a_mutex_from_a_host_to_another)
{
	struct gyre_sim *sim = sim_make(1);
	uint32_t done = 0;

	(void)sim_add(sim, "alpha", contend, &done);
	(void)sim_add(sim, "beta", contend, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
	cr_assert_eq(done, 2);
	gyre_sim_destroy(sim);
}

/* ---- what a host had locked when it went down ---- */

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;

static int lock_and_sleep(void *arg)
{
	(void)arg;
	(void)pthread_mutex_lock(&left);
	net_pause(GYRE_SECONDS(1000));
	return 0;
}

static int lock_and_end(void *arg)
{
	(void)arg;
	(void)pthread_mutex_lock(&left);
	net_pause(GYRE_SECONDS(5));
	return 0;
}

static int lock_and_tell(void *arg)
{
	(void)pthread_mutex_lock(&left);
	++*(uint32_t *)arg;
	(void)pthread_mutex_unlock(&left);
	return 0;
}

Test(sim_shared, unlocks_what_a_host_had_locked_that_crashes)
{
	struct gyre_sim *sim = sim_make(1);
	uint32_t alpha = sim_add(sim, "alpha", lock_and_sleep, NULL);
	uint32_t done = 0;

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	(void)sim_add(sim, "beta", lock_and_tell, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(done, 0);
	cr_assert_eq(gyre_sim_crash(sim, alpha), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(done, 1);
	gyre_sim_destroy(sim);
}

Test(sim_shared, unlocks_what_a_host_had_locked_that_ends)
{
	struct gyre_sim *sim = sim_make(1);
	uint32_t done = 0;

	(void)sim_add(sim, "alpha", lock_and_end, NULL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	(void)sim_add(sim, "beta", lock_and_tell, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(done, 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
	cr_assert_eq(done, 1);
	gyre_sim_destroy(sim);
}

/* The next one in the same process. */
Test(sim_shared, unlocks_what_is_locked_when_a_simulation_is_destroyed)
{
	struct gyre_sim *sim = sim_make(1);
	uint32_t done = 0;

	(void)sim_add(sim, "alpha", lock_and_sleep, NULL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	gyre_sim_destroy(sim);
	sim = sim_make(2);
	(void)sim_add(sim, "alpha", lock_and_tell, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(done, 1);
	gyre_sim_destroy(sim);
}

/* ---- simulations ---- */

static void *make_one(void *arg)
{
	struct gyre_sim *sim = NULL;

	*(int *)arg = gyre_sim_create(NULL, &sim);
	gyre_sim_destroy(sim);
	return NULL;
}

static int make_in_thread(void)
{
	pthread_t thread;
	int r = 1;

	cr_assert_eq(pthread_create(&thread, NULL, make_one, &r), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	return r;
}

Test(sim_shared, is_for_the_simulations_of_one_thread_at_a_time)
{
	struct gyre_sim *sim = sim_make(1);
	struct gyre_sim *other = sim_make(2);

	cr_assert_eq(make_in_thread(), -EBUSY);
	gyre_sim_destroy(sim);
	cr_assert_eq(make_in_thread(), -EBUSY);
	gyre_sim_destroy(other);
	cr_assert_eq(make_in_thread(), 0);
}
