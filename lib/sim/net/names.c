/*
 * Addresses and ports. Host number n, counted from 1, has 10.0.0.n and fd00::n, and loopback
 * addresses of its own. Inside all addresses are of IPv6, those of IPv4 mapped into it, so that one
 * table of ports serves both families.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/net/socket.h"

enum { EPHEMERAL_FIRST = 32768, EPHEMERAL_LAST = 60999 };

/* ---- addresses ---- */

static struct in6_addr mapped(uint32_t four)
{
	struct in6_addr ip = { 0 };
	uint32_t ordered = htonl(four);

	ip.s6_addr[10] = 0xff;
	ip.s6_addr[11] = 0xff;
	memcpy(&ip.s6_addr[12], &ordered, sizeof(ordered));
	return ip;
}

static uint32_t four_of(const struct in6_addr *ip)
{
	uint32_t ordered;

	memcpy(&ordered, &ip->s6_addr[12], sizeof(ordered));
	return ntohl(ordered);
}

static bool is_four(const struct in6_addr *ip)
{
	return IN6_IS_ADDR_V4MAPPED(ip);
}

bool gy_sim_is_any(const struct in6_addr *ip)
{
	return IN6_IS_ADDR_UNSPECIFIED(ip) || (is_four(ip) && four_of(ip) == INADDR_ANY);
}

bool gy_sim_is_loopback(const struct in6_addr *ip)
{
	return IN6_IS_ADDR_LOOPBACK(ip) || (is_four(ip) && four_of(ip) >> 24 == 127);
}

static bool same_ip(const struct in6_addr *a, const struct in6_addr *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool gy_sim_endpoint_equal(const struct gy_sim_endpoint *a, const struct gy_sim_endpoint *b)
{
	return a->port == b->port && same_ip(&a->ip, &b->ip);
}

void gy_sim_endpoint_write(const struct gy_sim_endpoint *endpoint,
			   char ret_text[GY_SIM_ENDPOINT_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN];
	struct in_addr four = { .s_addr = htonl(four_of(&endpoint->ip)) };

	if (is_four(&endpoint->ip)) {
		(void)inet_ntop(AF_INET, &four, host, sizeof(host));
	} else {
		(void)inet_ntop(AF_INET6, &endpoint->ip, host, sizeof(host));
	}
	(void)snprintf(ret_text, GY_SIM_ENDPOINT_TEXT_MAX,
		       is_four(&endpoint->ip) ? "%s:%u" : "[%s]:%u", host,
		       (unsigned)endpoint->port);
}

struct in6_addr gy_sim_host_ip(uint32_t host, bool six)
{
	struct in6_addr ip = { 0 };

	if (!six) {
		return mapped(UINT32_C(10) << 24 | (host + 1));
	}
	ip.s6_addr[0] = 0xfd;
	ip.s6_addr[15] = (uint8_t)(host + 1);
	return ip;
}

int gy_sim_net_find(const struct gyre_sim *sim, const char *name)
{
	for (uint32_t i = 0; i < sim->hosts_count; i++) {
		if (strcmp(sim->hosts[i]->name, name) == 0) {
			return (int)i;
		}
	}
	return -ENOENT;
}

/* The number of the host of an address that is in our net; UINT32_MAX for any other. */
static uint32_t number_of(const struct in6_addr *ip)
{
	struct in6_addr of_number = gy_sim_host_ip((uint32_t)ip->s6_addr[15] - 1, !is_four(ip));

	return ip->s6_addr[15] == 0 || !same_ip(ip, &of_number) ? UINT32_MAX
								: (uint32_t)ip->s6_addr[15] - 1;
}

int gy_sim_net_route(const struct gy_sim_host *from, const struct in6_addr *to)
{
	uint32_t host = number_of(to);

	if (gy_sim_is_any(to) || gy_sim_is_loopback(to)) {
		return (int)from->index;
	}
	if (host == UINT32_MAX) {
		return -ENETUNREACH;
	}
	return host < from->sim->hosts_count ? (int)host : -EHOSTUNREACH;
}

/* ---- as calls have them ---- */

int gy_sim_endpoint_read(const struct gy_sim_socket *socket, const struct sockaddr *name,
			 socklen_t bytes, struct gy_sim_endpoint *ret_endpoint)
{
	struct sockaddr_in four;
	struct sockaddr_in6 six;

	if (name == NULL || bytes < sizeof(name->sa_family)) {
		return -EINVAL;
	}
	if (name->sa_family == AF_INET &&
	    (socket->domain == AF_INET || socket->type == SOCK_DGRAM)) {
		if (bytes < sizeof(four)) {
			return -EINVAL;
		}
		memcpy(&four, name, sizeof(four));
		*ret_endpoint = (struct gy_sim_endpoint){ mapped(ntohl(four.sin_addr.s_addr)),
							  ntohs(four.sin_port) };
		return socket->domain == AF_INET6 && socket->options.six_only != 0 ? -ENETUNREACH
										   : 0;
	}
	if (name->sa_family != AF_INET6 || socket->domain != AF_INET6) {
		return -EAFNOSUPPORT;
	}
	if (bytes < sizeof(six)) {
		return -EINVAL;
	}
	memcpy(&six, name, sizeof(six));
	*ret_endpoint = (struct gy_sim_endpoint){ six.sin6_addr, ntohs(six.sin6_port) };
	return is_four(&six.sin6_addr) && socket->options.six_only != 0 ? -ENETUNREACH : 0;
}

int gy_sim_endpoint_name(const struct gy_sim_socket *socket, const struct gy_sim_endpoint *endpoint,
			 struct sockaddr_storage *ret_name)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(endpoint->port) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_port = htons(endpoint->port),
				    .sin6_addr = endpoint->ip };

	if (socket->domain == AF_INET6) {
		memcpy(ret_name, &six, sizeof(six));
		return sizeof(six);
	}
	four.sin_addr.s_addr = htonl(four_of(&endpoint->ip));
	memcpy(ret_name, &four, sizeof(four));
	return sizeof(four);
}

int gy_sim_ip_name(const struct gy_sim_socket *socket, bool peer, struct sockaddr_storage *ret_name)
{
	if (peer && !socket->connected) {
		return -ENOTCONN;
	}
	return gy_sim_endpoint_name(socket, peer ? &socket->peer : &socket->name, ret_name);
}

/* ---- ports ---- */

/* Whether a socket takes what comes for any address of a family. */
static bool takes(const struct gy_sim_socket *socket, bool six)
{
	if (socket->domain == AF_INET) {
		return !six && gy_sim_is_any(&socket->name.ip);
	}
	if (is_four(&socket->name.ip)) {
		return !six && gy_sim_is_any(&socket->name.ip);
	}
	return gy_sim_is_any(&socket->name.ip) && (six || socket->options.six_only == 0);
}

static bool overlap(const struct gy_sim_socket *a, const struct gy_sim_socket *b)
{
	bool a_any = gy_sim_is_any(&a->name.ip);
	bool b_any = gy_sim_is_any(&b->name.ip);

	if (a_any && b_any) {
		return (takes(a, true) && takes(b, true)) || (takes(a, false) && takes(b, false));
	}
	if (a_any || b_any) {
		return a_any ? takes(a, !is_four(&b->name.ip)) : takes(b, !is_four(&a->name.ip));
	}
	return same_ip(&a->name.ip, &b->name.ip);
}

static bool may_share(const struct gy_sim_socket *a, const struct gy_sim_socket *b)
{
	if (a->options.reuse_port != 0 && b->options.reuse_port != 0) {
		return true;
	}
	return a->options.reuse_address != 0 && b->options.reuse_address != 0 && !a->listening &&
	       !b->listening;
}

/* Whether one of a host's sockets is in the way of @socket; with @any at all on its port. */
static bool is_in_use(const struct gy_sim_socket *socket, bool any)
{
	const struct gy_list *sockets = &socket->file.host->net->sockets;

	for (const struct gy_list *item = sockets->next; item != sockets; item = item->next) {
		const struct gy_sim_socket *other =
			gy_container_of(item, struct gy_sim_socket, of_host);

		if (other == socket || other->domain == AF_UNIX || other->type != socket->type ||
		    other->name.port != socket->name.port) {
			continue;
		}
		if (any ||
		    (!other->accepted && overlap(socket, other) && !may_share(socket, other))) {
			return true;
		}
	}
	return false;
}

int gy_sim_ip_check(const struct gy_sim_socket *socket)
{
	return is_in_use(socket, false) ? -EADDRINUSE : 0;
}

static int take_port(struct gy_sim_socket *socket)
{
	struct gy_sim_net_host *net = socket->file.host->net;

	for (uint32_t i = 0; i <= EPHEMERAL_LAST - EPHEMERAL_FIRST; i++) {
		socket->name.port = net->next_port;
		net->next_port = net->next_port == EPHEMERAL_LAST ? EPHEMERAL_FIRST
								  : (uint16_t)(net->next_port + 1);
		if (!is_in_use(socket, true)) {
			return 0;
		}
	}
	socket->name.port = 0;
	return -EADDRINUSE;
}

static bool is_own(const struct gy_sim_host *host, const struct in6_addr *ip)
{
	return gy_sim_is_any(ip) || gy_sim_is_loopback(ip) || number_of(ip) == host->index;
}

/* An address of a link alone does not say which link. */
static bool is_without_scope(const struct sockaddr *name)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)name;

	return name->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) &&
	       six->sin6_scope_id == 0;
}

int gy_sim_ip_bind(struct gy_sim_socket *socket, const struct sockaddr *name, socklen_t bytes)
{
	struct gy_sim_endpoint endpoint;
	int r = gy_sim_endpoint_read(socket, name, bytes, &endpoint);

	if (r < 0) {
		return r == -ENETUNREACH ? -EINVAL : r;
	}
	if (socket->bound || socket->connected) {
		return -EINVAL;
	}
	if (is_without_scope(name)) {
		return -EINVAL;
	}
	if (!is_own(socket->file.host, &endpoint.ip)) {
		return -EADDRNOTAVAIL;
	}
	socket->name = endpoint;
	if (endpoint.port == 0) {
		r = socket->options.no_port != 0 ? 0 : take_port(socket);
	} else {
		r = gy_sim_ip_check(socket);
	}
	if (r < 0) {
		memset(&socket->name, 0, sizeof(socket->name));
		return r;
	}
	socket->bound = true;
	return 0;
}

int gy_sim_ip_prepare(struct gy_sim_socket *socket, const struct gy_sim_endpoint *to)
{
	const struct gy_sim_host *host = socket->file.host;
	struct gy_sim_endpoint before = socket->name;
	bool six = !is_four(&to->ip);
	int target = gy_sim_net_route(host, &to->ip);
	int r = 0;

	if (target < 0) {
		return target;
	}
	if (gy_sim_is_any(&socket->name.ip)) {
		socket->name.ip = gy_sim_is_loopback(&to->ip) || gy_sim_is_any(&to->ip)
					  ? (six ? in6addr_loopback : mapped(INADDR_LOOPBACK))
					  : gy_sim_host_ip(host->index, six);
	} else if (is_four(&socket->name.ip) == six) {
		return -ENETUNREACH;
	} else if (gy_sim_is_loopback(&socket->name.ip) && target != (int)host->index) {
		return -EINVAL;
	}
	if (socket->name.port == 0) {
		r = take_port(socket);
	}
	if (r < 0) {
		socket->name = before;
		return r == -EADDRINUSE ? -EADDRNOTAVAIL : r;
	}
	return target;
}

int gy_sim_ip_set_peer(struct gy_sim_socket *socket, const struct sockaddr *to, socklen_t bytes)
{
	struct gy_sim_endpoint peer;
	int r = gy_sim_endpoint_read(socket, to, bytes, &peer);

	if (r == 0) {
		r = gy_sim_ip_prepare(socket, &peer);
	}
	if (r < 0) {
		return r;
	}
	if (gy_sim_is_any(&peer.ip)) {
		peer.ip = socket->name.ip; /* this host */
	}
	socket->peer = peer;
	return r;
}

uint32_t gy_sim_ip_fits(const struct gy_sim_socket *socket, const struct gy_sim_endpoint *to)
{
	if (socket->domain == AF_UNIX || socket->name.port == 0 || socket->name.port != to->port) {
		return 0;
	}
	if (gy_sim_is_any(&socket->name.ip)) {
		return takes(socket, !is_four(&to->ip)) ? 1 : 0;
	}
	return same_ip(&socket->name.ip, &to->ip) ? 2 : 0;
}
