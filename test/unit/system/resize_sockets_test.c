/*
 * Sockets other than those that listen, while loops retire: datagrams go on, clients end.
 */
#include "resize_rig.h"

#include <gyre/connect.h>
#include <gyre/datagram.h>
#include <gyre/listen.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "system/system.h"

TestSuite(resize_sockets, .timeout = 60);

enum { SENDERS = 64 };

static const struct timeval long_time = { .tv_sec = 100 };

static struct gyre_address actor;
static struct gyre_socket_address address;
static uint32_t served_on[LOOPS_MAX];
static uint32_t inits; /* atomic */
static int senders[SENDERS];

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gy_fetch_add(&served_on[gyre_self(gyre_context_stack(ctx)).loop], 1);
	(void)gyre_context_write(ctx, data);
}

static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

static int init_echo(struct gyre_channel *channel, void *arg)
{
	(void)gy_fetch_add(&inits, 1);
	return gyre_pipeline_add(channel, GYRE_LAST, &echo, arg);
}

static uint32_t datagram_steps[GYRE_DATAGRAM_CLOSED + 1]; /* atomic */

static void report_datagram(struct gyre_stack *stack, const struct gyre_datagram_event *event,
			    struct gyre_channel *channel, void *arg)
{
	(void)stack;
	(void)channel;
	(void)arg;
	(void)gy_fetch_add(&datagram_steps[event->step], 1);
}

static void open_datagrams(void)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .report = report_datagram,
						       .ret_address = &address };

	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, &actor), 0);
	for (size_t i = 0; i < SENDERS; i++) {
		senders[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		cr_assert_eq(setsockopt(senders[i], SOL_SOCKET, SO_RCVTIMEO, &long_time,
					sizeof(long_time)),
			     0);
		cr_assert_eq(
			connect(senders[i], (struct sockaddr *)&address.storage, address.bytes), 0);
	}
}

static void close_senders(void)
{
	for (size_t i = 0; i < SENDERS; i++) {
		(void)close(senders[i]);
	}
}

static void send_all(void)
{
	for (size_t i = 0; i < SENDERS; i++) {
		cr_assert_eq(send(senders[i], &i, sizeof(i), 0), (ssize_t)sizeof(i));
	}
}

static void receive_all(void)
{
	for (size_t i = 0; i < SENDERS; i++) {
		size_t got = SENDERS;
		ssize_t r = receive_in_time(senders[i], &got, sizeof(got));

		cr_expect_eq(r, (ssize_t)sizeof(got), "sender %zu: %s", i, strerror(errno));
		cr_expect_eq(got, i);
	}
}

Test(resize_sockets, lose_no_datagram_when_loops_retire)
{
	begin(4);
	open_datagrams();
	for (uint32_t loops = 3; loops > 0; loops--) {
		send_all();
		cr_assert_eq(resize(loops), 0);
		receive_all();
	}
	cr_assert_eq(resize(4), 0);
	send_all();
	receive_all();
	close_senders();
	fixture_close();
	cr_expect_eq(inits, 4 + 3, "a channel is made anew where a socket goes");
	cr_expect_eq(datagram_steps[GYRE_DATAGRAM_BOUND], inits);
	cr_expect_eq(datagram_steps[GYRE_DATAGRAM_CLOSED], inits);
}

Test(resize_sockets, that_wait_for_the_start_go_with_their_loops)
{
	open_with(4);
	open_datagrams();
	send_all();
	cr_assert_eq(resize(1), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	receive_all();
	close_senders();
	fixture_close();
	cr_expect_eq(served_on[0] + served_on[1] + served_on[2] + served_on[3], SENDERS);
}

/* A successor that has come with the start is given them, so their loops may not retire then. */
static void start_beside_a_successor(void)
{
	open_with(4);
	open_datagrams();
	cr_assert_eq(resize(1), 0);
	gy_store_full(&fixture.system->resizing.refused, 1);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_expect_eq(fixture.system->resizing.living, 4);
	cr_expect_eq(resize(1), -EBUSY);
	gy_store_full(&fixture.system->resizing.refused, 0);
	send_all();
	receive_all();
}

static void end_with(uint32_t loops)
{
	cr_expect_eq(fixture.system->resizing.living, loops);
	cr_expect_eq(gyre_system_loops(fixture.system), loops);
	send_all();
	receive_all();
	close_senders();
	fixture_close();
}

Test(resize_sockets, that_are_handed_over_stay_until_a_resize_to_the_same_number)
{
	start_beside_a_successor();
	cr_assert_eq(resize(1), 0);
	end_with(1);
}

Test(resize_sockets, that_are_handed_over_stay_until_a_resize_to_more_loops)
{
	start_beside_a_successor();
	cr_assert_eq(resize(2), 0);
	end_with(2);
}

Test(resize_sockets, that_are_handed_over_do_not_keep_the_system_from_its_end)
{
	start_beside_a_successor();
	close_senders();
	fixture_close();
}

static int stop_datagrams(struct gyre_stack *stack)
{
	return gyre_stop(stack, actor);
}

Test(resize_sockets, of_datagrams_close_together_wherever_they_have_gone)
{
	const struct gyre_class stopper = { .name = "stopper", .mount = stop_datagrams };
	int descriptors;

	begin(4);
	descriptors = descriptors_open();
	open_datagrams();
	cr_assert_eq(resize(2), 0);
	close_senders();
	(void)spawn_outside(&stopper, 0);
	while (descriptors_open() >= descriptors) { /* without two loops, and all sockets */
		(void)sched_yield();
	}
	fixture_close();
}

/* ---- clients ---- */

static uint32_t steps[GYRE_CONNECTION_GIVEN_UP + 1];

static void report(struct gyre_stack *stack, const struct gyre_connection *news,
		   struct gyre_channel *channel, void *arg)
{
	(void)stack;
	(void)channel;
	(void)arg;
	(void)gy_fetch_add(&steps[news->step], 1);
}

static int init_silent(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return 0;
}

Test(resize_sockets, of_clients_end_with_their_loop)
{
	const struct gyre_system_options options = { .loops = 2,
						     .loops_max = 2,
						     .drain_timeout_ns = GYRE_SECONDS(5) };
	struct gyre_acceptor_options listening = { .bind = "tcp://127.0.0.1:0",
						   .init_channel = init_echo,
						   .listeners = 1,
						   .ret_address = &address };
	struct gyre_connect_options to = { .init_channel = init_silent,
					   .report = report,
					   .retries_max = GYRE_RETRIES_UNLIMITED,
					   .place = { .place = GYRE_PLACE_LOOP, .loop = 1 } };
	struct gyre_address client;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	fixture_open_with(&options);
	cr_assert_eq(gyre_system_listen(fixture.system, &listening, NULL), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_geq(gyre_socket_address_format(&address, sizeof(text), text), 0);
	to.to = text;
	cr_assert_eq(gyre_system_connect(fixture.system, &to, &client), 0);
	wait_for(&steps[GYRE_CONNECTION_OPEN], 1);
	cr_assert_eq(resize(1), 0);
	cr_expect_eq(steps[GYRE_CONNECTION_CLOSED], steps[GYRE_CONNECTION_OPEN]);
	cr_expect_eq(gyre_system_connect(fixture.system, &to, &client), -EINVAL);
	fixture_close();
}
