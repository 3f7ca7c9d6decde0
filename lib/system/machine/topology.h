/*
 * How the CPUs of the machine belong together, and how much of them this process may use.
 */
#ifndef GY_SYSTEM_MACHINE_TOPOLOGY_H
#define GY_SYSTEM_MACHINE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpus.h"

/* The most nodes that the kernel can be built for. */
enum { GY_NUMA_WORDS = 1024 / 8 / sizeof(long) };

enum { GY_CPU_PLACES_MAX = 1024 }; /* CPUs that loops are placed on: there are no more loops */

struct gy_topology {
	uint32_t cpus;
	uint32_t cores;	      /* physical ones that they are of */
	uint32_t nodes;	      /* of memory that they are of; at least 1 */
	uint64_t quota_milli; /* thousandths of a CPU; UINT64_MAX for no limit */
};

/*
 * Puts @cpus, which are in rising order, into the order in which they are to be used: one of each
 * physical core first. @ret_nodes are their nodes in that order, -1 for one that is not known.
 */
void gy_topology_find(const char *root, int *cpus, int *ret_nodes, uint32_t count,
		      struct gy_topology *ret_topology);
/* How many threads can really run at once, at least 1. */
uint32_t gy_topology_threads(const struct gy_topology *topology);

/* ---- cpus.c ---- */

/* A list as "0-3,8"; a negative errno if it is none, or names a CPU from GYRE_CPUS_MAX on. */
int gy_cpus_parse(const char *list, struct gy_cpus *ret_cpus);

/* ---- numa.c ---- */

/* The memory policy of a thread, to be put back. */
struct gy_numa_policy {
	bool changed;
	int mode;
	unsigned long nodes[GY_NUMA_WORDS];
};

/* From here on new memory of this thread is of @node, if it has any left; -1 changes nothing. */
void gy_numa_enter(int node, struct gy_numa_policy *ret_before);
void gy_numa_leave(const struct gy_numa_policy *before);
/* Moves the whole pages in a piece of memory to a node, as far as that can be done. */
void gy_numa_move(int node, void *memory, size_t bytes);

#endif
