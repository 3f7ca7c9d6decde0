/*
 * How CPUs belong together and how much of them may be used: planted machines and cgroups.
 */
#include <criterion/criterion.h>

#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macros.h"
#include "system/machine/cpus.h"
#include "system/machine/topology.h"
#include "system/plant.h"
#include "system/system.h"

enum { MANY = 8 };

static int cpus[MANY];
static int nodes[MANY];
static struct gy_topology topology;

static void setup(void)
{
	plant_begin();
}

static void teardown(void)
{
	plant_end();
}

TestSuite(topology, .init = setup, .fini = teardown);

/* Looks at the first @count CPUs. */
static void find(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		cpus[i] = (int)i;
		nodes[i] = -7;
	}
	gy_topology_find(plant_root, cpus, nodes, count, &topology);
	cr_expect_eq(topology.cpus, count);
}

static void plant_siblings(int cpu, const char *list)
{
	char path[128];

	(void)snprintf(path, sizeof(path),
		       "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
	plant(path, list);
}

static void plant_quota(const char *folder, const char *text)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", folder);
	plant(path, text);
}

/* ---- cores ---- */

Test(topology, has_each_core_used_before_any_has_a_second_thread)
{
	static const char *const lists[] = { "0,4\n", "1,5\n", "2,6\n", "3,7\n" };

	for (int i = 0; i < MANY; i++) {
		plant_siblings(i, lists[i % 4]);
	}
	find(MANY);
	cr_expect_arr_eq(cpus, ((int[]){ 0, 1, 2, 3, 4, 5, 6, 7 }), sizeof(cpus));
	cr_expect_eq(topology.cores, 4);
}

Test(topology, orders_threads_that_are_numbered_core_by_core)
{
	static const char *const lists[] = { "0-1\n", "2-3\n", "4-5\n", "6-7\n" };

	for (int i = 0; i < MANY; i++) {
		plant_siblings(i, lists[i / 2]);
	}
	find(MANY);
	cr_expect_arr_eq(cpus, ((int[]){ 0, 2, 4, 6, 1, 3, 5, 7 }), sizeof(cpus));
	cr_expect_eq(topology.cores, 4);
}

Test(topology, counts_only_the_threads_of_a_core_that_may_be_used)
{
	plant_siblings(2, "2-3\n");
	plant_siblings(3, "2-3\n");
	plant_siblings(5, "4-5\n");
	cpus[0] = 2;
	cpus[1] = 3;
	cpus[2] = 5;
	gy_topology_find(plant_root, cpus, nodes, 3, &topology);
	cr_expect_arr_eq(cpus, ((int[]){ 2, 5, 3 }), 3 * sizeof(int));
	cr_expect_eq(topology.cores, 2);
}

Test(topology, takes_cpus_of_which_nothing_is_told_for_cores_of_their_own)
{
	static const char *const garbage[] = { "", "\n", "x\n", "1-0\n", "0-99999\n", "0,\n" };

	find(6);
	cr_expect_eq(topology.cores, 6);
	cr_expect_eq(topology.nodes, 1);
	for (int i = 0; i < 6; i++) {
		plant_siblings(i, garbage[i]);
	}
	find(6);
	cr_expect_eq(topology.cores, 6);
	cr_expect_arr_eq(cpus, ((int[]){ 0, 1, 2, 3, 4, 5 }), 6 * sizeof(int));
}

/* ---- nodes ---- */

Test(topology, tells_the_node_of_each_cpu)
{
	for (int i = 0; i < 4; i++) {
		plant_siblings(i, i < 2 ? "0-1" : "2-3");
	}
	plant("/sys/devices/system/node/online", "0,2\n");
	plant("/sys/devices/system/node/node0/cpulist", "0-1\n");
	plant("/sys/devices/system/node/node1/cpulist", "0-3\n");
	plant("/sys/devices/system/node/node2/cpulist", "2-3\n");
	find(4);
	cr_expect_arr_eq(cpus, ((int[]){ 0, 2, 1, 3 }), 4 * sizeof(int));
	cr_expect_arr_eq(nodes, ((int[]){ 0, 2, 0, 2 }), 4 * sizeof(int));
	cr_expect_eq(topology.nodes, 2);
}

Test(topology, does_not_count_nodes_without_a_cpu_that_is_used)
{
	plant("/sys/devices/system/node/online", "0-2\n");
	plant("/sys/devices/system/node/node0/cpulist", "0-1\n");
	plant("/sys/devices/system/node/node1/cpulist", "8-9\n");
	plant("/sys/devices/system/node/node2/cpulist", "\n");
	find(3);
	cr_expect_arr_eq(nodes, ((int[]){ 0, 0, -1 }), 3 * sizeof(int));
	cr_expect_eq(topology.nodes, 1);
}

/* ---- the quota ---- */

static uint32_t threads_of(uint32_t count)
{
	find(count);
	return gy_topology_threads(&topology);
}

Test(topology, allows_as_many_threads_as_the_quota_has_cpus_begun)
{
	plant_cgroup("/service");
	plant_quota("/service", "150000 100000\n");
	cr_expect_eq(threads_of(8), 2);
	cr_expect_eq(topology.quota_milli, 1500);
	plant_quota("/service", "200000 100000\n");
	cr_expect_eq(threads_of(8), 2);
	plant_quota("/service", "1000 100000\n");
	cr_expect_eq(threads_of(8), 1);
	plant_quota("/service", "1000 1000000\n");
	cr_expect_eq(threads_of(8), 1);
	plant_quota("/service", "1600000 100000\n");
	cr_expect_eq(threads_of(8), 8);
}

Test(topology, is_not_limited_by_a_quota_that_is_max_or_not_there)
{
	plant_cgroup("/service");
	cr_expect_eq(threads_of(8), 8);
	plant_quota("/service", "max 100000\n");
	cr_expect_eq(threads_of(8), 8);
	cr_expect_eq(topology.quota_milli, UINT64_MAX);
}

Test(topology, has_the_tightest_quota_of_all_cgroups_above)
{
	plant_cgroup("/a/b/c");
	plant_quota("/a/b/c", "600000 100000\n");
	plant_quota("/a/b", "max 100000\n");
	plant_quota("/a", "300000 100000\n");
	plant_quota("/a/other", "100000 100000\n");
	cr_expect_eq(threads_of(8), 3);
	plant_quota("/a/b/c", "50000 50000\n");
	cr_expect_eq(threads_of(8), 1);
}

Test(topology, knows_no_quota_of_cgroups_of_version_1)
{
	plant("/proc/self/cgroup", "3:cpu,cpuacct:/service\n");
	plant("/sys/fs/cgroup/cpu/service/cpu.cfs_quota_us", "100000\n");
	plant_quota("/service", "100000 100000\n");
	cr_expect_eq(threads_of(8), 8);
}

Test(topology, takes_a_quota_that_makes_no_sense_for_none)
{
	static const char *const garbage[] = { "",
					       "\n",
					       "x",
					       "100000",
					       "100000 ",
					       "100000 0\n",
					       "-1 100000",
					       "100000 max",
					       "99999999999999999999 1",
					       "18446744073709551615 1" };

	plant_cgroup("/service");
	for (size_t i = 0; i < gy_countof(garbage); i++) {
		plant_quota("/service", garbage[i]);
		cr_expect_eq(threads_of(8), 8, "\"%s\"", garbage[i]);
	}
}

/* ---- the machine that we are on ---- */

static enum gyre_log_level told_level;
static char told[256];

static void hook(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	told_level = line->level;
	(void)snprintf(told, sizeof(told), "%s", line->text);
}

Test(topology, is_told_in_one_line_and_loops_never_poll_when_they_are_more_than_cpus)
{
	struct gyre_system_options options = { .log = hook, .log_level = GYRE_LOG_DEBUG };
	struct gyre_system *system;
	uint32_t most;

	cr_assert_eq(gyre_system_create(&options, &system), 0);
	most = gyre_system_loops(system);
	cr_expect_not_null(strstr(told, "cores"));
	cr_expect_eq(told_level, GYRE_LOG_DEBUG);
	cr_expect_eq(system->options.spin_ns, GYRE_SPIN_AUTO);
	gyre_system_destroy(system);
	options.loops = most + 1;
	options.buffer_count = 16;
	cr_assert_eq(gyre_system_create(&options, &system), 0);
	cr_expect_eq(system->options.spin_ns, GYRE_SPIN_NEVER);
	cr_expect_eq(system->cpu_places[0].cpu, system->cpu_places[most].cpu);
	gyre_system_destroy(system);
}

static int policy_mode(void)
{
	int mode = -1;

	(void)syscall(SYS_get_mempolicy, &mode, NULL, 0L, NULL, 0L);
	return mode;
}

Test(topology, lets_memory_be_of_a_node_for_a_while)
{
	struct gy_numa_policy before;
	int mode = policy_mode();
	char memory[64 * 1024];

	gy_numa_enter(-1, &before);
	cr_expect_eq(policy_mode(), mode);
	gy_numa_leave(&before);
	gy_numa_enter(1 << 20, &before);
	cr_expect_eq(policy_mode(), mode);
	gy_numa_leave(&before);
	gy_numa_enter(0, &before);
	if (!before.changed) {
		cr_skip_test("this kernel, or this sandbox, has no memory policies");
	}
	cr_expect_eq(policy_mode(), MPOL_PREFERRED);
	gy_numa_leave(&before);
	cr_expect_eq(policy_mode(), mode);
	memset(memory, 'x', sizeof(memory));
	gy_numa_move(0, memory, sizeof(memory));
	for (size_t i = 0; i < sizeof(memory); i++) {
		cr_assert_eq(memory[i], 'x');
	}
}
