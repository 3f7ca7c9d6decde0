/*
 * Listening and opening for datagrams on several loops of a system that has not started, while
 * there is no memory from each allocation on: either all loops take part, or the call says that
 * there is no memory and what it had made for the first of them goes when the system runs. And on
 * those of a system that has ended, which leaves nothing.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/datagram.h>
#include <gyre/listen.h>

#include "echo.h"
#include "fixture.h"
#include "heap.h"

TestSuite(no_memory_loops, .timeout = 120);

enum { LOOPS = 3, ROUNDS_MAX = 300 };

static struct gyre_socket_address address;

static void expect_served(void)
{
	int fd = socket(address.storage.ss_family, address.type | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_expect(echoes(fd));
	(void)close(fd);
}

/* Whether memory was lacking. */
static bool play_round(int (*call)(void), uint32_t number)
{
	bool lacked;
	int r;

	fixture_open(LOOPS);
	heap_end_after(number);
	r = call();
	lacked = heap_recover();
	cr_expect(r == 0 || (lacked && r == -ENOMEM), "round %u: %d", number, r);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	if (r == 0) {
		expect_served();
	}
	fixture_close();
	return lacked;
}

static void play_rounds(int (*call)(void))
{
	uint32_t number = 0;

	while (play_round(call, number)) {
		cr_assert_lt(++number, ROUNDS_MAX);
	}
	cr_expect_gt(number, LOOPS);
}

static int listen_there(void)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .connections_max = 100,
						       .init_channel = init_echo,
						       .ret_address = &address };

	return gyre_system_listen(fixture.system, &options, NULL);
}

Test(no_memory_loops, of_a_server_is_told_by_the_call)
{
	play_rounds(listen_there);
}

static int open_there(void)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .ret_address = &address };

	return gyre_system_datagram_open(fixture.system, &options, NULL);
}

Test(no_memory_loops, of_datagrams_is_told_by_the_call)
{
	play_rounds(open_there);
}

/* ---- when all loops have ended ---- */

static void ignore_line(const struct gyre_log_line *line, void *arg)
{
	(void)line;
	(void)arg;
}

static bool play_late_round(int (*call)(void), uint32_t number)
{
	const struct gyre_system_options options = { .loops = LOOPS, .log = ignore_line };
	uint64_t out = heap_out();
	bool lacked;

	cr_assert_eq(gyre_system_create(&options, &fixture.system), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	heap_end_after(number);
	(void)call();
	lacked = heap_recover();
	gyre_system_destroy(fixture.system);
	cr_expect_eq(heap_out(), out, "round %u", number);
	return lacked;
}

static void play_late_rounds(int (*call)(void))
{
	uint32_t number = 0;

	while (play_late_round(call, number)) {
		cr_assert_lt(++number, ROUNDS_MAX);
	}
	cr_expect_gt(number, LOOPS);
}

Test(no_memory_loops, of_a_server_leaves_nothing_where_they_have_ended)
{
	play_late_rounds(listen_there);
}

Test(no_memory_loops, of_datagrams_leaves_nothing_where_they_have_ended)
{
	play_late_rounds(open_there);
}
