/*
 * Connecting, listening and opening for datagrams while there is no memory, from each allocation
 * on: who asked for it is told, by the call, by a report, or by the end of the actor, and nothing
 * is left, neither in pools nor in the heap. With memory again it goes on.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/connect.h>
#include <gyre/datagram.h>

#include "actor/stack/stack.h"
#include "buffer/socket_address.h"
#include "echo.h"
#include "net/connect/dial.h"
#include "net/no_memory_client.h"

TestSuite(no_memory, .timeout = 60);

/* ---- clients ---- */

static bool is_told(struct rig *r, void *arg)
{
	(void)arg;
	(void)r;
	return lean_reports.opened + lean_reports.given_up > 0 || lean_has_failed();
}

static struct gyre_connect_options client_options(const char *to)
{
	return (struct gyre_connect_options){ .to = to,
					      .local = "tcp://127.0.0.1:0",
					      .init_channel = init_echo,
					      .report = lean_hear,
					      .place = { .place = GYRE_PLACE_LOOP } };
}

/* A listener whose address is put into @ret_text, for a client of which nothing was reported yet.
 */
static int listen_afresh(char ret_text[GYRE_SOCKET_ADDRESS_TEXT_MAX])
{
	struct gyre_socket_address address;

	cr_assert_eq(gyre_socket_address_parse("tcp://127.0.0.1:0", &address), 0);
	lean_reports = (struct lean_reports){ 0 };
	return lean_listen(&address, ret_text);
}

static bool connect_once(const struct lean_round *round)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX] = "";
	struct gyre_connect_options options = client_options(text);
	struct gyre_address actor;
	bool lacked;
	int fd = listen_afresh(text);
	int r;

	lean_begin(round);
	r = gyre_system_connect(lean_system(), &options, &actor);
	lacked = lean_recover();
	cr_expect(r < 0 || rig_until(&lean_rig, is_told, NULL), "round %u: nobody is told",
		  round->number);
	lean_check_client(round, r, lacked);
	(void)close(fd);
	return lacked;
}

Test(no_memory, of_a_client_is_told_to_whoever_wants_it)
{
	lean_play(connect_once);
}

/* Links between nodes have no actor that could watch that of the client. */
static int lost_with;

static void lose(void *arg, int error)
{
	cr_expect_eq(arg, &lost_with);
	cr_expect_eq(lost_with, 0);
	lost_with = error;
}

static bool is_open_or_lost(struct rig *r, void *arg)
{
	(void)arg;
	(void)r;
	return lean_reports.opened + lean_reports.given_up > 0 || lost_with < 0;
}

static bool connect_or_lose(const struct lean_round *round)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX] = "";
	struct gyre_connect_options options = client_options(text);
	struct gyre_address actor;
	bool lacked;
	int fd = listen_afresh(text);
	int r;

	options.report_arg = &lost_with;
	lost_with = 0;
	lean_begin(round);
	r = gy_connect_or_lose(lean_system(), &options, lose, &actor);
	lacked = lean_recover();
	cr_expect(r < 0 ? lost_with == 0 : rig_until(&lean_rig, is_open_or_lost, NULL),
		  "round %u: nobody is told", round->number);
	cr_expect(lost_with == 0 || (lacked && lost_with == -ENOMEM &&
				     lean_reports.opened + lean_reports.given_up == 0));
	lean_check_client(round, r, lacked);
	(void)close(fd);
	return lacked;
}

Test(no_memory, of_a_client_of_a_link_is_told_to_it_once)
{
	lean_play(connect_or_lose);
}

/* The same from inside, where what fails is not tried for outside. */
static bool connect_inside(const struct lean_round *round)
{
	struct gyre_connect_options options = client_options("tcp://127.0.0.1:1");
	struct gy_stack *stack = rig_stack(&lean_rig);
	struct gyre_address actor;
	bool lacked;
	int r;

	options.place.place = GYRE_PLACE_HERE;
	lean_reports = (struct lean_reports){ 0 };
	lean_begin(round);
	r = gyre_connect(&stack->head, &options, &actor, NULL);
	lacked = lean_recover();
	cr_expect(r == 0 || (lacked && r == -ENOMEM), "round %u: %d", round->number, r);
	cr_expect(r < 0 || rig_until(&lean_rig, is_told, NULL));
	return lacked;
}

Test(no_memory, of_a_client_of_an_actor_is_told_to_it)
{
	lean_play(connect_inside);
}

/* Whose house has no channel yet, so that there is more to be made. */
static bool open_unconnected(const struct lean_round *round)
{
	static const struct gy_connector_ops ops = { 0 };
	static const struct gyre_channel_options defaults = { 0 };
	const struct gy_channel_opening opening = { .options = &defaults, .init = init_echo };
	struct gy_connector connector = { .ops = &ops };
	struct gy_stack *stack = rig_stack(&lean_rig);
	bool lacked;
	int r;

	lean_begin(round);
	r = gy_stream_open(lean_rig.house, stack, &opening, &connector);
	lacked = lean_recover();
	cr_expect(r == 0 || (lacked && r == -ENOMEM), "round %u: %d", round->number, r);
	rig_settle(&lean_rig);
	lean_rig.home.channel_ops->drain(&lean_rig.home); /* the connector ends with this call */
	rig_settle(&lean_rig);
	return lacked;
}

Test(no_memory, of_a_channel_that_is_not_connected_is_the_openers_to_know)
{
	lean_play(open_unconnected);
}

/* ---- servers ---- */

static int peer_fd;

static void connect_peer(const struct gyre_socket_address *address)
{
	peer_fd =
		socket(address->storage.ss_family, address->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	cr_assert(connect(peer_fd, (const struct sockaddr *)&address->storage, address->bytes) ==
			  0 ||
		  errno == EINPROGRESS);
}

/* What the peer has been answered with: bytes, 0 for the end, or a negative errno. */
static ssize_t answer(void)
{
	char byte;
	ssize_t bytes = recv(peer_fd, &byte, 1, 0);

	return bytes < 0 ? -errno : bytes;
}

static bool is_served_or_not(struct rig *r, void *arg)
{
	*(ssize_t *)arg = answer();
	(void)r;
	return *(ssize_t *)arg != -EAGAIN || lean_has_failed();
}

static bool is_served(void)
{
	ssize_t got = 0;

	(void)send(peer_fd, "x", 1, MSG_NOSIGNAL);
	cr_expect(rig_until_later(&lean_rig, is_served_or_not, &got));
	return got == 1;
}

/* A connection that comes when memory is short is served or closed; one that comes later is served.
 * Unless the acceptor or the worker has failed, which is told in the log: what asked for them has
 * returned. */
static bool listen_once(const struct lean_round *round)
{
	struct gyre_socket_address address;
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .connections_max = 10,
						       .init_channel = init_echo,
						       .ret_address = &address };
	bool lacked;
	int r;

	lean_houses = 2;
	lean_begin(round);
	r = gyre_system_listen(lean_system(), &options, NULL);
	if (r == 0) {
		connect_peer(&address);
		(void)send(peer_fd, "x", 1, MSG_NOSIGNAL);
	}
	lacked = lean_recover();
	cr_expect(r == 0 || (lacked && r == -ENOMEM), "round %u: %d", round->number, r);
	if (r == 0) {
		ssize_t got = 0;

		cr_expect(rig_until_later(&lean_rig, is_served_or_not, &got), "round %u",
			  round->number);
		cr_expect(lacked || got == 1);
		(void)close(peer_fd);
		cr_expect(!lean_has_failed() || lean_rig.logged > 0, "round %u", round->number);
		if (!lean_has_failed()) {
			connect_peer(&address);
			cr_expect(is_served(), "round %u", round->number);
			(void)close(peer_fd);
		}
	}
	return lacked;
}

Test(no_memory, of_a_server_is_told_by_the_call_or_costs_no_more_than_a_connection)
{
	lean_play(listen_once);
}

static uint32_t closed;

static int reason;

static void hear_datagrams(struct gyre_stack *stack, const struct gyre_datagram_event *event,
			   struct gyre_channel *channel, void *arg)
{
	(void)stack;
	(void)channel;
	(void)arg;
	if (event->step == GYRE_DATAGRAM_CLOSED) {
		closed++;
		reason = event->reason;
	}
}

static struct gyre_datagram_options datagram_options(struct gyre_socket_address *address)
{
	return (struct gyre_datagram_options){ .bind = "udp://127.0.0.1:0",
					       .one_loop = true,
					       .init_channel = init_echo,
					       .report = hear_datagrams,
					       .ret_address = address };
}

/* Each datagram may be lost; those that come later are answered, as long as there is a channel. */
static bool expect_datagrams(const struct lean_round *round, int r,
			     const struct gyre_socket_address *address)
{
	bool lacked;

	if (r == 0) {
		connect_peer(address);
		(void)send(peer_fd, "x", 1, MSG_NOSIGNAL);
	}
	lacked = lean_recover();
	cr_expect(r == 0 || (lacked && r == -ENOMEM), "round %u: %d", round->number, r);
	if (r < 0) {
		return lacked;
	}
	if (!lean_has_failed()) {
		while (answer() >= 0) {
		}
		cr_expect(is_served(), "round %u", round->number);
	} else {
		cr_expect(lacked && (closed == 0 || reason == -ENOMEM), "round %u: %d",
			  round->number, reason);
	}
	(void)close(peer_fd);
	return lacked;
}

static bool open_datagrams(const struct lean_round *round)
{
	struct gyre_socket_address address;
	const struct gyre_datagram_options options = datagram_options(&address);

	closed = 0;
	lean_begin(round);
	return expect_datagrams(round, gyre_system_datagram_open(lean_system(), &options, NULL),
				&address);
}

Test(no_memory, of_datagrams_is_told_by_the_call_or_the_end)
{
	lean_play(open_datagrams);
}

static bool spawn_datagrams(const struct lean_round *round)
{
	struct gyre_socket_address address;
	const struct gyre_datagram_options options = datagram_options(&address);
	struct gy_stack *stack = rig_stack(&lean_rig);
	struct gyre_address actor;

	closed = 0;
	lean_begin(round);
	return expect_datagrams(round, gyre_datagram_open(&stack->head, &options, &actor),
				&address);
}

Test(no_memory, of_datagrams_of_an_actor_is_told_likewise)
{
	lean_play(spawn_datagrams);
}
