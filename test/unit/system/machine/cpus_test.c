/*
 * Lists of CPUs, good ones and bad ones.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macros.h"
#include "system/machine/cpus.h"
#include "system/system.h"

static int allowed[GYRE_CPUS_MAX];
static int allowed_count;
static uint32_t lines;
static char last_line[512];

static void hook(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	cr_assert_eq(line->level, GYRE_LOG_ERROR);
	lines++;
	(void)snprintf(last_line, sizeof(last_line), "%s", line->text);
}

static const struct gy_log to_hook = { .write = hook };

static void setup(void)
{
	cpu_set_t set;

	cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; cpu < GYRE_CPUS_MAX; cpu++) {
		if (CPU_ISSET((size_t)cpu, &set)) {
			allowed[allowed_count++] = cpu;
		}
	}
}

TestSuite(cpus, .init = setup);

Test(cpus, are_those_of_the_process_when_none_are_named)
{
	int found[GYRE_CPUS_MAX];

	cr_assert_eq(gy_cpus_find(NULL, &to_hook, found, GYRE_CPUS_MAX), allowed_count);
	cr_assert_arr_eq(found, allowed, sizeof(int) * (size_t)allowed_count);
	cr_assert_eq(gy_cpus_find(NULL, &to_hook, found, 1), 1);
}

Test(cpus, are_named_by_numbers_and_ranges_in_any_order_each_counted_once)
{
	int first = allowed[0];
	int last = allowed[allowed_count - 1];
	int found[GYRE_CPUS_MAX];
	char list[128];

	(void)snprintf(list, sizeof(list), "%d", last);
	cr_assert_eq(gy_cpus_find(list, &to_hook, found, GYRE_CPUS_MAX), 1);
	cr_assert_eq(found[0], last);
	(void)snprintf(list, sizeof(list), "%d,%d-%d,%d", last, first, first, last);
	cr_assert_eq(gy_cpus_find(list, &to_hook, found, GYRE_CPUS_MAX), allowed_count > 1 ? 2 : 1);
	cr_assert_eq(found[0], first);
	if (last - first == allowed_count - 1) {
		(void)snprintf(list, sizeof(list), "%d-%d", first, last);
		cr_assert_eq(gy_cpus_find(list, &to_hook, found, GYRE_CPUS_MAX), allowed_count);
	}
	cr_assert_eq(lines, 0);
}

Test(cpus, are_written_as_a_list_of_numbers_and_ranges)
{
	static const struct {
		int cpus[6];
		int count;
		const char *list;
	} all[] = {
		{ { 0 }, 1, "0" },
		{ { 8191 }, 1, "8191" },
		{ { 0, 1 }, 2, "0-1" },
		{ { 0, 2, 4 }, 3, "0,2,4" },
		{ { 0, 1, 2, 3, 8, 10 }, 6, "0-3,8,10" },
		{ { 1, 3, 4, 7, 8, 9 }, 6, "1,3-4,7-9" },
	};
	char list[32];

	for (size_t i = 0; i < gy_countof(all); i++) {
		size_t length = strlen(all[i].list);

		cr_expect_eq(gy_cpus_format(all[i].cpus, all[i].count, 0, NULL), length);
		cr_expect_eq(gy_cpus_format(all[i].cpus, all[i].count, sizeof(list), list), length);
		cr_expect_str_eq(list, all[i].list);
	}
	cr_expect_eq(gy_cpus_format(all[4].cpus, all[4].count, 4, list), strlen(all[4].list));
	cr_expect_str_eq(list, "0-3", "a text that does not fit is cut off");
}

Test(cpus, in_a_list_that_is_none_are_refused_with_one_line_that_shows_it)
{
	static const char *const bad[] = { "",
					   ",",
					   "0,",
					   ",0",
					   "x",
					   "0x1",
					   "-1",
					   "1-0",
					   "0-",
					   "0--1",
					   " 0",
					   "0 ",
					   "0;1",
					   "0-1-2",
					   "0,,0",
					   "8192",
					   "0-8192",
					   "+0",
					   "99999999999999999999" };
	int found[GYRE_CPUS_MAX];

	for (size_t i = 0; i < gy_countof(bad); i++) {
		found[0] = -7;
		lines = 0;
		cr_assert_eq(gy_cpus_find(bad[i], &to_hook, found, GYRE_CPUS_MAX), -EINVAL,
			     "\"%s\"", bad[i]);
		cr_assert_eq(lines, 1, "\"%s\"", bad[i]);
		cr_assert_not_null(strstr(last_line, bad[i]));
		cr_assert_not_null(strstr(last_line, "cpus"));
		cr_assert_not_null(strstr(last_line, "the largest number is 8191"));
		cr_assert_eq(found[0], -7);
	}
}

Test(cpus, that_the_process_may_not_use_are_refused_by_number)
{
	int found[GYRE_CPUS_MAX];

	cr_assert_lt(allowed[allowed_count - 1], GYRE_CPUS_MAX - 1, "this machine has them all");
	cr_assert_eq(gy_cpus_find("8191", &to_hook, found, GYRE_CPUS_MAX), -EINVAL);
	cr_assert_not_null(strstr(last_line, "8191"));
}

/* The machine that sched_getaffinity() tells of, in the place of the C library's. */
static int largest_cpu;
static int refusal;

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set)
{
	long r;

	if (refusal != 0) {
		errno = refusal;
		return -1;
	}
	if (largest_cpu == 0) {
		memset(set, 0, bytes);
		r = syscall(SYS_sched_getaffinity, process, bytes, set);
		return r < 0 ? -1 : 0;
	}
	if (bytes * 8 <= (size_t)largest_cpu) {
		errno = EINVAL; /* as the kernel: not all that there may be would fit */
		return -1;
	}
	memset(set, 0, bytes);
	CPU_SET_S(3, bytes, set);
	CPU_SET_S((size_t)largest_cpu, bytes, set);
	return 0;
}

Test(cpus, with_numbers_above_a_thousand_are_found)
{
	int found[4];

	largest_cpu = 3000;
	cr_assert_eq(gy_cpus_find(NULL, &to_hook, found, 4), 2);
	cr_assert_eq(found[0], 3);
	cr_assert_eq(found[1], 3000);
	cr_assert_eq(gy_cpus_find("3000", &to_hook, found, 4), 1);
	cr_assert_eq(found[0], 3000);
	cr_assert_eq(lines, 0);
}

Test(cpus, that_the_kernel_does_not_tell_are_named_in_the_log)
{
	const struct gyre_system_options options = { .log = hook };
	struct gyre_system *system = NULL;

	refusal = EPERM;
	cr_assert_eq(gyre_system_create(&options, &system), -EPERM);
	cr_assert_null(system);
	cr_assert_eq(lines, 1);
	cr_assert_not_null(strstr(last_line, "sched_getaffinity"), "%s", last_line);
}

Test(cpus, make_the_creation_of_a_system_fail)
{
	const struct gyre_system_options options = { .cpus = "nonsense", .log = hook };
	struct gyre_system *system = NULL;

	cr_assert_eq(gyre_system_create(&options, &system), -EINVAL);
	cr_assert_null(system);
	cr_assert_eq(lines, 1);
}
