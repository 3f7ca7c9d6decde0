/* Datagram channels on several loops: one address, shared by senders; and their common end. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <gyre/datagram.h>

#include "fixture.h"

TestSuite(datagram_loops, .timeout = 60);

enum { CLIENTS = 100 };

static const struct timeval long_time = { .tv_sec = 100 };
static const struct timeval moment = { .tv_usec = 50000 };

static struct gyre_address actor;
static struct gyre_socket_address address;
static uint32_t served[2]; /* by loop; each written by its own */

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	__atomic_fetch_add((uint32_t *)ctx->arg, 1, __ATOMIC_RELAXED);
	(void)gyre_context_write(ctx, data);
}

static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

static int init_echo(struct gyre_channel *channel, void *arg)
{
	static uint32_t next;
	uint32_t mine = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);

	(void)arg;
	return mine < 2 ? gyre_pipeline_add(channel, GYRE_LAST, &echo, &served[mine]) : -ENOBUFS;
}

static void begin(void)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .ret_address = &address };

	fixture_open(2);
	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, &actor), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static void end(void)
{
	gyre_system_stop(fixture.system);
	must_hold(gyre_system_wait(fixture.system) == 0, "the system ends");
	(void)gyre_system_counters(fixture.system, &fixture.counters);
	gyre_system_destroy(fixture.system);
	must_hold(fixture.errors == 0, fixture.line);
	must_hold(descriptors_open() == fixture.descriptors, "none is left");
}

static int connect_there(struct timeval patience)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	return fd;
}

Test(datagram_loops, share_the_senders, .init = begin, .fini = end)
{
	char byte = 'x';

	for (int i = 0; i < CLIENTS; i++) {
		int fd = connect_there(long_time);

		cr_assert_eq(send(fd, &byte, 1, 0), 1);
		cr_assert_eq(receive_in_time(fd, &byte, 1), 1);
		(void)close(fd);
	}
	cr_expect_eq(served[0] + served[1], CLIENTS);
	cr_expect_gt(served[0], 0);
	cr_expect_gt(served[1], 0);
}

Test(datagram_loops, let_nobody_else_have_the_address, .init = begin, .fini = end)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(bind(fd, (struct sockaddr *)&address.storage, address.bytes), -1);
	cr_expect_eq(errno, EADDRINUSE);
	(void)close(fd);
}

static int stop_the_first(struct gyre_stack *stack)
{
	return gyre_stop(stack, actor);
}

static const struct gyre_class stopper = { .name = "stopper", .mount = stop_the_first };

/* By all: so many in a row tell that there is no socket left. */
static bool is_refused(void)
{
	for (int i = 0; i < 20; i++) {
		int fd = connect_there(moment);
		char byte = 'x';
		bool refused = send(fd, &byte, 1, 0) == 1 && receive_in_time(fd, &byte, 1) == -1 &&
			       errno == ECONNREFUSED;

		(void)close(fd);
		if (!refused) {
			return false;
		}
	}
	return true;
}

Test(datagram_loops, all_end_when_the_first_actor_is_stopped, .init = begin, .fini = end)
{
	(void)spawn_outside(&stopper, 1);
	while (!is_refused()) {
	}
}

Test(datagram_loops, are_counted)
{
	char byte = 'x';
	int fd;

	begin();
	fd = connect_there(long_time);
	cr_assert_eq(send(fd, &byte, 1, 0), 1);
	cr_assert_eq(receive_in_time(fd, &byte, 1), 1);
	(void)close(fd);
	end();
	cr_expect_eq(fixture.counters.reads, 1);
	cr_expect_eq(fixture.counters.datagram_receives, 1);
	cr_expect_eq(fixture.counters.datagrams_sent, 1);
	cr_expect_eq(fixture.counters.datagram_sends, 1);
	cr_expect_eq(fixture.counters.datagrams_failed, 0);
	cr_expect_eq(fixture.counters.datagrams_truncated, 0);
	cr_expect_eq(fixture.counters.datagrams_dropped, 0);
}
