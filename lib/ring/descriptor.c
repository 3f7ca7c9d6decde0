/*
 * Descriptors by system calls. Each that is made here is closed by exec().
 */
#include "ring/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"

static int64_t result_of(int64_t result)
{
	return result < 0 ? -errno : result;
}

int gy_descriptor_close(int fd)
{
	gy_assert(fd >= 0);
	return (int)result_of(close(fd));
}

bool gy_descriptor_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0 || errno != EBADF;
}

int gy_descriptor_duplicate(int fd, int least)
{
	gy_assert(least >= 0);
	return (int)result_of(fcntl(fd, F_DUPFD_CLOEXEC, least));
}

int gy_descriptor_replace(int fd, int by)
{
	int r = (int)result_of(dup3(by, fd, O_CLOEXEC));

	gy_assert(r < 0 || r == fd);
	return r < 0 ? r : 0;
}

int gy_descriptor_close_on_exec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return (int)result_of(flags < 0 ? flags : fcntl(fd, F_SETFD, flags | FD_CLOEXEC));
}

int gy_descriptor_set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0) {
		return -errno;
	}
	return (flags & O_NONBLOCK) != 0 ? 0 : gy_descriptor_set_flags(fd, flags | O_NONBLOCK);
}

int gy_descriptor_set_flags(int fd, int flags)
{
	return (int)result_of(fcntl(fd, F_SETFL, flags));
}

int gy_descriptor_status(int fd, struct stat *ret_status)
{
	return (int)result_of(fstat(fd, ret_status));
}

int gy_descriptor_set_mode(int fd, mode_t mode)
{
	return (int)result_of(fchmod(fd, mode));
}

int64_t gy_descriptor_read(int fd, void *memory, size_t bytes)
{
	return result_of(read(fd, memory, bytes));
}

int64_t gy_descriptor_write(int fd, const void *bytes, size_t count)
{
	return result_of(write(fd, bytes, count));
}

int gy_descriptor_poll(struct pollfd *descriptors, size_t count, int timeout_ms)
{
	gy_assert(count > 0);
	return (int)result_of(poll(descriptors, (nfds_t)count, timeout_ms));
}

int gy_descriptor_open_pipe(int ret_fds[2])
{
	return (int)result_of(pipe2(ret_fds, O_CLOEXEC));
}

int gy_descriptor_open_event(bool nonblocking)
{
	return (int)result_of(eventfd(0, EFD_CLOEXEC | (nonblocking ? EFD_NONBLOCK : 0)));
}

int gy_descriptor_post_event(int fd)
{
	return (int)result_of(eventfd_write(fd, 1));
}

int gy_descriptor_take_event(int fd)
{
	eventfd_t count;

	return (int)result_of(eventfd_read(fd, &count));
}
