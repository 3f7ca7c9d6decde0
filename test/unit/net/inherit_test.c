/* Listening on sockets that somebody else has opened. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/datagram.h>
#include <gyre/listen.h>

#include "buffer/socket_address.h"
#include "echo.h"
#include "fixture.h"

TestSuite(inherited, .timeout = 60);

enum { FIRST_FD = 3, LOOPS = 2 };

static struct gyre_socket_address address;

/* What stood at the first descriptors is kept elsewhere: it is Criterion's. */
static int kept[3];

static void give(int number, int type, bool listens)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, type, 0);

	cr_assert_eq(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	if (listens) {
		cr_assert_eq(listen(fd, 10), 0);
	}
	kept[number] = fcntl(FIRST_FD + number, F_DUPFD_CLOEXEC, 100);
	cr_assert_eq(dup2(fd, FIRST_FD + number), FIRST_FD + number);
	if (fd != FIRST_FD + number) {
		(void)close(fd);
	}
}

static void take_back(int number)
{
	(void)close(FIRST_FD + number);
	if (kept[number] >= 0) {
		cr_assert_eq(dup2(kept[number], FIRST_FD + number), FIRST_FD + number);
		(void)close(kept[number]);
	}
}

static void tell(const char *count, const char *names)
{
	char pid[16];

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	cr_assert_eq(setenv("LISTEN_PID", pid, 1), 0);
	cr_assert_eq(setenv("LISTEN_FDS", count, 1), 0);
	cr_assert_eq(setenv("LISTEN_FDNAMES", names, 1), 0);
}

static int listen_on(const char *text)
{
	const struct gyre_acceptor_options options = { .bind = text,
						       .init_channel = init_echo,
						       .ret_address = &address };

	return gyre_system_listen(fixture.system, &options, NULL);
}

static void expect_refused(const char *text, int error)
{
	cr_expect_eq(listen_on(text), error, "%s", text);
	cr_expect_eq(fixture.errors, 1, "explained");
	fixture.errors = 0;
}

static void expect_served(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_expect(echoes(fd));
	(void)close(fd);
}

Test(inherited, sockets_are_found_by_their_names)
{
	give(0, SOCK_STREAM, false);
	give(1, SOCK_STREAM, true);
	give(2, SOCK_STREAM, true);
	tell("3", "other:web:web");
	fixture_open(LOOPS);
	cr_expect_eq(listen_on("fd:web"), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	expect_served();
	fixture_close();
	cr_expect_neq(fcntl(FIRST_FD + 1, F_GETFD), -1, "they stay open");
	for (int i = 0; i < 3; i++) {
		take_back(i);
	}
}

Test(inherited, sockets_are_found_by_their_numbers)
{
	give(0, SOCK_STREAM, true);
	fixture_open(LOOPS);
	cr_expect_eq(listen_on("FD:3"), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (int i = 0; i < LOOPS; i++) {
		expect_served();
	}
	fixture_close();
	take_back(0);
}

Test(inherited, sockets_go_on_collecting_connections_for_the_next)
{
	give(0, SOCK_STREAM, true);
	for (int i = 0; i < 2; i++) {
		fixture_open(1);
		cr_expect_eq(listen_on("fd:3"), 0);
		cr_assert_eq(gyre_system_start(fixture.system), 0);
		expect_served();
		fixture_close();
	}
	take_back(0);
}

Test(inherited, sockets_must_be_given_to_this_process)
{
	give(0, SOCK_STREAM, true);
	tell("1", "web");
	fixture_open(LOOPS);
	expect_refused("fd:we", -ENOENT);
	expect_refused("fd:webs", -ENOENT);
	expect_refused("fd:", -ENOENT);
	tell("0", "web");
	expect_refused("fd:web", -ENOENT);
	tell("-1", "web");
	expect_refused("fd:web", -ENOENT);
	tell("2", "other");
	expect_refused("fd:web", -ENOENT);
	tell("1", "web");
	cr_assert_eq(setenv("LISTEN_PID", "1", 1), 0);
	expect_refused("fd:web", -ENOENT);
	cr_assert_eq(unsetenv("LISTEN_PID"), 0);
	expect_refused("fd:web", -ENOENT);
	fixture_close();
	take_back(0);
}

Test(inherited, sockets_must_be_streams_that_listen)
{
	char file_text[16];
	int file;

	give(0, SOCK_STREAM, false);
	give(1, SOCK_DGRAM, false);
	file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fixture_open(LOOPS);
	expect_refused("fd:3", -EINVAL);
	expect_refused("fd:4", -EINVAL);
	(void)snprintf(file_text, sizeof(file_text), "fd:%d", file);
	expect_refused(file_text, -ENOTSOCK);
	expect_refused("fd:999999", -EBADF);
	fixture_close();
	(void)close(file);
	take_back(0);
	take_back(1);
}

Test(inherited, sockets_may_not_be_more_than_loops)
{
	give(0, SOCK_STREAM, true);
	give(1, SOCK_STREAM, true);
	tell("2", "web:web");
	fixture_open(1);
	expect_refused("fd:web", -ENOBUFS);
	fixture_close();
	take_back(0);
	take_back(1);
}

/* ---- options ---- */

enum { RECEIVE = 40000, SEND = 50000 };

static int option_of(int level, int name)
{
	int value = -1;
	socklen_t bytes = sizeof(value);

	cr_assert_eq(getsockopt(FIRST_FD, level, name, &value, &bytes), 0);
	return value;
}

static void set_option(int level, int name, int value)
{
	cr_assert_eq(setsockopt(FIRST_FD, level, name, &value, sizeof(value)), 0);
}

static uint32_t backlog(void)
{
	struct tcp_info info = { 0 };
	socklen_t bytes = sizeof(info);

	cr_assert_eq(getsockopt(FIRST_FD, IPPROTO_TCP, TCP_INFO, &info, &bytes), 0);
	return info.tcpi_sacked; /* which it is of one that listens */
}

Test(inherited, sockets_have_the_options_of_the_call)
{
	const struct gyre_acceptor_options options = {
		.bind = "fd:3",
		.backlog = 17,
		.channel = { .allow_delay = true,
			     .keep_alive_ns = GYRE_SECONDS(3),
			     .receive_buffer_bytes = RECEIVE,
			     .send_buffer_bytes = SEND },
		.init_channel = init_echo,
	};

	give(0, SOCK_STREAM, true);
	set_option(IPPROTO_TCP, TCP_NODELAY, 1);
	fixture_open(1);
	cr_assert_eq(gyre_system_listen(fixture.system, &options, NULL), 0);
	cr_expect_eq(backlog(), 17);
	cr_expect_eq(option_of(IPPROTO_TCP, TCP_NODELAY), 0);
	cr_expect_eq(option_of(SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_expect_eq(option_of(IPPROTO_TCP, TCP_KEEPIDLE), 3);
	cr_expect_eq(option_of(SOL_SOCKET, SO_RCVBUF), 2 * RECEIVE);
	cr_expect_eq(option_of(SOL_SOCKET, SO_SNDBUF), 2 * SEND);
	fixture_close();
	take_back(0);
}

Test(inherited, sockets_keep_what_the_call_says_nothing_of)
{
	give(0, SOCK_STREAM, true);
	set_option(SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(SOL_SOCKET, SO_RCVBUF, RECEIVE);
	set_option(SOL_SOCKET, SO_SNDBUF, SEND);
	fixture_open(1);
	cr_assert_eq(listen_on("fd:3"), 0);
	cr_expect_eq(backlog(), 10);
	cr_expect_eq(option_of(IPPROTO_TCP, TCP_NODELAY), 1);
	cr_expect_eq(option_of(SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_expect_eq(option_of(SOL_SOCKET, SO_RCVBUF), 2 * RECEIVE);
	cr_expect_eq(option_of(SOL_SOCKET, SO_SNDBUF), 2 * SEND);
	fixture_close();
	take_back(0);
}

/* ---- datagrams ---- */

static int open_at(const char *text, const char *connect, uint32_t groups)
{
	const struct gyre_multicast group = { .group = "224.0.0.251" };
	const struct gyre_datagram_options options = { .bind = text,
						       .connect = connect,
						       .groups = &group,
						       .groups_count = groups,
						       .init_channel = init_echo,
						       .ret_address = &address };

	return gyre_system_datagram_open(fixture.system, &options, NULL);
}

Test(inherited, sockets_of_datagrams_are_found_by_their_names_with_what_waits_there)
{
	struct gyre_socket_address given;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char byte = 'x';

	give(0, SOCK_DGRAM, false);
	give(1, SOCK_STREAM, true);
	tell("2", "log:web");
	cr_assert_eq(gy_socket_address_of(FIRST_FD, &given), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&given.storage, given.bytes), 0);
	cr_assert_eq(send(fd, &byte, 1, 0), 1);
	fixture_open(LOOPS);
	cr_expect_eq(open_at("fd:log", NULL, 0), 0);
	cr_expect_eq(gyre_socket_address_port(&address), gyre_socket_address_port(&given));
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_expect_eq(recv(fd, &byte, 1, 0), 1);
	cr_expect_eq(send(fd, &byte, 1, 0), 1);
	cr_expect_eq(recv(fd, &byte, 1, 0), 1);
	fixture_close();
	cr_expect_neq(fcntl(FIRST_FD, F_GETFD), -1, "they stay open");
	(void)close(fd);
	take_back(0);
	take_back(1);
}

Test(inherited, sockets_of_datagrams_must_be_such_and_nothing_else_may_be_asked_of_them)
{
	give(0, SOCK_STREAM, true);
	give(1, SOCK_DGRAM, false);
	fixture_open(LOOPS);
	cr_expect_eq(open_at("fd:3", NULL, 0), -EINVAL);
	cr_expect_eq(fixture.errors, 1, "explained");
	cr_expect_not_null(strstr(fixture.line, "of datagrams"), "%s", fixture.line);
	cr_expect_eq(open_at("fd:4", "udp://127.0.0.1:9", 0), -EINVAL);
	cr_expect_eq(open_at("fd:4", NULL, 1), -EINVAL);
	cr_expect_eq(fixture.errors, 3, "each of them");
	fixture.errors = 0;
	fixture_close();
	take_back(0);
	take_back(1);
}

Test(inherited, sockets_of_datagrams_have_the_options_of_the_call)
{
	const struct gyre_datagram_options options = { .bind = "fd:3",
						       .broadcast = true,
						       .reuse_port = true,
						       .receive_buffer_bytes = RECEIVE,
						       .send_buffer_bytes = SEND,
						       .multicast_hops = 7,
						       .no_multicast_loop = true,
						       .init_channel = init_echo };

	give(0, SOCK_DGRAM, false);
	fixture_open(1);
	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, NULL), 0);
	cr_expect_eq(option_of(SOL_SOCKET, SO_BROADCAST), 1);
	cr_expect_eq(option_of(SOL_SOCKET, SO_REUSEADDR), 1);
	cr_expect_eq(option_of(SOL_SOCKET, SO_REUSEPORT), 1);
	cr_expect_eq(option_of(SOL_SOCKET, SO_RCVBUF), 2 * RECEIVE);
	cr_expect_eq(option_of(SOL_SOCKET, SO_SNDBUF), 2 * SEND);
	cr_expect_eq(option_of(IPPROTO_IP, IP_MULTICAST_TTL), 7);
	cr_expect_eq(option_of(IPPROTO_IP, IP_MULTICAST_LOOP), 0);
	fixture_close();
	take_back(0);
}

Test(inherited, sockets_of_datagrams_keep_what_the_call_says_nothing_of)
{
	give(0, SOCK_DGRAM, false);
	set_option(SOL_SOCKET, SO_BROADCAST, 1);
	set_option(SOL_SOCKET, SO_RCVBUF, RECEIVE);
	set_option(IPPROTO_IP, IP_MULTICAST_TTL, 7);
	fixture_open(1);
	cr_assert_eq(open_at("fd:3", NULL, 0), 0);
	cr_expect_eq(option_of(SOL_SOCKET, SO_BROADCAST), 1);
	cr_expect_eq(option_of(SOL_SOCKET, SO_RCVBUF), 2 * RECEIVE);
	cr_expect_eq(option_of(IPPROTO_IP, IP_MULTICAST_TTL), 7);
	cr_expect_eq(option_of(IPPROTO_IP, IP_MULTICAST_ALL), 1);
	fixture_close();
	take_back(0);
}

Test(inherited, sockets_of_datagrams_are_closed_again_when_the_call_asks_for_what_cannot_be)
{
	const struct gyre_datagram_options options = { .bind = "fd:3",
						       .multicast_interface = "nowhere",
						       .init_channel = init_echo };
	int before;

	give(0, SOCK_DGRAM, false);
	fixture_open(1);
	before = descriptors_open();
	cr_expect_eq(gyre_system_datagram_open(fixture.system, &options, NULL), -ENODEV);
	cr_expect_eq(descriptors_open(), before);
	cr_expect_eq(fixture.errors, 1, "explained");
	fixture.errors = 0;
	fixture_close();
	take_back(0);
}
