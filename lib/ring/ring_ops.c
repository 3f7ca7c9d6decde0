/*
 * The operations. Each takes a submission entry, lets liburing fill it, and arms the operation:
 * from then on its new generation travels with it, and completions of earlier uses no longer match.
 *
 * An entry is got before anything is changed, so a call that fails with -EAGAIN has done nothing.
 */
#include <errno.h>

#include "ring/ring_private.h"

enum { SEND_BYTES_MAX = 1 << 30 }; /* a result has 31 bits; a short count is legal anyway */

int gy_ring_accept(struct gy_ring *ring, struct gy_op *op, int fd)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_multishot_accept(sqe, fd, NULL, NULL, SOCK_CLOEXEC);
	return gy_ring_arm(ring, op, sqe);
}

static int receive(struct gy_ring *ring, struct gy_op *op, int fd, uint16_t how)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	gy_assert(ring->buffers[GY_RING_STREAM_GROUP].count > 0);
	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_recv(sqe, fd, NULL, 0, 0);
	sqe->ioprio = how;
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = GY_RING_STREAM_GROUP;
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_receive(struct gy_ring *ring, struct gy_op *op, int fd)
{
	return receive(ring, op, fd, IORING_RECV_MULTISHOT);
}

int gy_ring_receive_once(struct gy_ring *ring, struct gy_op *op, int fd)
{
	return receive(ring, op, fd, 0);
}

int gy_ring_receive_datagrams(struct gy_ring *ring, struct gy_op *op, int fd)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	gy_assert(ring->buffers[GY_RING_DATAGRAM_GROUP].count > 0);
	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_recvmsg_multishot(sqe, fd, gy_ring_datagram_shape(), 0);
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = GY_RING_DATAGRAM_GROUP;
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_receive_into(struct gy_ring *ring, struct gy_op *op, int fd, void *memory, size_t bytes)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_recv(sqe, fd, memory, bytes, 0);
	return gy_ring_arm(ring, op, sqe);
}

static GY_COLD int send_after_submit(struct gy_ring *ring, struct gy_op *op, int fd,
				     const void *bytes, size_t count)
{
	return gy_ring_make_room(ring) ? gy_ring_send(ring, op, fd, bytes, count) : -EAGAIN;
}

/* The send that servers do most: the rare case is a tail call, so that no register need be saved
 * for it. */
int gy_ring_send(struct gy_ring *ring, struct gy_op *op, int fd, const void *bytes, size_t count)
{
	struct io_uring_sqe *sqe;

	if (gy_unlikely(!gy_ring_has_room(ring))) {
		return send_after_submit(ring, op, fd, bytes, count);
	}
	sqe = gy_ring_next_sqe(ring);
	io_uring_prep_send(sqe, fd, bytes, count < SEND_BYTES_MAX ? count : SEND_BYTES_MAX,
			   MSG_NOSIGNAL);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_send_message(struct gy_ring *ring, struct gy_op *op, int fd,
			 const struct msghdr *message)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_sendmsg(sqe, fd, message, MSG_NOSIGNAL);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_send_zero_copy(struct gy_ring *ring, struct gy_op *op, int fd,
			   const struct msghdr *message, bool report)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_sendmsg_zc(sqe, fd, message, MSG_NOSIGNAL);
	sqe->ioprio = report ? GY_KERNEL_SEND_ZC_REPORT_USAGE : 0;
	return gy_ring_arm(ring, op, sqe);
}

bool gy_ring_was_copied(const struct gy_completion *completion)
{
	return ((uint32_t)completion->result & GY_KERNEL_NOTIF_USAGE_ZC_COPIED) != 0;
}

/*
 * Kernels up to 6.18 at least, when they wait for room, begin anew with what is left of a message
 * of which they have copied some before: a datagram would arrive empty, or in part.
 */
int gy_ring_send_datagram(struct gy_ring *ring, struct gy_op *op, int fd,
			  const struct msghdr *message)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_sendmsg(sqe, fd, message, MSG_NOSIGNAL | MSG_DONTWAIT);
	return gy_ring_arm(ring, op, sqe);
}

/* A tail call, as for gy_ring_send(). */
static GY_COLD int send_piece_after_submit(struct gy_ring *ring, struct gy_op *op, int fd,
					   struct iovec piece, const struct sockaddr *to,
					   socklen_t to_bytes)
{
	return gy_ring_make_room(ring)
		       ? gy_ring_send_datagram_piece(ring, op, fd, piece, to, to_bytes)
		       : -EAGAIN;
}

int gy_ring_send_datagram_piece(struct gy_ring *ring, struct gy_op *op, int fd, struct iovec piece,
				const struct sockaddr *to, socklen_t to_bytes)
{
	struct io_uring_sqe *sqe;

	if (gy_unlikely(!gy_ring_has_room(ring))) {
		return send_piece_after_submit(ring, op, fd, piece, to, to_bytes);
	}
	sqe = gy_ring_next_sqe(ring);
	io_uring_prep_send(sqe, fd, piece.iov_base, piece.iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
	io_uring_prep_send_set_addr(sqe, to, (uint16_t)to_bytes);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_connect(struct gy_ring *ring, struct gy_op *op, int fd, const struct sockaddr *address,
		    socklen_t bytes)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_connect(sqe, fd, address, bytes);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_shutdown(struct gy_ring *ring, struct gy_op *op, int fd, int how)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_shutdown(sqe, fd, how);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_poll(struct gy_ring *ring, struct gy_op *op, int fd, uint32_t events)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_poll_add(sqe, fd, events);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_close(struct gy_ring *ring, struct gy_op *op, int fd)
{
	struct io_uring_sqe *sqe = gy_ring_sqe(ring);

	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_close(sqe, fd);
	return gy_ring_arm(ring, op, sqe);
}

int gy_ring_cancel(struct gy_ring *ring, struct gy_op *op)
{
	struct io_uring_sqe *sqe;

	if (!op->armed) {
		return 0;
	}
	sqe = gy_ring_sqe(ring);
	if (gy_unlikely(sqe == NULL)) {
		return -EAGAIN;
	}
	io_uring_prep_cancel64(sqe, gy_user_data_of(op), 0);
	sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = GY_USER_IGNORED;
	return 0;
}
