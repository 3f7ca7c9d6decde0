/*
 * Groups of receivers: joined and left by the calls that serve both versions of IP. A socket gets
 * what is sent to groups of its own only, not of all that anybody on the machine has joined, which
 * is the kernel's default.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "channel/channel.h"
#include "channel/socket_address.h"
#include "net/datagram.h"
#include "net/socket_option.h"

enum {
	HOPS_MAX = 255,
	IPV6_MULTICAST_ALL_ = 29, /* IPV6_MULTICAST_ALL, which the C library does not name */
};

/* The number of an interface; 0 for NULL, which lets the routes decide. */
static int find_interface(const char *name, uint32_t *ret_index)
{
	uint32_t index = name == NULL ? 0 : if_nametoindex(name);

	if (name != NULL && index == 0) {
		return errno == ENXIO ? -ENODEV : -errno;
	}
	*ret_index = index;
	return 0;
}

static int parse_group(const char *text, struct sockaddr_storage *ret_group)
{
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &four.sin_addr) == 1 &&
	    IN_MULTICAST(ntohl(four.sin_addr.s_addr))) {
		memcpy(ret_group, &four, sizeof(four));
		return 0;
	}
	if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1 &&
	    IN6_IS_ADDR_MULTICAST(&six.sin6_addr)) {
		memcpy(ret_group, &six, sizeof(six));
		return 0;
	}
	return -EINVAL;
}

static int change(int fd, int what, const struct gyre_multicast *multicast)
{
	struct group_req request = { 0 };
	int r;

	if (multicast->group == NULL) {
		return -EINVAL;
	}
	r = parse_group(multicast->group, &request.gr_group);
	if (r == 0) {
		r = find_interface(multicast->interface, &request.gr_interface);
	}
	if (r == 0 &&
	    setsockopt(fd, request.gr_group.ss_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6, what,
		       &request, sizeof(request)) < 0) {
		r = -errno;
	}
	return r;
}

/* How datagrams to groups leave, over IPv4. */
static int prepare_four(int fd, uint32_t interface, const struct gyre_datagram_options *options)
{
	const struct ip_mreqn by = { .imr_ifindex = (int)interface };
	int r = gy_socket_set(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);

	if (r == 0 && interface != 0 &&
	    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by)) < 0) {
		r = -errno;
	}
	if (r == 0 && options->multicast_hops != 0) {
		r = gy_socket_set(fd, IPPROTO_IP, IP_MULTICAST_TTL, (int)options->multicast_hops);
	}
	if (r == 0 && options->no_multicast_loop) {
		r = gy_socket_set(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
	}
	return r;
}

static int prepare_six(int fd, uint32_t interface, const struct gyre_datagram_options *options)
{
	int r = gy_socket_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL_, 0);

	if (r == 0 && interface != 0) {
		r = gy_socket_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface);
	}
	if (r == 0 && options->multicast_hops != 0) {
		r = gy_socket_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS,
				  (int)options->multicast_hops);
	}
	if (r == 0 && options->no_multicast_loop) {
		r = gy_socket_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
	}
	return r;
}

int gy_multicast_prepare(int fd, int family, const struct gyre_datagram_options *options)
{
	uint32_t interface;
	int r = options->multicast_hops > HOPS_MAX ? -EINVAL : 0;

	if (r == 0) {
		r = find_interface(options->multicast_interface, &interface);
	}
	if (r == 0) {
		r = prepare_four(fd, interface, options); /* also what IPv6 maps */
	}
	if (r == 0 && family == AF_INET6) {
		r = prepare_six(fd, interface, options);
	}
	for (uint32_t i = 0; i < options->groups_count && r == 0; i++) {
		r = change(fd, MCAST_JOIN_GROUP, &options->groups[i]);
	}
	return r;
}

/* ---- the public calls ---- */

static int change_channel(const struct gyre_channel *channel, int what,
			  const struct gyre_multicast *multicast)
{
	struct gyre_socket_address address;
	int r;

	if (channel == NULL || multicast == NULL || (channel->flags & GY_CHANNEL_DATAGRAM) == 0 ||
	    gy_channel_is_closed(channel)) {
		return -EINVAL;
	}
	r = gy_socket_address_of(channel->endpoint.fd, &address);
	if (r < 0 || address.storage.ss_family == AF_UNIX) {
		return r < 0 ? r : -EINVAL;
	}
	return change(channel->endpoint.fd, what, multicast);
}

int gyre_datagram_join(struct gyre_channel *channel, const struct gyre_multicast *multicast)
{
	return change_channel(channel, MCAST_JOIN_GROUP, multicast);
}

int gyre_datagram_leave(struct gyre_channel *channel, const struct gyre_multicast *multicast)
{
	return change_channel(channel, MCAST_LEAVE_GROUP, multicast);
}
