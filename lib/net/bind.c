/*
 * Addresses to bind to, as users write them. A host's name is looked up here, by the calling
 * thread. What cannot be understood is explained with an example of what can.
 */
#include "net/bind.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "buffer/socket_address.h"
#include "ring/host.h"

static const uint64_t pause_ns = GYRE_MILLISECONDS(1);
static const char unix_scheme[] = "unix"; /* and unix+dgram */

static int look_up(const char *text, const struct gy_socket_text *parts, const struct gy_log *log,
		   struct gyre_socket_address *ret_address)
{
	struct sockaddr_storage found;
	socklen_t bytes;
	const char *why;
	int r = gy_host_look_up(parts->host, parts->type, &found, &bytes, &why);

	if (r < 0) {
		gy_log(log, GYRE_LOG_ERROR,
		       "cannot use %s: %s; use an address of this machine, or a name that it "
		       "knows",
		       text, why);
		return r;
	}
	gy_socket_address_set(ret_address, parts->type, (const struct sockaddr *)&found, bytes);
	gy_socket_address_set_port(ret_address, parts->port);
	return 0;
}

static const char *example_of(int type)
{
	return type == SOCK_STREAM
		       ? "tcp://[::]:7000, tcp://127.0.0.1:7000 or unix:/run/server.socket"
		       : "udp://[::]:7000, udp://127.0.0.1:7000 or unix+dgram:/run/server.socket";
}

static void complain(const char *text, int type, const struct gy_log *log, int error)
{
	if (error == -EINVAL) {
		gy_log(log, GYRE_LOG_ERROR,
		       "cannot use \"%s\": %s; an address looks like %s, with a port up to 65535",
		       text, strerror(-error), example_of(type));
	} else {
		gy_log(log, GYRE_LOG_ERROR, "cannot use \"%s\": %s; %s", text, strerror(-error),
		       gy_bind_remedy(text, error));
	}
}

/* An address of datagrams where streams are wanted, or the other way round. */
static void complain_of_kind(const char *text, int type, const struct gy_log *log)
{
	gy_log(log, GYRE_LOG_ERROR,
	       type == SOCK_STREAM
		       ? "cannot use \"%s\": it is for datagrams, and is opened by "
			 "gyre_system_datagram_open() or gyre_datagram_open(); an address of "
			 "streams looks like %s"
		       : "cannot use \"%s\": it is for streams, and is opened by "
			 "gyre_system_listen() or gyre_connect(); an address of datagrams looks "
			 "like %s",
	       text, example_of(type));
}

int gy_bind_parse(const char *text, int type, const struct gy_log *log,
		  struct gyre_socket_address *ret_address)
{
	struct gy_socket_text parts;
	int r = gy_socket_text_parse(text, &parts);

	if (r == 0 && parts.type != type) {
		complain_of_kind(text, type, log);
		return -EINVAL;
	}
	if (r < 0) {
		complain(text, type, log, r);
		return r;
	}
	if (parts.address.bytes == 0) {
		return look_up(text, &parts, log, ret_address);
	}
	*ret_address = parts.address;
	return 0;
}

/* Nothing tells when an address becomes free. What the rings of a process had under way keeps its
 * sockets for a while when that has ended: they are taken down by a thread of the kernel's. */
bool gy_bind_pause(uint64_t until_ns)
{
	if (until_ns == 0 || gy_clock_machine_ns() >= until_ns) {
		return false;
	}
	gy_clock_sleep(pause_ns);
	return true;
}

static const char *remedy_of_path(int error)
{
	switch (error) {
	case -EADDRINUSE:
		return "another program listens there, or a file that is no socket has that path: "
		       "take it away, or choose another path";
	case -EACCES:
	case -EROFS:
		return "the folder of the path must be one that this process may write to";
	case -ECONNREFUSED:
	case -ENOENT:
	case -ENOTDIR:
		return "the folder of a path, and the socket of a peer, have to be there first";
	case -ENAMETOOLONG:
		return "a path has at most 107 bytes";
	default:
		return NULL;
	}
}

static const char *remedy_of_port(int error)
{
	switch (error) {
	case -EADDRINUSE:
		return "another program listens there: end it, or choose another port";
	case -EADDRNOTAVAIL:
		return "use an address of this machine, as `ip address` shows them";
	case -EACCES:
		return "ports below 1024 need CAP_NET_BIND_SERVICE";
	case -EINVAL:
		return "an address of one net, as fe80::1, needs its interface: [fe80::1%eth0]";
	case -EAFNOSUPPORT:
		return "there is no IPv6 here: use 0.0.0.0 as the host";
	case -ENAMETOOLONG:
		return "the name of a host has at most 255 bytes";
	case -ENODEV:
		return "`ip link` shows which interfaces there are, and groups without one need a "
		       "route";
	default:
		return NULL;
	}
}

const char *gy_bind_remedy(const char *text, int error)
{
	bool path = text != NULL && strncasecmp(text, unix_scheme, strlen(unix_scheme)) == 0;
	const char *remedy = path ? remedy_of_path(error) : remedy_of_port(error);

	if (error == -EMFILE || error == -ENFILE) {
		return "too few descriptors are allowed: see `ulimit -n`";
	}
	return remedy != NULL ? remedy : "each loop needs a socket there";
}
