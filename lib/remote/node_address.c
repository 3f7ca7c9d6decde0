/*
 * The addresses of nodes. Those of TCP are looked at where they are dialled or bound, since that
 * may take a look-up. That of a Unix socket is told to processes that run elsewhere, in another
 * folder: so its path begins at the root.
 */
#include "remote/node_address.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include <gyre/socket_address.h>

#include "base/assert.h"

static const char tcp_scheme[] = "tcp://";
static const char unix_scheme[] = "unix:";

enum { LOOPBACK_IPV4 = 127 };

static bool begins_with(const char *text, const char *scheme)
{
	return strncasecmp(text, scheme, strlen(scheme)) == 0;
}

bool gy_node_address_is_unix(const char *text)
{
	return begins_with(text, unix_scheme);
}

int gy_node_address_check(const char *text)
{
	struct gyre_socket_address address;
	char first;
	int r;

	if (!gy_node_address_is_unix(text)) {
		return begins_with(text, tcp_scheme) ? 0 : -EINVAL;
	}
	r = gyre_socket_address_parse(text, &address);
	first = text[strlen(unix_scheme)];
	return r < 0 ? r : first == '/' || first == '@' ? 0 : -EINVAL;
}

const char *gy_node_address_remedy(int error)
{
	return error == -ENAMETOOLONG
		       ? "the path of a Unix socket has at most 107 bytes: choose a shorter one"
		       : "an address looks like tcp://10.0.0.2:9000, unix:/run/node.socket or "
			 "unix:@name";
}

bool gy_node_address_is_public(const struct gyre_socket_address *address)
{
	const struct sockaddr *any = (const struct sockaddr *)&address->storage;
	const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)(const void *)any;
	const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)(const void *)any;

	gy_assert(address->bytes > 0);
	switch (any->sa_family) {
	case AF_UNIX:
		return false;
	case AF_INET:
		return ntohl(ipv4->sin_addr.s_addr) >> 24 != LOOPBACK_IPV4;
	case AF_INET6:
		return !IN6_IS_ADDR_LOOPBACK(&ipv6->sin6_addr);
	default:
		return true;
	}
}
