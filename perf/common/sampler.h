/*
 * How another process divides its processor time into user and system, to a per cent or so.
 */
#ifndef PERF_COMMON_SAMPLER_H
#define PERF_COMMON_SAMPLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PERF_SAMPLER_THREADS_MAX = 64 };

struct perf_sampler_thread {
	int fd;
	void *ring;
};

struct perf_sampler {
	size_t count;
	struct perf_sampler_thread threads[PERF_SAMPLER_THREADS_MAX];
};

/*
 * Starts to sample the threads that @pid has now, @hz times a second of their processor time. 0, or
 * a negative errno: -EACCES or -EPERM where the kernel does not let us. What is sampled after the
 * first 32,000 samples of a thread is not counted.
 */
int perf_sampler_start(struct perf_sampler *sampler, pid_t pid, uint64_t hz);

/* Ends it. The share of samples that hit user mode is in @ret_user_share; the result is their
 * number. */
uint64_t perf_sampler_stop(struct perf_sampler *sampler, double *ret_user_share);

#endif
