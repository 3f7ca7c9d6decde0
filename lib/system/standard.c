/*
 * The descriptors 0 to 2 are standard input, output and error to all that a process is made of. One
 * that is closed when the program begins would be the number of whatever is opened next: a ring, or
 * a connection, into which others then print. So the null device takes its place, and stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "system/system.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0 || errno != EBADF;
}

int gy_process_open_standard(const struct gy_log *log)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* It gets the lowest number that is free, which is this one. */
		if (!is_open(fd) && open("/dev/null", O_RDWR) < 0) {
			int r = -errno;

			gy_log(log, GYRE_LOG_ERROR,
			       "descriptor %d is closed and /dev/null cannot take its place: %s; "
			       "start the program with standard input, output and error",
			       fd, strerror(-r));
			return r;
		}
	}
	return 0;
}
