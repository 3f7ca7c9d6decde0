/*
 * Sets of CPUs. The C library's own holds 1,024, and the kernel refuses to tell the CPUs of a
 * process where there may be more.
 */
#ifndef GY_BASE_CPUS_H
#define GY_BASE_CPUS_H

#include <sched.h>
#include <stdbool.h>
#include <string.h>

enum { GY_CPUS_MAX = 8192 }; /* no kernel is built for more */

struct gy_cpus {
	unsigned long words[GY_CPUS_MAX / (8 * sizeof(unsigned long))];
};

/* The set as calls of the C library take it, with the size of the whole structure. */
static inline cpu_set_t *gy_cpus_raw(struct gy_cpus *cpus)
{
	return (cpu_set_t *)(void *)cpus->words;
}

static inline void gy_cpus_clear(struct gy_cpus *cpus)
{
	memset(cpus, 0, sizeof(*cpus));
}

static inline void gy_cpus_add(struct gy_cpus *cpus, int cpu)
{
	CPU_SET_S((size_t)cpu, sizeof(*cpus), gy_cpus_raw(cpus));
}

static inline bool gy_cpus_has(const struct gy_cpus *cpus, int cpu)
{
	const size_t bits = 8 * sizeof(cpus->words[0]);

	return (cpus->words[(size_t)cpu / bits] >> ((size_t)cpu % bits) & 1) != 0;
}

#endif
