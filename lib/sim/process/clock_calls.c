/*
 * Clocks and random numbers.
 *
 * Each look at a clock takes a little of the simulation's time, so that whoever waits for a time by
 * looking again and again gets there.
 */
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

enum { LOOK_NS = 50, SECOND_NS = 1000000000 };

/* ---- clocks ---- */

static uint64_t read_clock(clockid_t id)
{
	struct gy_sim_task *task = gy_sim_here;

	if (task->host == NULL) {
		return task->sim->now_ns; /* the observer, for whom time stands still */
	}
	task->sim->now_ns += LOOK_NS;
	return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ? gy_sim_host_date(task->host)
								   : gy_sim_host_clock(task->host);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / SECOND_NS),
				  .tv_nsec = (long)(ns % SECOND_NS) };
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret_time)
{
	if (gy_sim_here == NULL) {
		return __real_clock_gettime(id, ret_time);
	}
	*ret_time = timespec_of(read_clock(id));
	return 0;
}

time_t __wrap_time(time_t *ret_time)
{
	time_t now;

	if (gy_sim_here == NULL) {
		return __real_time(ret_time);
	}
	now = (time_t)(read_clock(CLOCK_REALTIME) / SECOND_NS);
	if (ret_time != NULL) {
		*ret_time = now;
	}
	return now;
}

int __wrap_gettimeofday(struct timeval *ret_time, void *zone)
{
	uint64_t ns;

	if (gy_sim_here == NULL) {
		return __real_gettimeofday(ret_time, zone);
	}
	ns = read_clock(CLOCK_REALTIME);
	ret_time->tv_sec = (time_t)(ns / SECOND_NS);
	ret_time->tv_usec = (suseconds_t)(ns % SECOND_NS / 1000);
	return 0;
}

static uint64_t loop_clock(void *arg)
{
	(void)arg;
	return read_clock(CLOCK_MONOTONIC);
}

struct gy_clock __wrap_gy_clock_machine(void)
{
	return gy_sim_here == NULL ? __real_gy_clock_machine()
				   : (struct gy_clock){ .read_ns = loop_clock };
}

static void sleep_until(uint64_t until_ns)
{
	struct gy_sim_queue queue;

	gy_sim_queue_init(&queue);
	(void)gy_sim_wait(&queue, until_ns, "a time");
}

int __wrap_clock_nanosleep(clockid_t id, int flags, const struct timespec *time,
			   struct timespec *ret_left)
{
	uint64_t ns;

	if (gy_sim_here == NULL) {
		return __real_clock_nanosleep(id, flags, time, ret_left);
	}
	ns = (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_nsec;
	if ((flags & TIMER_ABSTIME) == 0) {
		ns = gy_sim_host_after(gy_sim_host_here(), ns);
	} else {
		ns = id == CLOCK_REALTIME ? gy_sim_host_when_date(gy_sim_host_here(), ns)
					  : gy_sim_host_when(gy_sim_host_here(), ns);
	}
	sleep_until(ns);
	return 0;
}

/* Who gives way looks for something that others do, or that time brings: some of it passes. */
int __wrap_sched_yield(void)
{
	enum { AWAY_NS = 5000 };

	if (gy_sim_here == NULL) {
		return __real_sched_yield();
	}
	sleep_until(gy_sim_here->sim->now_ns + AWAY_NS);
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *ret_left)
{
	return gy_sim_here == NULL ? __real_nanosleep(time, ret_left)
				   : __wrap_clock_nanosleep(CLOCK_MONOTONIC, 0, time, ret_left);
}

int __wrap_usleep(useconds_t microseconds)
{
	const struct timespec time = timespec_of((uint64_t)microseconds * 1000);

	return gy_sim_here == NULL ? __real_usleep(microseconds)
				   : __wrap_clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

unsigned int __wrap_sleep(unsigned int seconds)
{
	const struct timespec time = { .tv_sec = (time_t)seconds };

	return gy_sim_here == NULL
		       ? __real_sleep(seconds)
		       : (unsigned int)__wrap_clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* ---- random numbers ---- */

ssize_t __wrap_getrandom(void *memory, size_t bytes, unsigned int flags)
{
	if (gy_sim_here == NULL) {
		return __real_getrandom(memory, bytes, flags);
	}
	gy_sim_random_bytes(gy_sim_here->sim, memory, bytes);
	return (ssize_t)bytes;
}
