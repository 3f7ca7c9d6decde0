/* Connecting to addresses: what succeeds, how it fails, when it is tried again, and how it ends. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gyre/outside.h>
#include <gyre/watch.h>

#include "base/atomic.h"
#include "base/macros.h"
#include "buffer/socket_address.h"
#include "channel/channel.h"
#include "net/client_rig.h"

TestSuite(connecting, .timeout = 60);

/* A port where nobody listens; @ret_fd keeps it from others. */
static uint16_t closed_port(int *ret_fd)
{
	uint16_t port;

	*ret_fd = client_bind("tcp://127.0.0.1:0", &port);
	return port;
}

/* ---- success ---- */

Test(connecting, makes_a_channel_that_is_served, .init = client_begin, .fini = client_end)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = client_options(port);
	struct gyre_connection report;
	int connection;

	(void)client_connect(&options);
	connection = client_accept(fd);
	report = client_next(GYRE_CONNECTION_OPEN);
	cr_expect_eq(gyre_socket_address_port(&report.address), port);
	cr_expect_eq(report.failures, 0);
	(void)close(connection);
	cr_expect_eq(client_next(GYRE_CONNECTION_CLOSED).reason, 0);
	cr_expect_eq(client_next(GYRE_CONNECTION_GIVEN_UP).reason, 0);
	(void)close(fd);
}

Test(connecting, names_the_channel_by_one_address_in_its_reports, .init = client_begin,
     .fini = client_end)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = client_options(port);
	struct gyre_connection opened;
	struct gyre_connection closed;
	int connection;

	(void)client_connect(&options);
	connection = client_accept(fd);
	opened = client_next(GYRE_CONNECTION_OPEN);
	cr_expect_not(gyre_address_is_nobody(opened.channel));
	(void)close(connection);
	closed = client_next(GYRE_CONNECTION_CLOSED);
	cr_expect(gyre_address_equal(closed.channel, opened.channel));
	cr_expect(gyre_address_is_nobody(client_next(GYRE_CONNECTION_GIVEN_UP).channel));
	(void)close(fd);
}

static gyre_init_channel_fn init_echo;
static int silence_seconds;

static void look_at_socket(struct gyre_handler_context *ctx)
{
	int fd = gyre_context_channel(ctx)->endpoint.fd;
	socklen_t bytes = sizeof(silence_seconds);
	int kept = 0;

	expect(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &kept, &bytes) == 0);
	expect(kept == 1);
	expect(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &silence_seconds, &bytes) == 0);
	gyre_context_fire_active(ctx);
}

static const struct gyre_handler looking = { .active = look_at_socket };

static int init_looking(struct gyre_channel *channel, void *arg)
{
	int r = gyre_pipeline_add(channel, GYRE_FIRST, &looking, NULL);

	return r < 0 ? r : init_echo(channel, arg);
}

/* One connection, until the peer ends it. */
static void connect_once(gyre_init_channel_fn init, uint64_t keep_alive_ns)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = client_options(port);
	int connection;

	init_echo = options.init_channel;
	options.init_channel = init;
	options.channel.keep_alive_ns = keep_alive_ns;
	(void)client_connect(&options);
	connection = client_accept(fd);
	(void)client_next(GYRE_CONNECTION_OPEN);
	(void)close(connection);
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	(void)close(fd);
}

Test(connecting, asks_a_silent_peer_whether_it_is_there_if_that_is_wanted, .init = client_begin,
     .fini = client_end)
{
	connect_once(init_looking, GYRE_SECONDS(9));
	cr_expect_eq(silence_seconds, 9);
}

static int ask_for_ends(struct gyre_channel *channel, void *arg)
{
	struct gyre_socket_address address;

	expect(gyre_channel_descriptor(channel) == -ENOTCONN);
	expect(gyre_channel_local_address(channel, &address) == -ENOTCONN);
	expect(gyre_channel_peer_address(channel, &address) == -ENOTCONN);
	return init_echo(channel, arg);
}

Test(connecting, has_no_ends_before_it_is_connected, .init = client_begin, .fini = client_end)
{
	connect_once(ask_for_ends, 0);
}

Test(connecting, makes_as_many_as_are_wanted, .init = client_begin, .fini = client_end)
{
	enum { COUNT = 20 };
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = client_options(port);
	int connections[COUNT];
	bool seen[COUNT] = { false };

	options.connections = COUNT;
	(void)client_connect(&options);
	for (size_t i = 0; i < COUNT; i++) {
		connections[i] = client_accept(fd);
		seen[client_next(GYRE_CONNECTION_OPEN).connection] = true;
	}
	for (size_t i = 0; i < COUNT; i++) {
		cr_expect(seen[i]);
		(void)close(connections[i]);
	}
	(void)close(fd);
}

static struct gyre_address spawn_in_turn(void)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_ROUND_ROBIN };
	struct gyre_address address = { 0 };

	cr_assert_eq(gyre_system_spawn(fixture.system, &sink_class, GYRE_NO_ARGUMENT, &options,
				       &address),
		     0);
	return address;
}

Test(connecting, does_not_take_the_turn_of_state_actors, .init = client_begin, .fini = client_end)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = client_options(port);
	struct gyre_address first = spawn_in_turn();
	struct gyre_address client;
	struct gyre_address other;

	options.place.place = GYRE_PLACE_ROUND_ROBIN;
	client = client_connect(&options);
	cr_expect_neq(spawn_in_turn().loop, first.loop, "clients count for themselves");
	other = client_connect(&options);
	cr_expect_neq(other.loop, client.loop);
	cr_expect_eq(spawn_in_turn().loop, first.loop);
	client_stop(client);
	client_stop(other);
	(void)close(fd);
}

Test(connecting, works_over_unix_sockets, .init = client_begin, .fini = client_end)
{
	char text[64];
	struct gyre_connect_options options = client_options(0);
	struct gyre_socket_address address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(text, sizeof(text), "unix:@gyre-connect-%d", (int)getpid());
	cr_assert_eq(gyre_socket_address_parse(text, &address), 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_assert_eq(listen(fd, 1), 0);
	options.to = text;
	(void)client_connect(&options);
	(void)close(client_accept(fd));
	(void)close(fd);
}

/* The peer sees the path as long as there is a connection; then it is there for the next one. */
Test(connecting, leaves_no_file_of_its_own_unix_address, .init = client_begin, .fini = client_end)
{
	char folder[] = "/tmp/gyre-connect-XXXXXX";
	char from[64];
	char to[64];
	char seen[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct gyre_connect_options options = client_options(0);
	struct gyre_socket_address address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(from, sizeof(from), "unix:%s/client", folder);
	(void)snprintf(to, sizeof(to), "unix:@gyre-connect-%d", (int)getpid());
	cr_assert_eq(gyre_socket_address_parse(to, &address), 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	options.to = to;
	options.local = from;
	options.retries_max = 1;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	options.retry_max_ns = GYRE_MILLISECONDS(1);
	cr_assert_eq(listen(fd, 1), 0);
	(void)client_connect(&options);
	for (int i = 0; i < 3; i++) {
		int connection = client_accept(fd);
		struct stat status;

		(void)client_next(GYRE_CONNECTION_OPEN);
		cr_assert_eq(gy_socket_address_of_peer(connection, &address), 0);
		cr_assert_gt(gyre_socket_address_format(&address, sizeof(seen), seen), 0);
		cr_expect_str_eq(seen, from);
		cr_expect_eq(lstat(from + strlen("unix:"), &status), 0, "it is there");
		if (i == 2) {
			(void)close(fd);
		}
		(void)close(connection);
		(void)client_next(GYRE_CONNECTION_CLOSED);
		(void)client_next(GYRE_CONNECTION_PAUSE);
	}
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, -ECONNREFUSED);
	(void)client_next(GYRE_CONNECTION_PAUSE);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, -ECONNREFUSED, "nor is it in use");
	(void)client_next(GYRE_CONNECTION_GIVEN_UP);
	cr_expect_eq(rmdir(folder), 0, "no file is left");
}

Test(connecting, comes_from_the_address_that_was_given, .init = client_begin, .fini = client_end)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = client_options(port);
	struct gyre_socket_address from;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int connection;

	options.local = "tcp://127.0.0.2:0";
	(void)client_connect(&options);
	connection = client_accept(fd);
	cr_assert_eq(gy_socket_address_of_peer(connection, &from), 0);
	cr_assert_gt(gyre_socket_address_format(&from, sizeof(text), text), 0);
	cr_expect_eq(strncmp(text, "tcp://127.0.0.2:", 16), 0, "%s", text);
	(void)close(connection);
	(void)close(fd);
}

/* ---- many at once ---- */

enum { AT_ONCE = 400 };

static char at_once_text[64];
static uint32_t at_once_open;

static void count_open(struct gyre_stack *stack, const struct gyre_connection *connection,
		       struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	expect(connection->step != GYRE_CONNECTION_FAILED);
	at_once_open += connection->step == GYRE_CONNECTION_OPEN;
	if (at_once_open == AT_ONCE || connection->step == GYRE_CONNECTION_FAILED) {
		gyre_system_stop(gyre_system_of(stack));
	}
}

static int connect_all(struct gyre_stack *stack)
{
	struct gyre_connect_options options = client_options(0);

	options.to = at_once_text;
	options.report = count_open;
	for (uint32_t i = 0; i < AT_ONCE; i++) {
		expect(gyre_connect(stack, &options, NULL, NULL) == 0);
	}
	return gyre_return(stack);
}

Test(connecting, works_for_more_at_once_than_the_ring_has_room_for)
{
	const struct gyre_system_options options = { .loops = 1, .ring_entries = 64 };
	struct gyre_socket_address address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(at_once_text, sizeof(at_once_text), "unix:@gyre-many-%d", (int)getpid());
	cr_assert_eq(gyre_socket_address_parse(at_once_text, &address), 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	cr_assert_eq(listen(fd, AT_ONCE), 0);
	play_with(&options, connect_all);
	cr_expect_eq(at_once_open, AT_ONCE);
	(void)close(fd);
}

/* ---- failure ---- */

static void expect_failure(const struct gyre_connect_options *options, int reason)
{
	(void)client_connect(options);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, reason);
	cr_expect_eq(client_next(GYRE_CONNECTION_GIVEN_UP).reason, reason);
}

Test(connecting, tells_that_it_was_refused, .init = client_begin, .fini = client_end)
{
	int fd;
	struct gyre_connect_options options = client_options(closed_port(&fd));

	expect_failure(&options, -ECONNREFUSED);
	(void)close(fd);
}

Test(connecting, tells_that_a_path_is_not_there, .init = client_begin, .fini = client_end)
{
	struct gyre_connect_options options = client_options(0);

	options.to = "unix:/no-such-folder/socket";
	expect_failure(&options, -ENOENT);
}

Test(connecting, tells_that_nobody_has_answered_in_time, .init = client_begin, .fini = client_end)
{
	uint16_t port;
	struct client_hole hole;
	struct gyre_connect_options options;

	client_hole_open(&hole, client_bind("tcp://127.0.0.1:0", &port));
	options = client_options(port);
	options.connect_timeout_ns = GYRE_MILLISECONDS(100);
	expect_failure(&options, -ETIMEDOUT);
	client_hole_close(&hole);
}

Test(connecting, tells_that_a_unix_socket_has_not_answered_in_time, .init = client_begin,
     .fini = client_end)
{
	char text[64];
	struct client_hole hole;
	struct gyre_connect_options options = client_options(0);
	struct gyre_socket_address address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(text, sizeof(text), "unix:@gyre-hole-%d", (int)getpid());
	cr_assert_eq(gyre_socket_address_parse(text, &address), 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	client_hole_open(&hole, fd);
	options.to = text;
	options.connect_timeout_ns = GYRE_MILLISECONDS(100);
	expect_failure(&options, -ETIMEDOUT);
	client_hole_close(&hole);
}

Test(connecting, tells_that_there_is_no_descriptor, .init = client_begin, .fini = client_end)
{
	struct gyre_connect_options options = client_options(1);
	struct rlimit before;
	struct rlimit none;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	expect_failure(&options, -EMFILE);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
}

Test(connecting, does_not_try_addresses_of_another_family_than_its_own, .init = client_begin,
     .fini = client_end)
{
	struct gyre_connect_options options = client_options(1);

	options.local = "tcp://[::1]:0";
	expect_failure(&options, -EAFNOSUPPORT);
}

static int refuse(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return -EPERM;
}

Test(connecting, counts_a_channel_that_is_refused_as_a_failure, .init = client_begin,
     .fini = client_end)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = client_options(port);

	options.init_channel = refuse;
	expect_failure(&options, -EPERM);
	(void)close(fd);
}

/* ---- trying again ---- */

Test(connecting, finds_a_listener_that_comes_later, .init = client_begin, .fini = client_end)
{
	int fd;
	struct gyre_connect_options options = client_options(closed_port(&fd));

	options.retries_max = GYRE_RETRIES_UNLIMITED;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	options.retry_max_ns = GYRE_MILLISECONDS(5);
	(void)client_connect(&options);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, -ECONNREFUSED);
	cr_expect_eq(client_next(GYRE_CONNECTION_PAUSE).reason, -ECONNREFUSED);
	cr_assert_eq(listen(fd, 10), 0);
	(void)client_until(GYRE_CONNECTION_OPEN);
	(void)close(client_accept(fd));
	(void)close(fd);
}

Test(connecting, pauses_longer_each_time_and_gives_up_in_the_end, .init = client_begin,
     .fini = client_end)
{
	int fd;
	struct gyre_connect_options options = client_options(closed_port(&fd));
	const uint64_t longest_ns[] = { 1000000, 3000000, 4000000, 4000000 };

	options.retries_max = gy_countof(longest_ns);
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	options.retry_max_ns = GYRE_MILLISECONDS(4);
	options.retry_percent = 300;
	options.retry_jitter_percent = 10;
	(void)client_connect(&options);
	for (uint32_t i = 0; i < gy_countof(longest_ns); i++) {
		struct gyre_connection report;

		(void)client_next(GYRE_CONNECTION_FAILED);
		report = client_next(GYRE_CONNECTION_PAUSE);
		cr_expect_eq(report.failures, i + 1);
		cr_expect_leq(report.pause_ns, longest_ns[i]);
		cr_expect_geq(report.pause_ns, longest_ns[i] / 10 * 9);
	}
	(void)client_next(GYRE_CONNECTION_FAILED);
	cr_expect_eq(client_next(GYRE_CONNECTION_GIVEN_UP).reason, -ECONNREFUSED);
	(void)close(fd);
}

Test(connecting, never_pauses_for_longer_than_it_is_told_to, .init = client_begin,
     .fini = client_end)
{
	int fd;
	struct gyre_connect_options options = client_options(closed_port(&fd));

	options.retries_max = 2;
	options.retry_max_ns = GYRE_MILLISECONDS(2); /* under the default of the shortest */
	(void)client_connect(&options);
	for (uint32_t i = 0; i < options.retries_max; i++) {
		(void)client_next(GYRE_CONNECTION_FAILED);
		cr_expect_leq(client_next(GYRE_CONNECTION_PAUSE).pause_ns, GYRE_MILLISECONDS(2));
	}
	(void)close(fd);
}

Test(connecting, comes_back_to_a_server_that_resets_it, .init = client_begin, .fini = client_end)
{
	const struct linger none = { .l_onoff = 1 };
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = client_options(port);

	options.retries_max = 1;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	(void)client_connect(&options);
	for (int i = 0; i < 5; i++) {
		int connection = client_accept(fd);

		(void)client_next(GYRE_CONNECTION_OPEN);
		cr_assert_eq(setsockopt(connection, SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
		(void)close(connection);
		cr_expect_eq(client_next(GYRE_CONNECTION_CLOSED).reason, -ECONNRESET);
		cr_expect_eq(client_next(GYRE_CONNECTION_PAUSE).reason, -ECONNRESET);
	}
	(void)close(fd);
}

/* Takes the next connection and closes it; the pause after that. */
static uint64_t pause_after_loss(int fd, int open_ms)
{
	struct pollfd connection = { .fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC),
				     .events = POLLIN };

	cr_assert_geq(connection.fd, 0);
	(void)client_next(GYRE_CONNECTION_OPEN);
	cr_assert_eq(poll(&connection, 1, open_ms), 0, "it is silent, and stays");
	(void)close(connection.fd);
	(void)client_next(GYRE_CONNECTION_CLOSED);
	return client_next(GYRE_CONNECTION_PAUSE).pause_ns;
}

Test(connecting, pauses_longer_for_a_server_that_accepts_and_closes, .init = client_begin,
     .fini = client_end)
{
	const uint64_t shortest_ns = GYRE_MILLISECONDS(20);
	uint64_t pause_ns = 0;
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = client_options(port);

	options.retries_max = 1; /* in a row that are not open */
	options.retry_min_ns = shortest_ns;
	options.retry_max_ns = 4 * shortest_ns;
	(void)client_connect(&options);
	/* On a slow machine a connection may be open for longer than it was waited for. */
	for (int i = 0; i < 100 && pause_ns <= shortest_ns; i++) {
		pause_ns = pause_after_loss(fd, 0);
	}
	cr_expect_gt(pause_ns, shortest_ns);
	cr_expect_leq(pause_after_loss(fd, (int)(2 * pause_ns / 1000000)), shortest_ns,
		      "it was of use");
	(void)close(fd);
}

/* ---- stopping ---- */

Test(connecting, can_be_stopped_while_it_connects, .init = client_begin, .fini = client_end)
{
	uint16_t port;
	struct client_hole hole;
	struct gyre_connect_options options;

	client_hole_open(&hole, client_bind("tcp://127.0.0.1:0", &port));
	options = client_options(port);
	options.connections = 3;
	options.connect_timeout_ns = GYRE_FOREVER;
	client_stop(client_connect(&options));
	(void)client_connect(&options); /* the end of the system stops this one */
	client_hole_close(&hole);
}

Test(connecting, can_be_stopped_while_it_pauses, .init = client_begin, .fini = client_end)
{
	int fd;
	struct gyre_connect_options options = client_options(closed_port(&fd));

	options.retries_max = GYRE_RETRIES_UNLIMITED;
	options.retry_min_ns = GYRE_SECONDS(1000);
	for (int i = 0; i < 2; i++) {
		struct gyre_address actor = client_connect(&options);

		(void)client_until(GYRE_CONNECTION_PAUSE);
		if (i == 0) {
			client_stop(actor);
		}
	}
	(void)close(fd);
}

Test(connecting, closes_its_channels_when_it_is_stopped, .init = client_begin, .fini = client_end)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = client_options(port);
	struct gyre_address actor;
	int connection;
	char byte;

	options.retries_max = GYRE_RETRIES_UNLIMITED;
	actor = client_connect(&options);
	connection = client_accept(fd);
	(void)client_next(GYRE_CONNECTION_OPEN);
	client_stop(actor);
	cr_expect_eq(recv(connection, &byte, 1, 0), 0, "closed in good order");
	(void)close(connection);
	cr_expect_eq(client_next(GYRE_CONNECTION_CLOSED).reason, 0);
	(void)close(fd);
}

Test(connecting, ends_at_once_in_a_system_that_never_ran)
{
	struct gyre_connect_options options = client_options(1);

	fixture_open(1);
	(void)client_connect(&options);
	gyre_system_destroy(fixture.system);
	cr_expect_eq(fixture.errors, 0, "%s", fixture.line);
	cr_expect_eq(descriptors_open(), fixture.descriptors);
}

/* ---- actors ---- */

static struct gyre_connect_options the_options;

static int parent_notice(struct gyre_stack *stack)
{
	const struct gyre_connection *connection = gyre_message(stack, gyre_connection);

	expect(connection != NULL);
	if (connection != NULL && connection->step == GYRE_CONNECTION_GIVEN_UP) {
		expect(connection->reason == -ECONNREFUSED);
		trace('g');
	}
	return gyre_return(stack);
}

static int parent_event(struct gyre_stack *stack)
{
	const struct gyre_terminated *ended = gyre_message(stack, gyre_terminated);

	if (ended != NULL) {
		expect(ended->reason == -ECONNREFUSED);
		trace('e');
		return fixture_end(stack);
	}
	return gyre_return(stack);
}

static int parent_mount(struct gyre_stack *stack)
{
	struct gyre_connect_options options = the_options;
	struct gyre_address socket;

	options.owner = gyre_self(stack);
	options.report = NULL;
	expect(gyre_connect(stack, &options, &socket, NULL) == 0);
	expect(socket.loop == gyre_self(stack).loop);
	expect(gyre_watch(stack, socket) == 0);
	return gyre_return(stack);
}

Test(connecting, tells_its_owner_by_notices_and_watchers_why_it_ended)
{
	static const struct gyre_class parent = {
		.name = "parent",
		.mount = parent_mount,
		.behaviour = { .notice = parent_notice, .event = parent_event },
	};
	int fd;

	the_options = client_options(closed_port(&fd));
	fixture_open(2);
	(void)spawn_outside(&parent, 1);
	fixture_run();
	fixture_close();
	cr_expect_str_eq(traced, "ge");
	(void)close(fd);
}

static uint32_t owner_steps; /* atomic */

static int owner_notice(struct gyre_stack *stack)
{
	const struct gyre_connection *connection = gyre_message(stack, gyre_connection);
	struct gyre_address *channel = (struct gyre_address *)gyre_state(stack);
	struct gyre_future *sent = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (connection->step == GYRE_CONNECTION_OPEN) {
		*channel = connection->channel;
		GYRE_AWAIT(stack, gyre_send_bytes(stack, *channel, "hello", 5, 0, sent));
		expect(!gyre_future_failed(sent));
		trace('o');
	} else if (connection->step == GYRE_CONNECTION_CLOSED) {
		expect(gyre_address_equal(connection->channel, *channel));
		trace('c');
	} else {
		expect(gyre_address_is_nobody(connection->channel));
		trace('g');
	}
	(void)gy_fetch_add(&owner_steps, 1);
	GYRE_END(stack);
}

static int owner_mount(struct gyre_stack *stack)
{
	struct gyre_connect_options options = the_options;
	struct gyre_address socket;

	options.owner = gyre_self(stack);
	expect(gyre_connect(stack, &options, &socket, NULL) == 0);
	return gyre_return(stack);
}

Test(connecting, lets_its_owner_write_by_the_address_in_a_notice, .init = client_begin,
     .fini = client_end)
{
	static const struct gyre_class owner = { .name = "owner",
						 .state_bytes = sizeof(struct gyre_address),
						 .frame_bytes = sizeof(struct gyre_future),
						 .mount = owner_mount,
						 .behaviour.notice = owner_notice };
	char bytes[5];
	uint16_t port;
	int fd = client_listen(&port);
	int connection;

	the_options = client_options(port);
	the_options.report = NULL;
	(void)spawn_outside(&owner, 1);
	connection = accept(fd, NULL, NULL);
	cr_assert_geq(connection, 0);
	cr_assert_eq(recv(connection, bytes, sizeof(bytes), MSG_WAITALL), 5);
	cr_expect_eq(memcmp(bytes, "hello", 5), 0);
	(void)close(connection);
	while (gy_load_acquire(&owner_steps) < 3) {
		(void)sched_yield();
	}
	cr_expect_str_eq(traced, "ocg");
	(void)close(fd);
}

/* ---- misuse ---- */

static void expect_refused(const struct gyre_connect_options *options, int error)
{
	struct gyre_address actor = { .slot = 77 };

	cr_expect_eq(gyre_system_connect(fixture.system, options, &actor), error);
	cr_expect_eq(actor.slot, 77, "untouched");
}

Test(connecting, answers_misuse_with_an_error, .init = client_begin, .fini = client_end)
{
	const struct gyre_connect_options good = client_options(1);
	struct gyre_connect_options bad;
	struct gyre_address actor;

	cr_expect_eq(gyre_system_connect(NULL, &good, &actor), -EINVAL);
	expect_refused(NULL, -EINVAL);
#define EXPECT_REFUSED(FIELD, VALUE, ERROR) \
	bad = good;                         \
	bad.FIELD = (VALUE);                \
	expect_refused(&bad, (ERROR))
	EXPECT_REFUSED(to, NULL, -EINVAL);
	EXPECT_REFUSED(to, "udp://127.0.0.1:1", -EINVAL);
	EXPECT_REFUSED(to, "127.0.0.1:1", -EINVAL);
	EXPECT_REFUSED(name_servers, "", -EINVAL);
	EXPECT_REFUSED(name_servers, "127.0.0.1:70000", -EINVAL);
	EXPECT_REFUSED(local, "tcp://localhost:1", -ENOENT);
	EXPECT_REFUSED(local, "udp://127.0.0.1:1", -EINVAL);
	EXPECT_REFUSED(init_channel, NULL, -EINVAL);
	EXPECT_REFUSED(connections, GYRE_CONNECTIONS_MAX + 1, -EINVAL);
	EXPECT_REFUSED(retry_percent, 99, -EINVAL);
	EXPECT_REFUSED(channel.keep_alive_ns, GYRE_SECONDS(32767) + 1, -EINVAL);
	EXPECT_REFUSED(retry_percent, 1001, -EINVAL);
	EXPECT_REFUSED(retry_jitter_percent, 101, -EINVAL);
	EXPECT_REFUSED(retry_min_ns, GYRE_SECONDS(86401), -EINVAL);
	EXPECT_REFUSED(retry_max_ns, GYRE_SECONDS(86401), -EINVAL);
	EXPECT_REFUSED(place.place, (enum gyre_place)7, -EINVAL);
	bad = good;
	bad.retry_min_ns = GYRE_MILLISECONDS(2);
	bad.retry_max_ns = GYRE_MILLISECONDS(2) - 1;
	expect_refused(&bad, -EINVAL);
	bad = good;
	bad.place = (struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 2 };
	expect_refused(&bad, -EINVAL);
}

Test(connecting, takes_no_asks_of_others, .init = client_begin, .fini = client_end)
{
	int fd;
	struct gyre_connect_options options = client_options(closed_port(&fd));
	struct gyre_address actor;

	options.retries_max = GYRE_RETRIES_UNLIMITED;
	options.retry_min_ns = GYRE_SECONDS(60);
	actor = client_connect(&options);
	(void)client_until(GYRE_CONNECTION_PAUSE);
	cr_expect_eq(gyre_system_ask(fixture.system, actor,
				     gyre_system_new(fixture.system, number, 1), GYRE_FOREVER,
				     NULL),
		     -ENOSYS);
	(void)close(fd);
}
