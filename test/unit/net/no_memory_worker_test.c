/*
 * Workers that cannot be made for lack of memory, once and again: a connection that one was to take
 * is served or closed, the listener goes on, and those that come later are served on all loops.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/listen.h>

#include "base/atomic.h"
#include "echo.h"
#include "fixture.h"
#include "net/no_memory_rig.h"

TestSuite(no_memory_worker, .timeout = 120);

static struct gyre_socket_address address;
static int peer_fd;

/* ---- on one loop ---- */

static uint32_t losing; /* without that allocation there is an acceptor, but no worker */
static bool found;

static int connect_peer(void)
{
	int r;

	peer_fd = socket(address.storage.ss_family, address.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = connect(peer_fd, (const struct sockaddr *)&address.storage, address.bytes);
	(void)send(peer_fd, "x", 1, MSG_NOSIGNAL);
	return r < 0 && errno != EINPROGRESS ? -errno : 0;
}

static int listen_with_limit(void)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .connections_max = 10,
						       .init_channel = init_echo,
						       .ret_address = &address };
	int r = gyre_system_listen(lean_system(), &options, NULL);

	rig_settle(&lean_rig);
	return r;
}

static bool find_losing(const struct lean_round *round)
{
	bool lacked;
	int r;

	lean_houses = 2;
	lean_begin(round);
	r = listen_with_limit();
	lacked = lean_recover();
	if (r == 0 && lacked && round->once && !found && lean_has_failed()) {
		found = connect_peer() == 0; /* then it is not the acceptor */
		losing = round->number;
		(void)close(peer_fd);
	}
	return lacked;
}

/* Bytes, 0 for the end, or a negative errno. */
static bool is_answered(struct rig *rig, void *arg)
{
	ssize_t *got = (ssize_t *)arg;
	char byte;

	(void)rig;
	*got = recv(peer_fd, &byte, 1, 0);
	*got = *got < 0 ? -errno : *got;
	return *got != -EAGAIN;
}

static ssize_t answer(void)
{
	ssize_t got = -EAGAIN;

	cr_expect(rig_until_later(&lean_rig, is_answered, &got));
	(void)close(peer_fd);
	return got;
}

/* The connection waits for the second worker, while that cannot be made either. */
static bool lose_another(const struct lean_round *round)
{
	bool lacked;
	ssize_t got;

	lean_houses = 2;
	heap_lack_once_after(losing);
	cr_assert_eq(listen_with_limit(), 0);
	cr_assert(heap_recover() && lean_has_failed());
	lean_begin(round);
	cr_assert_eq(connect_peer(), 0);
	lacked = lean_recover();
	got = answer();
	cr_expect(got == 1 || (lacked && got <= 0), "round %u: %zd", round->number, got);
	cr_assert_eq(connect_peer(), 0);
	cr_expect_eq(answer(), 1, "round %u: the listener does not go on", round->number);
	cr_expect_not(lean_has_failed(), "round %u", round->number);
	return lacked;
}

Test(no_memory_worker, whose_place_another_has_taken_keeps_the_connection)
{
	lean_play(find_losing);
	cr_assert(found);
	lean_play(lose_another);
}

/* ---- on several, of which one listens ---- */

enum { LOOPS = 2, ROUNDS_MAX = 300 };

static uint32_t marked; /* atomic */
static uint32_t served; /* atomic: the loops that have had a connection, a bit each */

static int mark(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&marked, 1);
	return gyre_return(stack);
}

static const struct gyre_class marker_class = { .name = "marker", .behaviour.notice = mark };

static int init_noting(struct gyre_channel *channel, void *arg)
{
	uint32_t loop = gyre_channel_address(channel).loop;

	(void)gy_fetch_or(&served, 1U << loop);
	return init_echo(channel, arg);
}

/* Mail that comes behind the orders to make them is handled when they are made, or lost. */
static void await_workers(const struct gyre_address *markers)
{
	gy_store_release(&marked, 0);
	for (uint32_t i = 0; i < LOOPS; i++) {
		while (notify_outside(markers[i], 0) < 0) {
		}
	}
	while (gy_load_acquire(&marked) < LOOPS) {
		sched_yield();
	}
}

static int connect_there(void)
{
	int fd = socket(address.storage.ss_family, address.type | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address.storage, address.bytes) == 0) {
		return fd;
	}
	(void)close(fd);
	return -1; /* without an acceptor */
}

/* Connections go to the workers in turn. */
static bool are_served(uint32_t number)
{
	int fds[LOOPS];

	gy_store_release(&served, 0);
	for (uint32_t i = 0; i < LOOPS; i++) {
		fds[i] = connect_there();
		if (fds[i] < 0) {
			return false;
		}
		cr_expect(echoes(fds[i]), "round %u: a connection is closed", number);
	}
	for (uint32_t i = 0; i < LOOPS; i++) {
		(void)close(fds[i]);
	}
	cr_expect_eq(gy_load_acquire(&served), (1U << LOOPS) - 1, "round %u: not by all", number);
	return true;
}

/* Whether memory was lacking. */
static bool play_spread(uint32_t number, uint32_t *ret_lost)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .listeners = 1,
						       .init_channel = init_noting,
						       .ret_address = &address };
	struct gyre_address markers[LOOPS];
	bool lacked;
	int r;

	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (uint32_t i = 0; i < LOOPS; i++) {
		markers[i] = spawn_outside(&marker_class, i);
	}
	await_workers(markers);
	heap_lack_once_after(number);
	r = gyre_system_listen(fixture.system, &options, NULL);
	await_workers(markers);
	lacked = heap_recover();
	cr_expect(r == 0 || (lacked && r == -ENOMEM), "round %u: %d", number, r);
	if (r == 0 && are_served(number)) {
		*ret_lost += fixture.errors > 0;
	}
	fixture.errors = 0;
	fixture_close();
	return lacked;
}

Test(no_memory_worker, that_one_loop_of_many_has_lost_is_made_for_the_next_connection)
{
	uint32_t number = 0;
	uint32_t lost = 0;

	while (play_spread(number, &lost)) {
		cr_assert_lt(++number, ROUNDS_MAX);
	}
	cr_expect_gt(lost, 0);
}
