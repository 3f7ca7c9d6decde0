/*
 * Names of the actors of sockets, which their options give as those of a spawn do: there at once,
 * and refused where another actor has them, whose address is told.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <unistd.h>

#include <gyre/connect.h>
#include <gyre/datagram.h>
#include <gyre/name.h>

#include "net/client_rig.h"

TestSuite(socket_name, .timeout = 60);

static const struct gyre_spawn_options by_name = { .name = "socket" };

static struct gyre_address holder;
static uint16_t port; /* where nobody answers */

static struct gyre_connect_options never(void)
{
	struct gyre_connect_options options = client_options(port);

	options.retries_max = GYRE_RETRIES_UNLIMITED;
	options.retry_min_ns = GYRE_SECONDS(60);
	options.retry_max_ns = GYRE_SECONDS(60);
	options.place = by_name;
	options.report = NULL;
	return options;
}

Test(socket_name, of_a_client_is_there_when_the_call_returns, .init = client_begin,
     .fini = client_end)
{
	int fd = client_bind("tcp://127.0.0.1:0", &port);
	const struct gyre_connect_options options = never();
	struct gyre_address client;
	struct gyre_address found;

	cr_assert_eq(gyre_system_connect(fixture.system, &options, &client), 0);
	cr_assert_eq(gyre_system_name_lookup(fixture.system, "socket", &found), 0);
	cr_expect(gyre_address_equal(found, client));
	cr_expect_eq(gyre_system_connect(fixture.system, &options, &found), -EEXIST);
	cr_expect(gyre_address_equal(found, client));
	(void)close(fd);
}

static int init_nothing(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return 0;
}

struct open_frame {
	struct gyre_future future;
	struct gyre_address actor;
};

static int open_clients(struct gyre_stack *stack)
{
	const struct gyre_connect_options options = { .to = "tcp://127.0.0.1:1",
						      .init_channel = init_nothing,
						      .place = by_name };
	struct open_frame *frame = (struct open_frame *)gyre_frame(stack);

	expect(gyre_spawn(stack, &sink_class, GYRE_NO_ARGUMENT, &by_name, &holder) == 0);
	expect(gyre_connect(stack, &options, &frame->actor, NULL) == -EEXIST);
	expect(gyre_address_equal(frame->actor, holder));
	frame->actor = GYRE_NOBODY;
	expect(gyre_connect(stack, &options, &frame->actor, &frame->future) == -EEXIST);
	expect(gyre_address_equal(frame->actor, holder));
	expect(gyre_future_error(&frame->future) == -EEXIST);
	expect(gyre_connect(stack, &options, NULL, NULL) == -EEXIST);
	return fixture_end(stack);
}

Test(socket_name, that_is_taken_refuses_a_client_and_tells_who_has_it)
{
	play(2, open_clients);
}

static int open_datagrams(struct gyre_stack *stack)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_nothing,
						       .place = by_name };
	struct gyre_address found = GYRE_NOBODY;
	struct gyre_address other = GYRE_NOBODY;

	expect(gyre_datagram_open(stack, &options, &holder) == 0);
	expect(gyre_name_lookup(stack, "socket", &found) == 0);
	expect(gyre_address_equal(found, holder));
	expect(gyre_datagram_open(stack, &options, &other) == -EEXIST);
	expect(gyre_address_equal(other, holder));
	return fixture_end(stack);
}

Test(socket_name, of_a_datagram_socket_is_there_at_once_or_tells_who_has_it)
{
	play(2, open_datagrams);
}
