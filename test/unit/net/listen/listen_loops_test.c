/* Listening with several loops: what belongs together, and what is counted while it goes on. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/listen.h>

#include "echo.h"
#include "fixture.h"

TestSuite(listening_loops, .timeout = 60);

enum { LOOPS = 3, CONNECTIONS = 60, ROUNDS = 300 };

static struct gyre_address acceptor;
static uint16_t port;

static void begin(void)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .ret_port = &port };

	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_listen(fixture.system, &options, &acceptor), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static void end(void)
{
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	(void)gyre_system_counters(fixture.system, &fixture.counters);
	gyre_system_destroy(fixture.system);
	cr_expect_eq(fixture.counters.closed, fixture.counters.accepted);
	cr_expect_eq(fixture.errors, 0, "%s", fixture.line);
	cr_expect_eq(descriptors_open(), fixture.descriptors);
}

/* A connection, or a negative errno. */
static int connect_there(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : fd;

	if (r < 0) {
		(void)close(fd);
	}
	return r;
}

static int stop_acceptor(struct gyre_stack *stack)
{
	return gyre_stop(stack, acceptor);
}

Test(listening_loops, end_all_with_the_acceptor_that_the_caller_has)
{
	const struct gyre_class stopper = { .name = "stopper", .mount = stop_acceptor };
	int fds[CONNECTIONS];
	int refused = 0;

	begin();
	for (size_t i = 0; i < CONNECTIONS; i++) {
		fds[i] = connect_there();
		cr_assert(fds[i] >= 0 && echoes(fds[i]));
	}
	(void)spawn_outside(&stopper, LOOPS - 1);
	/* Each loop has its share of new connections: so many in a row tell that none listens. */
	while (refused < CONNECTIONS) {
		int fd = connect_there();

		refused = fd < 0 ? refused + 1 : 0;
		if (fd >= 0) {
			(void)close(fd);
		}
	}
	for (size_t i = 0; i < CONNECTIONS; i++) {
		cr_expect(echoes(fds[i]), "connections stay");
		(void)close(fds[i]);
	}
	end();
}

static void *connect_often(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		int fd = connect_there();

		if (fd >= 0) {
			(void)echoes(fd);
			(void)close(fd);
		}
	}
	return NULL;
}

Test(listening_loops, never_show_more_connections_closed_than_accepted)
{
	struct gyre_counters counters = { 0 };
	pthread_t client;

	begin();
	cr_assert_eq(pthread_create(&client, NULL, connect_often, NULL), 0);
	while (counters.closed < ROUNDS) {
		cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
		cr_assert_leq(counters.closed, counters.accepted);
		(void)sched_yield();
	}
	(void)pthread_join(client, NULL);
	end();
}
