/*
 * Operations on files and pipes. What cannot be done without waiting, because the bytes are not in
 * the page cache or the operation has no other form, the kernel hands to worker threads of its own:
 * to the loop all of them look alike.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "ring/ring_private.h"

int gy_ring_open(struct gy_ring *ring, struct gy_op *op, const char *path, int flags, uint32_t mode)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_openat(sqe, AT_FDCWD, path, flags | O_CLOEXEC, mode);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_read(struct gy_ring *ring, struct gy_op *op, int fd, void *memory, uint32_t bytes,
		 uint64_t offset)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_read(sqe, fd, memory, bytes, offset);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_write_bytes(struct gy_ring *ring, struct gy_op *op, int fd, const void *bytes,
			uint32_t count)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_write(sqe, fd, bytes, count, GY_RING_AT_POSITION);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_write(struct gy_ring *ring, struct gy_op *op, int fd, const struct iovec *slices,
		  uint32_t count, uint64_t offset)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_writev(sqe, fd, slices, count, offset);
	return gy_ring_arm(ring, op, sqe);
}

static int read_provided(struct gy_ring *ring, struct gy_op *op, int fd, uint8_t opcode)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	gy_assert(ring->buffers[GY_RING_STREAM_GROUP].count > 0);
	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_read(sqe, fd, NULL, 0, GY_RING_AT_POSITION);
	sqe->opcode = opcode;
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = GY_RING_STREAM_GROUP;
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_read_buffers(struct gy_ring *ring, struct gy_op *op, int fd)
{
	gy_assert(ring->features.multishot_read);
	return read_provided(ring, op, fd, GY_KERNEL_OP_READ_MULTISHOT);
}

int gy_ring_sync(struct gy_ring *ring, struct gy_op *op, int fd, bool data_only)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_fsync(sqe, fd, data_only ? IORING_FSYNC_DATASYNC : 0);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_stat(struct gy_ring *ring, struct gy_op *op, int fd, struct statx *ret_status)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_statx(sqe, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, ret_status);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_truncate(struct gy_ring *ring, struct gy_op *op, int fd, uint64_t bytes)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	gy_assert(ring->features.truncate);
	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_rw(GY_KERNEL_OP_FTRUNCATE, sqe, fd, NULL, 0, bytes);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_splice(struct gy_ring *ring, struct gy_op *op, int from, uint64_t offset, int to,
		   uint32_t bytes)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_splice(sqe, from, (int64_t)offset, to, -1, bytes, SPLICE_F_MOVE);
	return gy_ring_arm(ring, op, sqe);
}
