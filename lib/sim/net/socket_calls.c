/*
 * The calls that make, name and connect sockets, and ask about them. What is -EAGAIN waits and is
 * tried again, unless it is not to wait. Another task may close the descriptor meanwhile, so it is
 * looked up anew each time.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/macros.h"
#include "sim/descriptor/table.h"
#include "sim/net/socket.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

/* ---- making ---- */

static int open_socket(int domain, int type, int protocol, struct gy_sim_socket **ret_socket)
{
	struct gy_sim_host *host = gy_sim_host_here();
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
	bool is_ip = domain == AF_INET || domain == AF_INET6;
	struct gy_sim_socket *socket;

	if (!is_ip && domain != AF_UNIX) {
		return -EAFNOSUPPORT;
	}
	if (domain == AF_UNIX &&
	    (kind == SOCK_STREAM || kind == SOCK_DGRAM || kind == SOCK_SEQPACKET)) {
		socket = gy_sim_local_open(host, kind);
	} else if (is_ip && kind == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP)) {
		socket = gy_sim_stream_open(host, domain);
	} else if (is_ip && kind == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP)) {
		socket = gy_sim_datagram_open(host, domain);
	} else {
		return kind == SOCK_STREAM || kind == SOCK_DGRAM ? -EPROTONOSUPPORT
								 : -ESOCKTNOSUPPORT;
	}
	socket->file.flags |= (type & SOCK_NONBLOCK) != 0 ? O_NONBLOCK : 0;
	*ret_socket = socket;
	return 0;
}

/* @type: with SOCK_CLOEXEC or without. */
static int install(struct gy_sim_socket *socket, int type)
{
	int fd = gy_sim_file_install_new(&socket->file);

	if (fd >= 0) {
		gy_sim_slot_at(fd)->close_on_exec = (type & SOCK_CLOEXEC) != 0;
	}
	return fd;
}

int __wrap_socket(int domain, int type, int protocol)
{
	struct gy_sim_socket *socket;
	int r;

	if (gy_sim_here == NULL) {
		return __real_socket(domain, type, protocol);
	}
	r = open_socket(domain, type, protocol, &socket);
	return gy_sim_result(r < 0 ? r : install(socket, type));
}

static int open_pair(int domain, int type, int protocol, int ret_fds[2])
{
	struct gy_sim_socket *ends[2];
	int fds[2];

	if (domain != AF_UNIX) {
		return -EOPNOTSUPP;
	}
	for (int i = 0; i < 2; i++) {
		int r = open_socket(domain, type, protocol, &ends[i]);

		fds[i] = r < 0 ? r : install(ends[i], type);
		if (fds[i] < 0) {
			if (i > 0) {
				(void)gy_sim_descriptor_close(fds[0]);
			}
			return fds[i];
		}
	}
	gy_sim_local_pair(ends[0], ends[1]);
	memcpy(ret_fds, fds, sizeof(fds));
	return 0;
}

int __wrap_socketpair(int domain, int type, int protocol, int ret_fds[2])
{
	if (gy_sim_here == NULL) {
		return __real_socketpair(domain, type, protocol, ret_fds);
	}
	return gy_sim_result(open_pair(domain, type, protocol, ret_fds));
}

/* ---- naming, listening, connecting ---- */

int __wrap_bind(int fd, const struct sockaddr *name, socklen_t bytes)
{
	struct gy_sim_socket *socket;
	int r = 0;

	if (gy_sim_here == NULL) {
		return __real_bind(fd, name, bytes);
	}
	socket = gy_sim_socket_at(fd, &r);
	return gy_sim_result(
		socket == NULL ? r : gy_sim_socket_ops_of(socket)->bind(socket, name, bytes));
}

int __wrap_listen(int fd, int backlog)
{
	struct gy_sim_socket *socket;
	int r = 0;

	if (gy_sim_here == NULL) {
		return __real_listen(fd, backlog);
	}
	socket = gy_sim_socket_at(fd, &r);
	if (socket != NULL) {
		r = gy_sim_socket_ops_of(socket)->listen == NULL
			    ? -EOPNOTSUPP
			    : gy_sim_socket_ops_of(socket)->listen(
				      socket, backlog < 0 ? UINT32_MAX : (uint32_t)backlog);
	}
	return gy_sim_result(r);
}

static int do_connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
	uint64_t until = 0;
	bool again = false;

	gy_sim_yield(false);
	for (;;) {
		int r = 0;
		struct gy_sim_socket *socket = gy_sim_socket_at(fd, &r);

		if (socket == NULL) {
			return r;
		}
		r = gy_sim_socket_ops_of(socket)->connect(socket, to, bytes);
		if (r != -EINPROGRESS && r != -EALREADY && r != -EAGAIN) {
			return r;
		}
		until = again ? until : gy_sim_until_ns(socket->options.send_timeout_ns);
		again = true;
		if (gy_sim_socket_wait(socket, EPOLLOUT, 0, until) < 0) {
			return r == -EALREADY && (socket->file.flags & O_NONBLOCK) == 0
				       ? -EINPROGRESS
				       : r;
		}
	}
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
	if (gy_sim_here == NULL) {
		return __real_connect(fd, to, bytes);
	}
	return gy_sim_result(do_connect(fd, to, bytes));
}

/* Writes a name that takes @r bytes, cut off where there is less room. */
static int give_name(const struct sockaddr_storage *name, int r, struct sockaddr *ret_name,
		     socklen_t *bytes)
{
	if (r < 0 || ret_name == NULL || bytes == NULL) {
		return r < 0 ? r : 0;
	}
	memcpy(ret_name, name, (socklen_t)r < *bytes ? (socklen_t)r : *bytes);
	*bytes = (socklen_t)r;
	return 0;
}

/* Makes a descriptor of the next connection; where there is none for it, the connection stays. */
static int take_next(struct gy_sim_socket *socket, int flags, struct gy_sim_socket **ret_next)
{
	const struct gy_sim_socket_ops *ops = gy_sim_socket_ops_of(socket);
	struct gy_sim_socket *next;
	int r = ops->next == NULL ? -EOPNOTSUPP : ops->next(socket, &next);
	int fd = r < 0 ? r : gy_sim_file_install(&next->file, 0);

	if (fd >= 0) {
		ops->accepted(socket, next);
		next->file.flags |= (flags & SOCK_NONBLOCK) != 0 ? O_NONBLOCK : 0;
		gy_sim_slot_at(fd)->close_on_exec = (flags & SOCK_CLOEXEC) != 0;
		*ret_next = next;
	}
	return fd;
}

static int do_accept(int fd, struct sockaddr *ret_name, socklen_t *bytes, int flags)
{
	uint64_t until = 0;
	bool again = false;

	gy_sim_yield(false);
	for (;;) {
		struct sockaddr_storage name = { 0 };
		struct gy_sim_socket *next;
		int r = 0;
		struct gy_sim_socket *socket = gy_sim_socket_at(fd, &r);

		if (socket == NULL) {
			return r;
		}
		r = take_next(socket, flags, &next);
		if (r >= 0) {
			(void)give_name(&name, gy_sim_socket_ops_of(next)->name(next, true, &name),
					ret_name, bytes);
			return r;
		}
		if (r != -EAGAIN) {
			return r;
		}
		until = again ? until : gy_sim_until_ns(socket->options.receive_timeout_ns);
		again = true;
		if (gy_sim_file_wait(&socket->file, EPOLLIN, 0, until) < 0) {
			return -EAGAIN;
		}
	}
}

int __wrap_accept(int fd, struct sockaddr *ret_name, socklen_t *bytes)
{
	if (gy_sim_here == NULL) {
		return __real_accept(fd, ret_name, bytes);
	}
	return gy_sim_result(do_accept(fd, ret_name, bytes, 0));
}

int __wrap_accept4(int fd, struct sockaddr *ret_name, socklen_t *bytes, int flags)
{
	if (gy_sim_here == NULL) {
		return __real_accept4(fd, ret_name, bytes, flags);
	}
	return gy_sim_result(do_accept(fd, ret_name, bytes, flags));
}

int __wrap_shutdown(int fd, int how)
{
	struct gy_sim_socket *socket;
	int r = 0;

	if (gy_sim_here == NULL) {
		return __real_shutdown(fd, how);
	}
	socket = gy_sim_socket_at(fd, &r);
	return gy_sim_result(socket == NULL ? r
					    : gy_sim_socket_ops_of(socket)->shutdown(socket, how));
}

static int name_of(int fd, bool peer, struct sockaddr *ret_name, socklen_t *bytes)
{
	struct sockaddr_storage name = { 0 };
	int r = 0;
	struct gy_sim_socket *socket = gy_sim_socket_at(fd, &r);

	if (socket == NULL) {
		return r;
	}
	r = gy_sim_socket_ops_of(socket)->name(socket, peer, &name);
	return give_name(&name, r, ret_name, bytes);
}

int __wrap_getsockname(int fd, struct sockaddr *ret_name, socklen_t *bytes)
{
	if (gy_sim_here == NULL) {
		return __real_getsockname(fd, ret_name, bytes);
	}
	return gy_sim_result(name_of(fd, false, ret_name, bytes));
}

int __wrap_getpeername(int fd, struct sockaddr *ret_name, socklen_t *bytes)
{
	if (gy_sim_here == NULL) {
		return __real_getpeername(fd, ret_name, bytes);
	}
	return gy_sim_result(name_of(fd, true, ret_name, bytes));
}

/* ---- options ---- */

int __wrap_getsockopt(int fd, int level, int name, void *ret_value, socklen_t *bytes)
{
	struct gy_sim_socket *socket;
	int r = 0;

	if (gy_sim_here == NULL) {
		return __real_getsockopt(fd, level, name, ret_value, bytes);
	}
	socket = gy_sim_socket_at(fd, &r);
	return gy_sim_result(
		socket == NULL ? r : gy_sim_socket_option(socket, level, name, ret_value, bytes));
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
	struct gy_sim_socket *socket;
	int r = 0;

	if (gy_sim_here == NULL) {
		return __real_setsockopt(fd, level, name, value, bytes);
	}
	socket = gy_sim_socket_at(fd, &r);
	return gy_sim_result(
		socket == NULL ? r : gy_sim_socket_set_option(socket, level, name, value, bytes));
}

static int count_of(int fd, unsigned long what, int *ret_count)
{
	int r = 0;
	struct gy_sim_socket *socket = gy_sim_socket_at(fd, &r);

	if (socket == NULL) {
		return r == -ENOTSOCK ? -ENOTTY : r;
	}
	if (socket->listening) {
		return -EINVAL;
	}
	*ret_count = what == SIOCINQ ? (int)gy_sim_socket_ops_of(socket)->unread(socket)
				     : (int)gy_sim_socket_ops_of(socket)->unsent(socket);
	return 0;
}

/* How many bytes wait to be read (FIONREAD is the same), or to be acknowledged. */
int __wrap_ioctl(int fd, unsigned long what, ...)
{
	va_list arguments;
	void *value;

	va_start(arguments, what);
	value = va_arg(arguments, void *);
	va_end(arguments);
	if (gy_sim_here == NULL) {
		return __real_ioctl(fd, what, value);
	}
	return gy_sim_result(what == SIOCINQ || what == SIOCOUTQ ? count_of(fd, what, (int *)value)
								 : -ENOTTY);
}
