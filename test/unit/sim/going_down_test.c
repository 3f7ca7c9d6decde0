/*
 * A host goes down while its tasks, or those of others, are in the midst of what hosts share: a
 * mutex that is global in the program, and what a thread gives back to the process at its end.
 */
#include <pthread.h>

#include "net_rig.h"

enum { TURNS = 20 };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

struct story {
	uint32_t begun;	 /* that its host may crash now */
	uint32_t inside; /* tasks that have the mutex */
	uint32_t through;
	bool stays; /* whoever has the mutex keeps it */
	pthread_key_t key;
};

/* Can go on at once, after others. */
static void give_way(void)
{
	const struct timespec long_ago = { 0 };

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &long_ago, NULL);
}

static bool has_begun(void *arg)
{
	return ((const struct story *)arg)->begun > 0;
}

/* Puts itself aside inside, so that others find the mutex locked by a task that can go on. */
static void use_shared(struct story *story)
{
	(void)pthread_mutex_lock(&shared);
	story->inside++;
	for (uint32_t i = 0; i < TURNS || story->stays; i++) {
		story->begun++;
		give_way();
	}
	story->inside--;
	(void)pthread_mutex_unlock(&shared);
	story->through++;
}

static int use_and_sleep(void *arg)
{
	use_shared((struct story *)arg);
	(void)sleep(1000);
	return 0;
}

static int only_sleep(void *arg)
{
	(void)arg;
	(void)sleep(1000);
	return 0;
}

/* ---- the end of a thread ---- */

static void end_thread(void *arg)
{
	struct story *story = (struct story *)arg;

	(void)pthread_mutex_lock(&shared);
	story->through += story->inside == 0;
	(void)pthread_mutex_unlock(&shared);
}

/* Has something to end, whenever its host goes down. */
static int have_specific(void *arg)
{
	const struct story *story = (struct story *)arg;

	cr_assert_eq(pthread_setspecific(story->key, arg), 0);
	(void)sleep(1000);
	return 0;
}

Test(sim_going_down, lets_other_hosts_out_of_a_mutex_that_the_ends_of_its_threads_lock)
{
	struct gyre_sim *sim = sim_make(1);
	struct story story = { 0 };
	uint32_t alpha;

	cr_assert_eq(pthread_key_create(&story.key, end_thread), 0);
	alpha = sim_add(sim, "alpha", have_specific, &story);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(1)), 0);
	(void)sim_add(sim, "beta", use_and_sleep, &story);
	cr_assert_eq(gyre_sim_run_until(sim, has_begun, &story, GYRE_SECONDS(1)), 0);
	cr_assert_eq(story.inside, 1);
	cr_assert_eq(gyre_sim_crash(sim, alpha), 0);
	cr_assert_eq(story.through, 2, "beta, and then the end of the thread of alpha");
	gyre_sim_destroy(sim);
	cr_assert_eq(pthread_key_delete(story.key), 0);
}

static int use_and_end(void *arg)
{
	use_shared((struct story *)arg);
	return 0;
}

Test(sim_going_down, lets_a_host_out_of_the_mutex_that_ends_by_itself_right_then)
{
	struct gyre_sim *sim = sim_make(1);
	struct story story = { 0 };
	uint32_t alpha;
	uint32_t beta;

	cr_assert_eq(pthread_key_create(&story.key, end_thread), 0);
	alpha = sim_add(sim, "alpha", have_specific, &story);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(1)), 0);
	beta = sim_add(sim, "beta", use_and_end, &story);
	cr_assert_eq(gyre_sim_run_until(sim, has_begun, &story, GYRE_SECONDS(1)), 0);
	cr_assert_eq(gyre_sim_crash(sim, alpha), 0);
	cr_assert_eq(story.through, 2);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(1)), 0);
	cr_assert_eq(gyre_sim_crash(sim, beta), -EALREADY);
	gyre_sim_destroy(sim);
	cr_assert_eq(pthread_key_delete(story.key), 0);
}

/* Nobody needs it at the end of alpha. */
Test(sim_going_down, waits_for_no_host_that_never_lets_go)
{
	struct gyre_sim *sim = sim_make(1);
	struct story story = { .stays = true };
	uint32_t alpha = sim_add(sim, "alpha", only_sleep, NULL);
	uint32_t beta = sim_add(sim, "beta", use_and_sleep, &story);

	cr_assert_eq(gyre_sim_run_until(sim, has_begun, &story, GYRE_SECONDS(1)), 0);
	cr_assert_eq(gyre_sim_crash(sim, alpha), 0);
	cr_assert_eq(gyre_sim_crash(sim, beta), 0);
	cr_assert_eq(story.inside, 1, "it was never through");
	gyre_sim_destroy(sim);
}

Test(sim_going_down, does_not_leave_half_done_what_its_tasks_do_to_what_hosts_share)
{
	struct gyre_sim *sim = sim_make(1);
	struct story story = { 0 };
	uint32_t alpha = sim_add(sim, "alpha", use_and_sleep, &story);

	cr_assert_eq(gyre_sim_run_until(sim, has_begun, &story, GYRE_SECONDS(1)), 0);
	cr_assert_eq(story.inside, 1);
	cr_assert_eq(gyre_sim_crash(sim, alpha), 0);
	cr_assert_eq(story.inside, 0);
	cr_assert_eq(story.through, 1);
	gyre_sim_destroy(sim);
}

/* Is put aside before the mutex, and inside. */
static void end_slowly(void *arg)
{
	struct story *story = (struct story *)arg;

	for (uint32_t i = 0; i < TURNS; i++) {
		story->begun++;
		give_way();
	}
	use_shared(story);
}

static void *set_and_end(void *arg)
{
	const struct story *story = (struct story *)arg;

	cr_assert_eq(pthread_setspecific(story->key, arg), 0);
	return NULL;
}

static int begin_thread(void *arg)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, set_and_end, arg), 0);
	(void)sleep(1000);
	return 0;
}

/* A thread that ends by itself has given up what the function is called for: nobody could call it
 * again. */
Test(sim_going_down, lets_threads_end_that_are_at_it)
{
	struct gyre_sim *sim = sim_make(1);
	struct story story = { 0 };
	struct story others = { 0 };
	uint32_t alpha;

	cr_assert_eq(pthread_key_create(&story.key, end_slowly), 0);
	alpha = sim_add(sim, "alpha", begin_thread, &story);
	cr_assert_eq(gyre_sim_run_until(sim, has_begun, &story, GYRE_SECONDS(1)), 0);
	cr_assert_eq(story.inside, 0);
	(void)sim_add(sim, "beta", use_and_sleep, &others);
	cr_assert_eq(gyre_sim_run_until(sim, has_begun, &others, GYRE_SECONDS(1)), 0);
	cr_assert_eq(story.through, 0);
	cr_assert_eq(gyre_sim_crash(sim, alpha), 0);
	cr_assert_eq(story.through, 1);
	gyre_sim_destroy(sim);
	cr_assert_eq(pthread_key_delete(story.key), 0);
}

/* ---- who waits for what it had locked ---- */

static void *wait_for_ever(void *arg)
{
	(void)arg;
	(void)pthread_mutex_lock(&shared);
	(void)pthread_mutex_unlock(&shared);
	(void)sleep(1000);
	return NULL;
}

/* One of its own tasks is the first that waits. */
static int lock_and_sleep(void *arg)
{
	pthread_t thread;

	(void)pthread_mutex_lock(&shared);
	cr_assert_eq(pthread_create(&thread, NULL, wait_for_ever, arg), 0);
	(void)sleep(1000);
	return 0;
}

static int lock_and_tell(void *arg)
{
	(void)pthread_mutex_lock(&shared);
	((struct story *)arg)->through++;
	(void)pthread_mutex_unlock(&shared);
	return 0;
}

Test(sim_going_down, wakes_those_that_live_on_and_not_its_own)
{
	struct gyre_sim *sim = sim_make(1);
	struct story story = { 0 };
	uint32_t alpha = sim_add(sim, "alpha", lock_and_sleep, NULL);

	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(1)), 0);
	(void)sim_add(sim, "beta", lock_and_tell, &story);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(1)), 0);
	cr_assert_eq(gyre_sim_crash(sim, alpha), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(1)), 0);
	cr_assert_eq(story.through, 1);
	gyre_sim_destroy(sim);
}

static int unlock_later(void *arg)
{
	(void)pthread_mutex_lock(&shared);
	net_pause(GYRE_MILLISECONDS(10));
	(void)pthread_mutex_unlock(&shared);
	((struct story *)arg)->begun++;
	(void)sleep(1000);
	return 0;
}

static int wait_first(void *arg)
{
	(void)wait_for_ever(arg);
	return 0;
}

Test(sim_going_down, passes_on_what_it_was_woken_for)
{
	struct gyre_sim *sim = sim_make(1);
	struct story story = { 0 };
	uint32_t alpha;

	(void)sim_add(sim, "beta", unlock_later, &story);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(1)), 0);
	alpha = sim_add(sim, "alpha", wait_first, NULL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(1)), 0);
	(void)sim_add(sim, "gamma", lock_and_tell, &story);
	cr_assert_eq(gyre_sim_run_until(sim, has_begun, &story, GYRE_SECONDS(1)), 0);
	cr_assert_eq(story.through, 0);
	cr_assert_eq(gyre_sim_crash(sim, alpha), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(1)), 0);
	cr_assert_eq(story.through, 1);
	gyre_sim_destroy(sim);
}

/* ---- what cannot be unlocked ---- */

static int lock_and_forget(void *arg)
{
	pthread_mutex_t *mutex = (pthread_mutex_t *)arg;

	(void)pthread_mutex_lock(mutex);
	(void)pthread_mutex_init(mutex, NULL);
	return 0;
}

Test(sim_going_down, tells_of_a_mutex_that_was_made_anew_while_locked)
{
	struct gyre_sim *sim = sim_make(1);
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	(void)sim_add(sim, "alpha", lock_and_forget, &mutex);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(1)), -ENOTRECOVERABLE);
	cr_assert(strstr(gyre_sim_failure(sim), "while it was locked") != NULL, "%s",
		  gyre_sim_failure(sim));
	gyre_sim_destroy(sim);
}
