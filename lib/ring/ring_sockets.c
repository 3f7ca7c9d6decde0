/*
 * The state of a socket as the kernel knows it, for which the ring has no operation: short calls
 * that never wait.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "ring/ring.h"

/* A count; 0 where the kernel knows none. */
static uint64_t ask(int fd, unsigned long what)
{
	int count = 0;

	if (ioctl(fd, what, &count) < 0 || count < 0) {
		return 0;
	}
	return (uint64_t)count;
}

uint64_t gy_ring_unsent_bytes(int fd)
{
	return ask(fd, SIOCOUTQ);
}

uint64_t gy_ring_unread_bytes(int fd)
{
	return ask(fd, SIOCINQ);
}

int gy_ring_socket_error(int fd)
{
	int error = 0;
	socklen_t bytes = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0 ? -errno : -error;
}

bool gy_ring_is_local(int fd)
{
	int domain = 0;
	socklen_t bytes = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX;
}

void gy_ring_reset_on_close(int fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	/* The call fails if the descriptor is no socket any more; its close fails as well. */
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}
