/*
 * Processor time of a process. The kernel keeps the sum of a process exactly and offers it as a
 * clock, also to others. It divides it into user and system time by what its tick happens to
 * interrupt; for this process getrusage() tells that, for another one only /proc, in ticks of a
 * hundredth of a second.
 */
#include "common/cpu.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int perf_pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0) {
		return 0;
	}
	if (cpu >= CPU_SETSIZE) {
		return -EINVAL;
	}
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0 ? 0 : -errno;
}

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_usec * 1000;
}

static int divide_self(struct perf_cpu_time *time)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) < 0) {
		return -errno;
	}
	time->user_ns = timeval_ns(usage.ru_utime);
	time->system_ns = timeval_ns(usage.ru_stime);
	return 0;
}

/* Fields 14 and 15 of /proc/PID/stat; the second one, the name, may hold blanks and brackets. */
static int divide_other(pid_t pid, struct perf_cpu_time *time)
{
	uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long user_ticks;
	unsigned long system_ticks;
	char text[1024];
	char path[64];
	const char *after_name;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file == NULL) {
		return -errno;
	}
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	after_name = strrchr(text, ')');
	if (after_name == NULL ||
	    sscanf(after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		   &user_ticks, &system_ticks) != 2) {
		return -EPROTO;
	}
	time->user_ns = user_ticks * tick_ns;
	time->system_ns = system_ticks * tick_ns;
	return 0;
}

int perf_cpu_time(pid_t pid, struct perf_cpu_time *ret_time)
{
	struct perf_cpu_time time;
	struct timespec total;
	clockid_t clock;
	int r;

	r = clock_getcpuclockid(pid, &clock);
	if (r != 0) {
		return -r;
	}
	if (clock_gettime(clock, &total) < 0) {
		return -errno;
	}
	time.total_ns = (uint64_t)total.tv_sec * UINT64_C(1000000000) + (uint64_t)total.tv_nsec;
	r = pid == 0 ? divide_self(&time) : divide_other(pid, &time);
	if (r < 0) {
		return r;
	}
	*ret_time = time;
	return 0;
}

struct perf_cpu_time perf_cpu_time_since(const struct perf_cpu_time *before,
					 const struct perf_cpu_time *after)
{
	return (struct perf_cpu_time){
		.user_ns = after->user_ns - before->user_ns,
		.system_ns = after->system_ns - before->system_ns,
		.total_ns = after->total_ns - before->total_ns,
	};
}

double perf_rss_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long size_pages = 0;
	long rss_pages = 0;

	if (file != NULL) {
		if (fscanf(file, "%ld %ld", &size_pages, &rss_pages) != 2) {
			rss_pages = 0;
		}
		(void)fclose(file);
	}
	return (double)rss_pages * (double)sysconf(_SC_PAGESIZE);
}
