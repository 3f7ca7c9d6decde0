/*
 * The kernel's table of a process's descriptors grows by doubling, and in a process of several
 * threads whoever opens the descriptor that is one too many waits for an RCU grace period of the
 * kernel: milliseconds, on a machine that is busy tens of them, while its loop stands still. So the
 * table is made large enough before there are loops, which costs 8 bytes of the kernel's memory for
 * each descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "system/system.h"

enum { RESERVED = 65536 }; /* half a megabyte; beyond that it grows while loops run */

void gy_process_reserve_descriptors(const struct gy_log *log)
{
	struct rlimit limit = { 0 };
	int count = RESERVED;
	int fd;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < RESERVED) {
		count = (int)limit.rlim_cur;
	}
	fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, count - 1);
	if (fd >= 0) {
		(void)close(fd);
	} else if (errno == ENOMEM) {
		gy_log(log, GYRE_LOG_WARNING,
		       "the kernel has no memory for a table of %d descriptors: %s; loops wait "
		       "whenever it grows",
		       count, strerror(ENOMEM));
	}
	/* Else it is refused because so many are open: the table has that size. */
}
