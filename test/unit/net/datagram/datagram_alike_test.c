/*
 * A socket for datagrams that takes the place of another one, because the handlers have passed on
 * an order with another address: it has all options of the first, and is in the same groups.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/channel.h>
#include <gyre/datagram.h>

#include "base/atomic.h"
#include "base/macros.h"
#include "net/order_rig.h"

TestSuite(datagram_alike, .timeout = 60, .init = order_begin, .fini = order_end);

enum {
	RECEIVE = 40000,
	SEND = 50000,
	HOPS = 7,
	LOOPBACK = 1,		  /* the index of that interface, in every namespace */
	IPV6_MULTICAST_ALL_ = 29, /* which the C library does not name */
};

static uint32_t actives;
static int bound; /* what the order came to */
static char elsewhere[64];

static const struct gyre_multicast of_options = { .group = "239.255.77.3", .interface = "lo" };
static const struct gyre_multicast also_of_options = { .group = "239.255.77.4", .interface = "lo" };
static const struct gyre_multicast joined = { .group = "239.255.77.5", .interface = "lo" };
static const struct gyre_multicast left = { .group = "239.255.77.6", .interface = "lo" };
static const struct gyre_multicast of_six = { .group = "ff02::7705", .interface = "lo" };

static void count_active(struct gyre_handler_context *ctx)
{
	(void)gy_fetch_add(&actives, 1);
	gyre_context_fire_active(ctx);
}

static void await_active(void)
{
	while (gy_load_acquire(&actives) == 0) {
		(void)sched_yield();
	}
}

/* A port that the kernel gives to nobody, and that two tests at one time do not have both. */
static void find_elsewhere(const char *host)
{
	(void)snprintf(elsewhere, sizeof(elsewhere), "udp://%s:%u", host,
		       20000 + (unsigned)getpid() % 10000);
}

static int bind_elsewhere(struct gyre_handler_context *ctx, const char *local)
{
	bound = gyre_context_bind(ctx, elsewhere);
	return bound == 0 ? 0 : gyre_context_bind(ctx, local);
}

/* ---- options ---- */

static const struct {
	int level;
	int name;
	int wanted; /* of the options below */
} looked_at[] = {
	{ SOL_SOCKET, SO_RCVBUF, 2 * RECEIVE },
	{ SOL_SOCKET, SO_SNDBUF, 2 * SEND },
	{ SOL_SOCKET, SO_BROADCAST, 1 },
	{ SOL_SOCKET, SO_REUSEADDR, 1 },
	{ SOL_SOCKET, SO_REUSEPORT, 1 },
	{ SOL_UDP, UDP_GRO, 0 },
	{ IPPROTO_IP, IP_MULTICAST_TTL, HOPS },
	{ IPPROTO_IP, IP_MULTICAST_LOOP, 0 },
	{ IPPROTO_IP, IP_MULTICAST_ALL, 0 },
	{ IPPROTO_IPV6, IPV6_V6ONLY, 0 },
	{ IPPROTO_IPV6, IPV6_MULTICAST_IF, LOOPBACK },
	{ IPPROTO_IPV6, IPV6_MULTICAST_HOPS, HOPS },
	{ IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0 },
	{ IPPROTO_IPV6, IPV6_MULTICAST_ALL_, 0 },
};

struct look {
	int fd;
	int values[gy_countof(looked_at)];
};

static struct look first;
static struct look second;
static size_t looks; /* how many of them */

static void look(struct gyre_handler_context *ctx, struct look *seen)
{
	seen->fd = gyre_channel_descriptor(gyre_context_channel(ctx));
	for (size_t i = 0; i < looks; i++) {
		socklen_t bytes = sizeof(int);

		expect(getsockopt(seen->fd, looked_at[i].level, looked_at[i].name, &seen->values[i],
				  &bytes) == 0);
	}
}

static bool has_six(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		(void)close(fd);
	}
	return fd >= 0;
}

/* How many of them a socket of that version of IP has. */
static size_t count_looks(bool six)
{
	size_t count = 0;

	while (count < gy_countof(looked_at) && (six || looked_at[count].level != IPPROTO_IPV6)) {
		count++;
	}
	return count;
}

static void look_first(struct gyre_handler_context *ctx)
{
	look(ctx, &first);
}

static void look_second(struct gyre_handler_context *ctx)
{
	look(ctx, &second);
	count_active(ctx);
}

static struct gyre_datagram_options all_options(void)
{
	return (struct gyre_datagram_options){ .reuse_port = true,
					       .broadcast = true,
					       .no_gro = true,
					       .no_gso = true,
					       .receive_buffer_bytes = RECEIVE,
					       .send_buffer_bytes = SEND,
					       .multicast_interface = "lo",
					       .multicast_hops = HOPS,
					       .no_multicast_loop = true,
					       .init_channel = order_init_channel };
}

static void expect_alike(const struct gyre_datagram_options *options)
{
	order_plan.registered = look_first;
	order_plan.active = look_second;
	cr_assert_eq(gyre_system_datagram_open(fixture.system, options, NULL), 0);
	await_active();
	order_finish();
	for (size_t i = 0; i < looks; i++) {
		cr_expect_eq(first.values[i], looked_at[i].wanted, "%zu: %d", i, first.values[i]);
		cr_expect_eq(second.values[i], looked_at[i].wanted, "%zu: %d", i, second.values[i]);
	}
	cr_expect_eq(second.fd, first.fd, "who knows the number need not hear of it");
	cr_expect_eq(bound, 0);
}

static void expect_alike_where_bound(const char *bind)
{
	struct gyre_datagram_options options = all_options();

	options.bind = bind;
	options.one_loop = true;
	order_plan.bind = bind_elsewhere;
	expect_alike(&options);
}

Test(datagram_alike, has_all_options_where_it_is_bound_elsewhere)
{
	find_elsewhere("127.0.0.79");
	looks = count_looks(false);
	expect_alike_where_bound("udp://127.0.0.1:0");
}

Test(datagram_alike, has_all_options_where_it_is_bound_elsewhere_over_ipv6)
{
	if (!has_six()) {
		cr_skip_test("there is no IPv6 here");
	}
	find_elsewhere("[::]");
	looks = count_looks(true);
	expect_alike_where_bound("udp://[::]:0");
}

static int connect_elsewhere(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)to;
	bound = gyre_context_connect(ctx, elsewhere, local);
	return bound;
}

Test(datagram_alike, has_all_options_where_it_is_connected_elsewhere)
{
	struct gyre_datagram_options options = all_options();

	find_elsewhere("127.0.0.79");
	looks = count_looks(false);
	options.connect = "udp://127.0.0.1:9";
	order_plan.connect = connect_elsewhere;
	expect_alike(&options);
}

/* ---- groups ---- */

static void change_groups(struct gyre_handler_context *ctx)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);

	expect(gyre_multicast_join(channel, &joined) == 0);
	expect(gyre_multicast_join(channel, &joined) == -EADDRINUSE);
	expect(gyre_multicast_leave(channel, &of_options) == 0);
	expect(gyre_multicast_leave(channel, &of_options) == -EADDRNOTAVAIL);
	for (int i = 0; i < 3; i++) {
		expect(gyre_multicast_join(channel, &left) == 0);
		expect(gyre_multicast_leave(channel, &left) == 0);
	}
	expect(gyre_multicast_leave(channel, &also_of_options) == 0);
	expect(gyre_multicast_join(channel, &also_of_options) == 0);
}

/* What it is in can be left, and nothing else. */
static void look_at_groups(struct gyre_handler_context *ctx)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);

	expect(gyre_multicast_leave(channel, &joined) == 0);
	expect(gyre_multicast_leave(channel, &also_of_options) == 0);
	expect(gyre_multicast_leave(channel, &left) == -EADDRNOTAVAIL);
	expect(gyre_multicast_leave(channel, &of_options) == -EADDRNOTAVAIL);
	count_active(ctx);
}

static struct gyre_datagram_options group_options(void)
{
	static struct gyre_multicast groups[2];

	groups[0] = of_options;
	groups[1] = also_of_options;
	return (struct gyre_datagram_options){ .bind = "udp://0.0.0.0:0",
					       .groups = groups,
					       .groups_count = 2,
					       .init_channel = order_init_channel };
}

static void expect_same_groups(void)
{
	const struct gyre_datagram_options options = group_options();

	order_plan.registered = change_groups;
	order_plan.active = look_at_groups;
	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, NULL), 0);
	await_active();
	order_finish();
	cr_expect_eq(bound, 0);
}

Test(datagram_alike, is_in_the_groups_that_were_joined_and_not_left_before)
{
	find_elsewhere("0.0.0.0");
	order_plan.bind = bind_elsewhere;
	expect_same_groups();
}

Test(datagram_alike, is_in_them_also_with_an_address_of_the_later_version)
{
	if (!has_six()) {
		cr_skip_test("there is no IPv6 here");
	}
	find_elsewhere("[::]");
	order_plan.bind = bind_elsewhere;
	expect_same_groups();
}

static int bind_when_one_has_failed(struct gyre_handler_context *ctx, const char *local)
{
	(void)local;
	expect(gyre_context_bind(ctx, "udp://192.0.2.1:0") == -EADDRNOTAVAIL);
	bound = gyre_context_bind(ctx, elsewhere);
	return bound;
}

Test(datagram_alike, is_in_them_after_an_order_that_could_not_be_carried_out)
{
	find_elsewhere("0.0.0.0");
	order_plan.bind = bind_when_one_has_failed;
	expect_same_groups();
}

static void join_six(struct gyre_handler_context *ctx)
{
	expect(gyre_multicast_join(gyre_context_channel(ctx), &of_six) == 0);
}

static void leave_six(struct gyre_handler_context *ctx)
{
	expect(gyre_multicast_leave(gyre_context_channel(ctx), &of_six) == 0);
	count_active(ctx);
}

Test(datagram_alike, is_not_opened_where_it_cannot_be_in_them)
{
	const struct gyre_datagram_options options = { .bind = "udp://[::]:0",
						       .one_loop = true,
						       .init_channel = order_init_channel };
	if (!has_six()) {
		cr_skip_test("there is no IPv6 here");
	}
	find_elsewhere("0.0.0.0");
	order_plan.registered = join_six;
	order_plan.bind = bind_elsewhere;
	order_plan.active = leave_six;
	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, NULL), 0);
	await_active();
	order_finish();
	cr_expect_eq(bound, -ENOPROTOOPT, "%d", bound);
}
