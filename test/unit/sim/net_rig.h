/*
 * What the tests of simulated sockets share: addresses of hosts, and sockets in one step. The
 * functions are for the tasks of hosts.
 */
#ifndef TEST_SIM_NET_RIG_H
#define TEST_SIM_NET_RIG_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sim_rig.h"

enum { NET_PORT = 7000 };

static inline uint64_t net_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * GYRE_SECONDS(1) + (uint64_t)now.tv_nsec;
}

/* The address of a host; of itself for UINT32_MAX. */
static inline struct sockaddr_in net_address(uint32_t host, uint16_t port)
{
	uint32_t ip = host == UINT32_MAX ? INADDR_LOOPBACK : UINT32_C(10) << 24 | (host + 1);

	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(ip) };
}

static inline int net_bind(int type, uint16_t port)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, type, 0);

	cr_assert(fd >= 0);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&any, sizeof(any)), 0);
	return fd;
}

static inline int net_listen(uint16_t port, int backlog)
{
	int fd = net_bind(SOCK_STREAM, port);

	cr_assert_eq(listen(fd, backlog), 0);
	return fd;
}

/* A negative errno where it fails. */
static inline int net_connect_type(int type, uint32_t host, uint16_t port)
{
	const struct sockaddr_in to = net_address(host, port);
	int fd = socket(AF_INET, type, 0);

	cr_assert(fd >= 0);
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		int error = errno;

		(void)close(fd);
		return -error;
	}
	return fd;
}

static inline int net_connect(uint32_t host, uint16_t port)
{
	return net_connect_type(SOCK_STREAM, host, port);
}

/* Of a host that listens, and takes one connection. */
static inline int net_accept_one(uint16_t port)
{
	int listener = net_listen(port, 16);
	int fd = accept(listener, NULL, NULL);

	cr_assert(fd >= 0);
	(void)close(listener);
	return fd;
}

/* What a descriptor is ready for now, of all there is. */
static inline short net_events(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP };

	return poll(&one, 1, 0) < 0 ? -1 : one.revents;
}

/* Lets listeners begin. */
static inline void net_pause(uint64_t ns)
{
	const struct timespec time = { .tv_sec = (time_t)(ns / GYRE_SECONDS(1)),
				       .tv_nsec = (long)(ns % GYRE_SECONDS(1)) };

	(void)nanosleep(&time, NULL);
}

/* Two hosts that do their part; the second one begins a little later. */
static inline struct gyre_sim *net_make(uint64_t seed, gyre_sim_boot_fn serve,
					gyre_sim_boot_fn call, void *arg)
{
	struct gyre_sim *sim = sim_make(seed);

	(void)sim_add(sim, "alpha", serve, arg);
	(void)sim_add(sim, "beta", call, arg);
	return sim;
}

#endif
