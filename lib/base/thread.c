/*
 * Threads. A new thread inherits the signal mask of its starter, which therefore blocks all signals
 * for the moment of the start: a thread that blocked them itself could take one before. A thread
 * sets its name itself, since naming another takes a descriptor.
 */
#include "base/thread.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/assert.h"
#include "base/cpus.h"

static const uint64_t second_ns = 1000000000;

int gy_thread_start(const pthread_attr_t *attributes, void *(*run)(void *), void *arg,
		    pthread_t *ret_thread)
{
	sigset_t before;
	int error;

	gy_thread_block_signals(&before);
	error = pthread_create(ret_thread, attributes, run, arg);
	gy_thread_restore_signals(&before);
	return -error;
}

void gy_thread_name(const char *what)
{
	char name[GY_THREAD_NAME_BYTES];

	(void)snprintf(name, sizeof(name), "gyre-%s", what);
	(void)pthread_setname_np(pthread_self(), name);
}

void gy_thread_name_number(const char *what, uint32_t number)
{
	char name[GY_THREAD_NAME_BYTES];

	(void)snprintf(name, sizeof(name), "gyre-%s-%u", what, (unsigned)number);
	(void)pthread_setname_np(pthread_self(), name);
}

/* ---- signals ---- */

void gy_thread_mask_signals(int how, const sigset_t *signals, sigset_t *ret_before)
{
	int error = pthread_sigmask(how, signals, ret_before);

	gy_assert(error == 0);
	(void)error;
}

void gy_thread_block_signals(sigset_t *ret_before)
{
	sigset_t all;

	(void)sigfillset(&all);
	gy_thread_mask_signals(SIG_SETMASK, &all, ret_before);
}

void gy_thread_restore_signals(const sigset_t *before)
{
	gy_thread_mask_signals(SIG_SETMASK, before, NULL);
}

/* ---- CPUs ---- */

bool gy_thread_may_poll(void)
{
	return true;
}

int gy_thread_cpus(struct gy_cpus *ret_cpus)
{
	struct gy_cpus cpus = { 0 };

	if (sched_getaffinity(0, sizeof(cpus), gy_cpus_raw(&cpus)) < 0) {
		return -errno;
	}
	*ret_cpus = cpus;
	return 0;
}

int gy_thread_set_cpus(const struct gy_cpus *cpus)
{
	struct gy_cpus copy = *cpus;

	return -pthread_setaffinity_np(pthread_self(), sizeof(copy), gy_cpus_raw(&copy));
}

/* ---- waits ---- */

void gy_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(condition, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

bool gy_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(until_ns / second_ns),
					.tv_nsec = (long)(until_ns % second_ns) };
	int error = pthread_cond_timedwait(condition, mutex, &until);

	gy_assert(error == 0 || error == ETIMEDOUT);
	return error == 0;
}
