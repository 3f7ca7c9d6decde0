/*
 * The operations of the epoll engine: what each does when it is taken, and when its descriptor has
 * become ready. An operation that the engine does not know ends with -EINVAL, as in io_uring.
 *
 * The sockets are blocking ones, since io_uring would take O_NONBLOCK for the wish not to wait, and
 * another process may share them and have io_uring. Most calls can be told by a flag to return at
 * once. accept() cannot: it is made only when poll() has found a connection; should a process that
 * shares the socket have taken it meanwhile, a time-out of the socket ends the call.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ring/descriptor.h"
#include "ring/epoll.h"
#include "ring/socket.h"

enum {
	TERMINAL_BYTES_MAX = 256, /* what a terminal that is ready mostly takes without waiting */
	PATH_BYTES = 32,
};

/* Has an operation wait; one that cannot ends. */
static void wait_for(struct gy_ring *ring, const struct io_uring_sqe *sqe, uint32_t events,
		     bool tried)
{
	int r = gy_epoll_wait_for(ring, sqe, events, tried);

	if (r < 0) {
		(void)gy_epoll_end(ring, sqe, r);
	}
}

static bool is_ready(int fd, short events)
{
	struct pollfd one = { .fd = fd, .events = events };

	return poll(&one, 1, 0) > 0;
}

/* ---- sending ---- */

static enum gy_epoll_outcome sent(struct gy_ring *ring, const struct io_uring_sqe *sqe, ssize_t r)
{
	if (r >= 0) {
		return gy_epoll_end(ring, sqe, r);
	}
	if (errno == EAGAIN && (sqe->msg_flags & MSG_DONTWAIT) == 0) {
		return GY_EPOLL_BLOCKED;
	}
	return gy_epoll_end(ring, sqe, -errno);
}

static enum gy_epoll_outcome send_bytes(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	return sent(ring, sqe,
		    sendto(sqe->fd, (const void *)(uintptr_t)sqe->addr, sqe->len,
			   (int)sqe->msg_flags | MSG_DONTWAIT,
			   (const struct sockaddr *)(uintptr_t)sqe->addr2, sqe->addr_len));
}

static enum gy_epoll_outcome send_message(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	return sent(ring, sqe,
		    sendmsg(sqe->fd, (const struct msghdr *)(uintptr_t)sqe->addr,
			    (int)sqe->msg_flags | MSG_DONTWAIT));
}

/* ---- accepting ---- */

static bool is_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

/* @addr2 of the entry, which multishot accepts have no other use for, tells whether accept() may be
 * called without a look. */
static void begin_accept(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	const struct timeval at_once = { .tv_usec = 1 };
	struct io_uring_sqe mine = *sqe;

	mine.addr2 = is_nonblocking(sqe->fd);
	if (mine.addr2 == 0) {
		(void)setsockopt(sqe->fd, SOL_SOCKET, SO_RCVTIMEO, &at_once, sizeof(at_once));
	}
	wait_for(ring, &mine, GY_EPOLL_INPUT, false);
}

static int accept_now(const struct io_uring_sqe *sqe)
{
	const struct timeval none = { 0 };
	int fd;

	if (sqe->addr2 == 0 && !is_ready(sqe->fd, POLLIN)) {
		return -EAGAIN;
	}
	fd = accept4(sqe->fd, NULL, NULL, (int)sqe->accept_flags);
	if (fd < 0) {
		return errno == EINTR ? -EAGAIN : -errno; /* the time-out was cut short */
	}
	if (sqe->addr2 == 0) {
		/* TCP sockets inherit the time-out. */
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
	}
	return fd;
}

static enum gy_epoll_outcome accept_more(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	for (uint32_t round = 0; round < GY_EPOLL_ROUNDS_MAX && gy_epoll_has_room(ring); round++) {
		int r = accept_now(sqe);

		if (r == -EAGAIN) {
			return GY_EPOLL_BLOCKED;
		}
		if (r < 0) {
			return gy_epoll_end(ring, sqe, r);
		}
		gy_epoll_post(ring, sqe->user_data, r, IORING_CQE_F_MORE);
	}
	return GY_EPOLL_MORE;
}

/* ---- connecting ---- */

static int connect_now(const struct io_uring_sqe *sqe)
{
	const struct sockaddr *address = (const struct sockaddr *)(uintptr_t)sqe->addr;
	int flags = fcntl(sqe->fd, F_GETFL);
	int r;

	if (flags < 0 || fcntl(sqe->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		return -errno;
	}
	r = connect(sqe->fd, address, (socklen_t)sqe->addr2) < 0 ? -errno : 0;
	(void)fcntl(sqe->fd, F_SETFL, flags);
	return r;
}

static void begin_connect(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	int r = connect_now(sqe);

	if (r == -EINPROGRESS) {
		wait_for(ring, sqe, GY_EPOLL_OUTPUT, false);
		return;
	}
	/* The queue of a Unix socket is full, and no event tells when it is not. */
	if (r == -EAGAIN) {
		r = gy_epoll_wait_and_retry(ring, sqe);
		if (r == 0) {
			return;
		}
	}
	(void)gy_epoll_end(ring, sqe, r);
}

static enum gy_epoll_outcome connect_more(struct gy_ring *ring, const struct gy_epoll_wait *wait)
{
	int r;

	if (wait->file->fd >= 0 && !is_ready(wait->sqe.fd, POLLOUT)) {
		return GY_EPOLL_BLOCKED; /* the event was of another file that had this number */
	}
	if (wait->file->fd >= 0) {
		return gy_epoll_end(ring, &wait->sqe, gy_socket_error(wait->sqe.fd));
	}
	r = connect_now(&wait->sqe);
	return r == -EAGAIN ? GY_EPOLL_BLOCKED : gy_epoll_end(ring, &wait->sqe, r);
}

/* ---- polling ---- */

static uint32_t poll_mask(const struct io_uring_sqe *sqe)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return sqe->poll32_events << 16 | sqe->poll32_events >> 16;
#else
	return sqe->poll32_events;
#endif
}

static void begin_poll(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	int r = gy_epoll_wait_for(ring, sqe, poll_mask(sqe), false);

	if (r == -EPERM) {
		/* A file: it is always ready, and never for anything else, as io_uring says too. */
		r = (int)poll_mask(sqe) & (POLLIN | POLLOUT);
		r = r == 0 ? -EINVAL : r;
	}
	if (r != 0) {
		(void)gy_epoll_end(ring, sqe, r);
	}
}

static enum gy_epoll_outcome polled(struct gy_ring *ring, const struct io_uring_sqe *sqe,
				    uint32_t events)
{
	struct pollfd now = { .fd = sqe->fd, .events = (short)poll_mask(sqe) };

	if ((sqe->len & IORING_POLL_ADD_MULTI) == 0) {
		/* The event may be older than the operation. */
		return poll(&now, 1, 0) > 0 ? gy_epoll_end(ring, sqe, now.revents)
					    : GY_EPOLL_BLOCKED;
	}
	gy_epoll_post(ring, sqe->user_data, events, IORING_CQE_F_MORE);
	return GY_EPOLL_BLOCKED;
}

/* ---- pipes, terminals and files ---- */

/* Reads where the descriptor stands, without waiting; terminals do not know the flag. */
static int64_t read_now(const struct io_uring_sqe *sqe)
{
	const struct iovec part = { .iov_base = (void *)(uintptr_t)sqe->addr, .iov_len = sqe->len };
	ssize_t r = preadv2(sqe->fd, &part, 1, -1, RWF_NOWAIT);

	if (r < 0 && errno == EOPNOTSUPP) {
		if (!is_ready(sqe->fd, POLLIN)) {
			return -EAGAIN;
		}
		r = read(sqe->fd, part.iov_base, part.iov_len);
	}
	return r < 0 ? -errno : r;
}

/* Waits for a pipe or a terminal; a file, which epoll does not take, is for a worker. */
static void wait_or_work(struct gy_ring *ring, const struct io_uring_sqe *sqe, uint32_t events,
			 bool tried)
{
	int r = gy_epoll_wait_for(ring, sqe, events, tried);

	if (r == -EPERM) {
		gy_epoll_work(ring, sqe);
	} else if (r < 0) {
		(void)gy_epoll_end(ring, sqe, r);
	}
}

static void begin_read(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	int64_t r;

	if (sqe->off != GY_RING_AT_POSITION) {
		r = gy_ring_read_now(sqe->fd, (void *)(uintptr_t)sqe->addr, sqe->len, sqe->off);
		if (r == -EAGAIN || r == -EOPNOTSUPP) {
			gy_epoll_work(ring, sqe);
		} else {
			(void)gy_epoll_end(ring, sqe, r);
		}
		return;
	}
	wait_or_work(ring, sqe, GY_EPOLL_INPUT, false);
}

static enum gy_epoll_outcome read_more(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	int64_t r = read_now(sqe);

	return r == -EAGAIN ? GY_EPOLL_BLOCKED : gy_epoll_end(ring, sqe, r);
}

/* Writes where the descriptor stands, without waiting; -EOPNOTSUPP of what does not know how. */
static int64_t write_now(const struct io_uring_sqe *sqe)
{
	const struct iovec one = { .iov_base = (void *)(uintptr_t)sqe->addr, .iov_len = sqe->len };
	const struct iovec *slices = (const struct iovec *)(uintptr_t)sqe->addr;
	ssize_t r = sqe->opcode == IORING_OP_WRITE
			    ? pwritev2(sqe->fd, &one, 1, -1, RWF_NOWAIT)
			    : pwritev2(sqe->fd, slices, (int)sqe->len, -1, RWF_NOWAIT);

	return r < 0 ? -errno : r;
}

static ssize_t write_slices(int fd, const struct io_uring_sqe *sqe, size_t bytes_max)
{
	const struct iovec *slices = (const struct iovec *)(uintptr_t)sqe->addr;
	struct iovec one = { .iov_base = (void *)(uintptr_t)sqe->addr, .iov_len = sqe->len };

	if (sqe->opcode == IORING_OP_WRITEV && bytes_max == SIZE_MAX) {
		return writev(fd, slices, (int)sqe->len);
	}
	for (uint32_t i = 0; sqe->opcode == IORING_OP_WRITEV && i < sqe->len; i++) {
		one = slices[i];
		if (one.iov_len > 0) {
			break;
		}
	}
	return write(fd, one.iov_base, one.iov_len < bytes_max ? one.iov_len : bytes_max);
}

/* A terminal that is ready may still wait in the midst of a write. A description of our own, that
 * nobody else has, tells it not to; where none can be had, little is written. */
static int64_t write_to_terminal(const struct io_uring_sqe *sqe)
{
	char path[PATH_BYTES];
	ssize_t r;
	int fd;

	if (!is_ready(sqe->fd, POLLOUT)) {
		return -EAGAIN;
	}
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", sqe->fd);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	r = fd < 0 ? write_slices(sqe->fd, sqe, TERMINAL_BYTES_MAX)
		   : write_slices(fd, sqe, SIZE_MAX);
	r = r < 0 ? -errno : r;
	if (fd >= 0) {
		(void)close(fd);
	}
	return r;
}

static void begin_write(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	int64_t r;

	if (sqe->user_data == GY_USER_IGNORED) {
		/* The wake of another ring: its counter is never full. */
		(void)!write(sqe->fd, (const void *)(uintptr_t)sqe->addr, sqe->len);
		return;
	}
	if (sqe->off != GY_RING_AT_POSITION) {
		gy_epoll_work(ring, sqe);
		return;
	}
	r = write_now(sqe);
	if (r != -EAGAIN && r != -EOPNOTSUPP) {
		(void)gy_epoll_end(ring, sqe, r);
		return;
	}
	wait_or_work(ring, sqe, GY_EPOLL_OUTPUT, r == -EAGAIN);
}

static enum gy_epoll_outcome write_more(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	int64_t r = write_now(sqe);

	if (r == -EOPNOTSUPP) {
		r = write_to_terminal(sqe);
	}
	return r == -EAGAIN ? GY_EPOLL_BLOCKED : gy_epoll_end(ring, sqe, r);
}

/* From a pipe, whose bytes are there, to a socket. */
static enum gy_epoll_outcome splice_now(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	ssize_t r = splice(sqe->splice_fd_in, NULL, sqe->fd, NULL, sqe->len,
			   sqe->splice_flags | SPLICE_F_NONBLOCK);

	if (r < 0 && errno == EAGAIN) {
		return GY_EPOLL_BLOCKED;
	}
	return gy_epoll_end(ring, sqe, r < 0 ? -errno : r);
}

static void begin_splice(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	int r;

	if (sqe->splice_off_in != GY_RING_AT_POSITION) {
		gy_epoll_work(ring, sqe);
		return;
	}
	/* Before 6.5 the flag of the call does not concern the socket. */
	r = gy_descriptor_set_nonblocking(sqe->fd);
	if (r < 0) {
		(void)gy_epoll_end(ring, sqe, r);
	} else if (splice_now(ring, sqe) == GY_EPOLL_BLOCKED) {
		wait_for(ring, sqe, GY_EPOLL_OUTPUT, true);
	}
}

/* ---- all of them ---- */

static void begin_receive(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	struct io_uring_sqe mine = *sqe;
	enum gy_epoll_outcome outcome;

	if ((sqe->flags & IOSQE_BUFFER_SELECT) != 0) {
		mine.addr = gy_socket_is_local(sqe->fd);
	}
	outcome = gy_epoll_receive(ring, &mine, 0);
	if (outcome != GY_EPOLL_ENDED) {
		/* Without -EAGAIN the end may be there already. */
		wait_for(ring, &mine, GY_EPOLL_INPUT, outcome == GY_EPOLL_BLOCKED);
	}
}

static void begin_close(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	gy_epoll_forget(ring, sqe->fd);
	(void)gy_epoll_end(ring, sqe, close(sqe->fd) < 0 ? -errno : 0);
}

static void begin_cancel(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	if (!gy_epoll_cancel_wait(ring, sqe->addr)) {
		gy_epoll_cancel_work(ring, sqe->addr);
	}
	(void)gy_epoll_end(ring, sqe, 0);
}

void gy_epoll_begin(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	switch (sqe->opcode) {
	case IORING_OP_SEND:
		if (send_bytes(ring, sqe) == GY_EPOLL_BLOCKED) {
			wait_for(ring, sqe, GY_EPOLL_OUTPUT, true);
		}
		break;
	case IORING_OP_SENDMSG:
		if (send_message(ring, sqe) == GY_EPOLL_BLOCKED) {
			wait_for(ring, sqe, GY_EPOLL_OUTPUT, true);
		}
		break;
	case IORING_OP_RECV:
		begin_receive(ring, sqe);
		break;
	case IORING_OP_RECVMSG:
		wait_for(ring, sqe, GY_EPOLL_INPUT, false);
		break;
	case IORING_OP_ACCEPT:
		begin_accept(ring, sqe);
		break;
	case IORING_OP_CONNECT:
		begin_connect(ring, sqe);
		break;
	case IORING_OP_POLL_ADD:
		begin_poll(ring, sqe);
		break;
	case IORING_OP_READ:
		begin_read(ring, sqe);
		break;
	case IORING_OP_WRITE:
	case IORING_OP_WRITEV:
		begin_write(ring, sqe);
		break;
	case IORING_OP_SPLICE:
		begin_splice(ring, sqe);
		break;
	case IORING_OP_OPENAT:
	case IORING_OP_FSYNC:
	case IORING_OP_STATX:
	case GY_KERNEL_OP_FTRUNCATE:
		gy_epoll_work(ring, sqe);
		break;
	case IORING_OP_SHUTDOWN:
		(void)gy_epoll_end(ring, sqe, shutdown(sqe->fd, (int)sqe->len) < 0 ? -errno : 0);
		break;
	case IORING_OP_CLOSE:
		begin_close(ring, sqe);
		break;
	case IORING_OP_ASYNC_CANCEL:
		begin_cancel(ring, sqe);
		break;
	case IORING_OP_SENDMSG_ZC:
		(void)gy_epoll_end(ring, sqe, -EOPNOTSUPP);
		break;
	default:
		(void)gy_epoll_end(ring, sqe, -EINVAL);
		break;
	}
}

enum gy_epoll_outcome gy_epoll_continue(struct gy_ring *ring, struct gy_epoll_wait *wait,
					uint32_t events)
{
	const struct io_uring_sqe *sqe = &wait->sqe;

	switch (sqe->opcode) {
	case IORING_OP_SEND:
		return send_bytes(ring, sqe);
	case IORING_OP_SENDMSG:
		return send_message(ring, sqe);
	case IORING_OP_RECV:
		return gy_epoll_receive(ring, sqe, events);
	case IORING_OP_RECVMSG:
		return gy_epoll_receive_datagrams(ring, sqe);
	case IORING_OP_ACCEPT:
		return accept_more(ring, sqe);
	case IORING_OP_CONNECT:
		return connect_more(ring, wait);
	case IORING_OP_POLL_ADD:
		return polled(ring, sqe, events);
	case IORING_OP_READ:
		return read_more(ring, sqe);
	case IORING_OP_WRITE:
	case IORING_OP_WRITEV:
		return write_more(ring, sqe);
	default:
		gy_assert(sqe->opcode == IORING_OP_SPLICE);
		return splice_now(ring, sqe);
	}
}
