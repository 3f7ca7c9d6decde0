/*
 * Listening sockets, ports and names of simulated hosts.
 */
#include <net/if.h>
#include <netdb.h>

#include "net_seen.h"

/* Of a test with one host. */
static void run_alone(gyre_sim_boot_fn boot)
{
	struct seen seen = { .served = true };
	struct gyre_sim *sim = sim_make(1);

	(void)sim_add(sim, "alpha", boot, &seen);
	run(sim, &seen, GYRE_SECONDS(10));
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in name;
	socklen_t bytes = sizeof(name);

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&name, &bytes), 0);
	return ntohs(name.sin_port);
}

static int try_bind(int fd, const struct sockaddr_in *name)
{
	return bind(fd, (const struct sockaddr *)name, sizeof(*name)) < 0 ? -errno : 0;
}

static void set(int fd, int name, int value)
{
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, name, &value, sizeof(value)), 0);
}

/* ---- the queue ---- */

static int serve_few(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int listener = net_listen(NET_PORT, 1);

	net_pause(GYRE_MILLISECONDS(1500));
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert(accept(listener, NULL, NULL) >= 0);
	}
	seen->served = true;
	net_pause(GYRE_SECONDS(10));
	return 0;
}

static int call_thrice(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	uint64_t from_ns;

	net_pause(GYRE_MILLISECONDS(10));
	cr_assert(net_connect(0, NET_PORT) >= 0);
	cr_assert(net_connect(0, NET_PORT) >= 0);
	from_ns = net_now_ns();
	cr_assert(net_connect(0, NET_PORT) >= 0); /* a second time after 1 s, a third after 3 */
	seen->took_ns = net_now_ns() - from_ns;
	seen->called = true;
	return 0;
}

Test(sim_listener, lets_one_more_than_its_backlog_in_and_the_next_when_there_is_room)
{
	struct seen seen = { 0 };

	run(net_make(1, serve_few, call_thrice, &seen), &seen, GYRE_SECONDS(20));
	cr_assert_eq((seen.took_ns + GYRE_MILLISECONDS(100)) / GYRE_SECONDS(1), 3);
}

static int serve_and_stop(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int listener = net_listen(NET_PORT, 16);

	net_pause(GYRE_SECONDS(1));
	(void)close(listener);
	seen->served = true;
	net_pause(GYRE_SECONDS(10));
	return 0;
}

Test(sim_listener, resets_connections_that_nobody_has_accepted_when_it_closes)
{
	struct seen seen = { 0 };

	run(net_make(2, serve_and_stop, call_and_wait, &seen), &seen, GYRE_SECONDS(20));
	cr_assert_eq(seen.r, -ECONNRESET);
}

static int accept_without_waiting(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int listener = net_listen(NET_PORT, 16);
	const struct timeval at_once = { .tv_usec = 1 };
	struct sockaddr_in peer;
	struct timeval is;
	socklen_t bytes = sizeof(is);
	int fd;

	cr_assert_eq(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &at_once, sizeof(at_once)), 0);
	cr_assert(accept4(listener, NULL, NULL, 0) < 0 && errno == EAGAIN);
	cr_assert_eq(net_events(listener), 0);
	fd = net_connect(UINT32_MAX, NET_PORT);
	cr_assert(fd >= 0);
	net_pause(GYRE_MILLISECONDS(1));
	cr_assert_eq(net_events(listener), POLLIN);
	bytes = sizeof(peer);
	fd = accept4(listener, (struct sockaddr *)&peer, &bytes, SOCK_NONBLOCK);
	cr_assert(fd >= 0 && bytes == sizeof(peer));
	cr_assert_eq(peer.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	bytes = sizeof(is);
	cr_assert_eq(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &is, &bytes), 0);
	cr_assert_eq(is.tv_usec, 1); /* which connections inherit */
	cr_assert(accept4(listener, NULL, NULL, 0) < 0 && errno == EAGAIN);
	seen->called = true;
	return 0;
}

Test(sim_listener, is_readable_when_a_connection_waits)
{
	run_alone(accept_without_waiting);
}

static int serve_once(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int listener = net_listen(NET_PORT, 16);
	char byte;
	int fd = accept(listener, NULL, NULL);

	cr_assert_eq(recv(fd, &byte, 1, 0), 0);
	(void)close(fd);
	net_pause(GYRE_SECONDS(10));
	cr_assert_eq(net_events(listener), 0);
	seen->served = true;
	return 0;
}

static int call_patiently(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	uint64_t from_ns = net_now_ns();
	int fd = net_connect(0, NET_PORT);

	cr_assert(fd >= 0);
	seen->took_ns = net_now_ns() - from_ns;
	(void)close(fd);
	seen->called = true;
	net_pause(GYRE_SECONDS(100));
	return 0;
}

Test(sim_listener, makes_one_connection_of_all_that_was_sent_over_a_clogged_link)
{
	const struct gyre_sim_link clog = { .clog = true };
	struct seen seen = { 0 };
	struct gyre_sim *sim = net_make(5, serve_once, call_patiently, &seen);

	cr_assert_eq(gyre_sim_link_set(sim, 1, 0, &clog), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
	cr_assert(!seen.called);
	gyre_sim_heal(sim);
	run(sim, &seen, GYRE_SECONDS(60));
	cr_assert(seen.took_ns > GYRE_SECONDS(19));
}

/* ---- several on a port ---- */

static int serve_twice(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	struct pollfd listeners[2];
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(NET_PORT) };

	listeners[0].fd = net_listen(NET_PORT, 64);
	listeners[1].fd = socket(AF_INET, SOCK_STREAM, 0);
	set(listeners[1].fd, SO_REUSEPORT, 1);
	cr_assert_eq(try_bind(listeners[1].fd, &any), -EADDRINUSE); /* the first says no */
	set(listeners[0].fd, SO_REUSEPORT, 1);
	cr_assert_eq(try_bind(listeners[1].fd, &any), 0);
	cr_assert_eq(listen(listeners[1].fd, 64), 0);
	while (seen->accepted[0] + seen->accepted[1] < 40) {
		listeners[0].events = POLLIN;
		listeners[1].events = POLLIN;
		cr_assert(poll(listeners, 2, -1) > 0);
		for (uint32_t i = 0; i < 2; i++) {
			if (listeners[i].revents != 0) {
				cr_assert(accept(listeners[i].fd, NULL, NULL) >= 0);
				seen->accepted[i]++;
			}
		}
	}
	seen->served = true;
	return 0;
}

static int call_forty_times(void *arg)
{
	struct seen *seen = (struct seen *)arg;

	net_pause(GYRE_MILLISECONDS(10));
	while (seen->connected < 40) {
		cr_assert(net_connect(0, NET_PORT) >= 0);
		seen->connected++;
	}
	seen->called = true;
	return 0;
}

Test(sim_listener, shares_a_port_with_others_that_all_allow_it)
{
	struct seen seen = { 0 };

	run(net_make(3, serve_twice, call_forty_times, &seen), &seen, GYRE_SECONDS(10));
	cr_assert(seen.accepted[0] > 5 && seen.accepted[1] > 5);
}

/* ---- ports ---- */

static int use_ports(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	struct sockaddr_in any = { .sin_family = AF_INET };
	int first = net_listen(0, 16);
	int second = net_bind(SOCK_STREAM, 0);
	int third = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_eq(port_of(first), 32768);
	cr_assert_eq(port_of(second), 32769);
	any.sin_port = htons(32768);
	cr_assert_eq(try_bind(third, &any), -EADDRINUSE);
	set(third, SO_REUSEADDR, 1);
	cr_assert_eq(try_bind(third, &any), -EADDRINUSE); /* the other one listens */
	(void)close(first);
	cr_assert_eq(try_bind(third, &any), 0);
	cr_assert_eq(try_bind(third, &any), -EINVAL);
	cr_assert_eq(net_bind(SOCK_DGRAM, 32768), first); /* ports of UDP are others */
	seen->called = true;
	return 0;
}

Test(sim_listener, takes_ports_from_32768_on_and_none_that_is_in_use)
{
	run_alone(use_ports);
}

static int use_addresses(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	struct sockaddr_in name = net_address(1, NET_PORT);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int own = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_eq(try_bind(fd, &name), -EADDRNOTAVAIL);
	name = net_address(0, NET_PORT);
	cr_assert_eq(try_bind(own, &name), 0);
	cr_assert_eq(listen(own, 1), 0);
	name = net_address(UINT32_MAX, NET_PORT);
	cr_assert_eq(try_bind(fd, &name), 0); /* another address, the same port */
	cr_assert_eq(net_connect(UINT32_MAX, NET_PORT), -ECONNREFUSED);
	cr_assert(net_connect(0, NET_PORT) >= 0);
	cr_assert_eq(net_connect(9, NET_PORT), -EHOSTUNREACH);
	name.sin_addr.s_addr = inet_addr("192.0.2.1");
	cr_assert(connect(socket(AF_INET, SOCK_STREAM, 0), (const struct sockaddr *)&name,
			  sizeof(name)) < 0 &&
		  errno == ENETUNREACH);
	seen->called = true;
	return 0;
}

Test(sim_listener, has_the_addresses_of_its_host_and_no_others)
{
	run_alone(use_addresses);
}

static int use_six(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(NET_PORT) };
	struct sockaddr_in6 peer;
	socklen_t bytes = sizeof(peer);
	int listener = socket(AF_INET6, SOCK_STREAM, 0);
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	int on = 1;

	cr_assert_eq(bind(listener, (const struct sockaddr *)&any, sizeof(any)), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert(net_connect(0, NET_PORT) >= 0);
	fd = accept(listener, (struct sockaddr *)&peer, &bytes);
	cr_assert(fd >= 0);
	cr_assert(IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr));
	(void)close(listener);
	listener = socket(AF_INET6, SOCK_STREAM, 0);
	cr_assert_eq(setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)), 0);
	cr_assert_eq(bind(listener, (const struct sockaddr *)&any, sizeof(any)), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(net_connect(0, NET_PORT), -ECONNREFUSED);
	cr_assert(net_listen(NET_PORT, 1) >= 0); /* of IPv4, beside it */
	any.sin6_addr.s6_addr[0] = 0xfd;
	any.sin6_addr.s6_addr[15] = 1;
	fd = socket(AF_INET6, SOCK_STREAM, 0);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&any, sizeof(any)), 0);
	seen->called = true;
	return 0;
}

Test(sim_listener, takes_both_families_unless_it_is_for_IPv6_only)
{
	run_alone(use_six);
}

/* ---- names ---- */

static int look_up(void *arg)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct seen *seen = (struct seen *)arg;
	struct addrinfo *found;
	struct sockaddr_in name;
	char interface[IF_NAMESIZE];

	cr_assert_eq(getaddrinfo("alpha", "80", &hints, &found), 0);
	memcpy(&name, found->ai_addr, sizeof(name));
	cr_assert_eq(name.sin_addr.s_addr, inet_addr("10.0.0.1"));
	cr_assert_eq(name.sin_port, htons(80));
	cr_assert_null(found->ai_next);
	freeaddrinfo(found);
	cr_assert_eq(getaddrinfo("localhost", NULL, NULL, &found), 0);
	cr_assert_eq(found->ai_family, AF_INET6);
	freeaddrinfo(found);
	cr_assert_eq(getaddrinfo("omega", NULL, &hints, &found), EAI_NONAME);
	cr_assert_eq(if_nametoindex("eth0"), 2);
	cr_assert_str_eq(if_indextoname(1, interface), "lo");
	cr_assert_eq(if_nametoindex("eth1"), 0);
	seen->called = true;
	return 0;
}

Test(sim_listener, finds_hosts_by_their_names)
{
	run_alone(look_up);
}

static int serve_and_end(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_accept_one(NET_PORT);

	cr_assert_eq(send(fd, "bye", 3, 0), 3);
	seen->served = true;
	return 0; /* as a process that leaves all to the kernel */
}

static int call_who_ends(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	char bytes[4];
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert(fd >= 0);
	net_pause(GYRE_SECONDS(1));
	cr_assert_eq(recv(fd, bytes, sizeof(bytes), 0), 3);
	cr_assert_eq(recv(fd, bytes, sizeof(bytes), 0), 0);
	cr_assert_eq(net_connect(0, NET_PORT), -ECONNREFUSED);
	seen->called = true;
	return 0;
}

Test(sim_listener, refuses_and_sends_the_rest_when_the_process_has_ended)
{
	struct seen seen = { 0 };

	run(net_make(4, serve_and_end, call_who_ends, &seen), &seen, GYRE_SECONDS(10));
}
