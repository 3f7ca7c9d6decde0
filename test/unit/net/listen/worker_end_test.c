/* The end of a listener's workers: each stops with the last connection that its loop has. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/listen.h>

#include "actor/stack/stack.h"
#include "base/atomic.h"
#include "base/macros.h"
#include "channel/channels.h"
#include "echo.h"
#include "fixture.h"
#include "net/client_rig.h"

TestSuite(worker_end, .timeout = 60, .init = client_begin, .fini = client_end);

enum { LOOPS = 2, TIMES = 5 };

static struct gyre_address acceptor;
static struct gyre_socket_address address;

/* Actors that there are. */
static uint64_t actors(void)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	return counters.spawned - counters.stopped;
}

static void await_actors(uint64_t count)
{
	while (actors() != count) {
		sched_yield();
	}
}

static struct gyre_acceptor_options options_of_test(const struct gyre_class *class)
{
	return (struct gyre_acceptor_options){ .bind = "tcp://127.0.0.1:0",
					       .init_channel = init_echo,
					       .actor_class = class,
					       .connections_max = 100,
					       .ret_address = &address };
}

static void listen_there(const struct gyre_acceptor_options *options)
{
	cr_assert_eq(gyre_system_listen(fixture.system, options, &acceptor), 0);
}

static int connect_there(void)
{
	int fd = socket(address.storage.ss_family, address.type | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_assert(echoes(fd));
	return fd;
}

Test(worker_end, comes_with_that_of_a_listener_without_connections)
{
	const struct gyre_acceptor_options options = options_of_test(NULL);

	for (int i = 0; i < TIMES; i++) {
		listen_there(&options);
		await_actors(2 * LOOPS);
		client_stop(acceptor);
		await_actors(0);
	}
}

Test(worker_end, comes_where_connections_have_gone_before)
{
	const struct gyre_acceptor_options options = options_of_test(NULL);
	int fds[TIMES];

	listen_there(&options);
	for (int i = 0; i < TIMES; i++) {
		fds[i] = connect_there();
	}
	for (int i = 0; i < TIMES; i++) {
		(void)close(fds[i]);
	}
	client_stop(acceptor);
	await_actors(0);
}

Test(worker_end, waits_for_the_last_connection)
{
	struct gyre_acceptor_options options = options_of_test(NULL);
	int fds[2 * LOOPS];

	options.listeners = 1; /* so each loop has as many connections */
	listen_there(&options);
	for (size_t i = 0; i < gy_countof(fds); i++) {
		fds[i] = connect_there();
	}
	client_stop(acceptor);
	await_actors(LOOPS);
	for (size_t i = gy_countof(fds); i-- > 0;) {
		cr_expect(echoes(fds[i]));
		(void)close(fds[i]);
	}
	await_actors(0);
}

static const struct gyre_class owner_class = { .name = "owner" };

static void wait_for_owner(enum gyre_channel_bond bond)
{
	struct gyre_acceptor_options options = options_of_test(&owner_class);
	int fd;

	options.listeners = 1;
	options.bond = bond;
	listen_there(&options);
	fd = connect_there();
	client_stop(acceptor);
	await_actors(2); /* and the worker of the other loop has ended */
	cr_expect(echoes(fd));
	(void)close(fd);
}

Test(worker_end, waits_for_the_last_actor_of_a_connection)
{
	wait_for_owner(GYRE_BOND_BOTH);
	await_actors(0);
}

Test(worker_end, waits_for_no_actor_that_has_parted_from_its_connection)
{
	wait_for_owner(GYRE_BOND_ACTOR_ENDS_CHANNEL);
	await_actors(1);
}

/* ---- a connection whose actor leaves it to the worker ---- */

static uint32_t stopped; /* atomic */

static void stop_actor(struct gyre_handler_context *ctx)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	expect(gyre_stop(stack, gyre_self(stack)) == 0);
	gyre_context_fire_active(ctx);
}

static const struct gyre_handler stopping_handler = { .active = stop_actor };

static int init_stopping(struct gyre_channel *channel, void *arg)
{
	int r = gyre_pipeline_add(channel, GYRE_LAST, &stopping_handler, arg);

	return r < 0 ? r : init_echo(channel, arg);
}

static void count_stop(void *state)
{
	(void)state;
	(void)gy_fetch_add(&stopped, 1);
}

Test(worker_end, waits_for_a_connection_that_its_actor_has_left_to_it)
{
	static const struct gyre_class class = { .name = "owner", .clean = count_stop };
	struct gyre_acceptor_options options = options_of_test(&class);
	int fd;

	options.listeners = 1;
	options.bond = GYRE_BOND_PART;
	options.init_channel = init_stopping;
	listen_there(&options);
	fd = connect_there();
	client_stop(acceptor);
	while (gy_load_acquire(&stopped) < 1) {
		sched_yield();
	}
	await_actors(1);
	cr_expect(echoes(fd));
	(void)close(fd);
	await_actors(0);
}

/* ---- connections on their way ---- */

static uint32_t blocked;  /* atomic */
static uint32_t released; /* atomic */

/* Keeps its loop until the acceptor has ended, and then has its worker refuse connections that come
 * from other loops. */
static int block(struct gyre_stack *stack)
{
	gy_store_release(&blocked, 1);
	while (gy_load_acquire(&released) == 0) {
		sched_yield();
	}
	gy_channels_of(gy_stack_of(stack)->home)->leaving = true;
	return gyre_return(stack);
}

static int stop_acceptor(struct gyre_stack *stack)
{
	expect(gyre_stop(stack, acceptor) == 0);
	return gyre_return(stack);
}

static int connect_and_say(void)
{
	int fd = socket(address.storage.ss_family, address.type | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_assert_eq(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	return fd;
}

/* The first of two that is answered. */
static int answered_of(const int fds[2])
{
	struct pollfd polls[2] = { { .fd = fds[0], .events = POLLIN },
				   { .fd = fds[1], .events = POLLIN } };

	cr_assert_geq(poll(polls, 2, -1), 1);
	return polls[0].revents != 0 ? 0 : 1;
}

/* Two connections, of which the worker of the blocked loop is asked to take the one whose number is
 * returned. */
static int have_one_wait(int fds[2])
{
	int waiting;

	fds[0] = connect_and_say();
	fds[1] = connect_and_say();
	waiting = 1 - answered_of(fds);
	if (waiting == 1) { /* the next one is behind it */
		int next = connect_and_say();
		char byte;

		cr_assert_eq(recv(next, &byte, 1, 0), 1);
		(void)close(next);
	}
	return waiting;
}

Test(worker_end, closes_a_connection_that_it_refuses_and_whose_acceptor_has_ended)
{
	static const struct gyre_class blocker_class = { .name = "blocker",
							 .behaviour.notice = block };
	static const struct gyre_class stopper_class = { .name = "stopper",
							 .behaviour.notice = stop_acceptor };
	struct gyre_acceptor_options options = options_of_test(NULL);
	struct gyre_address blocker = spawn_outside(&blocker_class, 1);
	struct gyre_address stopper = spawn_outside(&stopper_class, 0);
	int fds[2];
	int waiting;
	char byte;

	options.listeners = 1;
	listen_there(&options);
	await_actors(2 + 1 + LOOPS);
	cr_assert_eq(notify_outside(blocker, 0), 0);
	while (gy_load_acquire(&blocked) == 0) {
		sched_yield();
	}
	waiting = have_one_wait(fds);
	cr_assert_eq(notify_outside(stopper, 0), 0);
	await_actors(2 + LOOPS);
	gy_store_release(&released, 1);
	cr_expect_leq(receive_in_time(fds[waiting], &byte, 1), 0, "it was taken");
	(void)close(fds[0]);
	(void)close(fds[1]);
	await_actors(2);
}

/* The listener ends while workers are asked to take connections: each is served or closed. */
Test(worker_end, comes_after_connections_that_are_on_their_way)
{
	struct gyre_acceptor_options options = options_of_test(NULL);
	int fds[TIMES];

	options.listeners = 1;
	for (int i = 0; i < 10 * TIMES; i++) {
		listen_there(&options);
		for (int j = 0; j < TIMES; j++) {
			fds[j] = socket(address.storage.ss_family,
					address.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
			(void)connect(fds[j], (struct sockaddr *)&address.storage, address.bytes);
		}
		client_stop(acceptor);
		for (int j = 0; j < TIMES; j++) {
			(void)close(fds[j]);
		}
		await_actors(0);
	}
}
