/*
 * Options of sockets that one process has opened and the next one has taken over: they become those
 * of the next one, and not before that runs.
 */
#include "fixture.h"

#include <gyre/datagram.h>
#include <gyre/handover.h>
#include <gyre/listen.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "echo.h"
#include "system/bound.h"

enum { RECEIVE = 40000, SEND = 50000, BACKLOG = 17, HOPS = 7, MODE = 0604 };

static char at[64];
static struct gyre_socket_address address;

static void begin(void)
{
	(void)snprintf(at, sizeof(at), "unix:@gyre-handover-options-%d", (int)getpid());
}

TestSuite(handover_options, .init = begin, .timeout = 60);

static struct gyre_system *successor;

static struct gyre_system_options options_of_system(void)
{
	return (struct gyre_system_options){ .loops = 1,
					     .handover = at,
					     .stall_ns = GYRE_STALL_NEVER };
}

static void open_first(void)
{
	const struct gyre_system_options options = options_of_system();

	fixture_open_with(&options);
}

static uint32_t warned;
static char last_line[256];

static void hear(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	warned += line->level == GYRE_LOG_WARNING;
	(void)snprintf(last_line, sizeof(last_line), "%s", line->text);
}

static void open_second(void)
{
	struct gyre_system_options options = options_of_system();

	options.log = hear;
	options.log_level = GYRE_LOG_WARNING;
	options.log_buffer_bytes = GYRE_LOG_UNBUFFERED; /* lines are counted while it runs */
	cr_assert_eq(gyre_system_create(&options, &successor), 0);
}

static void end_second(void)
{
	gyre_system_destroy(successor);
	fixture_close();
	cr_expect_eq(fixture.warnings, 0, "%s", fixture.line);
}

static void end_without_warning(void)
{
	end_second();
	cr_expect_eq(warned, 0, "%s", last_line);
}

/* A peer's socket; who answers it has mounted, and so seen to the options. */
static void expect_answer(void)
{
	const struct timeval patience = { .tv_sec = 30 };
	int fd = socket(address.storage.ss_family, address.type | SOCK_CLOEXEC, 0);

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_expect(echoes(fd));
	(void)close(fd);
}

/* The old one has ended, so it is the new one that answers. */
static void start_second(void)
{
	cr_assert_eq(gyre_system_start(successor), 0);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	expect_answer();
}

struct expected {
	int level;
	int name;
	int value;
};

static void expect_all(const struct expected *expected, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cr_expect_eq(bound_option(&address, expected[i].level, expected[i].name),
			     expected[i].value, "%zu", i);
	}
}

static uint32_t backlog(void)
{
	struct tcp_info info = { 0 };
	socklen_t bytes = sizeof(info);

	cr_assert_eq(getsockopt(bound_find(&address), IPPROTO_TCP, TCP_INFO, &info, &bytes), 0);
	return info.tcpi_sacked; /* which it is of one that listens */
}

/* Sockets that were opened with all options, or none, to a call with none, or all. */
static void hand_over(int (*open_in)(struct gyre_system *system, bool with), bool with)
{
	open_first();
	cr_assert_eq(open_in(fixture.system, !with), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	open_second();
	cr_assert_eq(open_in(successor, with), 0);
}

/* ---- streams ---- */

static const struct expected streams_without[] = { { IPPROTO_TCP, TCP_NODELAY, 1 },
						   { SOL_SOCKET, SO_KEEPALIVE, 0 } };
static const struct expected streams_with[] = { { IPPROTO_TCP, TCP_NODELAY, 0 },
						{ SOL_SOCKET, SO_KEEPALIVE, 1 },
						{ IPPROTO_TCP, TCP_KEEPIDLE, 3 },
						{ SOL_SOCKET, SO_RCVBUF, 2 * RECEIVE },
						{ SOL_SOCKET, SO_SNDBUF, 2 * SEND } };

static int listen_in(struct gyre_system *system, bool with)
{
	const struct gyre_acceptor_options none = { .bind = "tcp://127.0.0.1:0",
						    .init_channel = init_echo,
						    .ret_address = &address };
	struct gyre_acceptor_options all = none;

	all.backlog = BACKLOG;
	all.channel = (struct gyre_channel_options){ .allow_delay = true,
						     .keep_alive_ns = GYRE_SECONDS(3),
						     .receive_buffer_bytes = RECEIVE,
						     .send_buffer_bytes = SEND };
	return gyre_system_listen(system, with ? &all : &none, NULL);
}

Test(handover_options, of_streams_become_those_of_the_next_when_it_runs)
{
	hand_over(listen_in, true);
	expect_all(streams_without, gy_countof(streams_without));
	cr_expect_eq(backlog(), 4096);
	start_second();
	expect_all(streams_with, gy_countof(streams_with));
	cr_expect_eq(backlog(), BACKLOG);
	end_without_warning();
}

Test(handover_options, of_streams_are_taken_back_too)
{
	hand_over(listen_in, false);
	expect_all(streams_with, gy_countof(streams_with));
	cr_expect_eq(backlog(), BACKLOG);
	start_second();
	expect_all(streams_without, gy_countof(streams_without));
	cr_expect_eq(backlog(), 4096);
	end_without_warning();
}

Test(handover_options, stay_when_the_next_does_not_run)
{
	hand_over(listen_in, true);
	gyre_system_destroy(successor);
	expect_answer();
	expect_all(streams_without, gy_countof(streams_without));
	cr_expect_eq(backlog(), 4096);
	fixture_close();
}

static char path[64];

static int listen_at_path(struct gyre_system *system, uint32_t mode)
{
	const struct gyre_acceptor_options options = {
		.bind = path, .mode = mode, .init_channel = init_echo, .ret_address = &address
	};

	return gyre_system_listen(system, &options, NULL);
}

static unsigned mode_there(void)
{
	struct stat status;

	cr_assert_eq(stat(path + sizeof("unix:") - 1, &status), 0);
	return status.st_mode & 0777;
}

Test(handover_options, of_a_file_become_those_of_the_next)
{
	(void)snprintf(path, sizeof(path), "unix:/tmp/gyre-handover-options-%d", (int)getpid());
	open_first();
	cr_assert_eq(listen_at_path(fixture.system, 0600), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	open_second();
	cr_assert_eq(listen_at_path(successor, MODE), 0);
	cr_expect_eq(mode_there(), 0600);
	start_second();
	cr_expect_eq(mode_there(), MODE);
	end_without_warning();
}

/* ---- datagrams ---- */

static const struct gyre_multicast both_have = { .group = "239.255.77.7", .interface = "lo" };
static const struct gyre_multicast with_has = { .group = "239.255.77.8", .interface = "lo" };

static const struct expected datagrams_without[] = { { SOL_SOCKET, SO_BROADCAST, 0 },
						     { SOL_UDP, UDP_GRO, 1 },
						     { IPPROTO_IP, IP_MULTICAST_TTL, 1 },
						     { IPPROTO_IP, IP_MULTICAST_LOOP, 1 } };
static const struct expected datagrams_with[] = {
	{ SOL_SOCKET, SO_BROADCAST, 1 },	{ SOL_UDP, UDP_GRO, 0 },
	{ IPPROTO_IP, IP_MULTICAST_TTL, HOPS }, { IPPROTO_IP, IP_MULTICAST_LOOP, 0 },
	{ SOL_SOCKET, SO_RCVBUF, 2 * RECEIVE }, { SOL_SOCKET, SO_SNDBUF, 2 * SEND },
	{ SOL_SOCKET, SO_REUSEADDR, 1 }
};

static int open_in(struct gyre_system *system, bool with)
{
	const struct gyre_multicast groups[] = { both_have, with_has };
	const struct gyre_datagram_options none = { .bind = "udp://0.0.0.0:0",
						    .groups = groups,
						    .groups_count = 1,
						    .init_channel = init_echo,
						    .ret_address = &address };
	struct gyre_datagram_options all = none;

	all.groups_count = 2;
	all.broadcast = true;
	all.no_gro = true;
	all.reuse_port = true;
	all.receive_buffer_bytes = RECEIVE;
	all.send_buffer_bytes = SEND;
	all.multicast_interface = "lo";
	all.multicast_hops = HOPS;
	all.no_multicast_loop = true;
	return gyre_system_datagram_open(system, with ? &all : &none, NULL);
}

/* Whether it could be left. */
static bool is_in(const struct gyre_multicast *multicast)
{
	struct sockaddr_in group = { .sin_family = AF_INET };
	struct group_req request = { .gr_interface = 1 };
	unsigned bytes[4];

	cr_assert_eq(
		sscanf(multicast->group, "%u.%u.%u.%u", &bytes[0], &bytes[1], &bytes[2], &bytes[3]),
		4);
	group.sin_addr.s_addr = htonl(bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]);
	*(struct sockaddr_in *)(void *)&request.gr_group = group;
	return setsockopt(bound_find(&address), IPPROTO_IP, MCAST_LEAVE_GROUP, &request,
			  sizeof(request)) == 0;
}

Test(handover_options, of_datagrams_become_those_of_the_next_when_it_runs)
{
	hand_over(open_in, true);
	expect_all(datagrams_without, gy_countof(datagrams_without));
	cr_expect_not(is_in(&with_has));
	start_second();
	expect_all(datagrams_with, gy_countof(datagrams_with));
	cr_expect(is_in(&both_have));
	cr_expect(is_in(&with_has));
	end_without_warning();
}

Test(handover_options, of_datagrams_are_taken_back_too)
{
	hand_over(open_in, false);
	expect_all(datagrams_with, gy_countof(datagrams_with));
	start_second();
	expect_all(datagrams_without, gy_countof(datagrams_without));
	cr_expect(is_in(&both_have));
	end_without_warning();
}

Test(handover_options, that_the_kernel_refuses_are_told_of_and_stay)
{
	const struct gyre_datagram_options options = { .bind = "udp://0.0.0.0:0",
						       .multicast_interface = "nowhere",
						       .init_channel = init_echo,
						       .ret_address = &address };

	open_first();
	cr_assert_eq(open_in(fixture.system, false), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	open_second();
	cr_assert_eq(gyre_system_datagram_open(successor, &options, NULL), 0);
	start_second();
	expect_all(datagrams_without, gy_countof(datagrams_without));
	cr_expect_eq(warned, 1);
	cr_expect_not_null(strstr(last_line, "udp://0.0.0.0:0 keep options"), "%s", last_line);
	end_second();
}
