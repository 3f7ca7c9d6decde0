/*
 * A host that talks to itself, and calls that wait for all bytes.
 */
#include <fcntl.h>

#include "net_rig.h"

/* A connection of a host with itself. */
static void connect_self(int ret_fds[2])
{
	int listener = net_listen(NET_PORT, 4);

	ret_fds[0] = net_connect(UINT32_MAX, NET_PORT);
	ret_fds[1] = accept(listener, NULL, NULL);
	cr_assert(ret_fds[0] >= 0 && ret_fds[1] >= 0);
	cr_assert_eq(close(listener), 0);
}

static int talk_to_itself(void *arg)
{
	char text[8] = "";
	int fds[2];

	connect_self(fds);
	cr_assert_eq(send(fds[0], "abc", 3, 0), 3);
	cr_assert_eq(recv(fds[1], text, sizeof(text), MSG_DONTWAIT), 3, "it has come at once");
	cr_assert_str_eq(text, "abc");
	cr_assert_eq(send(fds[1], "d", 1, 0), 1);
	cr_assert_eq(shutdown(fds[1], SHUT_WR), 0);
	cr_assert_eq(recv(fds[0], text, sizeof(text), MSG_DONTWAIT), 1);
	cr_assert_eq(recv(fds[0], text, sizeof(text), MSG_DONTWAIT), 0);
	cr_assert_eq(close(fds[0]), 0);
	*(bool *)arg = true;
	return close(fds[1]);
}

Test(sim_loopback, brings_bytes_before_anybody_can_look)
{
	struct gyre_sim *sim = sim_make(1);
	bool done = false;

	(void)sim_add(sim, "alpha", talk_to_itself, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}

/* Late packets of a connection must not be overtaken by those that are quick. */
static int talk_long_to_itself(void *arg)
{
	enum { ROUNDS = 2000 };
	int fds[2];

	connect_self(fds);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t got;

		cr_assert_eq(send(fds[0], &i, sizeof(i), 0), sizeof(i));
		if (i % 2 == 1) {
			continue;
		}
		cr_assert_eq(recv(fds[1], &got, sizeof(got), MSG_WAITALL), sizeof(got));
		cr_assert_eq(got, i / 2);
	}
	*(bool *)arg = true;
	return 0;
}

Test(sim_loopback, keeps_the_order_where_some_come_late)
{
	const struct gyre_sim_options options = { .seed = 1, .faults = 200000 };
	struct gyre_sim *sim;
	bool done = false;

	cr_assert_eq(gyre_sim_create(&options, &sim), 0);
	(void)sim_add(sim, "alpha", talk_long_to_itself, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}

/* ---- MSG_WAITALL ---- */

static int send_in_pieces(void *arg)
{
	int fd;

	(void)arg;
	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	for (uint32_t i = 0; i < 5; i++) {
		cr_assert_eq(send(fd, "ab", 2, 0), 2);
		net_pause(GYRE_MILLISECONDS(10));
	}
	return close(fd);
}

static int receive_all(void *arg)
{
	int fd = net_accept_one(NET_PORT);
	char text[9] = "";

	cr_assert_eq(recv(fd, text, 8, MSG_WAITALL), 8);
	cr_assert_str_eq(text, "abababab");
	cr_assert_eq(recv(fd, text, 8, MSG_WAITALL), 2, "then comes the end");
	cr_assert_eq(recv(fd, text, 8, MSG_WAITALL), 0);
	*(bool *)arg = true;
	return close(fd);
}

Test(sim_loopback, brings_all_bytes_that_were_asked_for_or_those_before_the_end)
{
	bool done = false;
	struct gyre_sim *sim = net_make(1, receive_all, send_in_pieces, &done);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}
