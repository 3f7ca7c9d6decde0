/*
 * What a process finds around itself, asked anew each time: none of these calls is made often, and
 * users and limits change.
 */
#include "base/environment.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"

const char *gy_environment_value(const char *name)
{
	return getenv(name);
}

pid_t gy_environment_process(void)
{
	return getpid();
}

uid_t gy_environment_user(void)
{
	return geteuid();
}

uint64_t gy_environment_descriptors_max(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (uint64_t)limit.rlim_cur : 0;
}

uint64_t gy_environment_page_bytes(void)
{
	long bytes = sysconf(_SC_PAGESIZE);

	gy_assert(bytes > 0);
	return (uint64_t)bytes;
}
