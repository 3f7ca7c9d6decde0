/*
 * Connections that something between two hosts has forgotten: they end for one side at once, and
 * for the other when it next sends.
 */
#include "net_rig.h"

enum { ALL = 1000000, MANY = 200 };

struct sides {
	uint32_t calls;	  /* that the client's host has made */
	uint32_t answers; /* that have come */
	int caller_error;
	int server_error;
	size_t arrived; /* bytes, after the reset */
	bool again;	/* another connection has served since */
};

static int serve(void *arg)
{
	struct sides *sides = (struct sides *)arg;
	int listener = net_listen(NET_PORT, 16);
	int fd = accept(listener, NULL, NULL);
	char byte;

	cr_assert(fd >= 0);
	while (recv(fd, &byte, 1, 0) > 0) {
		if (sides->caller_error != 0) {
			sides->arrived++;
		}
		if (send(fd, &byte, 1, MSG_NOSIGNAL) < 0) {
			break;
		}
	}
	sides->server_error = errno;
	(void)close(fd);
	fd = accept(listener, NULL, NULL);
	cr_assert(fd >= 0);
	sides->again = recv(fd, &byte, 1, 0) == 1;
	(void)close(fd);
	(void)close(listener);
	return 0;
}

/* Asks until its connection ends, and then by another one. */
static int call(void *arg)
{
	struct sides *sides = (struct sides *)arg;
	char byte = 'x';
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert(fd >= 0);
	while (send(fd, &byte, 1, MSG_NOSIGNAL) == 1) {
		sides->calls++;
		if (recv(fd, &byte, 1, 0) != 1) {
			break;
		}
		sides->answers++;
	}
	sides->caller_error = errno;
	(void)close(fd);
	fd = net_connect(0, NET_PORT);
	cr_assert(fd >= 0);
	cr_assert_eq(send(fd, &byte, 1, MSG_NOSIGNAL), 1);
	(void)sleep(1);
	(void)close(fd);
	return 0;
}

Test(sim_link_reset, ends_connections_of_one_side_and_lets_what_is_under_way_arrive)
{
	const struct gyre_sim_link slow = { .delay_ns = GYRE_MILLISECONDS(100) };
	struct sides sides = { 0 };
	struct gyre_sim *sim = net_make(1, serve, call, &sides);

	cr_assert_eq(gyre_sim_link_set(sim, 1, 0, &slow), 0);
	/* It has connected after 110 ms, and its first byte is under way until 210 ms. */
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(150)), 0);
	cr_assert_eq(sides.calls, 1);
	cr_assert_eq(sides.answers, 0);
	cr_assert_eq(gyre_sim_link_reset(sim, 1, 0, ALL), 1);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(10)), 0);
	cr_assert_eq(sides.caller_error, ECONNRESET);
	cr_assert_eq(sides.server_error, 0, "the other side knows nothing of it yet");
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(sides.arrived, 1);
	cr_assert_eq(sides.server_error, ECONNRESET, "its answer has met nobody");
	cr_assert(sides.again);
	gyre_sim_destroy(sim);
}

static int do_nothing(void *arg)
{
	(void)arg;
	return 0;
}

Test(sim_link_reset, leaves_connections_with_others_alone)
{
	struct sides sides = { 0 };
	struct gyre_sim *sim = net_make(2, serve, call, &sides);
	uint32_t third = sim_add(sim, "gamma", do_nothing, NULL);

	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(20)), 0);
	cr_assert_gt(sides.answers, 0);
	cr_assert_eq(gyre_sim_link_reset(sim, 1, third, ALL), 0);
	cr_assert_eq(gyre_sim_link_reset(sim, third, 0, ALL), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(20)), 0);
	cr_assert_eq(sides.caller_error, 0);
	cr_assert_eq(gyre_sim_link_reset(sim, 0, 1, ALL), 1);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(3)), 0);
	cr_assert_eq(sides.server_error, ECONNRESET);
	cr_assert(sides.again);
	gyre_sim_destroy(sim);
}

static int serve_many(void *arg)
{
	int listener = net_listen(NET_PORT, MANY);

	for (uint32_t i = 0; i < MANY; i++) {
		cr_assert(accept(listener, NULL, NULL) >= 0);
	}
	((struct sides *)arg)->again = true;
	(void)sleep(10);
	return 0;
}

static int call_many(void *arg)
{
	struct sides *sides = (struct sides *)arg;
	int fds[MANY];

	net_pause(GYRE_MILLISECONDS(10));
	for (uint32_t i = 0; i < MANY; i++) {
		fds[i] = net_connect(0, NET_PORT);
		cr_assert(fds[i] >= 0);
	}
	(void)sleep(5);
	for (uint32_t i = 0; i < MANY; i++) {
		sides->calls += send(fds[i], "x", 1, MSG_NOSIGNAL) < 0;
	}
	return 0;
}

Test(sim_link_reset, ends_a_part_of_them)
{
	struct sides sides = { 0 };
	struct gyre_sim *sim = net_make(4, serve_many, call_many, &sides);
	int count;

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(sides.again);
	cr_assert_eq(gyre_sim_link_reset(sim, 1, 0, 0), 0);
	count = gyre_sim_link_reset(sim, 1, 0, ALL / 2);
	cr_assert(count > MANY / 4 && count < 3 * MANY / 4, "%d", count);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
	cr_assert_eq((int)sides.calls, count);
	gyre_sim_destroy(sim);
}

Test(sim_link_reset, is_refused_without_two_hosts)
{
	struct sides sides = { 0 };
	struct gyre_sim *sim = net_make(3, serve, call, &sides);

	cr_assert_eq(gyre_sim_link_reset(NULL, 0, 1, ALL), -EINVAL);
	cr_assert_eq(gyre_sim_link_reset(sim, 0, 0, ALL), -EINVAL);
	cr_assert_eq(gyre_sim_link_reset(sim, 0, 1, ALL + 1), -EINVAL);
	cr_assert_eq(gyre_sim_link_reset(sim, 0, 2, ALL), -EINVAL);
	cr_assert_eq(gyre_sim_link_reset(sim, 2, 0, ALL), -EINVAL);
	gyre_sim_destroy(sim);
}
