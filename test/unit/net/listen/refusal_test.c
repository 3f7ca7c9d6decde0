/*
 * A kernel that refuses the second of several sockets, or to make one at all: the call fails with
 * its error, one line in the log says what can be done, and none of the sockets is left.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/datagram.h>
#include <gyre/listen.h>

#include "echo.h"
#include "fixture.h"

static struct rlimit before;
static int descriptors;

static void begin(void)
{
	fixture_open(2);
	descriptors = descriptors_open();
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
}

static void end(void)
{
	fixture_close();
}

TestSuite(refusal, .timeout = 60, .init = begin, .fini = end);

/* Lets the process open @count descriptors, and no more. */
static void leave_room_for(int count)
{
	struct rlimit limit = before;
	int fds[8];

	for (int i = 0; i <= count; i++) {
		fds[i] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
		cr_assert_geq(fds[i], 0);
	}
	limit.rlim_cur = (rlim_t)fds[count];
	for (int i = 0; i <= count; i++) {
		(void)close(fds[i]);
	}
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void expect_explained(const char *remedy)
{
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	cr_expect_eq(descriptors_open(), descriptors, "none is left");
	cr_expect_eq(fixture.errors, 1);
	cr_expect_not_null(strstr(fixture.line, remedy), "%s", fixture.line);
	fixture.errors = 0;
}

static void expect_not_listening(const char *bind, const char *remedy)
{
	const struct gyre_acceptor_options options = { .bind = bind, .init_channel = init_echo };

	cr_expect_eq(gyre_system_listen(fixture.system, &options, NULL), -EMFILE);
	expect_explained(remedy);
}

Test(refusal, of_the_second_socket_ends_listening)
{
	leave_room_for(1);
	expect_not_listening("tcp://127.0.0.1:0", "ulimit");
}

Test(refusal, of_any_socket_ends_listening)
{
	leave_room_for(0);
	expect_not_listening("tcp://127.0.0.1:0", "ulimit");
}

Test(refusal, of_a_duplicate_ends_listening_where_somebody_else_has_opened)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[16];

	cr_assert_eq(listen(fd, 1), 0);
	(void)snprintf(text, sizeof(text), "fd:%d", fd);
	descriptors++;
	leave_room_for(0);
	expect_not_listening(text, strerror(EMFILE));
	(void)close(fd);
}

static void expect_no_datagrams(void)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_echo };

	cr_expect_eq(gyre_system_datagram_open(fixture.system, &options, NULL), -EMFILE);
	expect_explained("ulimit");
}

Test(refusal, of_the_second_socket_leaves_no_datagrams)
{
	leave_room_for(1);
	expect_no_datagrams();
}

Test(refusal, of_any_socket_leaves_no_datagrams)
{
	leave_room_for(0);
	expect_no_datagrams();
}

Test(refusal, of_a_group_is_that_of_the_call)
{
	const struct gyre_multicast twice[] = { { .group = "239.255.77.9", .interface = "lo" },
						{ .group = "239.255.77.9", .interface = "lo" } };
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .groups = twice,
						       .groups_count = 2,
						       .init_channel = init_echo };

	cr_expect_eq(gyre_system_datagram_open(fixture.system, &options, NULL), -EADDRINUSE);
	expect_explained("cannot open a socket for datagrams");
}
