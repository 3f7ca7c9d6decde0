/*
 * Actors of channels without memory, from each allocation on: of a connection that comes, of one
 * that is made, and of a socket for datagrams. A connection that finds none is closed, and nothing
 * of its actor is left; what listens goes on, and what comes later is served.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/connect.h>
#include <gyre/datagram.h>
#include <gyre/listen.h>

#include "buffer/socket_address.h"
#include "echo.h"
#include "fixture.h"
#include "net/no_memory_client.h"

TestSuite(no_memory_channel_actor, .timeout = 120);

struct owner {
	uint64_t reads;
	struct gyre_future future;
};

static uint32_t mounted;
static uint32_t cleaned;
static int peer_fd;

/* Waits, so that its channel is held meanwhile. */
static int mount(struct gyre_stack *stack)
{
	struct owner *owner = (struct owner *)gyre_state(stack);

	if (gyre_stack_state(stack) == 0) {
		mounted++;
		cr_expect_not_null(gyre_actor_channel(stack));
		return gyre_sleep(stack, 1, &owner->future) < 0 ? gyre_throw(stack, -ENOMEM)
								: gyre_suspend(stack, 1);
	}
	return gyre_return(stack);
}

static void clean(void *state)
{
	(void)state;
	cleaned++;
}

static const struct gyre_class owner_class = { .name = "owner",
					       .state_bytes = sizeof(struct owner),
					       .frame_bytes = 3000, /* as nobody else has */
					       .mount = mount,
					       .clean = clean };

static int init(struct gyre_channel *channel, void *arg)
{
	cr_expect_not_null(gyre_channel_actor_state(channel));
	return init_echo(channel, arg);
}

static void connect_peer(const struct gyre_socket_address *address)
{
	peer_fd =
		socket(address->storage.ss_family, address->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	cr_assert(connect(peer_fd, (const struct sockaddr *)&address->storage, address->bytes) ==
			  0 ||
		  errno == EINPROGRESS);
}

/* What the peer has been answered with: bytes, 0 for the end, or a negative errno. */
static bool is_answered(struct rig *rig, void *arg)
{
	ssize_t *got = (ssize_t *)arg;
	char byte;

	(void)rig;
	*got = recv(peer_fd, &byte, 1, 0);
	*got = *got < 0 ? -errno : *got;
	return *got != -EAGAIN;
}

static ssize_t answer(const struct lean_round *round)
{
	ssize_t got = 0;

	cr_expect(rig_until_later(&lean_rig, is_answered, &got), "round %u: it is left alone",
		  round->number);
	return got;
}

static bool are_even(struct rig *rig, void *arg)
{
	(void)arg;
	return rig->home.houses == 1 + lean_houses;
}

/* Of a round that has ended nothing is left but what listens. */
static void expect_no_owner(const struct lean_round *round)
{
	cr_expect(rig_until_later(&lean_rig, are_even, NULL), "round %u: %u actors", round->number,
		  lean_rig.home.houses);
	cr_expect_geq(cleaned, mounted, "round %u", round->number);
}

/* ---- servers ---- */

static enum gyre_channel_bond bond;

static bool accept_once(const struct lean_round *round)
{
	struct gyre_socket_address address;
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .connections_max = 10,
						       .init_channel = init,
						       .actor_class = &owner_class,
						       .bond = bond,
						       .ret_address = &address };
	bool lacked;
	ssize_t got;

	mounted = cleaned = 0;
	cr_assert_eq(gyre_system_listen(lean_system(), &options, NULL), 0);
	rig_settle(&lean_rig);
	lean_houses = lean_rig.home.houses - 1;
	lean_begin(round);
	connect_peer(&address);
	(void)send(peer_fd, "x", 1, MSG_NOSIGNAL);
	rig_settle(&lean_rig);
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	lacked = lean_recover();
	got = answer(round);
	cr_expect(got == 1 || (lacked && got <= 0), "round %u: %zd", round->number, got);
	(void)close(peer_fd);
	expect_no_owner(round);
	connect_peer(&address);
	(void)send(peer_fd, "x", 1, MSG_NOSIGNAL);
	got = answer(round);
	cr_expect_eq(got, 1, "round %u: the listener does not go on", round->number);
	(void)close(peer_fd);
	expect_no_owner(round);
	return lacked;
}

Test(no_memory_channel_actor, of_a_connection_that_comes_closes_it_alone)
{
	lean_play(accept_once);
}

/* Where the channel would go on without its actor, and may find no memory for that. */
static bool accept_and_part(const struct lean_round *round)
{
	bond = GYRE_BOND_CHANNEL_ENDS_ACTOR;
	return accept_once(round);
}

Test(no_memory_channel_actor, that_need_not_stay_closes_its_connection_all_the_same)
{
	lean_play(accept_and_part);
}

/* ---- clients ---- */

static bool is_told(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return lean_reports.opened + lean_reports.given_up > 0 || rig->home.houses == 1;
}

static bool connect_once(const struct lean_round *round)
{
	struct gyre_socket_address address;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	const struct gyre_connect_options options = { .to = text,
						      .init_channel = init,
						      .actor_class = &owner_class,
						      .report = lean_hear,
						      .place = { .place = GYRE_PLACE_LOOP } };
	struct gyre_address actor;
	bool lacked;
	int fd;
	int r;

	mounted = cleaned = 0;
	lean_reports = (struct lean_reports){ 0 };
	cr_assert_eq(gyre_socket_address_parse("tcp://127.0.0.1:0", &address), 0);
	fd = lean_listen(&address, text);
	lean_begin(round);
	r = gyre_system_connect(lean_system(), &options, &actor);
	rig_settle(&lean_rig);
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	lacked = lean_recover();
	cr_expect(r < 0 || rig_until_later(&lean_rig, is_told, NULL), "round %u: nobody is told",
		  round->number);
	lean_check_client(round, r, lacked);
	(void)close(fd); /* which resets the connection */
	lean_houses = 0;
	expect_no_owner(round);
	return lacked;
}

Test(no_memory_channel_actor, of_a_client_is_told_to_whoever_wants_the_connection)
{
	lean_play(connect_once);
}

/* ---- datagrams ---- */

static bool open_datagrams(const struct lean_round *round)
{
	struct gyre_socket_address address;
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .one_loop = true,
						       .init_channel = init,
						       .actor_class = &owner_class,
						       .ret_address = &address };
	bool lacked;
	int r;

	mounted = cleaned = 0;
	lean_begin(round);
	r = gyre_system_datagram_open(lean_system(), &options, NULL);
	rig_settle(&lean_rig);
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	lacked = lean_recover();
	cr_expect(r == 0 || (lacked && r == -ENOMEM), "round %u: %d", round->number, r);
	cr_expect(lacked || (r == 0 && mounted == 1));
	if (r == 0 && lean_rig.home.houses == 3) {
		connect_peer(&address);
		(void)send(peer_fd, "x", 1, MSG_NOSIGNAL);
		cr_expect_eq(answer(round), 1, "round %u", round->number);
		(void)close(peer_fd);
	} else {
		lean_houses = 0;
		expect_no_owner(round);
	}
	return lacked;
}

Test(no_memory_channel_actor, of_a_socket_for_datagrams_ends_the_socket)
{
	lean_play(open_datagrams);
}
