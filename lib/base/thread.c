/*
 * Threads. A new thread inherits the signal mask of its starter, which therefore blocks all signals
 * for the moment of the start: a thread that blocked them itself could take one before. A thread
 * sets its name itself, since naming another takes a descriptor.
 */
#include "base/thread.h"

#include <signal.h>
#include <stdio.h>

int gy_thread_start(const pthread_attr_t *attributes, void *(*run)(void *), void *arg,
		    pthread_t *ret_thread)
{
	sigset_t all;
	sigset_t before;
	int error;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(ret_thread, attributes, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
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
