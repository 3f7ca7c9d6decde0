/*
 * Addresses to bind to, as users write them. A host's name is looked up here, by the calling
 * thread. What cannot be understood is explained with an example of what can.
 */
#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "channel/socket_address.h"
#include "net/net.h"

static int errno_of(int r)
{
	switch (r) {
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return -errno;
	case EAI_AGAIN:
		return -EAGAIN;
	default:
		return -ENXIO;
	}
}

static int look_up(const char *text, const struct gy_socket_text *parts, const struct gy_log *log,
		   struct gyre_socket_address *ret_address)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = parts->type };
	struct addrinfo *found;
	int r = getaddrinfo(parts->host, NULL, &hints, &found);

	if (r != 0) {
		gy_log(log, GYRE_LOG_ERROR,
		       "cannot use %s: %s; use an address of this machine, or a name that it "
		       "knows",
		       text, gai_strerror(r));
		return errno_of(r);
	}
	gy_socket_address_set(ret_address, parts->type, found->ai_addr, found->ai_addrlen);
	gy_socket_address_set_port(ret_address, parts->port);
	freeaddrinfo(found);
	return 0;
}

static const char *example_of(int type)
{
	return type == SOCK_STREAM
		       ? "tcp://[::]:7000, tcp://127.0.0.1:7000 or unix:/run/server.socket"
		       : "udp://[::]:7000, udp://127.0.0.1:7000 or unix+dgram:/run/server.socket";
}

int gy_bind_parse(const char *text, int type, const struct gy_log *log,
		  struct gyre_socket_address *ret_address)
{
	struct gy_socket_text parts;
	int r = gy_socket_text_parse(text, &parts);

	if (r == 0 && parts.type != type) {
		r = -EINVAL;
	}
	if (r < 0) {
		gy_log(log, GYRE_LOG_ERROR,
		       "cannot use \"%s\": %s; an address looks like %s, with a port up to 65535",
		       text, strerror(-r), example_of(type));
		return r;
	}
	if (parts.address.bytes == 0) {
		return look_up(text, &parts, log, ret_address);
	}
	*ret_address = parts.address;
	return 0;
}
