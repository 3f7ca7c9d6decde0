/*
 * The blocking operations of the epoll engine, as a worker thread does them: those on files, whose
 * descriptors are always ready and still may wait for a disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ring/epoll.h"

static ssize_t read_file(const struct io_uring_sqe *sqe)
{
	void *memory = (void *)(uintptr_t)sqe->addr;

	return sqe->off == GY_RING_AT_POSITION ? read(sqe->fd, memory, sqe->len)
					       : pread(sqe->fd, memory, sqe->len, (off_t)sqe->off);
}

static ssize_t write_file(const struct io_uring_sqe *sqe)
{
	const struct iovec one = { .iov_base = (void *)(uintptr_t)sqe->addr, .iov_len = sqe->len };
	bool is_one = sqe->opcode == IORING_OP_WRITE;
	const struct iovec *slices = is_one ? &one : (const struct iovec *)(uintptr_t)sqe->addr;
	int count = is_one ? 1 : (int)sqe->len;

	return sqe->off == GY_RING_AT_POSITION ? writev(sqe->fd, slices, count)
					       : pwritev(sqe->fd, slices, count, (off_t)sqe->off);
}

static ssize_t open_file(const struct io_uring_sqe *sqe)
{
	return openat(sqe->fd, (const char *)(uintptr_t)sqe->addr, (int)sqe->open_flags, sqe->len);
}

static ssize_t splice_file(const struct io_uring_sqe *sqe)
{
	off64_t offset = (off64_t)sqe->splice_off_in;

	return splice(sqe->splice_fd_in, &offset, sqe->fd, NULL, sqe->len, sqe->splice_flags);
}

/*
 * Apart from its caller, which the simulator puts a function of its own before: with variables on
 * its stack the address sanitizer notes that one's address, which no shared library can hold.
 */
static __attribute__((noinline)) ssize_t do_once(const struct io_uring_sqe *sqe)
{
	switch (sqe->opcode) {
	case IORING_OP_READ:
		return read_file(sqe);
	case IORING_OP_WRITE:
	case IORING_OP_WRITEV:
		return write_file(sqe);
	case IORING_OP_OPENAT:
		return open_file(sqe);
	case IORING_OP_FSYNC:
		return (sqe->fsync_flags & IORING_FSYNC_DATASYNC) != 0 ? fdatasync(sqe->fd)
								       : fsync(sqe->fd);
	case IORING_OP_STATX:
		return statx(sqe->fd, (const char *)(uintptr_t)sqe->addr, (int)sqe->statx_flags,
			     sqe->len, (struct statx *)(uintptr_t)sqe->off);
	case GY_KERNEL_OP_FTRUNCATE:
		return ftruncate(sqe->fd, (off_t)sqe->off);
	default:
		gy_assert(sqe->opcode == IORING_OP_SPLICE);
		return splice_file(sqe);
	}
}

int64_t gy_epoll_do_blocking(const struct io_uring_sqe *sqe)
{
	ssize_t r;

	do {
		r = do_once(sqe);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}
