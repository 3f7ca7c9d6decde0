/*
 * The CPUs that loops may run on; see cpus.c.
 */
#ifndef GY_SYSTEM_MACHINE_CPUS_H
#define GY_SYSTEM_MACHINE_CPUS_H

#include "base/log/log.h"

/* The CPU and memory that a loop uses. */
struct gy_cpu_place {
	int cpu;
	int node; /* of memory; -1 where it makes no difference */
};

/* The CPUs that loops may be pinned to: those of @list, else those the process may use. A count. */
int gy_cpus_find(const char *list, const struct gy_log *log, int *ret_cpus, int cpus_max);

/* Writes a list of @cpus, which are in rising order, as snprintf() does; returns its length. */
size_t gy_cpus_format(const int *cpus, int count, size_t bytes, char *ret_list);

#endif
