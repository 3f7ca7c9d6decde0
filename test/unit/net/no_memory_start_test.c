/*
 * Starting a system whose sockets are open already, while there is no memory from each allocation
 * on, or none for one of them: what was opened is served, or the start fails, says why, and has
 * closed it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/connect.h>
#include <gyre/datagram.h>
#include <gyre/listen.h>
#include <gyre/pipe.h>

#include "echo.h"
#include "fixture.h"
#include "heap.h"
#include "system/handover/handover.h"
#include "system/system.h"

TestSuite(no_memory_start, .timeout = 120);

enum { LOOPS = 2, ROUNDS_MAX = 300, DESCRIPTORS_MAX = 1024 };

static struct gyre_socket_address address;

/* Whether a socket of this process is there: others may get the port as soon as it is free. */
static bool is_open(void)
{
	struct sockaddr_storage at;

	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
		socklen_t bytes = sizeof(at);

		memset(&at, 0, sizeof(at));
		if (getsockname(fd, (struct sockaddr *)&at, &bytes) == 0 &&
		    bytes == address.bytes && memcmp(&at, &address.storage, bytes) == 0) {
			return true;
		}
	}
	return false;
}

static void expect_served(void)
{
	int fd = socket(address.storage.ss_family, address.type | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_expect(echoes(fd));
	(void)close(fd);
}

static const char *handover; /* where the system waits for a successor; NULL for nowhere */

static void expect_hands_over(void)
{
	const struct gyre_system_options options = { .loops = LOOPS, .handover = handover };
	struct gyre_system *next;

	cr_assert_eq(gyre_system_create(&options, &next), 0);
	cr_expect_geq(next->succession->predecessor_fd, 0);
	gyre_system_destroy(next);
}

static int fds[2]; /* of a pipe: its own, and the other end */
static uint32_t pipes;

static int init_pipe(struct gyre_channel *channel, void *arg)
{
	pipes++;
	return init_echo(channel, arg);
}

static uint32_t started;

static void count_start(struct gyre_system *system, void *arg)
{
	expect(system == fixture.system && arg == &started);
	started++;
}

/* Whether memory was lacking. */
static bool play_round(int (*open)(void), bool served, bool once, uint32_t number)
{
	const struct gyre_system_options options = {
		.loops = LOOPS,
		.stall_ns = GYRE_STALL_NEVER,
		.handover = handover,
		.started = count_start,
		.started_arg = &started,
	};
	bool lacked;
	int r;

	started = 0;
	fixture_open_with(&options);
	cr_assert_eq(open(), 0);
	cr_expect_eq(is_open(), served);
	(once ? heap_lack_once_after : heap_end_after)(number);
	r = gyre_system_start(fixture.system);
	lacked = heap_recover();
	cr_expect(r == 0 || (lacked && r == -ENOMEM), "round %u: %d", number, r);
	cr_expect_eq(started, r == 0);
	cr_expect_eq(fixture.errors > 0, r < 0, "%s", fixture.line);
	fixture.errors = 0;
	if (fds[1] != 0) {
		cr_expect(r < 0 || pipes > 0, "round %u: nobody has it, and the start is good",
			  number);
		(void)close(fds[1]);
		fds[1] = 0;
		pipes = 0;
	}
	if (r == 0 && handover != NULL) {
		expect_hands_over();
	}
	if (r == 0 && served) {
		expect_served();
	} else if (r < 0) {
		cr_expect_not(served && is_open());
		cr_expect_eq(gyre_system_wait(fixture.system), r);
		gyre_system_destroy(fixture.system);
		cr_expect_eq(descriptors_open(), fixture.descriptors);
		return lacked;
	}
	fixture_close();
	return lacked;
}

static void play_rounds(int (*open)(void), bool served)
{
	for (int once = 0; once < 2; once++) {
		uint32_t number = 0;

		while (play_round(open, served, once != 0, number)) {
			cr_assert_lt(++number, ROUNDS_MAX);
		}
		cr_expect_gt(number, 0);
	}
}

static int listen_there(void)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .connections_max = 100,
						       .init_channel = init_echo,
						       .ret_address = &address };

	return gyre_system_listen(fixture.system, &options, NULL);
}

Test(no_memory_start, of_a_server_serves_or_fails)
{
	play_rounds(listen_there, true);
}

Test(no_memory_start, of_one_that_hands_over_can_do_so_or_fails)
{
	char at[64];

	(void)snprintf(at, sizeof(at), "unix:@gyre-no-memory-%d", (int)getpid());
	handover = at;
	play_rounds(listen_there, true);
}

static int listen_at_one(void)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .listeners = 1,
						       .init_channel = init_echo,
						       .ret_address = &address };

	return gyre_system_listen(fixture.system, &options, NULL);
}

Test(no_memory_start, of_a_server_with_one_socket_serves_or_fails)
{
	play_rounds(listen_at_one, true);
}

static int open_there(void)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .ret_address = &address };

	return gyre_system_datagram_open(fixture.system, &options, NULL);
}

Test(no_memory_start, of_datagrams_serves_or_fails)
{
	play_rounds(open_there, true);
}

static int connect_there(void)
{
	const struct gyre_connect_options options = { .to = "tcp://127.0.0.1:9",
						      .init_channel = init_echo };
	struct gyre_address socket;

	return gyre_system_connect(fixture.system, &options, &socket);
}

Test(no_memory_start, of_a_client_is_told)
{
	play_rounds(connect_there, false);
}

static int open_pipe(void)
{
	struct gyre_pipe_options options = { .init_channel = init_pipe };

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	options.input_fd = fds[0];
	options.output_fd = fds[0];
	return gyre_system_pipe_open(fixture.system, &options, NULL);
}

Test(no_memory_start, of_a_pipe_serves_or_fails)
{
	play_rounds(open_pipe, false);
}
