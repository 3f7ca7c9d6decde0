/*
 * The kernel divides a process's time by its own tick, 250 times a second: of a server that spends
 * 5 % of its time in user mode a run of four seconds catches 50 ticks there, give or take seven.
 * That is too coarse to compare two servers. Where the machine has no cycle counters (most virtual
 * ones) a perf event on the processor clock still samples as often as one likes. The samples carry
 * nothing, only their headers are counted: each says whether it interrupted user mode.
 */
#include "common/sampler.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RING_BYTES = 256 * 1024 };

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int sample_thread(struct perf_sampler_thread *thread, pid_t tid, uint64_t hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		return -errno;
	}
	thread->ring = mmap(NULL, page_bytes() + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			    (int)fd, 0);
	if (thread->ring == MAP_FAILED) {
		int r = -errno;

		close((int)fd);
		return r;
	}
	thread->fd = (int)fd;
	return 0;
}

static void count_samples(const struct perf_sampler_thread *thread, uint64_t *user, uint64_t *all)
{
	const struct perf_event_mmap_page *control = thread->ring;
	const char *data = (const char *)thread->ring + page_bytes();
	uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header header;

	for (uint64_t at = 0; at < head && at + sizeof(header) <= RING_BYTES; at += header.size) {
		memcpy(&header, data + at, sizeof(header));
		if (header.size < sizeof(header)) {
			break;
		}
		if (header.type == PERF_RECORD_SAMPLE) {
			uint32_t mode = header.misc & PERF_RECORD_MISC_CPUMODE_MASK;

			*user += mode == PERF_RECORD_MISC_USER;
			(*all)++;
		}
	}
}

uint64_t perf_sampler_stop(struct perf_sampler *sampler, double *ret_user_share)
{
	uint64_t user = 0;
	uint64_t all = 0;

	for (size_t i = 0; i < sampler->count; i++) {
		struct perf_sampler_thread *thread = &sampler->threads[i];

		ioctl(thread->fd, PERF_EVENT_IOC_DISABLE, 0);
		count_samples(thread, &user, &all);
		munmap(thread->ring, page_bytes() + RING_BYTES);
		close(thread->fd);
	}
	sampler->count = 0;
	*ret_user_share = all == 0 ? 0 : (double)user / (double)all;
	return all;
}

int perf_sampler_start(struct perf_sampler *sampler, pid_t pid, uint64_t hz)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;
	int r = 0;

	sampler->count = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (tasks == NULL) {
		return -errno;
	}
	while (r == 0 && (entry = readdir(tasks)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10); /* 0 for . and .. */

		if (tid > 0 && sampler->count < PERF_SAMPLER_THREADS_MAX) {
			r = sample_thread(&sampler->threads[sampler->count], tid, hz);
			sampler->count += r == 0;
		}
	}
	closedir(tasks);
	if (r < 0) {
		double share;

		perf_sampler_stop(sampler, &share);
	}
	return r;
}
