/*
 * What a million actors cannot be cheaper than: their memory, fresh from the kernel, of which each
 * byte is written once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/options.h"
#include "common/report.h"

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	int64_t actors = 1000000;
	int64_t bytes = 256;
	bool json = false;
	const struct perf_option options[] = {
		{ .name = "actors",
		  .kind = PERF_OPTION_NUMBER,
		  .help = "how many",
		  .value = &actors,
		  .min = 1,
		  .max = 100000000 },
		{ .name = "bytes",
		  .kind = PERF_OPTION_NUMBER,
		  .help = "bytes of each",
		  .value = &bytes,
		  .min = 1,
		  .max = 65536 },
		{ .name = "json",
		  .kind = PERF_OPTION_FLAG,
		  .help = "print one JSON object",
		  .value = &json },
	};
	struct perf_report report;
	unsigned char *memory;
	uint64_t begin;
	double seconds;

	perf_options_parse(argc, argv, "Writes memory that is fresh from the kernel.", options,
			   sizeof(options) / sizeof(*options));
	memory = (unsigned char *)mmap(NULL, (size_t)(actors * bytes), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		return perf_fail("no memory", -errno);
	}
	begin = now_ns();
	for (int64_t i = 0; i < actors; i++) {
		memset(memory + i * bytes, 1, (size_t)bytes);
	}
	seconds = (double)(now_ns() - begin) / 1e9;
	perf_report_init(&report, "spawn");
	perf_report_number(&report, "spawn_s", seconds);
	perf_report_number(&report, "spawns_per_s", (double)actors / seconds);
	perf_report_print(&report, json);
	return EXIT_SUCCESS;
}
