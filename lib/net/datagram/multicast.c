/*
 * Groups of receivers: joined and left by the calls that serve both versions of IP. A socket gets
 * what is sent to groups of its own only, not of all that anybody on the machine has joined, which
 * is the kernel's default.
 *
 * The kernel does not tell which groups a socket has joined. So what a channel joins and leaves
 * while it may still get another socket, which is before it is active, is noted, and done again
 * there, in the same order: that gives the same groups, whichever way the routes lead.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/memory/memory.h"
#include "buffer/socket_address.h"
#include "channel/channel.h"
#include "net/datagram/datagram.h"
#include "net/socket_option.h"
#include "ring/host.h"

enum { IPV6_MULTICAST_ALL_ = 29 /* IPV6_MULTICAST_ALL, which the C library does not name */ };

/* The number of an interface; 0 for NULL, which lets the routes decide. */
static int find_interface(const char *name, uint32_t *ret_index)
{
	if (name == NULL) {
		*ret_index = 0;
		return 0;
	}
	return gy_interface_index(name, ret_index);
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

int gy_multicast_family(const struct gyre_multicast *multicast)
{
	struct sockaddr_storage group;

	return multicast->group == NULL || parse_group(multicast->group, &group) < 0
		       ? -EINVAL
		       : group.ss_family;
}

static int read_request(const struct gyre_multicast *multicast, struct group_req *ret_request)
{
	struct group_req request = { 0 };
	int r = multicast->group == NULL ? -EINVAL
					 : parse_group(multicast->group, &request.gr_group);

	if (r == 0) {
		r = find_interface(multicast->interface, &request.gr_interface);
	}
	if (r == 0) {
		*ret_request = request;
	}
	return r;
}

static int change(int fd, int what, const struct group_req *request)
{
	int level = request->gr_group.ss_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;

	return gy_socket_set_option(fd, level, what, request, sizeof(*request));
}

static int join(int fd, const struct gyre_multicast *multicast)
{
	struct group_req request;
	int r = read_request(multicast, &request);

	return r == 0 ? change(fd, MCAST_JOIN_GROUP, &request) : r;
}

/* A setting of a socket. A socket of a predecessor may differ from the default. */
struct setting {
	int level;
	int name;
	int value;
	bool wanted;
};

static int set_all(int fd, const struct setting *settings, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		if (settings[i].wanted) {
			r = gy_socket_set(fd, settings[i].level, settings[i].name,
					  settings[i].value);
		}
	}
	return r;
}

/* How datagrams to groups leave, over IPv4. */
static int prepare_four(int fd, uint32_t interface, const struct gyre_datagram_options *options,
			enum gy_socket_origin origin)
{
	bool all = origin == GY_SOCKET_PASSED;
	int hops = options->multicast_hops == 0 ? 1 : (int)options->multicast_hops;
	const struct setting settings[] = {
		{ IPPROTO_IP, IP_MULTICAST_ALL, 0, origin != GY_SOCKET_GIVEN },
		{ IPPROTO_IP, IP_MULTICAST_TTL, hops, all || options->multicast_hops != 0 },
		{ IPPROTO_IP, IP_MULTICAST_LOOP, !options->no_multicast_loop,
		  all || options->no_multicast_loop },
	};
	const struct ip_mreqn by = { .imr_ifindex = (int)interface };
	int r = set_all(fd, settings, gy_countof(settings));

	if (r == 0 && (all || interface != 0)) {
		r = gy_socket_set_option(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by));
	}
	return r;
}

static int prepare_six(int fd, uint32_t interface, const struct gyre_datagram_options *options,
		       enum gy_socket_origin origin)
{
	bool all = origin == GY_SOCKET_PASSED;
	int hops = options->multicast_hops == 0 ? 1 : (int)options->multicast_hops;
	const struct setting settings[] = {
		{ IPPROTO_IPV6, IPV6_MULTICAST_ALL_, 0, origin != GY_SOCKET_GIVEN },
		{ IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface, all || interface != 0 },
		{ IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops, all || options->multicast_hops != 0 },
		{ IPPROTO_IPV6, IPV6_MULTICAST_LOOP, !options->no_multicast_loop,
		  all || options->no_multicast_loop },
	};

	return set_all(fd, settings, gy_countof(settings));
}

int gy_multicast_prepare(int fd, int family, const struct gyre_datagram_options *options,
			 enum gy_socket_origin origin)
{
	uint32_t interface = 0;
	int r = find_interface(options->multicast_interface, &interface);

	if (r == 0) {
		r = prepare_four(fd, interface, options, origin); /* also what IPv6 maps */
	}
	if (r == 0 && family == AF_INET6) {
		r = prepare_six(fd, interface, options, origin);
	}
	for (uint32_t i = 0; i < options->groups_count && r == 0; i++) {
		r = join(fd, &options->groups[i]);
		if (r == -EADDRINUSE && origin == GY_SOCKET_PASSED) {
			r = 0; /* it has been joined by the predecessor */
		}
	}
	return r;
}

/* ---- what is to be done again ---- */

struct gy_multicast_change {
	struct gy_multicast_change *next; /* the later one */
	int what;
	struct group_req request;
};

static bool is_of_same_group(const struct gy_multicast_change *a,
			     const struct gy_multicast_change *b)
{
	return memcmp(&a->request.gr_group, &b->request.gr_group, sizeof(a->request.gr_group)) == 0;
}

/* Takes @change, or with it the last one of that group, if it takes back just that. */
static void note(struct gy_multicast_change **changes, struct gy_multicast_change *change)
{
	struct gy_multicast_change **place = changes;
	struct gy_multicast_change **last = NULL;
	struct gy_multicast_change *undone;

	gy_assert(change->what == MCAST_JOIN_GROUP || change->what == MCAST_LEAVE_GROUP);
	while (*place != NULL) {
		last = is_of_same_group(*place, change) ? place : last;
		place = &(*place)->next;
	}
	if (last == NULL || (*last)->what == change->what ||
	    (*last)->request.gr_interface != change->request.gr_interface) {
		*place = change;
		return;
	}
	undone = *last;
	*last = undone->next;
	gy_memory_put(undone);
	gy_memory_put(change);
}

static int change_and_note(int fd, int what, const struct group_req *request,
			   struct gy_multicast_change **changes)
{
	struct gy_multicast_change *done =
		(struct gy_multicast_change *)gy_memory_get(sizeof(*done));
	int r;

	if (done == NULL) {
		return -ENOMEM;
	}
	r = change(fd, what, request);
	if (r < 0) {
		gy_memory_put(done);
		return r;
	}
	done->what = what;
	done->request = *request;
	note(changes, done);
	return 0;
}

int gy_multicast_repeat(int fd, const struct gy_multicast_change *changes)
{
	int r = 0;

	for (; changes != NULL && r == 0; changes = changes->next) {
		r = change(fd, changes->what, &changes->request);
	}
	return r;
}

void gy_multicast_forget(struct gy_multicast_change *changes)
{
	while (changes != NULL) {
		struct gy_multicast_change *next = changes->next;

		gy_memory_put(changes);
		changes = next;
	}
}

/* ---- the public calls ---- */

static int change_channel(const struct gyre_channel *channel, int what,
			  const struct gyre_multicast *multicast)
{
	struct gyre_socket_address address;
	struct group_req request;
	int r;

	if (channel == NULL || multicast == NULL || !gy_channel_is_datagram(channel) ||
	    gy_channel_is_closed(channel)) {
		return -EINVAL;
	}
	r = gy_socket_address_of(channel->endpoint.fd, &address);
	if (r < 0 || address.storage.ss_family == AF_UNIX) {
		return r < 0 ? r : -EINVAL;
	}
	r = read_request(multicast, &request);
	if (r != 0) {
		return r;
	}
	return channel->unconnected
		       ? change_and_note(channel->endpoint.fd, what, &request,
					 gy_datagram_orders_changes(channel->connector))
		       : change(channel->endpoint.fd, what, &request);
}

int gyre_multicast_join(struct gyre_channel *channel, const struct gyre_multicast *multicast)
{
	return change_channel(channel, MCAST_JOIN_GROUP, multicast);
}

int gyre_multicast_leave(struct gyre_channel *channel, const struct gyre_multicast *multicast)
{
	return change_channel(channel, MCAST_LEAVE_GROUP, multicast);
}
