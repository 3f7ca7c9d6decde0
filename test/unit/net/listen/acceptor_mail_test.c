/* What acceptors do with mail of others. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/listen.h>

#include "echo.h"
#include "fixture.h"

TestSuite(acceptor_mail, .timeout = 60);

Test(acceptor_mail, of_others_is_a_dead_letter_and_connections_are_accepted_as_before)
{
	struct gyre_socket_address address = { .bytes = 0 };
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .ret_address = &address };
	struct gyre_address acceptor;
	char byte = 'x';
	int fd;

	fixture_open(1);
	cr_assert_eq(gyre_system_listen(fixture.system, &options, &acceptor), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(gyre_system_notify(fixture.system, acceptor,
					gyre_system_new(fixture.system, number, 1)),
		     0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_geq(fd, 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_assert_eq(send(fd, &byte, 1, MSG_NOSIGNAL), 1);
	cr_expect_eq(recv(fd, &byte, 1, 0), 1);
	(void)close(fd);
	fixture_close();
	cr_expect_eq(fixture.counters.dropped[GYRE_DROP_UNHANDLED], 1);
	cr_expect_eq(fixture.counters.restarted, 0);
}
