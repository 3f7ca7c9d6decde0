/* Groups of receivers, on the loopback interface. */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/datagram_rig.h"

TestSuite(multicast, .timeout = 60, .init = datagram_begin, .fini = datagram_end);

static const struct gyre_multicast group_four = { .group = "239.255.77.1", .interface = "lo" };
static const struct gyre_multicast group_six = { .group = "ff02::7701", .interface = "lo" };

/* A socket that sends to the group by the loopback interface, or -1 where there is no way. */
static int sender(const struct gyre_socket_address *bound, const char *group)
{
	const struct ip_mreqn by = { .imr_ifindex = (int)if_nametoindex("lo") };
	int family = bound->storage.ss_family;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct gyre_socket_address to;
	char text[64];
	int r;

	(void)snprintf(text, sizeof(text), family == AF_INET ? "udp://%s:%u" : "udp://[%s%%lo]:%u",
		       group, (unsigned)gyre_socket_address_port(bound));
	cr_assert_eq(gyre_socket_address_parse(text, &to), 0);
	r = family == AF_INET ? setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by))
			      : setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &by.imr_ifindex,
					   sizeof(by.imr_ifindex));
	if (r < 0 || connect(fd, (struct sockaddr *)&to.storage, to.bytes) < 0 ||
	    send(fd, "", 0, 0) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static void expect_only_while_joined(const char *bind, const struct gyre_multicast *group)
{
	struct gyre_socket_address at;
	int fd;

	datagrams.silent = true;
	at = datagram_open_at(bind);
	fd = sender(&at, group->group);
	if (fd < 0) {
		cr_skip_test("there is no way to a group here");
	}
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.reads, 0, "it has not joined");
	cr_assert_eq(gyre_multicast_join(datagrams.channel, group), 0);
	cr_expect_eq(gyre_multicast_join(datagrams.channel, group), -EADDRINUSE);
	datagram_send(fd, "in", 2);
	datagram_until_reads(1);
	cr_expect_eq(datagrams.bytes[0], 2);
	cr_assert_eq(gyre_multicast_leave(datagrams.channel, group), 0);
	cr_expect_eq(gyre_multicast_leave(datagrams.channel, group), -EADDRNOTAVAIL);
	datagram_send(fd, "out", 3);
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.reads, 1);
	(void)close(fd);
}

Test(multicast, reaches_a_channel_while_it_has_joined_over_ipv4)
{
	expect_only_while_joined("udp://0.0.0.0:0", &group_four);
}

Test(multicast, reaches_a_channel_while_it_has_joined_over_ipv6)
{
	expect_only_while_joined("udp://[::]:0", &group_six);
}

Test(multicast, is_joined_from_the_beginning_and_sent_as_the_options_say)
{
	struct gyre_socket_address at;
	struct gyre_datagram_options options = { .bind = "udp://0.0.0.0:0",
						 .groups = &group_four,
						 .groups_count = 1,
						 .multicast_interface = "lo",
						 .multicast_hops = 7,
						 .no_multicast_loop = true };
	socklen_t bytes = sizeof(int);
	int hops = 0;
	int loop = 1;
	int fd;

	datagrams.silent = true;
	at = datagram_open_with(&options, NULL);
	fd = datagrams.channel->endpoint.fd;
	cr_expect_eq(getsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, &bytes), 0);
	cr_expect_eq(hops, 7);
	cr_expect_eq(getsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &loop, &bytes), 0);
	cr_expect_eq(loop, 0);
	fd = sender(&at, group_four.group);
	if (fd < 0) {
		cr_skip_test("there is no way to a group here");
	}
	datagram_until_reads(1);
	(void)close(fd);
}

static int init_nothing(struct gyre_channel *channel, void *arg)
{
	*(struct gyre_channel **)arg = channel;
	return 0;
}

Test(multicast, is_refused_where_it_makes_no_sense)
{
	const struct gyre_multicast no_group = { .group = "127.0.0.1" };
	const struct gyre_multicast no_text = { 0 };
	const struct gyre_multicast nowhere = { .group = "224.0.0.1", .interface = "nowhere" };
	struct gyre_channel *unix_channel = NULL;
	struct gyre_datagram_options options = { .bind = datagram_name("group"),
						 .init_channel = init_nothing,
						 .init_arg = &unix_channel };
	struct gyre_channel *stream = NULL;
	int fd = rig_open(&datagram_rig, rig_echo_only, NULL, NULL, &stream);

	(void)datagram_open_at("udp://127.0.0.1:0");
	(void)datagram_open_with(&options, NULL);
	cr_expect_eq(gyre_multicast_join(NULL, &group_four), -EINVAL);
	cr_expect_eq(gyre_multicast_join(datagrams.channel, NULL), -EINVAL);
	cr_expect_eq(gyre_multicast_join(datagrams.channel, &no_group), -EINVAL);
	cr_expect_eq(gyre_multicast_join(datagrams.channel, &no_text), -EINVAL);
	cr_expect_eq(gyre_multicast_join(datagrams.channel, &nowhere), -ENODEV);
	cr_expect_eq(gyre_multicast_join(unix_channel, &group_four), -EINVAL);
	cr_expect_eq(gyre_multicast_join(stream, &group_four), -EINVAL);
	(void)close(fd);
}
