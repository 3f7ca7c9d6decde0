/*
 * Which CPUs the loops are pinned to: a list as the kernel writes them ("0-3,8"), or those that the
 * process is allowed to use.
 */
#include "system/machine/cpus.h"

#include <errno.h>
#include <gyre/system.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/thread.h"
#include "system/machine/topology.h"

_Static_assert((int)GYRE_CPUS_MAX == (int)GY_CPUS_MAX, "a list can name what a set can hold");

/* A number at *@text, which is moved behind it; -EINVAL when there is none or it is too large. */
static int parse_number(const char **text)
{
	char *end;
	long number;

	if (**text < '0' || **text > '9') {
		return -EINVAL;
	}
	number = strtol(*text, &end, 10);
	*text = end;
	return number < GYRE_CPUS_MAX ? (int)number : -EINVAL;
}

static int parse_range(const char **text, struct gy_cpus *cpus)
{
	int first = parse_number(text);
	int last = first;

	if (first >= 0 && **text == '-') {
		++*text;
		last = parse_number(text);
	}
	if (first < 0 || last < first) {
		return -EINVAL;
	}
	for (int cpu = first; cpu <= last; cpu++) {
		gy_cpus_add(cpus, cpu);
	}
	return 0;
}

int gy_cpus_parse(const char *list, struct gy_cpus *ret_cpus)
{
	const char *text = list;

	gy_cpus_clear(ret_cpus);
	for (;;) {
		int r = parse_range(&text, ret_cpus);

		if (r < 0 || *text == '\0') {
			return r;
		}
		if (*text++ != ',') {
			return -EINVAL;
		}
	}
}

int gy_cpus_find(const char *list, const struct gy_log *log, int *ret_cpus, int cpus_max)
{
	struct gy_cpus allowed = { 0 };
	struct gy_cpus wanted;
	int count = 0;
	int r = gy_thread_cpus(&allowed);

	if (r < 0) {
		gy_log(log, GYRE_LOG_ERROR,
		       "the kernel does not tell which CPUs the process may use: %s; where a "
		       "seccomp filter or security module forbids sched_getaffinity, allow it",
		       strerrordesc_np(-r));
		return r;
	}
	wanted = allowed;
	if (list != NULL && gy_cpus_parse(list, &wanted) < 0) {
		gy_log(log, GYRE_LOG_ERROR,
		       "cpus is \"%s\": it must be a list of numbers and rising ranges, as 0-3,8, "
		       "and the largest number is %d",
		       list, GYRE_CPUS_MAX - 1);
		return -EINVAL;
	}
	for (int cpu = 0; cpu < GYRE_CPUS_MAX && count < cpus_max; cpu++) {
		if (!gy_cpus_has(&wanted, cpu)) {
			continue;
		}
		if (!gy_cpus_has(&allowed, cpu)) {
			gy_log(log, GYRE_LOG_ERROR,
			       "cpus names CPU %d, which this process may not use", cpu);
			return -EINVAL;
		}
		ret_cpus[count++] = cpu;
	}
	return count > 0 ? count : -EINVAL;
}

static size_t write_range(int first, int last, bool begins, size_t bytes, char *ret_text)
{
	const char *comma = begins ? "" : ",";
	int length = first == last ? snprintf(ret_text, bytes, "%s%d", comma, first)
				   : snprintf(ret_text, bytes, "%s%d-%d", comma, first, last);

	gy_assert(length > 0);
	return (size_t)length;
}

size_t gy_cpus_format(const int *cpus, int count, size_t bytes, char *ret_list)
{
	size_t length = 0;

	for (int first = 0, next; first < count; first = next) {
		bool fits = length < bytes;

		next = first + 1;
		while (next < count && cpus[next] == cpus[next - 1] + 1) {
			next++;
		}
		length += write_range(cpus[first], cpus[next - 1], first == 0,
				      fits ? bytes - length : 0, fits ? ret_list + length : NULL);
	}
	return length;
}
