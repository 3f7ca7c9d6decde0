/*
 * Calls that are not simulated, and that would do something wrong in a task without anybody seeing
 * it: the C library's own wait for the one thread in which all tasks are, or look at descriptors of
 * the process. They end the process, and say what can be called in their place.
 */
#include <stdlib.h>

#include "sim/scheduler.h"
#include "sim/wrapped.h"

static _Noreturn void refuse(const char *name, const char *instead)
{
	const struct gy_sim_host *host = gy_sim_host_here();

	(void)fprintf(stderr, "simulator: %s calls %s(), which is not simulated; use %s\n",
		      host == NULL ? "a check" : host->name, name, instead);
	abort();
}

/* Defines __wrap_NAME(), which has these parameters and hands on these arguments. */
#define REFUSED(NAME, INSTEAD, PARAMETERS, ARGUMENTS) \
	int __wrap_##NAME PARAMETERS                  \
	{                                             \
		if (gy_sim_here != NULL) {            \
			refuse(#NAME, INSTEAD);       \
		}                                     \
		return __real_##NAME ARGUMENTS;       \
	}

REFUSED(pthread_rwlock_rdlock, "a mutex", (pthread_rwlock_t * lock), (lock))
REFUSED(pthread_rwlock_tryrdlock, "a mutex", (pthread_rwlock_t * lock), (lock))
REFUSED(pthread_rwlock_timedrdlock, "a mutex",
	(pthread_rwlock_t * lock, const struct timespec *until), (lock, until))
REFUSED(pthread_rwlock_clockrdlock, "a mutex",
	(pthread_rwlock_t * lock, clockid_t id, const struct timespec *until), (lock, id, until))
REFUSED(pthread_rwlock_wrlock, "a mutex", (pthread_rwlock_t * lock), (lock))
REFUSED(pthread_rwlock_trywrlock, "a mutex", (pthread_rwlock_t * lock), (lock))
REFUSED(pthread_rwlock_timedwrlock, "a mutex",
	(pthread_rwlock_t * lock, const struct timespec *until), (lock, until))
REFUSED(pthread_rwlock_clockwrlock, "a mutex",
	(pthread_rwlock_t * lock, clockid_t id, const struct timespec *until), (lock, id, until))
REFUSED(pthread_spin_lock, "a mutex", (pthread_spinlock_t * lock), (lock))
REFUSED(pthread_cancel, "a variable that the thread looks at", (pthread_t thread), (thread))
REFUSED(pthread_tryjoin_np, "pthread_join()", (pthread_t thread, void **ret_value),
	(thread, ret_value))
REFUSED(pthread_timedjoin_np, "pthread_join()",
	(pthread_t thread, void **ret_value, const struct timespec *until),
	(thread, ret_value, until))
REFUSED(pthread_clockjoin_np, "pthread_join()",
	(pthread_t thread, void **ret_value, clockid_t id, const struct timespec *until),
	(thread, ret_value, id, until))
REFUSED(select, "poll()",
	(int count, fd_set *inputs, fd_set *outputs, fd_set *others, struct timeval *timeout),
	(count, inputs, outputs, others, timeout))
REFUSED(pselect, "ppoll()",
	(int count, fd_set *inputs, fd_set *outputs, fd_set *others, const struct timespec *timeout,
	 const sigset_t *signals),
	(count, inputs, outputs, others, timeout, signals))
REFUSED(sigsuspend, "sigwaitinfo()", (const sigset_t *signals), (signals))
REFUSED(pause, "sigwaitinfo()", (void), ())
