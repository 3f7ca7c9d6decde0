/*
 * What a process has once, for all its systems.
 *
 * Which loop the calling thread turns is a thread-local object, the only one in gyre beside the
 * pool of a thread that turns none (loop/foreign_nodes.c): functions that may not wait on a loop's
 * thread ask for it, and so does the watchdog's signal handler, which runs on some thread and must
 * know what that does.
 *
 * The descriptors 0 to 2 are standard input, output and error to all that a process is made of. A
 * descriptor that is closed when the program begins would be the number of whatever is opened next:
 * a ring, or a connection, into which others then print. So the null device takes its place.
 *
 * The kernel's table of a process's descriptors grows by doubling, and in a process of several
 * threads whoever opens the descriptor that is one too many waits for an RCU grace period of the
 * kernel: milliseconds, on a busy machine tens of them, while its loop stands still. So the table
 * is made large enough before there are loops, which costs 8 bytes of the kernel's memory for each
 * descriptor.
 */
#include "system/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "ring/descriptor.h"
#include "ring/file.h"
#include "system/system.h"
#include "system/threads.h"

enum { RESERVED = 65536 }; /* half a megabyte; beyond that the table grows while loops run */

/* ---- the present worker ---- */

static _Thread_local const struct gy_worker *here;

void gy_current_worker_set(const struct gy_worker *worker)
{
	here = worker;
}

const struct gy_worker *gy_current_worker(void)
{
	return here;
}

bool gyre_address_is_here(struct gyre_address address)
{
	return here != NULL && gy_is_of_node(here->system->homes.node, address);
}

/* ---- descriptors ---- */

int gy_process_open_standard(const struct gy_log *log)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* The lowest number that is free is taken, which is this one. */
		int r = gy_descriptor_is_open(fd) ? 0 : gy_file_open("/dev/null", O_RDWR, 0);

		if (r < 0) {
			gy_log(log, GYRE_LOG_ERROR,
			       "descriptor %d is closed and /dev/null cannot take its place: %s; "
			       "start the program with standard input, output and error",
			       fd, strerror(-r));
			return r;
		}
	}
	return 0;
}

void gy_process_reserve_descriptors(const struct gy_log *log)
{
	uint64_t max = gy_environment_descriptors_max();
	int count = max > 0 && max < RESERVED ? (int)max : RESERVED;
	int fd = gy_descriptor_duplicate(STDIN_FILENO, count - 1);

	if (fd >= 0) {
		(void)gy_descriptor_close(fd);
	} else if (fd == -ENOMEM) {
		gy_log(log, GYRE_LOG_WARNING,
		       "the kernel has no memory for a table of %d descriptors: %s; loops wait "
		       "whenever it grows",
		       count, strerror(ENOMEM));
	}
	/* Else it is refused because so many are open: the table has that size. */
}
