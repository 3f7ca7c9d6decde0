/*
 * Sockets that listen, one a loop, on one address.
 *
 * SO_REUSEPORT lets the loops have a socket each; it would also let a second process of the same
 * user in, which would silently take a share of the connections. So the first socket binds and
 * listens without it: the kernel refuses that if anybody listens there, with the option or not, and
 * refuses all others from then on. Only when it listens is it given the option, and the rest join
 * it. SO_REUSEADDR, which on Linux allows no second listener, keeps connections of an earlier run
 * from being in the way.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "net/net.h"

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int prepare(int fd, const struct gy_bind *bind, const struct gy_listening *listening,
		   bool first)
{
	int r = set(fd, SOL_SOCKET, SO_REUSEADDR, 1);

	if (r == 0 && !first) {
		r = set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	}
	if (r == 0 && bind->address.ss_family == AF_INET6) {
		r = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	}
	if (r == 0 && !listening->allow_delay) {
		/* Connections inherit it, which saves a call for each. */
		r = set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	}
	return r;
}

static int start(int fd, const struct gy_bind *to, const struct gy_listening *listening, bool first)
{
	int r = prepare(fd, to, listening, first);

	if (r == 0 && bind(fd, (const struct sockaddr *)&to->address, to->bytes) < 0) {
		r = -errno;
	}
	if (r == 0 && listen(fd, listening->backlog) < 0) {
		r = -errno;
	}
	if (r == 0 && first) {
		r = set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	}
	return r;
}

static int open_one(const struct gy_bind *bind, const struct gy_listening *listening, bool first,
		    int *ret_fd)
{
	int fd = socket(bind->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? -errno : start(fd, bind, listening, first);

	if (r < 0) {
		if (fd >= 0) {
			(void)close(fd);
		}
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int gy_sockets_join(const struct gy_bind *bind, uint32_t backlog, bool allow_delay, int *ret_fd)
{
	const struct gy_listening listening = { .backlog = (int)backlog,
						.allow_delay = allow_delay };

	return open_one(bind, &listening, false, ret_fd);
}

uint16_t gy_bind_port(const struct gy_bind *bind)
{
	struct sockaddr_in6 six;
	struct sockaddr_in four;

	if (bind->address.ss_family == AF_INET6) {
		memcpy(&six, &bind->address, sizeof(six));
		return ntohs(six.sin6_port);
	}
	memcpy(&four, &bind->address, sizeof(four));
	return ntohs(four.sin_port);
}

static const char *remedy(int error)
{
	switch (error) {
	case -EADDRINUSE:
		return "another program listens there: stop it, or choose another port";
	case -EADDRNOTAVAIL:
		return "use an address of this machine, as `ip address` shows them";
	case -EACCES:
		return "ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher one";
	case -EAFNOSUPPORT:
		return "there is no IPv6 here: use tcp://0.0.0.0:PORT";
	case -EMFILE:
	case -ENFILE:
		return "too few descriptors are allowed: see `ulimit -n`";
	default:
		return "each loop needs a socket there";
	}
}

int gy_sockets_listen(struct gy_bind *bind, const struct gy_listening *listening, uint32_t count,
		      int *ret_fds)
{
	uint32_t opened = 0;
	int r = 0;

	while (opened < count && r == 0) {
		r = open_one(bind, listening, opened == 0, &ret_fds[opened]);
		if (r == 0 && opened++ == 0) {
			bind->bytes = sizeof(bind->address);
			r = getsockname(ret_fds[0], (struct sockaddr *)&bind->address,
					&bind->bytes) < 0
				    ? -errno
				    : 0;
		}
	}
	if (r < 0) {
		gy_log(listening->log, GYRE_LOG_ERROR, "cannot listen on %s: %s; %s",
		       listening->text, strerror(-r), remedy(r));
		while (opened > 0) {
			(void)close(ret_fds[--opened]);
		}
	}
	return r;
}
