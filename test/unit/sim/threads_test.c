/*
 * Calls of the threads library that programs make and gyre does not: locks and waits with a time,
 * ends and attributes of threads, what is done once; and those that are not simulated.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net_rig.h"

#include "sim/scheduler.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Runs a host to its end, with leaks looked for. */
static void play(gyre_sim_boot_fn boot, void *arg)
{
	const struct gyre_sim_options options = { .seed = 1, .leaks = true };
	struct gyre_sim *sim;

	cr_assert_eq(gyre_sim_create(&options, &sim), 0);
	(void)sim_add(sim, "alpha", boot, arg);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0, "%s", gyre_sim_failure(sim));
	cr_assert_not(sim->hosts[0]->up);
	gyre_sim_destroy(sim);
}

static struct timespec in(clockid_t id, time_t seconds)
{
	struct timespec time;

	cr_assert_eq(clock_gettime(id, &time), 0);
	time.tv_sec += seconds;
	return time;
}

static bool is_past(clockid_t id, const struct timespec *time)
{
	struct timespec now = in(id, 0);

	return now.tv_sec > time->tv_sec ||
	       (now.tv_sec == time->tv_sec && now.tv_nsec >= time->tv_nsec);
}

/* ---- times ---- */

static void *hold_a_second(void *arg)
{
	(void)pthread_mutex_lock(&mutex);
	(void)sleep(1);
	(void)pthread_mutex_unlock(&mutex);
	return arg;
}

static int wait_with_times(void *arg)
{
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec until;
	pthread_t thread;
	sem_t semaphore;

	cr_assert_eq(pthread_create(&thread, NULL, hold_a_second, NULL), 0);
	net_pause(GYRE_MILLISECONDS(10));
	until = in(CLOCK_MONOTONIC, 0);
	cr_assert_eq(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until), ETIMEDOUT);
	until = in(CLOCK_REALTIME, 5);
	cr_assert_eq(pthread_mutex_timedlock(&mutex, &until), 0);
	cr_assert_not(is_past(CLOCK_REALTIME, &until));
	until = in(CLOCK_MONOTONIC, 2);
	cr_assert_eq(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until),
		     ETIMEDOUT);
	cr_assert(is_past(CLOCK_MONOTONIC, &until));
	cr_assert_eq(pthread_mutex_unlock(&mutex), 0);
	cr_assert_eq(sem_init(&semaphore, 0, 0), 0);
	until = in(CLOCK_REALTIME, 2);
	cr_assert_eq(sem_timedwait(&semaphore, &until), -1);
	cr_assert_eq(errno, ETIMEDOUT);
	cr_assert(is_past(CLOCK_REALTIME, &until));
	*(bool *)arg = true;
	return pthread_join(thread, NULL);
}

Test(sim_threads, wait_as_long_as_they_say)
{
	bool done = false;

	play(wait_with_times, &done);
	cr_assert(done);
}

static int lock_again(void *arg)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t checking;

	(void)pthread_mutexattr_init(&attributes);
	(void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
	cr_assert_eq(pthread_mutex_init(&checking, &attributes), 0);
	cr_assert_eq(pthread_mutex_unlock(&checking), EPERM);
	cr_assert_eq(pthread_mutex_lock(&checking), 0);
	*(int *)arg = pthread_mutex_lock(&checking);
	return pthread_mutex_unlock(&checking);
}

Test(sim_threads, are_told_by_a_mutex_that_checks_that_it_is_theirs_already)
{
	int error = 0;

	play(lock_again, &error);
	cr_assert_eq(error, EDEADLK);
}

/* ---- life ---- */

static void count_end(void *arg)
{
	++*(uint32_t *)arg;
}

static pthread_key_t key;

static void *exit_deep(void *arg)
{
	(void)pthread_setspecific(key, arg);
	pthread_exit(arg);
}

static int join_exited(void *arg)
{
	pthread_t thread;
	void *value;

	cr_assert_eq(pthread_key_create(&key, count_end), 0);
	cr_assert_eq(pthread_create(&thread, NULL, exit_deep, arg), 0);
	cr_assert_eq(pthread_join(thread, &value), 0);
	cr_assert_eq(value, arg);
	return pthread_key_delete(key);
}

Test(sim_threads, end_by_pthread_exit)
{
	uint32_t ends = 0;

	play(join_exited, &ends);
	cr_assert_eq(ends, 1);
}

static void *nap(void *arg)
{
	net_pause(GYRE_MILLISECONDS(1));
	++*(uint32_t *)arg;
	return NULL;
}

static int make_detached(void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (uint32_t i = 0; i < 100; i++) {
		cr_assert_eq(pthread_create(&thread, &attributes, nap, arg), 0);
	}
	return pthread_attr_destroy(&attributes);
}

Test(sim_threads, that_are_made_detached_need_not_be_joined)
{
	uint32_t naps = 0;

	play(make_detached, &naps);
	cr_assert_eq(naps, 100);
}

/* ---- once ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t calls;
static uint32_t wholes;

static void take_a_second(void)
{
	calls++;
	(void)sleep(1);
	wholes++;
}

static void *call_once(void *arg)
{
	(void)pthread_once(&once, take_a_second);
	*(uint32_t *)arg += wholes > 0;
	return NULL;
}

static int call_twice(void *arg)
{
	pthread_t threads[2];

	for (uint32_t i = 0; i < 2; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, call_once, arg), 0);
	}
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	}
	return 0;
}

Test(sim_threads, wait_for_what_is_done_once_and_begin_anew_after_a_crash)
{
	struct gyre_sim *sim = sim_make(1);
	uint32_t through = 0;
	uint32_t host;

	host = sim_add(sim, "alpha", call_twice, &through);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(500)), 0);
	cr_assert_eq(calls, 1);
	cr_assert_eq(gyre_sim_crash(sim, host), 0);
	cr_assert_eq(gyre_sim_restart(sim, host), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(5)), 0);
	cr_assert_eq(calls, 2);
	cr_assert_eq(wholes, 1);
	cr_assert_eq(through, 2);
	gyre_sim_destroy(sim);
}

/* ---- what is not simulated ---- */

static int lock_for_reading(void *arg)
{
	static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

	(void)arg;
	return pthread_rwlock_rdlock(&lock);
}

static int look_at_descriptors(void *arg)
{
	fd_set inputs;

	(void)arg;
	FD_ZERO(&inputs);
	return select(1, &inputs, NULL, NULL, NULL);
}

static int exit_first(void *arg)
{
	pthread_exit(arg);
}

Test(sim_threads, end_the_process_by_calls_that_are_not_simulated, .signal = SIGABRT)
{
	static const gyre_sim_boot_fn boots[] = { look_at_descriptors, exit_first };

	for (uint32_t i = 0; i < sizeof(boots) / sizeof(*boots); i++) {
		int status;
		pid_t child = fork();

		cr_assert(child >= 0);
		if (child == 0) {
			play(boots[i], NULL);
			_exit(0);
		}
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
	play(lock_for_reading, NULL);
}
