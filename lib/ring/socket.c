/*
 * Sockets by system calls. Whatever makes a descriptor has it closed by exec(), and whatever sends
 * has the signal suppressed: nobody above need think of either.
 */
#include "ring/socket.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "base/assert.h"

static int64_t result_of(int64_t result)
{
	return result < 0 ? -errno : result;
}

int gy_socket_open(int domain, int type, int protocol)
{
	return (int)result_of(socket(domain, type | SOCK_CLOEXEC, protocol));
}

int gy_socket_bind(int fd, const struct sockaddr *name, socklen_t bytes)
{
	gy_assert(fd >= 0 && bytes >= sizeof(name->sa_family));
	return (int)result_of(bind(fd, name, bytes));
}

int gy_socket_listen(int fd, int backlog)
{
	gy_assert(fd >= 0);
	return (int)result_of(listen(fd, backlog));
}

int gy_socket_connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
	gy_assert(fd >= 0 && bytes >= sizeof(to->sa_family));
	return (int)result_of(connect(fd, to, bytes));
}

int gy_socket_accept(int fd)
{
	gy_assert(fd >= 0);
	return (int)result_of(accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

int gy_socket_shutdown(int fd, int how)
{
	return (int)result_of(shutdown(fd, how));
}

/* ---- names and options ---- */

typedef int (*name_fn)(int fd, struct sockaddr *ret_name, socklen_t *bytes);

static int name_by(name_fn call, int fd, struct sockaddr_storage *ret_name, socklen_t *ret_bytes)
{
	struct sockaddr_storage name = { 0 };
	socklen_t bytes = sizeof(name);

	if (call(fd, (struct sockaddr *)&name, &bytes) < 0) {
		return -errno;
	}
	gy_assert(bytes <= sizeof(name));
	*ret_name = name;
	*ret_bytes = bytes;
	return 0;
}

int gy_socket_name(int fd, struct sockaddr_storage *ret_name, socklen_t *ret_bytes)
{
	return name_by(getsockname, fd, ret_name, ret_bytes);
}

int gy_socket_peer(int fd, struct sockaddr_storage *ret_name, socklen_t *ret_bytes)
{
	return name_by(getpeername, fd, ret_name, ret_bytes);
}

int gy_socket_option(int fd, int level, int name, void *ret_value, socklen_t bytes)
{
	socklen_t is = bytes;

	if (getsockopt(fd, level, name, ret_value, &is) < 0) {
		return -errno;
	}
	return is == bytes ? 0 : -EINVAL;
}

int gy_socket_set_option(int fd, int level, int name, const void *value, socklen_t bytes)
{
	return (int)result_of(setsockopt(fd, level, name, value, bytes));
}

/* ---- messages ---- */

int64_t gy_socket_send(int fd, const void *bytes, size_t count, int flags)
{
	return result_of(send(fd, bytes, count, flags | MSG_NOSIGNAL));
}

int64_t gy_socket_send_message(int fd, const struct msghdr *message, int flags)
{
	return result_of(sendmsg(fd, message, flags | MSG_NOSIGNAL));
}

int64_t gy_socket_receive(int fd, void *memory, size_t bytes, int flags)
{
	return result_of(recv(fd, memory, bytes, flags));
}

int64_t gy_socket_receive_message(int fd, struct msghdr *message, int flags)
{
	return result_of(recvmsg(fd, message, flags | MSG_CMSG_CLOEXEC));
}

/* ---- its state ---- */

/* A count; 0 where the kernel knows none. */
static uint64_t ask(int fd, unsigned long what)
{
	int count = 0;

	if (ioctl(fd, what, &count) < 0 || count < 0) {
		return 0;
	}
	return (uint64_t)count;
}

uint64_t gy_socket_unsent_bytes(int fd)
{
	return ask(fd, SIOCOUTQ);
}

uint64_t gy_socket_unread_bytes(int fd)
{
	return ask(fd, SIOCINQ);
}

int gy_socket_error(int fd)
{
	int error = 0;
	int r = gy_socket_option(fd, SOL_SOCKET, SO_ERROR, &error, sizeof(error));

	return r < 0 ? r : -error;
}

bool gy_socket_is_local(int fd)
{
	int domain = 0;

	return gy_socket_option(fd, SOL_SOCKET, SO_DOMAIN, &domain, sizeof(domain)) == 0 &&
	       domain == AF_UNIX;
}

void gy_socket_reset_on_close(int fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	/* The call fails if the descriptor is no socket any more; its close fails as well. */
	(void)gy_socket_set_option(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}
