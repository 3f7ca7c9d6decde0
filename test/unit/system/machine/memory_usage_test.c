/*
 * How much memory is in use of what limit: planted cgroups, good and bad, and the exact thresholds.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/memory/memory.h"
#include "system/machine/memory_usage.h"
#include "system/plant.h"

#define MIB UINT64_C(1048576)

static struct gy_memory_usage memory_usage;

static void setup(void)
{
	plant_begin();
	gy_memory_usage_init(&memory_usage);
}

static void teardown(void)
{
	gy_memory_usage_close(&memory_usage);
	plant_end();
}

TestSuite(memory_usage, .init = setup, .fini = teardown);

static void plant_memory(const char *folder, uint64_t limit, uint64_t used)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", folder);
	if (limit == UINT64_MAX) {
		plant(path, "max\n");
	} else {
		plant_number(path, limit);
	}
	(void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.current", folder);
	plant_number(path, used);
}

static void expect_use(uint64_t used, uint64_t limit)
{
	struct gy_memory_reading look = gy_memory_usage_read(&memory_usage);

	cr_expect_eq(look.used_bytes, used, "%lu used, and not %lu", look.used_bytes, used);
	cr_expect_eq(look.limit_bytes, limit, "%lu is the limit, and not %lu", look.limit_bytes,
		     limit);
}

/* ---- thresholds ---- */

Test(memory_usage, of_a_large_limit_is_over_above_90_percent_and_high_from_80_percent_on)
{
	const uint64_t limit = 10000 * MIB;

	cr_expect_eq(gy_memory_usage_level_of(0, limit), GY_MEMORY_USAGE_LOW);
	cr_expect_eq(gy_memory_usage_level_of(5000 * MIB - 1, limit), GY_MEMORY_USAGE_LOW);
	cr_expect_eq(gy_memory_usage_level_of(5000 * MIB, limit), GY_MEMORY_USAGE_HALF);
	cr_expect_eq(gy_memory_usage_level_of(8000 * MIB - 1, limit), GY_MEMORY_USAGE_HALF);
	cr_expect_eq(gy_memory_usage_level_of(8000 * MIB, limit), GY_MEMORY_USAGE_HIGH);
	cr_expect_eq(gy_memory_usage_level_of(9000 * MIB, limit), GY_MEMORY_USAGE_HIGH);
	cr_expect_eq(gy_memory_usage_level_of(9000 * MIB + 1, limit), GY_MEMORY_USAGE_OVER);
	cr_expect_eq(gy_memory_usage_level_of(UINT64_MAX, limit), GY_MEMORY_USAGE_OVER);
}

Test(memory_usage, of_less_than_1000_mib_is_over_with_less_than_100_mib_free)
{
	cr_expect_eq(gy_memory_usage_level_of(800 * MIB, 900 * MIB), GY_MEMORY_USAGE_HIGH);
	cr_expect_eq(gy_memory_usage_level_of(800 * MIB + 1, 900 * MIB), GY_MEMORY_USAGE_OVER);
	cr_expect_eq(gy_memory_usage_level_of(700 * MIB, 800 * MIB), GY_MEMORY_USAGE_HIGH);
	cr_expect_eq(gy_memory_usage_level_of(700 * MIB + 1, 800 * MIB), GY_MEMORY_USAGE_OVER);
}

Test(memory_usage, of_less_than_800_mib_is_over_with_less_than_an_eighth_free)
{
	cr_expect_eq(gy_memory_usage_level_of(70 * MIB, 80 * MIB), GY_MEMORY_USAGE_HIGH);
	cr_expect_eq(gy_memory_usage_level_of(70 * MIB + 1, 80 * MIB), GY_MEMORY_USAGE_OVER);
	cr_expect_eq(gy_memory_usage_level_of(64 * MIB, 80 * MIB), GY_MEMORY_USAGE_HIGH);
	cr_expect_eq(gy_memory_usage_level_of(64 * MIB - 1, 80 * MIB), GY_MEMORY_USAGE_HALF);
	cr_expect_eq(gy_memory_usage_level_of(8, 8), GY_MEMORY_USAGE_OVER);
}

/* ---- cgroups ---- */

Test(memory_usage, is_of_the_own_cgroup_when_it_has_a_limit)
{
	plant_cgroup("/service");
	plant_memory("/service", 1000 * MIB, 600 * MIB);
	gy_memory_usage_open(&memory_usage, plant_root, 0);
	expect_use(600 * MIB, 1000 * MIB);
	plant_memory("/service", 2000 * MIB, 700 * MIB);
	expect_use(700 * MIB, 2000 * MIB);
}

Test(memory_usage, is_of_the_cgroup_whose_limit_is_nearest)
{
	plant_cgroup("/outer/middle/inner");
	plant_memory("/outer/middle/inner", 1000 * MIB, 100 * MIB);
	plant_memory("/outer/middle", UINT64_MAX, 5000 * MIB);
	plant_memory("/outer", 2000 * MIB, 1900 * MIB);
	gy_memory_usage_open(&memory_usage, plant_root, 0);
	expect_use(1900 * MIB, 2000 * MIB);
	cr_expect_eq(gy_memory_usage_read(&memory_usage).level, GY_MEMORY_USAGE_OVER);
	plant_memory("/outer", 2000 * MIB, 150 * MIB);
	expect_use(100 * MIB, 1000 * MIB);
}

Test(memory_usage, does_not_count_page_cache_that_can_be_dropped)
{
	plant_cgroup("/");
	plant_memory("", 1000 * MIB, 990 * MIB);
	plant("/sys/fs/cgroup/memory.stat", "anon 1\nfile 800\ninactive_anon 7\n"
					    "xinactive_file 9\ninactive_file 314572800\n"
					    "active_file 209715200\nunevictable 0\n");
	gy_memory_usage_open(&memory_usage, plant_root, 0);
	expect_use(490 * MIB, 1000 * MIB);
	plant("/sys/fs/cgroup/memory.stat", "anon 1\n");
	expect_use(990 * MIB, 1000 * MIB);
	plant("/sys/fs/cgroup/memory.stat", "inactive_file\nactive_file x\n");
	expect_use(990 * MIB, 1000 * MIB);
}

Test(memory_usage, is_found_where_both_versions_of_cgroups_are_mounted)
{
	plant("/proc/self/cgroup", "4:memory:/old\n0::/new\n");
	plant("/sys/fs/cgroup/unified/cgroup.controllers", "");
	plant_memory("/unified/new", 1000 * MIB, 1 * MIB);
	plant_memory("/old", 10 * MIB, 10 * MIB);
	gy_memory_usage_open(&memory_usage, plant_root, 0);
	expect_use(1 * MIB, 1000 * MIB);
}

Test(memory_usage, is_of_the_top_that_can_be_seen_when_the_own_path_cannot)
{
	plant_cgroup("/machine/of/somebody/else");
	plant_memory("", 1000 * MIB, 2 * MIB);
	gy_memory_usage_open(&memory_usage, plant_root, 0);
	expect_use(2 * MIB, 1000 * MIB);
	gy_memory_usage_close(&memory_usage);
	plant_cgroup("/../sibling");
	plant_memory("/../sibling", 10 * MIB, 10 * MIB);
	gy_memory_usage_open(&memory_usage, plant_root, 0);
	expect_use(2 * MIB, 1000 * MIB);
}

Test(memory_usage, goes_without_a_limit_that_was_taken_away)
{
	plant_cgroup("/service");
	plant_memory("/service", 1000 * MIB, 950 * MIB);
	gy_memory_usage_open(&memory_usage, plant_root, 0);
	cr_expect_eq(gy_memory_usage_read(&memory_usage).level, GY_MEMORY_USAGE_OVER);
	plant_memory("/service", UINT64_MAX, 950 * MIB);
	cr_expect_eq(gy_memory_usage_read(&memory_usage).level, GY_MEMORY_USAGE_LOW);
}

/* ---- resident memory ---- */

static void plant_resident(uint64_t pages)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "999999 %-20lu 3 4 0 5 0\n", (unsigned long)pages);
	plant("/proc/self/statm", text);
}

static void plant_machine(void)
{
	plant("/proc/meminfo", "MemTotal:        1024000 kB\nMemFree:          1 kB\n");
}

Test(memory_usage, is_what_is_resident_of_the_machine_where_no_cgroup_has_a_limit)
{
	plant_cgroup("/service");
	plant_memory("/service", UINT64_MAX, 5 * MIB);
	plant_machine();
	plant_resident(1000);
	gy_memory_usage_open(&memory_usage, plant_root, 0);
	expect_use(1000 * memory_usage.page_bytes, 1000 * MIB);
}

Test(memory_usage, is_what_is_resident_of_the_machine_with_cgroups_of_version_1)
{
	plant("/proc/self/cgroup", "4:memory:/old\n1:cpu:/\n");
	plant_memory("/memory/old", 10 * MIB, 10 * MIB);
	plant_machine();
	plant_resident(7);
	gy_memory_usage_open(&memory_usage, plant_root, 0);
	expect_use(7 * memory_usage.page_bytes, 1000 * MIB);
}

Test(memory_usage, is_of_the_limit_that_was_asked_for_or_of_a_cgroup_that_is_nearer)
{
	plant_cgroup("/service");
	plant_memory("/service", 1000 * MIB, 500 * MIB);
	plant_resident(900);
	gy_memory_usage_open(&memory_usage, plant_root, 1000 * (uint64_t)sysconf(_SC_PAGESIZE));
	expect_use(900 * memory_usage.page_bytes, 1000 * memory_usage.page_bytes);
	plant_resident(100);
	expect_use(500 * MIB, 1000 * MIB);
}

Test(memory_usage, has_no_limit_where_nothing_can_be_read)
{
	gy_memory_usage_open(&memory_usage, plant_root, 0);
	expect_use(0, 0);
	cr_expect_eq(gy_memory_usage_read(&memory_usage).level, GY_MEMORY_USAGE_LOW);
}

Test(memory_usage, has_no_limit_where_nothing_can_be_understood)
{
	static const char *const garbage[] = { "",	"\n", "x", "-1", "99999999999999999999999",
					       "memory" };

	for (size_t i = 0; i < gy_countof(garbage); i++) {
		plant("/proc/self/cgroup", garbage[i]);
		plant("/proc/meminfo", garbage[i]);
		plant("/proc/self/statm", garbage[i]);
		plant("/sys/fs/cgroup/cgroup.controllers", garbage[i]);
		plant("/sys/fs/cgroup/memory.max", garbage[i]);
		plant("/sys/fs/cgroup/memory.current", garbage[i]);
		gy_memory_usage_open(&memory_usage, plant_root, 0);
		expect_use(0, 0);
		gy_memory_usage_close(&memory_usage);
		gy_memory_usage_open(&memory_usage, plant_root, 1000);
		expect_use(0, 0);
		gy_memory_usage_close(&memory_usage);
	}
}

Test(memory_usage, is_read_from_this_machine_without_the_heap)
{
	uint64_t allocations;

	gy_memory_usage_open(&memory_usage, "", 1 * MIB);
	allocations = gy_memory_allocations();
	cr_expect_gt(gy_memory_usage_read(&memory_usage).used_bytes, 0);
	cr_expect_eq(gy_memory_usage_read(&memory_usage).level, GY_MEMORY_USAGE_OVER,
		     "a process has more than 1 MiB");
	cr_expect_eq(gy_memory_allocations(), allocations);
}
