/*
 * Sockets for datagrams, one a loop on one address, or one alone.
 *
 * As with listeners the first one binds without SO_REUSEPORT, so that the kernel refuses it if
 * anybody has the address, and only then lets the others of this call join it; unless the user
 * wants to share the address with other programs.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>

#include "buffer/socket_address.h"
#include "net/bind.h"
#include "net/datagram/datagram.h"
#include "net/inherit.h"
#include "net/socket_file.h"
#include "net/socket_option.h"
#include "ring/descriptor.h"

/* ---- what there is to open ---- */

static const struct gyre_socket_address any_six = {
	.bytes = sizeof(struct sockaddr_in6),
	.type = SOCK_DGRAM,
	.storage = { .ss_family = AF_INET6 },
};

static const struct gyre_socket_address any_four = {
	.bytes = sizeof(struct sockaddr_in),
	.type = SOCK_DGRAM,
	.storage = { .ss_family = AF_INET },
};

static bool has_six(void)
{
	int fd = gy_socket_open(AF_INET6, SOCK_DGRAM, 0);

	if (fd >= 0) {
		(void)gy_descriptor_close(fd);
	}
	return fd >= 0;
}

static int parse(const struct gy_datagram_sockets *sockets, const char *text,
		 struct gyre_socket_address *ret_address)
{
	int r;

	if (!sockets->of_actor) {
		return gy_bind_parse(text, SOCK_DGRAM, sockets->log, ret_address);
	}
	r = gyre_socket_address_parse(text, ret_address);
	return r == 0 && ret_address->type != SOCK_DGRAM ? -EINVAL : r;
}

int gy_datagram_sockets_plan(struct gy_datagram_sockets *sockets, uint32_t loops)
{
	const struct gyre_datagram_options *options = sockets->options;
	bool one = options->one_loop || options->bind == NULL || options->connect != NULL ||
		   options->groups_count > 0;
	int r = 0;

	sockets->inherited = options->bind != NULL && gy_inherit_is_meant(options->bind);
	if (sockets->inherited) {
		r = sockets->of_actor ? -EINVAL : 0;
	} else if (options->bind != NULL) {
		r = parse(sockets, options->bind, &sockets->address);
	} else if (options->connect == NULL) {
		sockets->address = has_six() ? any_six : any_four;
	}
	if (r == 0 && options->connect != NULL) {
		r = parse(sockets, options->connect, &sockets->peer);
	}
	if (r == 0) {
		r = gy_datagram_check_addresses(sockets);
	}
	sockets->named = sockets->address.bytes > 0;
	sockets->count = one || sockets->address.storage.ss_family == AF_UNIX ? 1 : loops;
	return r;
}

/* ---- one socket ---- */

static int prepare_any(int fd, const struct gyre_datagram_options *options)
{
	return gy_socket_size_buffers(fd, options->receive_buffer_bytes,
				      options->send_buffer_bytes);
}

static bool can_cut(const struct gy_datagram_sockets *sockets, int fd)
{
	return !sockets->options->no_gso && gy_socket_set(fd, SOL_UDP, UDP_SEGMENT, 0) == 0;
}

/* Batches are optional: a kernel or sandbox may refuse them. */
static void prepare_batches(struct gy_datagram_sockets *sockets, int fd)
{
	if (!sockets->options->no_gro) {
		(void)gy_socket_set(fd, SOL_UDP, UDP_GRO, 1);
	}
	sockets->batched = can_cut(sockets, fd);
}

/* For any socket of IP. */
static int prepare_ip(int fd, int family, const struct gyre_datagram_options *options,
		      enum gy_socket_origin origin)
{
	int r = options->broadcast || origin == GY_SOCKET_PASSED
			? gy_socket_set(fd, SOL_SOCKET, SO_BROADCAST, options->broadcast)
			: 0;

	return r == 0 ? gy_multicast_prepare(fd, family, options, origin) : r;
}

static int prepare(struct gy_datagram_sockets *sockets, int fd, int family, bool first)
{
	const struct gyre_datagram_options *options = sockets->options;
	int r = prepare_any(fd, options);

	if (r < 0 || family == AF_UNIX) {
		return r;
	}
	prepare_batches(sockets, fd);
	if (family == AF_INET6) {
		r = gy_socket_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	}
	if (r == 0 && options->reuse_port) {
		r = gy_socket_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	}
	if (r == 0 && (options->reuse_port || !first)) {
		r = gy_socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	}
	return r == 0 ? prepare_ip(fd, family, options, GY_SOCKET_OURS) : r;
}

static int bind_one(int fd, const struct gyre_socket_address *address)
{
	if (gy_socket_file_is_one(address)) {
		return gy_socket_file_bind(fd, address, 0, 0);
	}
	return gy_socket_bind(fd, (const struct sockaddr *)&address->storage, address->bytes);
}

/* A connected Unix socket gets a name, so that its peer can answer. */
static int connect_one(int fd, const struct gy_datagram_sockets *sockets)
{
	const struct gyre_socket_address *peer = &sockets->peer;
	const sa_family_t unnamed = AF_UNIX;
	int r = 0;

	if (peer->storage.ss_family == AF_UNIX && sockets->address.bytes == 0) {
		r = gy_socket_bind(fd, (const struct sockaddr *)&unnamed, sizeof(unnamed));
	}
	return r < 0 ? r
		     : gy_socket_connect(fd, (const struct sockaddr *)&peer->storage, peer->bytes);
}

/* Removes the file of a socket that was bound and cannot be used. */
static void remove_file(const struct gyre_socket_address *address)
{
	struct gy_socket_file file;

	gy_socket_file_set(&file, address);
	gy_socket_file_remove(&file);
}

static int start(struct gy_datagram_sockets *sockets, int fd, int family, bool first)
{
	int r = prepare(sockets, fd, family, first);

	if (r == 0 && sockets->address.bytes > 0) {
		r = bind_one(fd, &sockets->address);
	}
	if (r == 0 && sockets->peer.bytes > 0) {
		r = connect_one(fd, sockets);
		if (r < 0) {
			remove_file(&sockets->address);
		}
	}
	if (r == 0 && first && sockets->count > 1) {
		r = gy_socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	}
	return r;
}

static int open_one(struct gy_datagram_sockets *sockets, bool first, int *ret_fd)
{
	int family = sockets->peer.bytes > 0 ? sockets->peer.storage.ss_family
					     : sockets->address.storage.ss_family;
	int fd = gy_socket_open(family, SOCK_DGRAM, 0);
	int r = fd < 0 ? fd : start(sockets, fd, family, first);

	if (r < 0) {
		if (fd >= 0) {
			(void)gy_descriptor_close(fd);
		}
		return r;
	}
	*ret_fd = fd;
	return 0;
}

/* ---- all ---- */

static void report(const struct gy_datagram_sockets *sockets, int error)
{
	const struct gyre_datagram_options *options = sockets->options;
	const char *where = options->bind != NULL ? options->bind : options->connect;

	gy_log(sockets->log, GYRE_LOG_ERROR, "cannot open a socket for datagrams at %s: %s; %s",
	       where != NULL ? where : "any port", strerror(-error), gy_bind_remedy(where, error));
}

int gy_datagram_sockets_open(struct gy_datagram_sockets *sockets, int *ret_fds)
{
	uint32_t opened = 0;
	int r = 0;

	gy_assert(sockets->count > 0);
	while (opened < sockets->count && r == 0) {
		do {
			r = open_one(sockets, opened == 0, &ret_fds[opened]);
		} while (r == -EADDRINUSE && gy_bind_pause(sockets->bound_until_ns));
		if (r == 0 && opened++ == 0) {
			r = gy_socket_address_of(ret_fds[0], &sockets->address);
		}
	}
	if (r < 0) {
		if (!sockets->of_actor) {
			report(sockets, r);
		}
		while (opened > 0) {
			(void)gy_descriptor_close(ret_fds[--opened]);
		}
	}
	return r;
}

int gy_datagram_sockets_reopen(struct gy_datagram_sockets *sockets, bool alone, int *ret_fd)
{
	int fd;
	int r = open_one(sockets, alone, &fd);

	if (r == 0) {
		r = gy_socket_address_of(fd, &sockets->address);
		if (r < 0) {
			(void)gy_descriptor_close(fd);
		} else {
			*ret_fd = fd;
		}
	}
	return r;
}

/* Others may join an address only if those that have it allow that. */
static bool may_be_joined(const int *fds, uint32_t count)
{
	bool may = true;

	for (uint32_t i = 0; i < count && may; i++) {
		may = gy_socket_set(fds[i], SOL_SOCKET, SO_REUSEPORT, 1) == 0;
	}
	return may;
}

void gy_datagram_sockets_adopt(struct gy_datagram_sockets *sockets, uint32_t count, uint32_t wanted,
			       int *fds)
{
	gy_assert(count > 0);
	(void)gy_socket_address_of(fds[0], &sockets->address); /* which any socket can tell */
	sockets->batched = can_cut(sockets, fds[0]);
	if (wanted > count && may_be_joined(fds, count)) {
		while (count < wanted && open_one(sockets, false, &fds[count]) == 0) {
			count++;
		}
	}
	sockets->count = count;
}

int gy_datagram_socket_adopt(int fd, int family, const struct gyre_datagram_options *options,
			     enum gy_socket_origin origin)
{
	int r = prepare_any(fd, options);

	if (r < 0 || family == AF_UNIX) {
		return r;
	}
	if (options->no_gro || origin == GY_SOCKET_PASSED) {
		(void)gy_socket_set(fd, SOL_UDP, UDP_GRO, !options->no_gro);
	}
	if (options->reuse_port) {
		r = gy_socket_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	}
	if (r == 0 && options->reuse_port) {
		r = gy_socket_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	}
	return r == 0 ? prepare_ip(fd, family, options, origin) : r;
}
