/* The addresses of a channel's two ends. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/socket_address.h>

#include "buffer/socket_address.h"
#include "rig.h"

TestSuite(endpoint_address, .timeout = 60);

static int local_error;
static int peer_error;
static uint32_t gone;

static void ask_at_the_end(struct gyre_handler_context *ctx)
{
	struct gyre_socket_address address;

	local_error = gyre_channel_local_address(gyre_context_channel(ctx), &address);
	peer_error = gyre_channel_peer_address(gyre_context_channel(ctx), &address);
	gone++;
}

static const struct gyre_handler asking = { .name = "asking", .unregistered = ask_at_the_end };
static const struct gyre_handler *const asking_only[] = { &asking, NULL };

static bool is_gone(struct rig *rig, void *arg)
{
	(void)arg;
	return rig_channels(rig)->open == 0;
}

Test(endpoint_address, of_a_connection_are_those_that_the_peer_sees_the_other_way_round)
{
	struct gyre_socket_address expected;
	struct gyre_socket_address address;
	struct gyre_channel *channel;
	struct rig rig;
	int far;

	rig_init(&rig, NULL);
	far = rig_open_tcp(&rig, asking_only, NULL, NULL, &channel);
	cr_assert_eq(gy_socket_address_of(far, &expected), 0);
	cr_assert_eq(gyre_channel_peer_address(channel, &address), 0);
	cr_expect(gyre_socket_address_equal(&address, &expected));
	cr_assert_eq(gy_socket_address_of_peer(far, &expected), 0);
	cr_assert_eq(gyre_channel_local_address(channel, &address), 0);
	cr_expect(gyre_socket_address_equal(&address, &expected));
	cr_expect_eq(address.type, SOCK_STREAM);
	(void)close(far);
	cr_assert(rig_until(&rig, is_gone, NULL));
	cr_expect_eq(gone, 1);
	cr_expect_eq(local_error, 0);
	rig_fini(&rig);
}

Test(endpoint_address, of_a_connection_that_was_reset_are_not_known_any_more)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct rig rig;
	int far;

	rig_init(&rig, NULL);
	far = rig_open_tcp(&rig, asking_only, NULL, NULL, NULL);
	rig_settle(&rig);
	cr_assert_eq(setsockopt(far, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	(void)close(far);
	cr_assert(rig_until(&rig, is_gone, NULL));
	cr_expect_eq(peer_error, -ENOTCONN);
	rig_fini(&rig);
}

Test(endpoint_address, of_unix_sockets_may_have_no_name)
{
	struct gyre_socket_address address;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct gyre_channel *channel;
	struct rig rig;
	int far;

	rig_init(&rig, NULL);
	far = rig_open(&rig, asking_only, NULL, NULL, &channel);
	cr_assert_eq(gyre_channel_peer_address(channel, &address), 0);
	cr_expect_eq(address.storage.ss_family, AF_UNIX);
	cr_assert_eq(gyre_socket_address_format(&address, sizeof(text), text), 5);
	cr_expect_str_eq(text, "unix:");
	(void)close(far);
	rig_fini(&rig);
}

Test(endpoint_address, are_not_asked_for_without_a_channel_or_room)
{
	struct gyre_socket_address address;
	struct gyre_channel *channel;
	struct rig rig;
	int far;

	rig_init(&rig, NULL);
	far = rig_open(&rig, asking_only, NULL, NULL, &channel);
	cr_expect_eq(gyre_channel_local_address(NULL, &address), -EINVAL);
	cr_expect_eq(gyre_channel_local_address(channel, NULL), -EINVAL);
	cr_expect_eq(gyre_channel_peer_address(NULL, &address), -EINVAL);
	cr_expect_eq(gyre_channel_peer_address(channel, NULL), -EINVAL);
	(void)close(far);
	rig_fini(&rig);
}

Test(endpoint_address, are_open_for_questions_by_their_descriptor)
{
	struct gyre_channel *channel;
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	struct rig rig;
	int far;

	rig_init(&rig, NULL);
	far = rig_open(&rig, asking_only, NULL, NULL, &channel);
	cr_assert_eq(getsockopt(gyre_channel_descriptor(channel), SOL_SOCKET, SO_PEERCRED, &peer,
				&bytes),
		     0);
	cr_expect_eq(peer.pid, getpid());
	cr_expect_eq(gyre_channel_descriptor(NULL), -EINVAL);
	(void)close(far);
	rig_fini(&rig);
}
