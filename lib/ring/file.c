/*
 * Files by system calls. Those that may be interrupted by a signal before they have done anything
 * are repeated.
 */
#include "ring/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/assert.h"

static int64_t result_of(int64_t result)
{
	return result < 0 ? -errno : result;
}

int gy_file_open(const char *path, int flags, mode_t mode)
{
	return (int)result_of(open(path, flags, mode));
}

int64_t gy_file_read_at(int fd, void *memory, size_t bytes, uint64_t offset)
{
	int64_t r;

	gy_assert(offset <= INT64_MAX);
	do {
		r = result_of(pread(fd, memory, bytes, (off_t)offset));
	} while (r == -EINTR);
	return r;
}

int gy_file_status(const char *path, struct stat *ret_status)
{
	return (int)result_of(lstat(path, ret_status));
}

int gy_file_set_mode(const char *path, mode_t mode)
{
	return (int)result_of(chmod(path, mode));
}

int gy_file_remove(const char *path)
{
	return (int)result_of(unlink(path));
}

int gy_file_lock(int fd)
{
	int r;

	gy_assert(fd >= 0);
	do {
		r = (int)result_of(flock(fd, LOCK_EX));
	} while (r == -EINTR);
	return r;
}
