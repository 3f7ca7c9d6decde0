/*
 * How a simulated connection hears that its bytes have come: at once over a good link, and by a
 * packet over one that may lose or delay it.
 */
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <linux/sockios.h>

#include "net_seen.h"

static int serve_quietly(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_accept_one(NET_PORT);
	char bytes[8];

	cr_assert_eq(recv(fd, bytes, sizeof(bytes), 0), 5);
	seen->served = true;
	(void)sleep(1000);
	return 0;
}

static int call_and_await_acknowledgement(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int unsent = 5;
	uint64_t from_ns;
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	net_pause(GYRE_MILLISECONDS(1));
	from_ns = net_now_ns();
	cr_assert_eq(send(fd, "hello", 5, 0), 5);
	while (unsent > 0) {
		net_pause(1000);
		cr_assert_eq(ioctl(fd, SIOCOUTQ, &unsent), 0);
	}
	seen->took_ns = net_now_ns() - from_ns;
	seen->called = true;
	(void)sleep(1000);
	return 0;
}

static uint64_t time_to_acknowledge(const struct gyre_sim_link *back)
{
	struct seen seen = { 0 };
	struct gyre_sim *sim = net_make(1, serve_quietly, call_and_await_acknowledgement, &seen);

	cr_assert_eq(gyre_sim_link_set(sim, 0, 1, back), 0);
	run(sim, &seen, GYRE_SECONDS(2));
	return seen.took_ns;
}

Test(sim_acknowledge, needs_no_packet_where_the_way_back_is_good)
{
	uint64_t took_ns = time_to_acknowledge(NULL);

	cr_assert(took_ns >= GYRE_MICROSECONDS(49) && took_ns < GYRE_MICROSECONDS(60));
}

Test(sim_acknowledge, takes_the_way_back_where_that_has_faults)
{
	const struct gyre_sim_link jitter = { .jitter_ns = 1000 };
	const struct gyre_sim_link loss = { .loss = 1 };

	cr_assert_geq(time_to_acknowledge(&jitter), GYRE_MICROSECONDS(99));
	cr_assert_geq(time_to_acknowledge(&loss), GYRE_MICROSECONDS(99));
}

/* Sends twice; the second time is under way when the first is acknowledged, and the host crashes.
 */
static int call_twice(void *arg)
{
	const int most_ms = 2000;
	struct seen *seen = (struct seen *)arg;
	char byte;
	int fd;

	net_pause(GYRE_MILLISECONDS(10));
	fd = net_connect(0, NET_PORT);
	cr_assert_eq(setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof(most_ms)), 0);
	net_pause(GYRE_MILLISECONDS(1));
	cr_assert_eq(send(fd, "hello", 5, 0), 5);
	net_pause(GYRE_MICROSECONDS(30));
	cr_assert_eq(send(fd, "again", 5, 0), 5);
	seen->r = recv(fd, &byte, 1, 0) < 0 ? -errno : 0;
	seen->called = true;
	return 0;
}

static bool is_served(void *arg)
{
	return ((const struct seen *)arg)->served;
}

Test(sim_acknowledge, leaves_what_was_sent_since_to_be_waited_for)
{
	struct seen seen = { 0 };
	struct gyre_sim *sim = net_make(2, serve_quietly, call_twice, &seen);

	cr_assert_eq(gyre_sim_run_until(sim, is_served, &seen, GYRE_SECONDS(1)), 0);
	cr_assert_eq(gyre_sim_crash(sim, 0), 0);
	run(sim, &seen, GYRE_SECONDS(10));
	cr_assert_eq(seen.r, -ETIMEDOUT);
}
