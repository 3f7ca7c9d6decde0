/*
 * Connections while loops come and go: none is refused or reset, and each byte comes back.
 */
#include "fixture.h"

#include <gyre/channel.h>
#include <gyre/listen.h>
#include <gyre/resize.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/atomic.h"
#include "channel/channels.h"

TestSuite(resize_listen, .timeout = 60);

enum { CLIENTS = 4, ROUNDS = 20, REQUESTS = 5, REQUEST_BYTES = 1000 };

static uint16_t port;
static struct gyre_address acceptor;
static uint32_t served_on[4];
static uint32_t failed; /* atomic: connections that were refused, or lost a byte */
static uint32_t stop_clients;
static uint32_t rounds; /* atomic */

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	(void)gy_fetch_add(&served_on[gyre_self(stack).loop], 1);
	(void)gyre_context_write(ctx, data);
}

static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

static int init_echo(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &echo, arg);
}

static void begin_with(uint32_t loops, uint64_t drain_timeout_ns,
		       struct gyre_acceptor_options listening)
{
	const struct gyre_system_options options = { .loops = loops,
						     .loops_max = 4,
						     .drain_timeout_ns = drain_timeout_ns };

	listening.bind = "tcp://127.0.0.1:0";
	listening.init_channel = init_echo;
	listening.ret_port = &port;
	fixture_open_with(&options);
	cr_assert_eq(gyre_system_listen(fixture.system, &listening, &acceptor), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static void begin(uint32_t loops, uint64_t drain_timeout_ns)
{
	begin_with(loops, drain_timeout_ns, (struct gyre_acceptor_options){ 0 });
}

static int connect_there(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

static bool echoes(int fd)
{
	char sent[REQUEST_BYTES];
	char got[REQUEST_BYTES];

	memset(sent, 'x', sizeof(sent));
	return send(fd, sent, sizeof(sent), MSG_NOSIGNAL) == (ssize_t)sizeof(sent) &&
	       recv(fd, got, sizeof(got), MSG_WAITALL) == (ssize_t)sizeof(got) &&
	       memcmp(sent, got, sizeof(sent)) == 0;
}

static bool visit(void)
{
	int fd = connect_there();
	bool good = fd >= 0;

	for (uint32_t i = 0; i < REQUESTS && good; i++) {
		good = echoes(fd);
	}
	if (fd >= 0) {
		(void)close(fd);
	}
	return good;
}

static void *visit_on(void *arg)
{
	(void)arg;
	while (gy_load_acquire(&stop_clients) == 0) {
		(void)gy_fetch_add(&failed, !visit());
		(void)gy_fetch_add(&rounds, 1);
	}
	return NULL;
}

/* Lets some connections come and go. */
static void wait_for_rounds(void)
{
	uint32_t until = gy_load_acquire(&rounds) + ROUNDS;

	while (gy_load_acquire(&rounds) < until) {
		(void)sched_yield();
	}
}

/* Up and down eight times, with clients that come and go. */
static void resize_under_load(void)
{
	pthread_t clients[CLIENTS];

	for (uint32_t i = 0; i < CLIENTS; i++) {
		cr_assert_eq(pthread_create(&clients[i], NULL, visit_on, NULL), 0);
	}
	for (uint32_t i = 0; i < 8; i++) {
		cr_assert_eq(gyre_system_resize(fixture.system, 4), 0);
		wait_for_rounds();
		cr_assert_eq(gyre_system_resize(fixture.system, 1 + i % 3), 0);
		wait_for_rounds();
	}
	gy_store_release(&stop_clients, 1);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		cr_assert_eq(pthread_join(clients[i], NULL), 0);
	}
}

Test(resize_listen, refuses_no_connection_and_loses_no_byte)
{
	int descriptors = 0;

	begin(2, GYRE_SECONDS(20));
	resize_under_load();
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	descriptors = descriptors_open();
	cr_assert_eq(gyre_system_resize(fixture.system, 4), 0);
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	cr_expect_eq(descriptors_open(), descriptors, "sockets go to and fro");
	fixture_close();
	cr_expect_eq(failed, 0);
}

Test(resize_listen, hands_no_connection_of_one_listener_to_a_loop_that_retires)
{
	begin_with(2, GYRE_SECONDS(20), (struct gyre_acceptor_options){ .listeners = 1 });
	resize_under_load();
	fixture_close();
	cr_expect_eq(failed, 0);
}

Test(resize_listen, hands_no_connection_of_two_listeners_to_a_loop_that_retires)
{
	begin_with(2, GYRE_SECONDS(20),
		   (struct gyre_acceptor_options){ .listeners = 2, .loop_connections_max = 2 });
	resize_under_load();
	fixture_close();
	cr_expect_eq(failed, 0);
}

Test(resize_listen, gives_loops_that_come_their_turn_with_one_listener)
{
	begin_with(1, 0, (struct gyre_acceptor_options){ .listeners = 1 });
	cr_assert_eq(gyre_system_resize(fixture.system, 4), 0);
	while (gy_load_acquire(&served_on[1]) == 0 || gy_load_acquire(&served_on[2]) == 0 ||
	       gy_load_acquire(&served_on[3]) == 0) {
		cr_assert(visit());
	}
	fixture_close();
}

Test(resize_listen, limits_the_loops_that_come_too)
{
	int fds[4];

	begin_with(1, 0,
		   (struct gyre_acceptor_options){ .listeners = 1, .loop_connections_max = 1 });
	cr_assert_eq(gyre_system_resize(fixture.system, 4), 0);
	for (size_t i = 0; i < 4; i++) {
		fds[i] = connect_there();
		cr_assert(fds[i] >= 0 && echoes(fds[i]));
	}
	for (size_t i = 0; i < 4; i++) {
		cr_expect_eq(gy_load_acquire(&served_on[i]), 1, "one each");
		(void)close(fds[i]);
	}
	fixture_close();
}

static uint64_t held(void)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	return counters.accepts_held;
}

enum { WAITERS = 40 };

/* Whichever is let in gets its answer, and makes room. */
static void serve_one_by_one(struct pollfd *waiters)
{
	char byte = 'x';

	for (size_t i = 0; i < WAITERS; i++) {
		cr_assert_eq(send(waiters[i].fd, &byte, 1, MSG_NOSIGNAL), 1);
	}
	for (size_t left = WAITERS; left > 0;) {
		cr_assert_gt(poll(waiters, WAITERS, -1), 0);
		for (size_t i = 0; i < WAITERS; i++) {
			if (waiters[i].fd >= 0 && waiters[i].revents != 0) {
				cr_expect_eq(recv(waiters[i].fd, &byte, 1, 0), 1);
				(void)close(waiters[i].fd);
				waiters[i].fd = -1;
				left--;
			}
		}
	}
}

/* Connections that wait for room stand with all acceptors. */
Test(resize_listen, takes_connections_along_that_wait_for_room)
{
	struct pollfd waiters[WAITERS];
	uint64_t before = 0;
	int first = -1;

	begin_with(4, GYRE_SECONDS(20), (struct gyre_acceptor_options){ .connections_max = 1 });
	while (gy_load_acquire(&served_on[0]) == 0) { /* one that stays on the loop that stays */
		(void)close(first);
		first = connect_there();
		cr_assert(first >= 0 && echoes(first));
	}
	before = held();
	for (size_t i = 0; i < WAITERS; i++) {
		waiters[i] = (struct pollfd){ .fd = connect_there(), .events = POLLIN };
		cr_assert_geq(waiters[i].fd, 0);
	}
	while (held() < before + 4) { /* they have been accepted by then, in part */
		(void)sched_yield();
	}
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	(void)close(first);
	serve_one_by_one(waiters);
	fixture_close();
}

Test(resize_listen, serves_connections_on_the_loops_that_come)
{
	begin(1, 0);
	cr_assert_eq(gyre_system_resize(fixture.system, 4), 0);
	while (gy_load_acquire(&served_on[1]) == 0 || gy_load_acquire(&served_on[2]) == 0 ||
	       gy_load_acquire(&served_on[3]) == 0) {
		cr_assert(visit());
	}
	fixture_close();
}

enum { EARLY = 100 };

static int early[EARLY];

static void *use_early(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < EARLY; i++) {
		failed += !echoes(early[i]);
		(void)close(early[i]);
	}
	return NULL;
}

Test(resize_listen, loses_nothing_that_waits_in_a_backlog)
{
	pthread_t thread;

	/* Connections that nobody has accepted yet, for the loops have not begun to turn. */
	const struct gyre_system_options options = { .loops = 4, .loops_max = 4 };
	const struct gyre_acceptor_options listening = { .bind = "tcp://127.0.0.1:0",
							 .init_channel = init_echo,
							 .ret_port = &port };

	fixture_open_with(&options);
	cr_assert_eq(gyre_system_listen(fixture.system, &listening, NULL), 0);
	for (size_t i = 0; i < EARLY; i++) {
		early[i] = connect_there();
		cr_assert_geq(early[i], 0);
	}
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	cr_assert_eq(pthread_create(&thread, NULL, use_early, NULL), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	fixture_close();
	cr_expect_eq(failed, 0);
}

Test(resize_listen, drains_connections_that_do_not_end)
{
	int fds[40];
	char byte;

	begin(2, GYRE_SECONDS(5)); /* half of which they have to close in */
	for (size_t i = 0; i < 40; i++) {
		fds[i] = connect_there();
		cr_assert_geq(fds[i], 0);
		cr_assert(echoes(fds[i]));
	}
	cr_assert_gt(served_on[1], 0);
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	for (size_t i = 0; i < 40; i++) {
		ssize_t got = recv(fds[i], &byte, 1, MSG_DONTWAIT);

		/* Of the loop that has retired: the end, in good order. */
		cr_expect(got == 0 || (got < 0 && errno == EAGAIN && echoes(fds[i])));
		(void)close(fds[i]);
	}
	fixture_close();
	cr_expect_eq(fixture.warnings, 0, "%s", fixture.line);
}

static void *retire_one(void *arg)
{
	*(int *)arg = gyre_system_resize(fixture.system, 1);
	return NULL;
}

/* The clients of a loop that has accepted, and comes to the mutex for its worker. */
static void connect_until_one_waits(const struct gy_homes *homes)
{
	const struct gy_channels_counters *there = gy_channels_counters(&homes->homes[1]);

	for (size_t i = 0; i < EARLY; i++) {
		early[i] = connect_there();
		cr_assert_geq(early[i], 0);
	}
	while (gy_load_relaxed(&there->accepted) == 0 || !others_sleep()) {
		(void)sched_yield();
	}
}

/* The resize is the first to get the mutex, and a loop that retires the next. */
Test(resize_listen, leaves_no_worker_behind_on_a_loop_that_begins_to_retire)
{
	struct gy_homes *homes;
	pthread_t thread;
	int retired = -1;

	begin(2, GYRE_SECONDS(20));
	homes = gy_homes_of(fixture.system);
	cr_assert_eq(pthread_mutex_lock(&homes->placing), 0);
	cr_assert_eq(pthread_create(&thread, NULL, retire_one, &retired), 0);
	while (!others_sleep()) {
		(void)sched_yield();
	}
	connect_until_one_waits(homes);
	cr_assert_eq(pthread_mutex_unlock(&homes->placing), 0);
	(void)use_early(NULL);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(retired, 0);
	cr_expect_eq(failed, 0);
	gy_store_relaxed(&served_on[1], 0);
	cr_assert_eq(gyre_system_resize(fixture.system, 2), 0);
	while (gy_load_acquire(&served_on[1]) == 0) {
		cr_assert(visit(), "a worker that has gone is asked");
	}
	fixture_close();
}

static int stop_listening(struct gyre_stack *stack)
{
	return gyre_stop(stack, acceptor);
}

Test(resize_listen, ends_on_all_loops_also_for_sockets_that_have_moved)
{
	const struct gyre_class stopper = { .name = "stopper", .mount = stop_listening };
	int fd = 0;

	begin(4, 0);
	cr_assert_eq(gyre_system_resize(fixture.system, 1), 0);
	cr_assert_eq(gyre_system_resize(fixture.system, 3), 0);
	(void)spawn_outside(&stopper, 0);
	/* Each has its share of new connections, so many in a row tell that none listens. */
	for (uint32_t refused = 0; refused < 60;) {
		fd = connect_there();
		refused = fd < 0 ? refused + 1 : 0;
		if (fd >= 0) {
			(void)close(fd);
		}
	}
	cr_assert_eq(gyre_system_resize(fixture.system, 4), 0);
	cr_expect_lt(connect_there(), 0, "a loop that comes does not listen");
	fixture_close();
}
