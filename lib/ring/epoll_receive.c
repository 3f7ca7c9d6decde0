/*
 * Receiving, for the epoll engine, into memory of the caller or into provided buffers. The buffers
 * are taken from the queue that io_uring would take them from, in the same order, and are filled
 * bit by bit where they are shared.
 *
 * Less than there was room for means that a TCP socket has no more, so that most receives of a
 * server need one call; unless its end has come too, or something urgent, for which there is no
 * second edge. Unix sockets end a receive also where descriptors stand between the bytes.
 */
#include <errno.h>

#include "ring/epoll.h"

/* The buffer that is filled next, or NULL when none is offered. */
static struct io_uring_buf *peek(const struct gy_ring *ring, uint32_t group)
{
	const struct gy_ring_buffers *buffers = &ring->buffers[group];
	uint16_t head = ring->epoll->heads[group];

	return head == buffers->entries->tail
		       ? NULL
		       : &buffers->entries->bufs[head & (buffers->count - 1)];
}

/* @count bytes were received into @buffer: the flags of the completion that says so. */
static uint32_t take(struct gy_ring *ring, uint32_t group, struct io_uring_buf *buffer,
		     uint32_t count)
{
	uint32_t flags = IORING_CQE_F_BUFFER | (uint32_t)buffer->bid << IORING_CQE_BUFFER_SHIFT;

	gy_assert(count <= buffer->len);
	if (ring->buffers[group].shared && count < buffer->len) {
		buffer->addr += count;
		buffer->len -= count;
		return flags | IORING_CQE_F_BUF_MORE;
	}
	ring->epoll->heads[group]++;
	return flags;
}

static int64_t receive(int fd, void *memory, size_t bytes, int flags)
{
	ssize_t r = recv(fd, memory, bytes, MSG_DONTWAIT | flags);

	return r < 0 ? -errno : r;
}

/* Receives once into a provided buffer. */
static int64_t receive_into_buffer(int fd, const struct io_uring_buf *buffer, int flags)
{
	unsigned char *memory = (unsigned char *)(uintptr_t)buffer->addr;
	int64_t r;

	gy_sanitize_give(memory, buffer->len);
	r = receive(fd, memory, buffer->len, flags);
	gy_sanitize_take(memory, buffer->len);
	return r;
}

/* What receives into provided buffers has no address, and tells there whether it is a Unix socket.
 */
static bool is_local(const struct io_uring_sqe *sqe)
{
	return sqe->addr != 0;
}

/* There is no buffer: the operation ends, if there is something that it would be needed for. */
static enum gy_epoll_outcome run_out(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	char byte;
	int64_t r = receive(sqe->fd, &byte, sizeof(byte), MSG_PEEK);

	return r == -EAGAIN ? GY_EPOLL_BLOCKED : gy_epoll_end(ring, sqe, r > 0 ? -ENOBUFS : r);
}

static enum gy_epoll_outcome receive_provided(struct gy_ring *ring, const struct io_uring_sqe *sqe,
					      uint32_t events)
{
	bool multishot = (sqe->ioprio & IORING_RECV_MULTISHOT) != 0;
	bool may_have_more = (events & ~(uint32_t)(EPOLLIN | EPOLLOUT)) != 0 || is_local(sqe);
	uint32_t group = sqe->buf_group;

	for (uint32_t round = 0; round < GY_EPOLL_ROUNDS_MAX && gy_epoll_room(ring) > 1; round++) {
		struct io_uring_buf *buffer = peek(ring, group);
		uint32_t asked;
		uint32_t flags;
		int64_t r;

		if (buffer == NULL) {
			return run_out(ring, sqe);
		}
		asked = buffer->len;
		r = receive_into_buffer(sqe->fd, buffer, (int)sqe->msg_flags);
		if (r == -EAGAIN) {
			return GY_EPOLL_BLOCKED;
		}
		if (r <= 0) {
			return gy_epoll_end(ring, sqe, r);
		}
		flags = take(ring, group, buffer, (uint32_t)r);
		flags |= (uint32_t)r == asked ? IORING_CQE_F_SOCK_NONEMPTY : 0;
		gy_epoll_post(ring, sqe->user_data, r, flags | (multishot ? IORING_CQE_F_MORE : 0));
		if (!multishot) {
			return GY_EPOLL_ENDED;
		}
		if ((uint32_t)r < asked && !may_have_more) {
			return GY_EPOLL_DRAINED;
		}
	}
	return GY_EPOLL_MORE;
}

enum gy_epoll_outcome gy_epoll_receive(struct gy_ring *ring, const struct io_uring_sqe *sqe,
				       uint32_t events)
{
	int64_t r;

	if ((sqe->flags & IOSQE_BUFFER_SELECT) != 0) {
		return receive_provided(ring, sqe, events);
	}
	r = receive(sqe->fd, (void *)(uintptr_t)sqe->addr, sqe->len, (int)sqe->msg_flags);
	return r == -EAGAIN ? GY_EPOLL_BLOCKED : gy_epoll_end(ring, sqe, r);
}

/* ---- datagrams ---- */

/* Receives one as io_uring would lay it out; the bytes of the buffer that are used. */
static int64_t receive_datagram(int fd, const struct io_uring_buf *buffer)
{
	const struct msghdr *shape = gy_ring_datagram_shape();
	unsigned char *memory = (unsigned char *)(uintptr_t)buffer->addr;
	struct io_uring_recvmsg_out *head = (struct io_uring_recvmsg_out *)(void *)memory;
	unsigned char *name = memory + sizeof(*head);
	unsigned char *control = name + shape->msg_namelen;
	size_t head_bytes = sizeof(*head) + shape->msg_namelen + shape->msg_controllen;
	struct iovec rest = { .iov_base = memory + head_bytes,
			      .iov_len = buffer->len - head_bytes };
	struct msghdr message = {
		.msg_name = name,
		.msg_namelen = shape->msg_namelen,
		.msg_control = control,
		.msg_controllen = shape->msg_controllen,
		.msg_iov = &rest,
		.msg_iovlen = 1,
	};
	ssize_t r = recvmsg(fd, &message, MSG_DONTWAIT);

	if (r < 0) {
		return -errno;
	}
	*head = (struct io_uring_recvmsg_out){
		.namelen = message.msg_namelen,
		.controllen = (uint32_t)message.msg_controllen,
		.payloadlen = (uint32_t)r,
		.flags = (uint32_t)message.msg_flags,
	};
	return (int64_t)head_bytes + r;
}

enum gy_epoll_outcome gy_epoll_receive_datagrams(struct gy_ring *ring,
						 const struct io_uring_sqe *sqe)
{
	for (uint32_t round = 0; round < GY_EPOLL_ROUNDS_MAX && gy_epoll_has_room(ring); round++) {
		struct io_uring_buf *buffer = peek(ring, sqe->buf_group);
		unsigned char *memory;
		uint32_t flags;
		int64_t r;

		if (buffer == NULL) {
			return gy_epoll_end(ring, sqe, -ENOBUFS);
		}
		memory = (unsigned char *)(uintptr_t)buffer->addr;
		gy_sanitize_give(memory, buffer->len);
		r = receive_datagram(sqe->fd, buffer);
		gy_sanitize_take(memory, buffer->len);
		if (r == -EAGAIN) {
			return GY_EPOLL_BLOCKED;
		}
		if (r < 0) {
			return gy_epoll_end(ring, sqe, r);
		}
		flags = take(ring, sqe->buf_group, buffer, (uint32_t)r);
		gy_epoll_post(ring, sqe->user_data, r, flags | IORING_CQE_F_MORE);
	}
	return GY_EPOLL_MORE;
}
