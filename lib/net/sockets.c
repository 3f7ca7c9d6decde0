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
#include "net/sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "buffer/socket_address.h"
#include "net/bind.h"
#include "net/socket_file.h"
#include "net/socket_option.h"
#include "net/stream.h"
#include "ring/descriptor.h"

static int prepare_ip(int fd, const struct gyre_socket_address *address,
		      const struct gy_listen_params *listening, bool first)
{
	int r = gy_socket_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);

	if (r == 0 && !first) {
		r = gy_socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	}
	if (r == 0 && address->storage.ss_family == AF_INET6) {
		r = gy_socket_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	}
	/* Connections inherit it, which saves calls for each. */
	return r == 0 ? gy_stream_prepare(fd, listening->channel) : r;
}

static int bind_and_listen(int fd, const struct gyre_socket_address *address,
			   const struct gy_listen_params *listening)
{
	int r;

	if (gy_socket_file_is_one(address)) {
		return gy_socket_file_bind(fd, address, listening->mode, listening->backlog);
	}
	r = gy_socket_bind(fd, (const struct sockaddr *)&address->storage, address->bytes);
	return r < 0 ? r : gy_socket_listen(fd, listening->backlog);
}

static int start(int fd, const struct gyre_socket_address *address,
		 const struct gy_listen_params *listening, bool first)
{
	bool ip = address->storage.ss_family != AF_UNIX;
	int r = ip ? prepare_ip(fd, address, listening, first) : 0;

	if (r == 0) {
		r = bind_and_listen(fd, address, listening);
	}
	if (r == 0 && first && ip) {
		r = gy_socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	}
	return r;
}

static int open_one(const struct gyre_socket_address *address,
		    const struct gy_listen_params *listening, bool first, int *ret_fd)
{
	int fd = gy_socket_open(address->storage.ss_family, SOCK_STREAM, 0);
	int r = fd < 0 ? fd : start(fd, address, listening, first);

	if (r < 0) {
		if (fd >= 0) {
			(void)gy_descriptor_close(fd);
		}
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int gy_sockets_join(const struct gyre_socket_address *address,
		    const struct gy_listen_params *listening, int *ret_fd)
{
	return open_one(address, listening, false, ret_fd);
}

int gy_sockets_adopt(int fd, const struct gyre_socket_address *address,
		     const struct gy_listen_params *listening)
{
	int r = address->storage.ss_family == AF_UNIX
			? 0
			: gy_stream_adopt(fd, listening->channel, listening->origin);

	if (r == 0 && listening->backlog > 0) {
		r = gy_socket_listen(fd, listening->backlog);
	}
	return r == 0 && listening->origin == GY_SOCKET_PASSED
		       ? gy_socket_file_permit(address, listening->mode)
		       : r;
}

uint32_t gy_sockets_count(const struct gyre_socket_address *address, uint32_t count)
{
	return address->storage.ss_family == AF_UNIX ? 1 : count;
}

int gy_sockets_listen(struct gyre_socket_address *address, const struct gy_listen_params *listening,
		      uint32_t count, int *ret_fds)
{
	uint32_t opened = 0;
	int r = 0;

	while (opened < count && r == 0) {
		do {
			r = open_one(address, listening, opened == 0, &ret_fds[opened]);
		} while (r == -EADDRINUSE && gy_bind_pause(listening->bound_until_ns));
		if (r == 0 && opened++ == 0) {
			r = gy_socket_address_of(ret_fds[0], address);
		}
	}
	if (r < 0 && !(listening->patient && r == -EADDRINUSE)) {
		gy_log(listening->log, GYRE_LOG_ERROR, "cannot listen on %s: %s; %s",
		       listening->text, strerror(-r), gy_bind_remedy(listening->text, r));
	}
	while (r < 0 && opened > 0) {
		(void)gy_descriptor_close(ret_fds[--opened]);
	}
	return r;
}
