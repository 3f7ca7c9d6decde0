/*
 * What /sys tells of CPUs. Two hardware threads of one core are slower together than two cores, so
 * each core has one loop before any has a second. What cannot be read, or makes no sense, is taken
 * for the simplest: a CPU is a core of its own, and memory is all alike.
 */
#include "system/machine/topology.h"

#include <stdio.h>
#include <string.h>

#include <gyre/system.h>

#include "system/machine/kernel_file.h"

enum { LIST_BYTES = 4096, NODES_MAX = 1024, PATH_BYTES = 96 };

/* False when there is no such file, or it holds no list. */
static bool read_list(const char *root, const char *path, struct gy_cpus *ret_cpus)
{
	char text[LIST_BYTES];

	if (gy_kernfile_read(root, path, text, sizeof(text)) < 0) {
		return false;
	}
	text[strcspn(text, "\n")] = '\0';
	return gy_cpus_parse(text, ret_cpus) == 0;
}

/* How many of @cpus before the one at @place are of the same core. */
static uint32_t rank_of(const char *root, const int *cpus, uint32_t place)
{
	char path[PATH_BYTES];
	struct gy_cpus siblings;
	uint32_t rank = 0;

	(void)snprintf(path, sizeof(path),
		       "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpus[place]);
	if (!read_list(root, path, &siblings)) {
		return 0;
	}
	for (uint32_t i = 0; i < place; i++) {
		rank += gy_cpus_has(&siblings, cpus[i]);
	}
	return rank;
}

/* By rank, and by number in each. How many cores there are. */
static uint32_t spread(const char *root, int *cpus, uint32_t count)
{
	int found[GY_CPU_PLACES_MAX];
	uint32_t ranks[GY_CPU_PLACES_MAX];
	uint32_t cores = 0;
	uint32_t placed = 0;

	memcpy(found, cpus, count * sizeof(*cpus));
	for (uint32_t i = 0; i < count; i++) {
		ranks[i] = rank_of(root, found, i);
		cores += ranks[i] == 0;
	}
	for (uint32_t rank = 0; placed < count; rank++) {
		for (uint32_t i = 0; i < count; i++) {
			if (ranks[i] == rank) {
				cpus[placed++] = found[i];
			}
		}
	}
	return cores;
}

/* Sets the node of those of @cpus that are of it; whether there are any. */
static bool add_node(const char *root, int node, const int *cpus, int *nodes, uint32_t count)
{
	char path[PATH_BYTES];
	struct gy_cpus members;
	bool any = false;

	(void)snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
	if (!read_list(root, path, &members)) {
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (gy_cpus_has(&members, cpus[i])) {
			nodes[i] = node;
			any = true;
		}
	}
	return any;
}

static uint32_t find_nodes(const char *root, const int *cpus, int *nodes, uint32_t count)
{
	struct gy_cpus online;
	uint32_t found = 0;

	for (uint32_t i = 0; i < count; i++) {
		nodes[i] = -1;
	}
	if (!read_list(root, "/sys/devices/system/node/online", &online)) {
		return 1;
	}
	for (int node = 0; node < NODES_MAX; node++) {
		if (gy_cpus_has(&online, node)) {
			found += add_node(root, node, cpus, nodes, count);
		}
	}
	return found == 0 ? 1 : found;
}

void gy_topology_find(const char *root, int *cpus, int *ret_nodes, uint32_t count,
		      struct gy_topology *ret_topology)
{
	ret_topology->cpus = count;
	ret_topology->cores = spread(root, cpus, count);
	ret_topology->nodes = find_nodes(root, cpus, ret_nodes, count);
	ret_topology->quota_milli = gy_cgroup_cpu_quota_milli(root);
}

uint32_t gy_topology_threads(const struct gy_topology *topology)
{
	uint64_t allowed = topology->quota_milli / 1000 + (topology->quota_milli % 1000 != 0);

	allowed = allowed == 0 ? 1 : allowed;
	return allowed < topology->cpus ? (uint32_t)allowed : topology->cpus;
}
