/*
 * The calls of sockets that move bytes. Each tries; what is -EAGAIN waits for its descriptor and
 * tries again, unless it is not to wait, or for as long as SO_RCVTIMEO or SO_SNDTIMEO say. Another
 * task may close the descriptor meanwhile, so it is looked up anew each time.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/epoll.h>

#include "sim/net/socket.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

static const uint64_t look_again_ns = 1000000;

/* ---- waiting ---- */

uint64_t gy_sim_until_ns(uint64_t timeout_ns)
{
	return timeout_ns == 0 ? UINT64_MAX : gy_sim_host_after(gy_sim_host_here(), timeout_ns);
}

int gy_sim_socket_wait(struct gy_sim_socket *socket, uint32_t events, int flags, uint64_t until_ns)
{
	bool is_ready = (socket->file.ops->events(&socket->file) & events) != 0;
	uint64_t soon_ns = gy_sim_here->sim->now_ns + look_again_ns;
	int r;

	if (!is_ready || until_ns <= soon_ns) {
		return gy_sim_file_wait(&socket->file, events, flags, until_ns);
	}
	if ((socket->file.flags & O_NONBLOCK) != 0 || (flags & MSG_DONTWAIT) != 0) {
		return -EAGAIN;
	}
	r = gy_sim_file_wait(&socket->file, events, flags, soon_ns);
	return r == -EAGAIN ? 0 : r;
}

/* ---- sending and receiving ---- */

static int64_t do_send(int fd, const struct msghdr *message, int flags)
{
	uint64_t until = 0;
	bool again = false;

	if (message->msg_iovlen > IOV_MAX) {
		return -EMSGSIZE;
	}
	gy_sim_yield(false);
	for (;;) {
		int r = 0;
		struct gy_sim_socket *socket = gy_sim_socket_at(fd, &r);
		int64_t sent;

		if (socket == NULL) {
			return r;
		}
		sent = gy_sim_socket_ops_of(socket)->send(socket, message, flags);
		if (sent != -EAGAIN) {
			return sent;
		}
		until = again ? until : gy_sim_until_ns(socket->options.send_timeout_ns);
		again = true;
		if (gy_sim_socket_wait(socket, EPOLLOUT, flags, until) < 0) {
			return -EAGAIN;
		}
	}
}

static bool is_blocking(int fd, int flags)
{
	const struct gy_sim_file *file = (flags & MSG_DONTWAIT) != 0 ? NULL : gy_sim_file_at(fd);

	return file != NULL && (file->flags & O_NONBLOCK) == 0;
}

/* A blocking call of a stream sends all. */
static int64_t send_all(int fd, const struct msghdr *message, int flags)
{
	int64_t done = do_send(fd, message, flags);
	unsigned char *bytes;
	size_t all;

	if (done <= 0 || !is_blocking(fd, flags)) {
		return done;
	}
	all = gy_sim_slices_bytes(message->msg_iov, (uint32_t)message->msg_iovlen);
	if ((size_t)done == all) {
		return done;
	}
	bytes = (unsigned char *)gy_sim_get(all);
	gy_sim_here->scratch = bytes;
	(void)gy_sim_gather(message->msg_iov, (uint32_t)message->msg_iovlen, 0, bytes, all);
	while ((size_t)done < all) {
		struct iovec rest = { .iov_base = bytes + done, .iov_len = all - (size_t)done };
		const struct msghdr more = { .msg_iov = &rest, .msg_iovlen = 1 };
		int64_t r = do_send(fd, &more, flags);

		if (r < 0) {
			gy_sim_socket_put_error(fd, r);
			break;
		}
		done += r;
	}
	gy_sim_here->scratch = NULL;
	gy_sim_put(bytes);
	return done;
}

static int64_t do_receive(int fd, struct msghdr *message, int flags)
{
	const struct msghdr before = *message;
	uint64_t until = 0;
	bool again = false;

	if (message->msg_iovlen > IOV_MAX) {
		return -EMSGSIZE;
	}
	gy_sim_yield(false);
	for (;;) {
		int r = 0;
		struct gy_sim_socket *socket = gy_sim_socket_at(fd, &r);
		int64_t received;

		if (socket == NULL) {
			return r;
		}
		*message = before;
		received = gy_sim_socket_ops_of(socket)->receive(socket, message, flags);
		if (received != -EAGAIN) {
			return received;
		}
		until = again ? until : gy_sim_until_ns(socket->options.receive_timeout_ns);
		again = true;
		if (gy_sim_file_wait(&socket->file, EPOLLIN, flags, until) < 0) {
			return -EAGAIN;
		}
	}
}

static bool is_stream(int fd)
{
	int r = 0;
	const struct gy_sim_socket *socket = gy_sim_socket_at(fd, &r);

	return socket != NULL && socket->type == SOCK_STREAM;
}

/* With MSG_WAITALL a stream's bytes are waited for until all have come, or no more do. */
static int64_t receive_all(int fd, struct msghdr *message, int flags)
{
	int once = flags & ~MSG_WAITALL;
	unsigned char *bytes;
	size_t done = 0;
	size_t all = 0;
	int64_t r = 1;

	if (once != flags && is_stream(fd)) {
		all = gy_sim_slices_bytes(message->msg_iov, (uint32_t)message->msg_iovlen);
	}
	if (all == 0) {
		return do_receive(fd, message, once);
	}
	if ((flags & MSG_PEEK) != 0 || message->msg_control != NULL) {
		return -EOPNOTSUPP;
	}
	bytes = (unsigned char *)gy_sim_get(all);
	gy_sim_here->scratch = bytes;
	while (done < all && r > 0) {
		struct iovec rest = { .iov_base = bytes + done, .iov_len = all - done };
		struct msghdr more = { .msg_iov = &rest, .msg_iovlen = 1 };

		r = do_receive(fd, &more, once);
		done += r > 0 ? (size_t)r : 0;
	}
	if (done > 0) {
		gy_sim_socket_put_error(fd, r);
	}
	(void)gy_sim_scatter(message->msg_iov, (uint32_t)message->msg_iovlen, bytes, done);
	message->msg_namelen = 0;
	message->msg_flags = 0;
	gy_sim_here->scratch = NULL;
	gy_sim_put(bytes);
	return done > 0 ? (int64_t)done : r;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t count, int flags)
{
	struct iovec slice = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = count };
	const struct msghdr message = { .msg_iov = &slice, .msg_iovlen = 1 };

	if (gy_sim_here == NULL) {
		return __real_send(fd, bytes, count, flags);
	}
	return gy_sim_count(send_all(fd, &message, flags));
}

ssize_t __wrap_sendto(int fd, const void *bytes, size_t count, int flags, const struct sockaddr *to,
		      socklen_t to_bytes)
{
	struct iovec slice = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = count };
	const struct msghdr message = { .msg_name = (void *)(uintptr_t)to,
					.msg_namelen = to == NULL ? 0 : to_bytes,
					.msg_iov = &slice,
					.msg_iovlen = 1 };

	if (gy_sim_here == NULL) {
		return __real_sendto(fd, bytes, count, flags, to, to_bytes);
	}
	return gy_sim_count(send_all(fd, &message, flags));
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (gy_sim_here == NULL) {
		return __real_sendmsg(fd, message, flags);
	}
	return gy_sim_count(send_all(fd, message, flags));
}

ssize_t __wrap_recv(int fd, void *memory, size_t bytes, int flags)
{
	struct iovec slice = { .iov_base = memory, .iov_len = bytes };
	struct msghdr message = { .msg_iov = &slice, .msg_iovlen = 1 };

	if (gy_sim_here == NULL) {
		return __real_recv(fd, memory, bytes, flags);
	}
	return gy_sim_count(receive_all(fd, &message, flags));
}

ssize_t __wrap_recvfrom(int fd, void *memory, size_t bytes, int flags, struct sockaddr *ret_from,
			socklen_t *from_bytes)
{
	struct iovec slice = { .iov_base = memory, .iov_len = bytes };
	struct msghdr message = { .msg_name = ret_from, .msg_iov = &slice, .msg_iovlen = 1 };
	int64_t r;

	if (gy_sim_here == NULL) {
		return __real_recvfrom(fd, memory, bytes, flags, ret_from, from_bytes);
	}
	message.msg_namelen = ret_from == NULL || from_bytes == NULL ? 0 : *from_bytes;
	r = receive_all(fd, &message, flags);
	if (r >= 0 && from_bytes != NULL) {
		*from_bytes = message.msg_namelen;
	}
	return gy_sim_count(r);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
	if (gy_sim_here == NULL) {
		return __real_recvmsg(fd, message, flags);
	}
	return gy_sim_count(receive_all(fd, message, flags));
}
