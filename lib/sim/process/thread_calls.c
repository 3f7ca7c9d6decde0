/*
 * The threads library, for tasks: threads, mutexes, conditions, semaphores, and what is specific to
 * a thread. Objects that hosts have are those of the C library, and are made and ended by it; what
 * is kept in them here stands in fields of theirs that mean the same: a mutex that was locked by a
 * task has its lock word set, and its owner is the task's serial number.
 *
 * Where a task could be interrupted, and another one take a lock first, it may yield.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

/* What the word of a pthread_once_t says. */
enum { ONCE_NEW = 0, ONCE_BEGUN = 1, ONCE_DONE = 2 };

/* ---- threads ---- */

static struct gy_sim_task *task_of(pthread_t thread)
{
	return (struct gy_sim_task *)(uintptr_t)thread;
}

static bool is_detached(const pthread_attr_t *attributes)
{
	int state = PTHREAD_CREATE_JOINABLE;

	if (attributes != NULL) {
		(void)pthread_attr_getdetachstate(attributes, &state);
	}
	return state == PTHREAD_CREATE_DETACHED;
}

int __wrap_pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
			  void *(*run)(void *), void *arg)
{
	struct gy_sim_task *here = gy_sim_here;
	struct gy_sim_task *task;

	if (here == NULL) {
		return __real_pthread_create(ret_thread, attributes, run, arg);
	}
	task = gy_sim_task_create(here->host, run, arg);
	if (task == NULL) {
		return EAGAIN;
	}
	task->blocked = here->blocked;
	task->detached = is_detached(attributes);
	*ret_thread = (pthread_t)(uintptr_t)task;
	return 0;
}

int __wrap_pthread_join(pthread_t thread, void **ret_value)
{
	struct gy_sim_task *task = task_of(thread);

	if (gy_sim_here == NULL) {
		return __real_pthread_join(thread, ret_value);
	}
	while (task->state != GY_SIM_TASK_ENDED) {
		(void)gy_sim_wait(&task->joiners, UINT64_MAX, "the end of a thread");
	}
	if (ret_value != NULL) {
		*ret_value = task->value;
	}
	gy_sim_task_destroy(task);
	return 0;
}

void __wrap_pthread_exit(void *value)
{
	const struct gy_sim_task *task = gy_sim_here;

	if (task == NULL) {
		__real_pthread_exit(value);
	} else if (task->host == NULL || task == task->host->main) {
		(void)fprintf(stderr, "simulator: the first thread of a host, or a check, calls "
				      "pthread_exit(), which is not simulated; join the others\n");
		abort();
	}
	gy_sim_task_return(value);
}

int __wrap_pthread_detach(pthread_t thread)
{
	struct gy_sim_task *task = task_of(thread);

	if (gy_sim_here == NULL) {
		return __real_pthread_detach(thread);
	}
	if (task->state == GY_SIM_TASK_ENDED) {
		gy_sim_task_destroy(task);
	} else {
		task->detached = true;
	}
	return 0;
}

pthread_t __wrap_pthread_self(void)
{
	return gy_sim_here == NULL ? __real_pthread_self() : (pthread_t)(uintptr_t)gy_sim_here;
}

int __wrap_pthread_setname_np(pthread_t thread, const char *name)
{
	struct gy_sim_task *task = task_of(thread);

	if (gy_sim_here == NULL) {
		return __real_pthread_setname_np(thread, name);
	}
	if (strlen(name) >= sizeof(task->name)) {
		return ERANGE;
	}
	memcpy(task->name, name, strlen(name) + 1);
	return 0;
}

int __wrap_pthread_getname_np(pthread_t thread, char *ret_name, size_t bytes)
{
	if (gy_sim_here == NULL) {
		return __real_pthread_getname_np(thread, ret_name, bytes);
	}
	if (bytes < sizeof(task_of(thread)->name)) {
		return ERANGE;
	}
	memcpy(ret_name, task_of(thread)->name, sizeof(task_of(thread)->name));
	return 0;
}

int __wrap_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *cpus)
{
	return gy_sim_here == NULL ? __real_pthread_setaffinity_np(thread, bytes, cpus) : 0;
}

#if GY_PLANTED_DELAYS
/* Builds with planted delays call this between the steps of algorithms without locks. */
void __wrap_gy_delay(void)
{
	const struct gy_sim_task *task = gy_sim_here;

	if (task == NULL) {
		__real_gy_delay();
	} else if (task->host != NULL && gy_sim_gives_way(task->sim, GY_SIM_PAUSE_STEP)) {
		gy_sim_yield(true);
	}
}
#endif

/* In a simulation nobody runs before the task waits. */
bool __wrap_gy_thread_may_poll(void)
{
	return gy_sim_here == NULL && __real_gy_thread_may_poll();
}

int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *ret_cpus)
{
	if (gy_sim_here == NULL) {
		return __real_sched_getaffinity(process, bytes, ret_cpus);
	}
	memset(ret_cpus, 0, bytes);
	for (uint32_t i = 0; i < gy_sim_here->sim->cpus; i++) {
		CPU_SET_S(i, bytes, ret_cpus);
	}
	return 0;
}

/* ---- mutexes ---- */

static bool is_recursive(const pthread_mutex_t *mutex)
{
	return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP;
}

static bool is_error_checking(const pthread_mutex_t *mutex)
{
	return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK_NP;
}

static bool is_mine(const pthread_mutex_t *mutex)
{
	return mutex->__data.__lock != 0 && mutex->__data.__owner == (int)gy_sim_here->serial;
}

static void hold(struct gy_sim_task *task, pthread_mutex_t *mutex)
{
	gy_sim_grow((void **)&task->held, &task->held_room, task->held_count + 1,
		    sizeof(*task->held));
	task->held[task->held_count++] = mutex;
}

/* Most often it is the one that was locked last. */
static void let_go(struct gy_sim_task *task, const pthread_mutex_t *mutex)
{
	uint32_t at = task->held_count;

	while (at > 0 && task->held[at - 1] != mutex) {
		at--;
	}
	gy_assert(at > 0);
	task->held[at - 1] = task->held[--task->held_count];
}

static bool try_lock(pthread_mutex_t *mutex)
{
	if (mutex->__data.__lock == 0) {
		mutex->__data.__lock = 1;
		mutex->__data.__owner = (int)gy_sim_here->serial;
		mutex->__data.__count = 1;
		hold(gy_sim_here, mutex);
		return true;
	}
	if (is_recursive(mutex) && is_mine(mutex)) {
		mutex->__data.__count++;
		return true;
	}
	return false;
}

static int unlock(pthread_mutex_t *mutex)
{
	if (!is_mine(mutex)) {
		return EPERM;
	}
	if (--mutex->__data.__count == 0) {
		mutex->__data.__lock = 0;
		mutex->__data.__owner = 0;
		let_go(gy_sim_here, mutex);
		gy_sim_wake_at(mutex, false);
	}
	return 0;
}

/* What it has begun of pthread_once() somebody else begins anew. */
static void give_up_once(struct gy_sim_task *task)
{
	for (; task->once != NULL; task->once = task->once->outer) {
		*task->once->control = ONCE_NEW;
		gy_sim_wake_at(task->once->control, true);
	}
}

void gy_sim_task_unlock_all(struct gy_sim_task *task)
{
	gy_assert(gy_sim_here == task);
	give_up_once(task);
	while (task->held_count > 0) {
		pthread_mutex_t *mutex = task->held[--task->held_count];

		if (mutex->__data.__lock == 0 || mutex->__data.__owner != (int)task->serial) {
			gy_sim_fail(task->sim,
				    "task %u of %s has locked a mutex that was made "
				    "anew or destroyed while it was locked",
				    task->number, task->host->name);
			continue;
		}
		mutex->__data.__count = 0;
		mutex->__data.__lock = 0;
		mutex->__data.__owner = 0;
		gy_sim_wake_at(mutex, false);
	}
}

static int lock_until(pthread_mutex_t *mutex, uint64_t until_ns)
{
	bool woken = true;

	if (is_error_checking(mutex) && is_mine(mutex)) {
		return EDEADLK;
	}
	while (!try_lock(mutex)) {
		if (!woken) {
			return ETIMEDOUT;
		}
		woken = gy_sim_wait_at(mutex, until_ns, "a mutex");
	}
	return 0;
}

/* One that is not the task's yet. */
static void lock(pthread_mutex_t *mutex)
{
	(void)lock_until(mutex, UINT64_MAX);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	if (gy_sim_here == NULL) {
		return __real_pthread_mutex_lock(mutex);
	}
	gy_sim_yield(false);
	return lock_until(mutex, UINT64_MAX);
}

static uint64_t when(clockid_t id, const struct timespec *until)
{
	const struct gy_sim_host *host = gy_sim_host_here();
	uint64_t ns = (uint64_t)until->tv_sec * 1000000000 + (uint64_t)until->tv_nsec;

	return id == CLOCK_MONOTONIC ? gy_sim_host_when(host, ns) : gy_sim_host_when_date(host, ns);
}

int __wrap_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t id,
				   const struct timespec *until)
{
	if (gy_sim_here == NULL) {
		return __real_pthread_mutex_clocklock(mutex, id, until);
	}
	gy_sim_yield(false);
	return lock_until(mutex, when(id, until));
}

int __wrap_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	return gy_sim_here == NULL ? __real_pthread_mutex_timedlock(mutex, until)
				   : __wrap_pthread_mutex_clocklock(mutex, CLOCK_REALTIME, until);
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	if (gy_sim_here == NULL) {
		return __real_pthread_mutex_trylock(mutex);
	}
	return try_lock(mutex) ? 0 : EBUSY;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int error;

	if (gy_sim_here == NULL) {
		return __real_pthread_mutex_unlock(mutex);
	}
	error = unlock(mutex);
	gy_assert(error == 0 || is_error_checking(mutex));
	return error;
}

/* ---- conditions ---- */

static bool wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until_ns)
{
	bool woken;

	(void)unlock(mutex);
	woken = gy_sim_wait_at(condition, until_ns, "a condition");
	lock(mutex);
	return woken;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	if (gy_sim_here == NULL) {
		return __real_pthread_cond_wait(condition, mutex);
	}
	if (gy_sim_happens(gy_sim_here->sim, gy_sim_here->sim->faults)) {
		(void)unlock(mutex); /* woken for nothing */
		gy_sim_yield(true);
		lock(mutex);
		return 0;
	}
	(void)wait_for(condition, mutex, UINT64_MAX);
	return 0;
}

int __wrap_pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t id,
				  const struct timespec *until)
{
	if (gy_sim_here == NULL) {
		return __real_pthread_cond_clockwait(condition, mutex, id, until);
	}
	return wait_for(condition, mutex, when(id, until)) ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				  const struct timespec *until)
{
	/* Bit 1 of this word is the clock that pthread_condattr_setclock() has set. */
	clockid_t id = (condition->__data.__wrefs & 2) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;

	if (gy_sim_here == NULL) {
		return __real_pthread_cond_timedwait(condition, mutex, until);
	}
	return wait_for(condition, mutex, when(id, until)) ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_signal(pthread_cond_t *condition)
{
	if (gy_sim_here == NULL) {
		return __real_pthread_cond_signal(condition);
	}
	gy_sim_wake_at(condition, false);
	return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
	if (gy_sim_here == NULL) {
		return __real_pthread_cond_broadcast(condition);
	}
	gy_sim_wake_at(condition, true);
	return 0;
}

/* ---- barriers: the object has this in the place of what the C library keeps there ---- */

struct barrier {
	uint32_t count;
	uint32_t waiting;
	uint32_t round;
};

_Static_assert(sizeof(struct barrier) <= sizeof(pthread_barrier_t), "it fits");

static struct barrier *barrier_of(pthread_barrier_t *barrier)
{
	return (struct barrier *)(void *)barrier;
}

int __wrap_pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes,
				unsigned int count)
{
	if (gy_sim_here == NULL) {
		return __real_pthread_barrier_init(barrier, attributes, count);
	}
	if (count == 0) {
		return EINVAL;
	}
	*barrier_of(barrier) = (struct barrier){ .count = count };
	return 0;
}

int __wrap_pthread_barrier_wait(pthread_barrier_t *barrier)
{
	struct barrier *of = barrier_of(barrier);
	uint32_t round;

	if (gy_sim_here == NULL) {
		return __real_pthread_barrier_wait(barrier);
	}
	round = of->round;
	if (++of->waiting == of->count) {
		of->waiting = 0;
		of->round++;
		gy_sim_wake_at(barrier, true);
		return PTHREAD_BARRIER_SERIAL_THREAD;
	}
	while (of->round == round) {
		(void)gy_sim_wait_at(barrier, UINT64_MAX, "a barrier");
	}
	return 0;
}

int __wrap_pthread_barrier_destroy(pthread_barrier_t *barrier)
{
	return gy_sim_here == NULL ? __real_pthread_barrier_destroy(barrier) : 0;
}

/* ---- semaphores: their value is the first word, as in the C library ---- */

static unsigned int *value_of(sem_t *semaphore)
{
	return (unsigned int *)(void *)semaphore;
}

static int wait_semaphore(sem_t *semaphore, uint64_t until_ns)
{
	bool woken = true;

	while (*value_of(semaphore) == 0 && woken) {
		woken = gy_sim_wait_at(semaphore, until_ns, "a semaphore");
	}
	if (*value_of(semaphore) == 0) {
		return -ETIMEDOUT;
	}
	--*value_of(semaphore);
	return 0;
}

int __wrap_sem_wait(sem_t *semaphore)
{
	if (gy_sim_here == NULL) {
		return __real_sem_wait(semaphore);
	}
	return gy_sim_result(wait_semaphore(semaphore, UINT64_MAX));
}

int __wrap_sem_clockwait(sem_t *semaphore, clockid_t id, const struct timespec *until)
{
	if (gy_sim_here == NULL) {
		return __real_sem_clockwait(semaphore, id, until);
	}
	return gy_sim_result(wait_semaphore(semaphore, when(id, until)));
}

int __wrap_sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
	return gy_sim_here == NULL ? __real_sem_timedwait(semaphore, until)
				   : __wrap_sem_clockwait(semaphore, CLOCK_REALTIME, until);
}

int __wrap_sem_post(sem_t *semaphore)
{
	if (gy_sim_here == NULL) {
		return __real_sem_post(semaphore);
	}
	++*value_of(semaphore);
	gy_sim_wake_at(semaphore, false);
	return 0;
}

/* ---- once ---- */

int __wrap_pthread_once(pthread_once_t *control, void (*call)(void))
{
	struct gy_sim_task *task = gy_sim_here;
	struct gy_sim_once once = { .control = control };

	if (task == NULL) {
		return __real_pthread_once(control, call);
	}
	while (*control == ONCE_BEGUN) {
		(void)gy_sim_wait_at(control, UINT64_MAX, "what is done once");
	}
	if (*control == ONCE_DONE) {
		return 0;
	}
	*control = ONCE_BEGUN;
	once.outer = task->once;
	task->once = &once;
	call();
	task->once = once.outer;
	*control = ONCE_DONE;
	gy_sim_wake_at(control, true);
	return 0;
}

/* ---- what is specific to a thread ---- */

/* Who ends the values of a key; the C library gives out the keys, for tasks and threads alike. */
static void (*enders[PTHREAD_KEYS_MAX])(void *);

int __wrap_pthread_key_create(pthread_key_t *ret_key, void (*end)(void *))
{
	int error = __real_pthread_key_create(ret_key, end);

	if (error == 0 && *ret_key < PTHREAD_KEYS_MAX) {
		enders[*ret_key] = end;
	}
	return error;
}

int __wrap_pthread_key_delete(pthread_key_t key)
{
	if (key < PTHREAD_KEYS_MAX) {
		enders[key] = NULL;
	}
	return __real_pthread_key_delete(key);
}

void gy_sim_key_end(pthread_key_t key, const void *value)
{
	if (key < PTHREAD_KEYS_MAX && enders[key] != NULL) {
		enders[key]((void *)(uintptr_t)value);
	}
}

static struct gy_sim_specific *find_specific(const struct gy_sim_task *task, pthread_key_t key)
{
	for (uint32_t i = 0; i < task->specifics_count; i++) {
		if (task->specifics[i].key == key) {
			return &task->specifics[i];
		}
	}
	return NULL;
}

void *__wrap_pthread_getspecific(pthread_key_t key)
{
	struct gy_sim_specific *specific;

	if (gy_sim_here == NULL) {
		return __real_pthread_getspecific(key);
	}
	specific = find_specific(gy_sim_here, key);
	return specific == NULL ? NULL : (void *)(uintptr_t)specific->value;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	struct gy_sim_task *task = gy_sim_here;
	struct gy_sim_specific *specific;

	if (task == NULL) {
		return __real_pthread_setspecific(key, value);
	}
	specific = find_specific(task, key);
	if (specific == NULL) {
		gy_sim_grow((void **)&task->specifics, &task->specifics_room,
			    task->specifics_count + 1, sizeof(*specific));
		specific = &task->specifics[task->specifics_count++];
		specific->key = key;
	}
	specific->value = value;
	return 0;
}
