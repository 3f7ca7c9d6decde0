/*
 * The clock, the processor a thread is bound to, the processor time of a process: this one or
 * another, and the memory that this one holds.
 */
#ifndef PERF_COMMON_CPU_H
#define PERF_COMMON_CPU_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

static inline uint64_t perf_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* What a spinning thread does between two looks. */
static inline void perf_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
	/* What this process holds in memory; 0 where that cannot be told. */
	double perf_rss_bytes(void);

#endif
}

/* @total_ns is exact. How it divides is what the kernel's tick saw: see sampler.h for better. */
struct perf_cpu_time {
	uint64_t user_ns;
	uint64_t system_ns;
	uint64_t total_ns;
};

/* Binds the calling thread to @cpu; a negative one leaves it free. 0 or a negative errno. */
int perf_pin(int cpu);

/* All threads of @pid, 0 for this process. 0 or a negative errno. */
int perf_cpu_time(pid_t pid, struct perf_cpu_time *ret_time);

/* Each field of @after less that of @before. */
struct perf_cpu_time perf_cpu_time_since(const struct perf_cpu_time *before,
					 const struct perf_cpu_time *after);

/* What this process holds in memory; 0 where that cannot be told. */
double perf_rss_bytes(void);

#endif
