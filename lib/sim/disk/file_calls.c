/*
 * The calls of open files that know of offsets, contents and locks. Reading and writing where a
 * descriptor stands are those of all descriptors, in descriptor_calls.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <unistd.h>

#include "sim/disk/disk.h"
#include "sim/wrapped.h"

enum { UNCACHED = 250000 /* reads of a million that would have to wait for the disk */ };

static bool may(const struct gy_sim_file *file, int mode)
{
	int is = file->flags & O_ACCMODE;

	return is == O_RDWR || is == mode;
}

/* ---- at an offset ---- */

/* @at: an offset, or GY_SIM_AT_POSITION. */
static int check(const struct gy_sim_file *file, int mode, int count, uint64_t at)
{
	if (file == NULL || !may(file, mode)) {
		return -EBADF;
	}
	if ((mode == O_RDONLY ? file->ops->read : file->ops->write) == NULL || count < 0 ||
	    count > IOV_MAX) {
		return -EINVAL;
	}
	if (at == GY_SIM_AT_POSITION) {
		return 0;
	}
	if (gy_sim_file_inode(file) == NULL) {
		return -ESPIPE;
	}
	return at > INT64_MAX ? -EINVAL : 0;
}

/* Whether what is read is not in memory: of a regular file that was forgotten, or at times. */
static bool would_wait(const struct gy_sim_file *file)
{
	const struct gy_sim_inode *inode = gy_sim_file_inode(file);

	return file->ops->type == S_IFREG && inode != NULL &&
	       (inode->forgotten ||
		(!file->host->sim->calm && gy_sim_happens(file->host->sim, UNCACHED)));
}

static void note_read(const struct gy_sim_file *file)
{
	struct gy_sim_inode *inode = gy_sim_file_inode(file);

	if (inode != NULL) {
		inode->forgotten = false;
	}
}

/* Another task may close the descriptor while this one waits, so it is looked up each time. */
static int64_t read_at(int fd, const struct iovec *slices, int count, uint64_t at, int flags)
{
	bool wait = (flags & RWF_NOWAIT) == 0;
	struct gy_sim_file *file;
	int64_t r;

	gy_sim_yield(false);
	do {
		file = gy_sim_file_at(fd);
		r = check(file, O_RDONLY, count, at);
		if (r == 0 && !wait && would_wait(file)) {
			r = -EAGAIN;
		}
		if (r == 0) {
			r = file->ops->read(file, slices, (uint32_t)count, at);
			note_read(file);
		}
	} while (r == -EAGAIN && wait && gy_sim_file_wait(file, EPOLLIN, 0, UINT64_MAX) == 0);
	return r;
}

static int64_t write_at(int fd, const struct iovec *slices, int count, uint64_t at, int flags)
{
	bool wait = (flags & RWF_NOWAIT) == 0;
	struct gy_sim_file *file;
	int64_t r;

	gy_sim_yield(false);
	do {
		file = gy_sim_file_at(fd);
		r = check(file, O_WRONLY, count, at);
		if (r == 0 && !wait && file->ops->type == S_IFREG) {
			r = -EOPNOTSUPP; /* as most file systems */
		}
		if (r == 0) {
			r = file->ops->write(file, slices, (uint32_t)count, at);
		}
	} while (r == -EAGAIN && wait && gy_sim_file_wait(file, EPOLLOUT, 0, UINT64_MAX) == 0);
	return r;
}

/* The offsets of calls that have no way to name the position. */
static uint64_t offset_of(off_t offset)
{
	return offset < 0 ? UINT64_MAX - 1 : (uint64_t)offset;
}

/* -1 is the position. */
static uint64_t offset_or_position(off_t offset)
{
	return offset == -1 ? GY_SIM_AT_POSITION : offset_of(offset);
}

ssize_t __wrap_pread(int fd, void *memory, size_t bytes, off_t offset)
{
	const struct iovec slice = { .iov_base = memory, .iov_len = bytes };

	if (gy_sim_here == NULL) {
		return __real_pread(fd, memory, bytes, offset);
	}
	return gy_sim_count(read_at(fd, &slice, 1, offset_of(offset), 0));
}

ssize_t __wrap_preadv(int fd, const struct iovec *slices, int count, off_t offset)
{
	if (gy_sim_here == NULL) {
		return __real_preadv(fd, slices, count, offset);
	}
	return gy_sim_count(read_at(fd, slices, count, offset_of(offset), 0));
}

ssize_t __wrap_preadv2(int fd, const struct iovec *slices, int count, off_t offset, int flags)
{
	if (gy_sim_here == NULL) {
		return __real_preadv2(fd, slices, count, offset, flags);
	}
	return gy_sim_count(read_at(fd, slices, count, offset_or_position(offset), flags));
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
	const struct iovec slice = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = count };

	if (gy_sim_here == NULL) {
		return __real_pwrite(fd, bytes, count, offset);
	}
	return gy_sim_count(write_at(fd, &slice, 1, offset_of(offset), 0));
}

ssize_t __wrap_pwritev(int fd, const struct iovec *slices, int count, off_t offset)
{
	if (gy_sim_here == NULL) {
		return __real_pwritev(fd, slices, count, offset);
	}
	return gy_sim_count(write_at(fd, slices, count, offset_of(offset), 0));
}

ssize_t __wrap_pwritev2(int fd, const struct iovec *slices, int count, off_t offset, int flags)
{
	if (gy_sim_here == NULL) {
		return __real_pwritev2(fd, slices, count, offset, flags);
	}
	return gy_sim_count(write_at(fd, slices, count, offset_or_position(offset), flags));
}

GY_SIM_WRAPPED_SAME(pread64, pread);
GY_SIM_WRAPPED_SAME(preadv64, preadv);
GY_SIM_WRAPPED_SAME(preadv64v2, preadv2);
GY_SIM_WRAPPED_SAME(pwrite64, pwrite);
GY_SIM_WRAPPED_SAME(pwritev64, pwritev);
GY_SIM_WRAPPED_SAME(pwritev64v2, pwritev2);

/* ---- the position and the size ---- */

static int64_t seek(int fd, off_t offset, int from)
{
	struct gy_sim_file *file = gy_sim_file_at(fd);
	const struct gy_sim_inode *inode = file == NULL ? NULL : gy_sim_file_inode(file);
	int64_t base = 0;

	if (inode == NULL) {
		return file == NULL ? -EBADF : -ESPIPE;
	}
	switch (from) {
	case SEEK_SET:
		break;
	case SEEK_CUR:
		base = (int64_t)*gy_sim_file_position(file);
		break;
	case SEEK_END:
		base = (int64_t)inode->now.bytes;
		break;
	default:
		return -EINVAL;
	}
	if (__builtin_add_overflow(base, (int64_t)offset, &base) || base < 0) {
		return -EINVAL;
	}
	*gy_sim_file_position(file) = (uint64_t)base;
	return base;
}

off_t __wrap_lseek(int fd, off_t offset, int from)
{
	if (gy_sim_here == NULL) {
		return __real_lseek(fd, offset, from);
	}
	return gy_sim_count(seek(fd, offset, from));
}

static int resize(int fd, off_t bytes)
{
	struct gy_sim_file *file = gy_sim_file_at(fd);
	struct gy_sim_inode *inode = file == NULL ? NULL : gy_sim_file_inode(file);

	if (file == NULL) {
		return -EBADF;
	}
	if (inode == NULL || !S_ISREG(inode->mode) || bytes < 0 || !may(file, O_WRONLY)) {
		return -EINVAL;
	}
	gy_sim_yield(false);
	return gy_sim_file_at(fd) == file ? gy_sim_inode_resize(inode, (uint64_t)bytes) : -EBADF;
}

int __wrap_ftruncate(int fd, off_t bytes)
{
	if (gy_sim_here == NULL) {
		return __real_ftruncate(fd, bytes);
	}
	return gy_sim_result(resize(fd, bytes));
}

GY_SIM_WRAPPED_SAME(lseek64, lseek);
GY_SIM_WRAPPED_SAME(ftruncate64, ftruncate);

/* ---- syncing, permissions, locks ---- */

static int sync_file(int fd)
{
	struct gy_sim_file *file = gy_sim_file_at(fd);

	return file == NULL ? -EBADF : gy_sim_file_sync(file);
}

int __wrap_fsync(int fd)
{
	if (gy_sim_here == NULL) {
		return __real_fsync(fd);
	}
	return gy_sim_result(sync_file(fd));
}

int __wrap_fdatasync(int fd)
{
	if (gy_sim_here == NULL) {
		return __real_fdatasync(fd);
	}
	return gy_sim_result(sync_file(fd));
}

/* What is not of the disk has no permissions. */
static int set_mode(int fd, mode_t mode)
{
	const mode_t permissions = 07777;
	const struct gy_sim_file *file = gy_sim_file_at(fd);
	struct gy_sim_inode *inode = file == NULL ? NULL : gy_sim_file_inode(file);

	if (inode != NULL) {
		inode->mode = (inode->mode & ~permissions) | (mode & permissions);
	}
	return file == NULL ? -EBADF : 0;
}

int __wrap_fchmod(int fd, mode_t mode)
{
	if (gy_sim_here == NULL) {
		return __real_fchmod(fd, mode);
	}
	return gy_sim_result(set_mode(fd, mode));
}

static int lock_file(int fd, int what)
{
	struct gy_sim_file *file = gy_sim_file_at(fd);

	if (file == NULL) {
		return -EBADF;
	}
	if (gy_sim_file_inode(file) == NULL) {
		return -EINVAL;
	}
	return gy_sim_file_flock(file, what);
}

int __wrap_flock(int fd, int what)
{
	if (gy_sim_here == NULL) {
		return __real_flock(fd, what);
	}
	return gy_sim_result(lock_file(fd, what));
}

static int change_owner(int fd, uid_t user)
{
	const struct gy_sim_file *file = gy_sim_file_at(fd);
	struct gy_sim_inode *inode = file == NULL ? NULL : gy_sim_file_inode(file);

	if (inode == NULL) {
		return file == NULL ? -EBADF : -EINVAL;
	}
	inode->user = user == (uid_t)-1 ? inode->user : user;
	return 0;
}

/* There are no groups of users. */
int __wrap_fchown(int fd, uid_t user, gid_t group)
{
	if (gy_sim_here == NULL) {
		return __real_fchown(fd, user, group);
	}
	return gy_sim_result(change_owner(fd, user));
}

/* What is not needed any more is forgotten, all of it; the rest is good advice. */
static int advise(int fd, int what)
{
	const struct gy_sim_file *file = gy_sim_file_at(fd);
	struct gy_sim_inode *inode = file == NULL ? NULL : gy_sim_file_inode(file);

	if (inode == NULL) {
		return file == NULL ? EBADF : ESPIPE;
	}
	inode->forgotten = inode->forgotten || what == POSIX_FADV_DONTNEED;
	return 0;
}

int __wrap_posix_fadvise(int fd, off_t offset, off_t bytes, int what)
{
	return gy_sim_here == NULL ? __real_posix_fadvise(fd, offset, bytes, what)
				   : advise(fd, what);
}

GY_SIM_WRAPPED_SAME(posix_fadvise64, posix_fadvise);
