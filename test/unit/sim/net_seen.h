/*
 * What the hosts of a test of connections have seen, and one that only waits for the end of its.
 */
#ifndef TEST_SIM_NET_SEEN_H
#define TEST_SIM_NET_SEEN_H

#include "net_rig.h"

struct seen {
	uint64_t took_ns;
	size_t bytes;
	uint32_t accepted[2];
	uint32_t connected;
	int r;
	int error;
	short events;
	bool served;
	bool called;
	struct gyre_sim *sim;
};

/* Both hosts have done their part after @ns. */
static inline void run(struct gyre_sim *sim, const struct seen *seen, uint64_t ns)
{
	cr_assert_eq(gyre_sim_run(sim, ns), 0);
	cr_assert(seen->served && seen->called);
	gyre_sim_destroy(sim);
}

/* Of a host: connects, and receives nothing; @r is why. */
static inline int call_and_wait(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	char byte;
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	seen->r = recv(fd, &byte, 1, 0) < 0 ? -errno : 0;
	(void)close(fd);
	seen->called = true;
	return 0;
}

#endif
