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

/* ---- connections that have ended, one way or both ---- */

struct ends {
	bool stay;  /* descriptors are closed later */
	int fds[2]; /* of both hosts */
	ssize_t received;
	int error;
};

/* Says its end, hears the other's, and closes. */
static void end(struct ends *ends, uint32_t host, int fd)
{
	char byte;

	ends->fds[host] = fd;
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	cr_assert_eq(recv(fd, &byte, 1, 0), 0);
	if (ends->stay) {
		int error = -1;
		socklen_t bytes = sizeof(error);

		(void)sleep(10);
		cr_assert_eq(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes), 0);
		ends->error = ends->error == 0 ? error : ends->error;
	}
	(void)close(fd);
}

static int serve_end(void *arg)
{
	end((struct ends *)arg, 0, net_accept_one(NET_PORT));
	(void)sleep(100);
	return 0;
}

static int call_end(void *arg)
{
	net_pause(GYRE_MILLISECONDS(10));
	end((struct ends *)arg, 1, net_connect(0, NET_PORT));
	(void)sleep(100);
	return 0;
}

static void reset_what_is_over(bool stay)
{
	struct ends ends = { .stay = stay };
	struct gyre_sim *sim = net_make(1, serve_end, call_end, &ends);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(ends.fds[0] > 0 && ends.fds[1] > 0);
	cr_assert_eq(gyre_sim_link_reset(sim, 0, 1, ALL), 0);
	cr_assert_eq(gyre_sim_link_reset(sim, 1, 0, ALL), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
	cr_assert_eq(ends.error, 0);
	gyre_sim_destroy(sim);
}

Test(sim_link_reset, leaves_connections_alone_that_are_over)
{
	reset_what_is_over(false);
	reset_what_is_over(true);
}

static int serve_half(void *arg)
{
	int fd = net_accept_one(NET_PORT);

	(void)arg;
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	(void)sleep(100);
	return 0;
}

static int call_half(void *arg)
{
	struct ends *ends = (struct ends *)arg;
	char byte = 'x';
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert(fd >= 0);
	(void)sleep(10);
	ends->error = send(fd, &byte, 1, MSG_NOSIGNAL) < 0 ? errno : 0;
	ends->received = recv(fd, &byte, 1, 0);
	(void)close(fd);
	return 0;
}

/* In Linux, tcp_reset() in the state CLOSE_WAIT. */
Test(sim_link_reset, breaks_the_pipe_of_who_has_heard_the_end_of_its_peer)
{
	struct ends ends = { .received = -1 };
	struct gyre_sim *sim = net_make(1, serve_half, call_half, &ends);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(gyre_sim_link_reset(sim, 1, 0, ALL), 1);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
	cr_assert_eq(ends.error, EPIPE);
	cr_assert_eq(ends.received, 0);
	gyre_sim_destroy(sim);
}

/* ---- which ones ---- */

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
