/* Options of sockets for datagrams that make no sense: refused, and explained in one line. */
#include <errno.h>
#include <string.h>

#include "actor/stack/stack.h"
#include "net/datagram_rig.h"

TestSuite(datagram_refusal, .timeout = 60, .init = datagram_begin, .fini = datagram_end);

static int init_nothing(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return 0;
}

static const struct gyre_datagram_options good = { .bind = "udp://127.0.0.1:0",
						   .init_channel = init_nothing };

static struct gyre_system *the_system(void)
{
	return (struct gyre_system *)(void *)&datagram_rig.homes;
}

static void expect_refused(const struct gyre_datagram_options *options, int error, const char *says)
{
	uint32_t before = datagram_rig.logged;

	datagram_rig.warnings_expected++;
	cr_expect_eq(gyre_system_datagram_open(the_system(), options, NULL), error, "%s", says);
	cr_expect_eq(datagram_rig.logged, before + 1, "%s: one line", says);
	cr_expect_not_null(strstr(datagram_rig.last_log, says), "%s: %s", says,
			   datagram_rig.last_log);
}

#define EXPECT_REFUSED(FIELD, VALUE, SAYS) \
	bad = good;                        \
	bad.FIELD = (VALUE);               \
	expect_refused(&bad, -EINVAL, (SAYS))

Test(datagram_refusal, names_the_option_that_is_wrong)
{
	struct gyre_datagram_options bad;

	cr_expect_eq(gyre_system_datagram_open(NULL, &good, NULL), -EINVAL);
	cr_expect_eq(gyre_system_datagram_open(the_system(), NULL, NULL), -EINVAL);
	EXPECT_REFUSED(init_channel, NULL, "init_channel");
	EXPECT_REFUSED(receive_buffer_bytes, (uint32_t)INT32_MAX + 1, "receive_buffer_bytes");
	EXPECT_REFUSED(send_buffer_bytes, UINT32_MAX, "send_buffer_bytes");
	EXPECT_REFUSED(multicast_hops, 256, "multicast_hops");
	EXPECT_REFUSED(groups_count, 1, "groups_count");
	EXPECT_REFUSED(place.place, (enum gyre_place)7, "place");
	EXPECT_REFUSED(place.name, "socket", "name of place");
	EXPECT_REFUSED(connect, "udp://[::1]:7", "bind and connect");
	EXPECT_REFUSED(connect, "unix+dgram:@peer", "bind and connect");
	bad = good;
	bad.place = (struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 9 };
	expect_refused(&bad, -EINVAL, "place");
}

static void expect_no_group(const char *bind, const char *group, const char *says)
{
	const struct gyre_multicast multicast = { .group = group };
	struct gyre_datagram_options bad = good;

	bad.bind = bind;
	bad.groups = &multicast;
	bad.groups_count = 1;
	expect_refused(&bad, -EINVAL, says);
}

Test(datagram_refusal, names_the_group_that_is_none_or_of_another_kind)
{
	expect_no_group("udp://127.0.0.1:0", "127.0.0.1", "\"127.0.0.1\"");
	expect_no_group("udp://127.0.0.1:0", NULL, "\"\"");
	expect_no_group("udp://[::]:0", "::1", "\"::1\"");
	expect_no_group("udp://127.0.0.1:0", "ff02::fb", "udp://[::]:PORT");
	expect_no_group(datagram_name("group"), "ff02::fb", "udp://[::]:PORT");
	expect_no_group(datagram_name("group"), "224.0.0.251", "udp://0.0.0.0:PORT");
}

Test(datagram_refusal, says_what_an_address_lacks)
{
	struct gyre_datagram_options bad = good;

	bad.bind = "udp://[fe80::1]:0";
	expect_refused(&bad, -EINVAL, "%eth0");
	bad.bind = "udp://[fe80::1%nowhere]:0";
	expect_refused(&bad, -ENODEV, "ip link");
}

Test(datagram_refusal, of_an_actor_is_told_and_not_logged)
{
	const struct gyre_multicast group = { .group = "224.0.0.251" };
	struct gyre_stack *stack = &rig_stack(&datagram_rig)->head;
	struct gyre_datagram_options bad = good;
	struct gyre_address actor;

	bad.multicast_hops = 256;
	cr_expect_eq(gyre_datagram_open(stack, &bad, &actor), -EINVAL);
	bad = good;
	bad.bind = datagram_name("group");
	bad.groups = &group;
	bad.groups_count = 1;
	cr_expect_eq(gyre_datagram_open(stack, &bad, &actor), -EINVAL);
	cr_expect_eq(datagram_rig.logged, 0);
}
