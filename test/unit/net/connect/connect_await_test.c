/* Connecting where a handler awaits the first connection, and actors that own a client's channel.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/listen.h>
#include <gyre/shutdown.h>
#include <gyre/watch.h>

#include "base/atomic.h"
#include "base/macros.h"
#include "echo.h"
#include "net/client_rig.h"

TestSuite(connect_await, .timeout = 60);

struct frame {
	struct gyre_future future;
	struct gyre_future other;
	struct gyre_address socket;
};

static struct gyre_connect_options options_of_test;
static char to_text[64];
static struct gyre_address waiter;
static struct gyre_address socket_of_waiter;
static uint32_t waiting; /* atomic */
static uint32_t cleaned; /* atomic: actors of channels */
static uint32_t mounted; /* atomic, likewise */

/* ---- actors of channels ---- */

static int count_mount(struct gyre_stack *stack)
{
	expect(gyre_message(stack, gyre_channel_attached)->arg == &cleaned);
	expect(gyre_actor_channel(stack) != NULL);
	(void)gy_fetch_add(&mounted, 1);
	return gyre_return(stack);
}

static int fail_mount(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&mounted, 1);
	return gyre_throw(stack, -EACCES);
}

static void count_clean(void *state)
{
	(void)state;
	(void)gy_fetch_add(&cleaned, 1);
}

static int add(struct gyre_stack *stack)
{
	expect(gyre_actor_channel(stack) != NULL);
	return gyre_reply(stack, gyre_new(stack, number, gyre_message(stack, number)->value + 1));
}

static const struct gyre_class owner_class = { .name = "owner",
					       .state_bytes = sizeof(uint64_t),
					       .mount = count_mount,
					       .clean = count_clean,
					       .behaviour.ask = add };

static const struct gyre_class failing_class = { .name = "failing",
						 .mount = fail_mount,
						 .clean = count_clean };

/* ---- a server, and scripts that connect to it ---- */

static void set_target(uint16_t port)
{
	(void)snprintf(to_text, sizeof(to_text), "tcp://127.0.0.1:%u", (unsigned)port);
	options_of_test.to = to_text;
	options_of_test.init_channel = init_echo;
	options_of_test.init_arg = &cleaned;
}

/* Plays a script beside a server that echoes. */
static void play_beside_server(gyre_handler_fn script)
{
	const struct gyre_class class = { .name = "script",
					  .mount = script,
					  .frame_bytes = sizeof(struct frame) };
	uint16_t port = 0;
	const struct gyre_acceptor_options server = { .bind = "tcp://127.0.0.1:0",
						      .init_channel = init_echo,
						      .ret_port = &port };

	fixture_open(2);
	cr_assert_eq(gyre_system_listen(fixture.system, &server, NULL), 0);
	set_target(port);
	(void)spawn_outside(&class, 0);
	fixture_run();
	fixture_close();
}

static int connect_once(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	const struct gyre_connected *connected;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_connect(stack, &options_of_test, &frame->socket, &frame->future));
	connected = gyre_future_get(&frame->future, gyre_connected);
	expect(connected != NULL && gyre_address_is_nobody(connected->actor));
	expect(connected != NULL && !gyre_address_is_nobody(connected->channel));
	expect(connected != NULL && connected->connection == 0);
	if (connected != NULL) {
		char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

		expect(gyre_socket_address_format(&connected->peer, sizeof(text), text) >= 0);
		expect(strcmp(text, to_text) == 0);
		GYRE_AWAIT(stack,
			   gyre_send_bytes(stack, connected->channel, "x", 1, 0, &frame->other));
		expect(gyre_future_error(&frame->other) == 0);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(connect_await, gives_the_address_of_the_channel)
{
	play_beside_server(connect_once);
}

Test(connect_await, works_from_another_loop)
{
	options_of_test.place = (struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 1 };
	play_beside_server(connect_once);
}

static int connect_owned(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	const struct gyre_connected *connected;
	const struct number *answer;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_connect(stack, &options_of_test, &frame->socket, &frame->future));
	connected = gyre_future_get(&frame->future, gyre_connected);
	expect(connected != NULL);
	if (connected == NULL) {
		return fixture_end(stack);
	}
	GYRE_AWAIT(stack,
		   gyre_ask(stack, connected->actor, gyre_new(stack, number, 6), 0, &frame->other));
	answer = gyre_future_get(&frame->other, number);
	expect(answer != NULL && answer->value == 7);
	expect(gyre_stop(stack, frame->socket) == 0);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->socket, GYRE_FOREVER, &frame->future));
	expect(gy_load_acquire(&cleaned) == 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(connect_await, gives_the_actor_of_the_channel_too_which_ends_before_that_which_connects)
{
	options_of_test.actor_class = &owner_class;
	play_beside_server(connect_owned);
	cr_expect_eq(mounted, 1);
}

Test(connect_await, gives_the_actor_of_the_channel_on_another_loop)
{
	options_of_test.actor_class = &owner_class;
	options_of_test.place = (struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 1 };
	play_beside_server(connect_owned);
}

static uint32_t noticed; /* atomic */

static int count_notice(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&noticed, gyre_actor_channel(stack) == NULL);
	return gyre_return(stack);
}

static struct gyre_address lonely;

static int tell_who(struct gyre_stack *stack)
{
	lonely = gyre_self(stack);
	return gyre_return(stack);
}

/* A client gives its only connection up, whose actor may go on. Returns the listening socket. */
static int lose_connection_of(const struct gyre_class *class, gyre_init_channel_fn init_channel)
{
	struct gyre_connect_options options;
	uint16_t port;
	int fd;

	client_begin();
	fd = client_listen(&port);
	options = client_options(port);
	options.init_channel = init_channel == NULL ? options.init_channel : init_channel;
	options.actor_class = class;
	options.bond = GYRE_BOND_ACTOR_ENDS_CHANNEL;
	(void)client_connect(&options);
	(void)close(client_accept(fd));
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	return fd;
}

/* The actor that has connected ends with its only connection. */
Test(connect_await, leaves_an_actor_alone_that_goes_on_without_its_channel)
{
	static const struct gyre_class class = { .name = "lonely",
						 .mount = tell_who,
						 .clean = count_clean,
						 .behaviour.notice = count_notice };
	int fd = lose_connection_of(&class, NULL);

	while (gy_load_acquire(&noticed) == 0 && gy_load_acquire(&cleaned) == 0) {
		cr_assert_eq(notify_outside(lonely, 0), 0);
		sched_yield();
	}
	cr_expect_eq(gy_load_acquire(&cleaned), 0);
	(void)close(fd);
	client_end();
	cr_expect_eq(cleaned, 1);
}

enum { FILLERS = 64 };

static struct gyre_address maker; /* of the channel's actor */
static char heir_path[GYRE_PATH_TEXT_MAX];
static uint32_t filled;
static uint32_t heir_told; /* atomic */

/* Takes memory that was just freed. */
static int fill_memory(struct gyre_stack *stack)
{
	if (++filled == FILLERS) {
		expect(gyre_notify(stack, gyre_parent(stack), gyre_new(stack, number, 0)) == 0);
	}
	return gyre_return(stack);
}

static int begin_heir(struct gyre_stack *stack)
{
	expect(gyre_path(stack, sizeof(heir_path), heir_path) > 0);
	expect(gyre_watch(stack, maker) == 0);
	return gyre_return(stack);
}

static int outlive_maker(struct gyre_stack *stack)
{
	static const struct gyre_class filler_class = { .name = "filler",
							.state_bytes = 64,
							.mount = fill_memory };
	struct gyre_address filler;

	expect(gyre_message(stack, gyre_terminated) != NULL);
	for (uint32_t i = 0; i < FILLERS; i++) {
		expect(gyre_spawn(stack, &filler_class, GYRE_NO_ARGUMENT, NULL, &filler) == 0);
	}
	return gyre_return(stack);
}

static int compare_path(struct gyre_stack *stack)
{
	char path[GYRE_PATH_TEXT_MAX];

	expect(gyre_path(stack, sizeof(path), path) > 0);
	expect(strcmp(path, heir_path) == 0);
	(void)gy_fetch_add(&heir_told, 1);
	return gyre_return(stack);
}

static int bear_heir(struct gyre_stack *stack)
{
	static const struct gyre_class heir_class = { .name = "heir",
						      .mount = begin_heir,
						      .behaviour = { .notice = compare_path,
								     .event = outlive_maker } };
	struct gyre_address heir;

	maker = gyre_parent(stack);
	expect(gyre_spawn(stack, &heir_class, GYRE_NO_ARGUMENT, NULL, &heir) == 0);
	return gyre_return(stack);
}

Test(connect_await, leaves_the_paths_of_children_whose_parent_goes_on_without_its_channel)
{
	static const struct gyre_class class = { .name = "lonely", .mount = bear_heir };
	int fd = lose_connection_of(&class, NULL);

	while (gy_load_acquire(&heir_told) == 0) {
		sched_yield();
	}
	(void)close(fd);
	client_end();
}

static void tell_self(struct gyre_handler_context *context)
{
	struct gyre_stack *stack = gyre_context_stack(context);

	expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 1)) == 0);
	gyre_context_fire_inactive(context);
}

static int init_tell_self(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler handler = { .name = "tell self", .inactive = tell_self };
	int r = init_echo(channel, arg);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &handler, NULL);
}

static int count_and_fail(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&noticed, 1);
	return gyre_throw(stack, -EIO);
}

/* The actor that has connected ends before its child fails, and cannot decide any more. */
Test(connect_await, stops_an_actor_that_goes_on_without_its_channel_and_fails_without_its_parent)
{
	static const struct gyre_class class = { .name = "lonely",
						 .clean = count_clean,
						 .strategy = GYRE_STRATEGY_ESCALATE,
						 .behaviour.notice = count_and_fail };
	int fd = lose_connection_of(&class, init_tell_self);

	while (gy_load_acquire(&cleaned) == 0) {
		sched_yield();
	}
	cr_expect_eq(noticed, 1);
	(void)close(fd);
	client_end();
}

static bool is_of_one(const struct gyre_type *type, const void *message)
{
	return type == &gyre_type_number && ((const struct number *)message)->value == 1;
}

static void tell_self_of_both(struct gyre_handler_context *context)
{
	struct gyre_stack *stack = gyre_context_stack(context);

	(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 0));
	(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 1));
	gyre_context_fire_inactive(context);
}

static int init_tell_self_of_both(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler handler = { .name = "tell self",
						     .inactive = tell_self_of_both };
	int r = init_echo(channel, arg);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &handler, NULL);
}

static int stop_with_urgent_mail(struct gyre_stack *stack)
{
	expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 1)) == 0);
	return gyre_stop(stack, gyre_self(stack));
}

/* The fixture counts what is sent and what becomes of it. */
Test(connect_await, drops_urgent_mail_of_an_actor_that_stops_and_what_its_handlers_send_to_it)
{
	static const struct gyre_class class = { .name = "lonely",
						 .mount = tell_who,
						 .clean = count_clean,
						 .urgent = is_of_one,
						 .behaviour.notice = stop_with_urgent_mail };
	uint16_t port;
	int fd;
	int client;
	struct gyre_connect_options options;

	client_begin();
	fd = client_listen(&port);
	options = client_options(port);
	options.init_channel = init_tell_self_of_both;
	options.actor_class = &class;
	(void)client_connect(&options);
	client = client_accept(fd);
	cr_assert_eq(notify_outside(lonely, 0), 0);
	while (gy_load_acquire(&cleaned) == 0) {
		sched_yield();
	}
	(void)close(client);
	(void)close(fd);
	client_end();
}

/* ---- failures ---- */

static int expected_error;

static int connect_in_vain(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_connect(stack, &options_of_test, NULL, &frame->future));
	expect(gyre_future_error(&frame->future) == expected_error);
	return fixture_end(stack);
	GYRE_END(stack);
}

static void play_in_vain(uint16_t port, int error)
{
	expected_error = error;
	set_target(port);
	play(2, connect_in_vain);
}

Test(connect_await, tells_why_nothing_could_be_connected)
{
	uint16_t port;
	int fd = client_bind("tcp://127.0.0.1:0", &port);

	options_of_test.retries_max = 2;
	options_of_test.retry_max_ns = GYRE_MILLISECONDS(1);
	play_in_vain(port, -ECONNREFUSED);
	(void)close(fd);
}

Test(connect_await, tells_the_same_where_many_connections_are_wanted)
{
	uint16_t port;
	int fd = client_bind("tcp://127.0.0.1:0", &port);

	options_of_test.connections = 5;
	options_of_test.place = (struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 1 };
	play_in_vain(port, -ECONNREFUSED);
	(void)close(fd);
}

static int init_refusing(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return -EPERM;
}

static int refuse_handlers(struct gyre_stack *stack)
{
	options_of_test.init_channel = init_refusing;
	return connect_in_vain(stack);
}

Test(connect_await, tells_what_the_initialiser_refused_with)
{
	expected_error = -EPERM;
	set_target(1);
	play(2, refuse_handlers);
}

Test(connect_await, tells_what_the_mount_of_the_actor_failed_with)
{
	options_of_test.actor_class = &failing_class;
	options_of_test.retries_max = 1;
	options_of_test.retry_max_ns = GYRE_MILLISECONDS(1);
	play_in_vain(1, -EACCES);
	cr_expect_eq(mounted, 2, "each round has an actor");
	cr_expect_eq(cleaned, 2);
}

Test(connect_await, gives_the_actor_of_each_round_up_with_its_channel)
{
	uint16_t port;
	int fd = client_bind("tcp://127.0.0.1:0", &port);

	options_of_test.actor_class = &owner_class;
	options_of_test.retries_max = 3;
	options_of_test.retry_max_ns = GYRE_MILLISECONDS(1);
	play_in_vain(port, -ECONNREFUSED);
	cr_expect_eq(mounted, 4);
	cr_expect_eq(cleaned, 4);
	(void)close(fd);
}

static int misuse(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	struct gyre_connect_options bad = options_of_test;

	bad.to = "nonsense";
	expect(gyre_connect(stack, &bad, NULL, &frame->future) < 0);
	expect(gyre_future_error(&frame->future) < 0);
	expect(gyre_connect(stack, NULL, NULL, &frame->future) == -EINVAL);
	expect(gyre_future_error(&frame->future) == -EINVAL);
	bad = options_of_test;
	bad.bond = (enum gyre_channel_bond)(GYRE_BOND_PART + 1);
	expect(gyre_connect(stack, &bad, NULL, NULL) == -EINVAL);
	return fixture_end(stack);
}

Test(connect_await, answers_misuse_at_once_and_by_the_future)
{
	set_target(1);
	play(1, misuse);
}

/* ---- who no longer waits ---- */

static int wait_for_hole(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	expect(gyre_connect(stack, &options_of_test, &frame->socket, &frame->future) == 0);
	expect(gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->other) == 0);
	socket_of_waiter = frame->socket;
	gy_store_release(&waiting, 1);
	GYRE_AWAIT_ALL(stack, &frame->other);
	return gyre_throw(stack, -EIO); /* the other is still outstanding */
	GYRE_END(stack);
}

static const struct gyre_class waiter_class = { .name = "waiter",
						.frame_bytes = sizeof(struct frame),
						.strategy = GYRE_STRATEGY_IGNORE,
						.behaviour.notice = wait_for_hole };

static int watch_hole(struct gyre_stack *stack)
{
	if (gy_load_acquire(&waiting) == 0) {
		expect(gyre_notify(stack, waiter, gyre_new(stack, number, 0)) == 0);
		return gyre_timer_start(stack, 1,
					&(struct gyre_timer_options){ .delay_ns = 1000000 });
	}
	expect(gyre_watch(stack, socket_of_waiter) == 0);
	return gyre_return(stack);
}

static int hole_event(struct gyre_stack *stack)
{
	if (gyre_message(stack, gyre_timeout) != NULL) {
		return gy_load_acquire(&waiting) == 0
			       ? gyre_timer_start(
					 stack, 1,
					 &(struct gyre_timer_options){ .delay_ns = 1000000 })
			       : watch_hole(stack);
	}
	expect(gyre_message(stack, gyre_terminated) != NULL);
	return fixture_end(stack);
}

Test(connect_await, is_over_when_nobody_waits_any_more)
{
	static const struct gyre_class class = { .name = "watcher",
						 .mount = watch_hole,
						 .behaviour.event = hole_event };
	struct client_hole hole;
	uint16_t port;

	client_hole_open(&hole, client_listen(&port));
	set_target(port);
	options_of_test.retries_max = GYRE_RETRIES_UNLIMITED;
	options_of_test.place = (struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 1 };
	fixture_open(2);
	waiter = spawn_outside(&waiter_class, 0);
	(void)spawn_outside(&class, 1);
	fixture_run();
	fixture_close();
	client_hole_close(&hole);
}

/* ---- the end of the system ---- */

static int result;

static int hold_and_connect(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	expect(gyre_shutdown_hold(stack, GYRE_SHUTDOWN_CLOSE) == 0);
	GYRE_AWAIT(stack, gyre_connect(stack, &options_of_test, NULL, &frame->future));
	result = gyre_future_error(&frame->future);
	return gyre_shutdown_release(stack, GYRE_SHUTDOWN_CLOSE);
	GYRE_END(stack);
}

/* Else an actor that finishes what it has begun would hold the system up until its time is over. */
static void end_while_connecting(uint32_t loop)
{
	static const struct gyre_class class = { .name = "holder",
						 .frame_bytes = sizeof(struct frame),
						 .behaviour.notice = hold_and_connect };
	uint16_t port;
	int fd;

	client_begin();
	fd = client_bind("tcp://127.0.0.1:0", &port);
	options_of_test = client_options(port);
	options_of_test.connections = 2;
	options_of_test.retries_max = GYRE_RETRIES_UNLIMITED;
	options_of_test.retry_min_ns = GYRE_SECONDS(10000);
	options_of_test.place =
		(struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = loop };
	cr_assert_eq(notify_outside(spawn_outside(&class, 0), 0), 0);
	(void)client_until(GYRE_CONNECTION_PAUSE);
	(void)client_until(GYRE_CONNECTION_PAUSE);
	(void)close(fd);
	client_end();
	cr_expect_eq(result, -ESHUTDOWN, "%s", strerror(-result));
}

Test(connect_await, is_over_when_the_system_closes_its_connections)
{
	end_while_connecting(0);
}

Test(connect_await, is_over_when_another_loop_closes_its_connections)
{
	end_while_connecting(1);
}

/* ---- the time that an asker has left ---- */

static int dial(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_connect(stack, &options_of_test, &frame->socket, &frame->future));
	expect(gyre_future_error(&frame->future) == -ETIMEDOUT);
	expect(gyre_time_left(stack) == 0 || !gyre_is_awaited(stack));
	expect(gyre_connect(stack, &options_of_test, NULL, &frame->other) == -ETIMEDOUT);
	expect(gyre_watch(stack, frame->socket) == 0);
	return gyre_return(stack);
	GYRE_END(stack);
}

static int end_with_socket(struct gyre_stack *stack)
{
	expect(gyre_message(stack, gyre_terminated) != NULL);
	return fixture_end(stack);
}

static const struct gyre_class dialer_class = { .name = "dialer",
						.frame_bytes = sizeof(struct frame),
						.behaviour = { .ask = dial,
							       .event = end_with_socket } };

static int ask_to_dial(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, spawn_here(stack, &dialer_class), gyre_new(stack, number, 1),
			    GYRE_MILLISECONDS(50), &frame->future));
	expect(gyre_future_error(&frame->future) == -ETIMEDOUT);
	GYRE_END(stack);
}

Test(connect_await, tries_no_longer_than_the_asker_of_its_message_waits)
{
	struct gyre_socket_address address;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	socklen_t bytes = sizeof(address.storage);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	/* Bound and not listening: all who connect are refused. */
	cr_assert_eq(gyre_socket_address_parse("tcp://127.0.0.1:0", &address), 0);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&address.storage, address.bytes), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&address.storage, &bytes), 0);
	cr_assert_geq(gyre_socket_address_format(&address, sizeof(text), text), 0);
	options_of_test.retries_max = GYRE_RETRIES_UNLIMITED;
	options_of_test.to = text;
	options_of_test.init_channel = init_echo;
	options_of_test.init_arg = &cleaned;
	play(2, ask_to_dial);
	cr_assert_eq(close(fd), 0);
}
