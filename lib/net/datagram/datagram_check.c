/*
 * What can be said to be wrong with the options of a socket for datagrams before there is one. The
 * kernel would refuse it too, or do without it, but could not say which of them it was.
 */
#include <errno.h>
#include <stdio.h>

#include "net/bounds.h"
#include "net/datagram/datagram.h"

enum { HOPS_MAX = 255, WRONG_BYTES = 256 };

int gy_datagram_refuse(const char *wrong, const struct gy_log *log)
{
	return gy_options_refuse("open a socket for datagrams", wrong, log);
}

int gy_datagram_check(const struct gyre_datagram_options *options, const struct gy_log *log)
{
	const struct gy_bound bounds[] = {
		{ "receive_buffer_bytes", options->receive_buffer_bytes, INT32_MAX },
		{ "send_buffer_bytes", options->send_buffer_bytes, INT32_MAX },
		{ "multicast_hops", options->multicast_hops, HOPS_MAX },
	};

	if (options->init_channel == NULL) {
		return gy_datagram_refuse("init_channel has to be given", log);
	}
	if (options->groups_count > 0 && options->groups == NULL) {
		return gy_datagram_refuse("there are no groups, though groups_count is not 0", log);
	}
	return gy_bounds_check(bounds, gy_countof(bounds), log);
}

/* A socket of IPv6 can be in groups of both, as it hears both. */
static int check_group(const struct gyre_multicast *group, int family, const struct gy_log *log)
{
	int of_group = gy_multicast_family(group);
	char wrong[WRONG_BYTES];

	if (of_group < 0) {
		(void)snprintf(wrong, sizeof(wrong),
			       "\"%s\" is no group; those are 224.0.0.0 to 239.255.255.255, and "
			       "ff00:: with all behind it",
			       group->group == NULL ? "" : group->group);
		return gy_datagram_refuse(wrong, log);
	}
	if (family != AF_INET6 && family != of_group) {
		(void)snprintf(wrong, sizeof(wrong),
			       "the group %s is for another kind of socket: bind it to %s",
			       group->group,
			       of_group == AF_INET ? "udp://0.0.0.0:PORT" : "udp://[::]:PORT");
		return gy_datagram_refuse(wrong, log);
	}
	return 0;
}

int gy_datagram_check_addresses(const struct gy_datagram_sockets *sockets)
{
	const struct gyre_datagram_options *options = sockets->options;
	const struct gy_log *log = sockets->of_actor ? NULL : sockets->log;
	const struct gyre_socket_address *address = &sockets->address;
	const struct gyre_socket_address *peer = &sockets->peer;
	int family = peer->bytes > 0 ? peer->storage.ss_family : address->storage.ss_family;
	int r = 0;

	if (sockets->inherited) {
		return options->connect != NULL || options->groups_count > 0
			       ? gy_datagram_refuse(
					 "one that is given by fd: is neither connected "
					 "nor put into groups; its channel can join them",
					 log)
			       : 0;
	}
	if (address->bytes > 0 && address->storage.ss_family != family) {
		return gy_datagram_refuse(
			"bind and connect have to be of one kind: both IPv4, both "
			"IPv6, or both Unix",
			log);
	}
	for (uint32_t i = 0; i < options->groups_count && r == 0; i++) {
		r = check_group(&options->groups[i], family, log);
	}
	return r;
}
