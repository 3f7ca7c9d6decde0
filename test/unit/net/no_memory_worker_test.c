/*
 * Workers that cannot be made for lack of memory, once and again: a connection that one was to take
 * is served or closed, the listener goes on, and those that come later are served.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/listen.h>

#include "echo.h"
#include "net/no_memory_rig.h"

TestSuite(no_memory_worker, .timeout = 120);

static struct gyre_socket_address address;
static int peer_fd;

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
