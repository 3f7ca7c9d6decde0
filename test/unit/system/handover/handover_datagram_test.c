/* Datagrams while one process succeeds another, as two systems of one process. */
#include "fixture.h"

#include <gyre/channel.h>
#include <gyre/datagram.h>
#include <gyre/handover.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/atomic.h"

enum { LOOPS = 2, CLIENTS = 40, WAITING = 20 };

static char at[64];
static struct gyre_socket_address address;

static void begin(void)
{
	(void)snprintf(at, sizeof(at), "unix:@gyre-handover-datagrams-%d", (int)getpid());
}

TestSuite(handover_datagram, .init = begin, .timeout = 60);

/* Of one system. */
struct server {
	char name;	/* with which it answers */
	uint32_t open;	/* atomic: channels */
	uint32_t stuck; /* atomic: handlers that do not return */
	uint32_t go_on; /* atomic */
};

static struct server first = { .name = '1' };
static struct server second = { .name = '2' };

/* "s" is stuck for a while; all are answered with what they say, and who has heard it on which
 * loop.
 */
static void answer(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct server *server = (struct server *)ctx->arg;
	char loop[1];
	char byte = 0;

	(void)gyre_buffer_copy(data, 0, &byte, 1);
	loop[0] = (char)('0' + gyre_self(gyre_context_stack(ctx)).loop);
	if (byte == 's') {
		(void)gy_fetch_add(&server->stuck, 1);
		while (gy_load_acquire(&server->go_on) == 0) {
			(void)sched_yield();
		}
	}
	expect(gyre_buffer_append(data, &server->name, 1) == 0);
	expect(gyre_buffer_append(data, loop, 1) == 0);
	(void)gyre_context_write(ctx, data);
}

static void active(struct gyre_handler_context *ctx)
{
	(void)gy_fetch_add(&((struct server *)ctx->arg)->open, 1);
	gyre_context_fire_active(ctx);
}

static const struct gyre_handler answering = { .name = "answering",
					       .active = active,
					       .read = answer };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &answering, arg);
}

static struct gyre_system_options options_of(uint32_t loops)
{
	return (struct gyre_system_options){ .loops = loops,
					     .handover = at,
					     .stall_ns = GYRE_STALL_NEVER };
}

static int open_in(struct gyre_system *system, const char *bind, struct server *server)
{
	const struct gyre_datagram_options options = { .bind = bind,
						       .init_channel = init_channel,
						       .init_arg = server,
						       .ret_address = &address };

	return gyre_system_datagram_open(system, &options, NULL);
}

static void start_first(uint32_t loops, const char *bind)
{
	const struct gyre_system_options options = options_of(loops);

	fixture_open_with(&options);
	cr_assert_eq(open_in(fixture.system, bind, &first), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static struct gyre_system *start_second(uint32_t loops, const char *bind)
{
	const struct gyre_system_options options = options_of(loops);
	struct gyre_system *system = NULL;

	cr_assert_eq(gyre_system_create(&options, &system), 0);
	cr_assert_eq(open_in(system, bind, &second), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	return system;
}

static int connect_there(void)
{
	const struct timeval patience = { .tv_sec = 30 };
	int fd = socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const struct sockaddr unnamed = { .sa_family = AF_UNIX };

	cr_assert(address.storage.ss_family != AF_UNIX ||
		  bind(fd, &unnamed, sizeof(unnamed.sa_family)) == 0);
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	return fd;
}

static void say(int fd, char what)
{
	cr_assert_eq(send(fd, &what, 1, MSG_NOSIGNAL), 1);
}

struct answer {
	char what;
	char name;
	char loop;
};

static struct answer hear(int fd)
{
	struct answer answer = { 0 };

	cr_assert_eq(receive_in_time(fd, &answer, sizeof(answer)), 3, "an answer is lost");
	return answer;
}

static void expect_answers_of(const struct server *server)
{
	for (int i = 0; i < CLIENTS; i++) {
		int fd = connect_there();

		say(fd, 'x');
		cr_expect_eq(hear(fd).name, server->name);
		(void)close(fd);
	}
}

static void end_both(struct gyre_system *successor)
{
	cr_expect_eq(gyre_system_wait(fixture.system), 0, "it ends by itself");
	expect_answers_of(&second);
	gyre_system_destroy(successor);
	fixture_close();
	cr_expect_eq(fixture.warnings, 0, "%s", fixture.line);
}

/* ---- who answers what ---- */

/* A client that the kernel gives to the loop that does not wait for a successor. */
static int connect_to_last_loop(void)
{
	for (;;) {
		int fd = connect_there();

		say(fd, 'x');
		if (hear(fd).loop == '1') {
			return fd;
		}
		(void)close(fd);
	}
}

Test(handover_datagram, that_waits_is_for_the_successor_and_one_that_was_read_is_answered)
{
	struct gyre_system *successor;
	struct answer answer;
	int fd;

	start_first(LOOPS, "udp://127.0.0.1:0");
	fd = connect_to_last_loop();
	say(fd, 's');
	while (gy_load_acquire(&first.stuck) == 0) {
		(void)sched_yield();
	}
	for (int i = 0; i < WAITING; i++) {
		say(fd, 'x');
	}
	successor = start_second(LOOPS, "udp://127.0.0.1:0");
	for (int i = 0; i < WAITING; i++) {
		answer = hear(fd);
		cr_expect_eq(answer.what, 'x');
		cr_expect_eq(answer.name, '2');
	}
	gy_store_release(&first.go_on, 1);
	answer = hear(fd);
	cr_expect_eq(answer.what, 's');
	cr_expect_eq(answer.name, '1');
	(void)close(fd);
	end_both(successor);
}

/* ---- how many ---- */

static void hand_over(uint32_t from, uint32_t to, uint32_t open)
{
	struct gyre_system *successor;

	start_first(from, "udp://127.0.0.1:0");
	expect_answers_of(&first);
	successor = start_second(to, "udp://127.0.0.1:0");
	end_both(successor);
	cr_expect_eq(gy_load_relaxed(&second.open), open);
}

Test(handover_datagram, sockets_of_more_loops_than_there_are_are_all_served)
{
	hand_over(4, 1, 4);
}

Test(handover_datagram, sockets_of_fewer_loops_than_there_are_get_others_beside_them)
{
	hand_over(1, 3, 3);
}

/* ---- files, and what stays ---- */

Test(handover_datagram, files_stay_for_the_successor_and_go_with_it)
{
	struct gyre_system *successor;
	char bind[64];
	const char *path = bind + strlen("unix+dgram:");

	(void)snprintf(bind, sizeof(bind), "unix+dgram:/tmp/gyre-handover-%d", (int)getpid());
	start_first(LOOPS, bind);
	expect_answers_of(&first);
	successor = start_second(LOOPS, bind);
	cr_expect_eq(gyre_system_wait(fixture.system), 0);
	cr_expect_eq(access(path, F_OK), 0);
	end_both(successor);
	cr_expect_neq(access(path, F_OK), 0);
}

Test(handover_datagram, files_stay_when_a_successor_fails)
{
	const struct gyre_system_options options = options_of(1);
	struct gyre_system *successor;
	char bind[64];

	(void)snprintf(bind, sizeof(bind), "unix+dgram:/tmp/gyre-handover-%d", (int)getpid());
	start_first(LOOPS, bind);
	cr_assert_eq(gyre_system_create(&options, &successor), 0);
	cr_assert_eq(open_in(successor, bind, &second), 0);
	gyre_system_destroy(successor);
	expect_answers_of(&first);
	fixture_close();
	cr_expect_neq(access(bind + strlen("unix+dgram:"), F_OK), 0);
}

/* Keeps the loop that waits for successors. */
static int be_stuck(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&first.stuck, 1);
	while (gy_load_acquire(&first.go_on) == 0) {
		(void)sched_yield();
	}
	return gyre_return(stack);
}

static const struct gyre_class stuck_class = { .name = "stuck", .mount = be_stuck };

Test(handover_datagram, files_go_with_a_process_that_stops_before_it_hears_that_a_successor_failed)
{
	const struct gyre_system_options mine = options_of(LOOPS);
	const struct gyre_system_options options = options_of(1);
	struct gyre_datagram_options on_last = { .init_channel = init_channel,
						 .init_arg = &first,
						 .one_loop = true,
						 .place = { .place = GYRE_PLACE_LOOP, .loop = 1 } };
	struct gyre_system *successor;
	char bind[64];

	(void)snprintf(bind, sizeof(bind), "unix+dgram:/tmp/gyre-handover-%d", (int)getpid());
	on_last.bind = bind;
	fixture_open_with(&mine);
	cr_assert_eq(gyre_system_datagram_open(fixture.system, &on_last, NULL), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(gyre_system_create(&options, &successor), 0);
	(void)spawn_outside(&stuck_class, 0);
	while (gy_load_acquire(&first.stuck) == 0) {
		(void)sched_yield();
	}
	gyre_system_destroy(successor);
	gyre_system_stop(fixture.system);
	while (access(bind + strlen("unix+dgram:"), F_OK) ==
	       0) { /* or until the suite's time-out */
		(void)sched_yield();
	}
	gy_store_release(&first.go_on, 1);
	fixture_close();
}

Test(handover_datagram, sockets_without_an_address_of_their_own_stay_where_they_are)
{
	struct gyre_system *successor;

	start_first(LOOPS, "udp://127.0.0.1:0");
	cr_assert_eq(open_in(fixture.system, NULL, &first), 0);
	successor = start_second(LOOPS, "udp://127.0.0.1:0");
	cr_expect_eq(gyre_system_wait(fixture.system), 0, "it ends by itself");
	gyre_system_destroy(successor);
	fixture_close();
}

/* ---- what is an actor's ---- */

static int open_own(struct gyre_stack *stack)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_channel,
						       .init_arg = &first,
						       .ret_address = &address };
	struct gyre_address actor;
	int r = gyre_datagram_open(stack, &options, &actor);

	return r < 0 ? r : gyre_return(stack);
}

static const struct gyre_class opening_class = { .name = "opening", .mount = open_own };

Test(handover_datagram, socket_of_an_actor_is_served_until_the_old_process_ends)
{
	const struct gyre_system_options options = options_of(1);
	struct gyre_system *successor = NULL;
	char bind[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct gyre_address actor;
	int fd;

	start_first(1, "udp://127.0.0.1:0");
	cr_assert_eq(
		gyre_system_spawn(fixture.system, &opening_class, GYRE_NO_ARGUMENT, NULL, &actor),
		0);
	while (gy_load_acquire(&first.open) < 2) {
		(void)sched_yield();
	}
	fd = connect_there();
	cr_assert_eq(gyre_system_create(&options, &successor), 0);
	say(fd, 'x');
	cr_expect_eq(hear(fd).name, '1');
	cr_assert_eq(gyre_system_start(successor), 0);
	cr_expect_eq(gyre_system_wait(fixture.system), 0, "it ends by itself");
	cr_assert_gt(gyre_socket_address_format(&address, sizeof(bind), bind), 0);
	cr_assert_eq(open_in(successor, bind, &second), 0);
	say(fd, 'x');
	cr_expect_eq(hear(fd).name, '2');
	(void)close(fd);
	gyre_system_destroy(successor);
	fixture_close();
}
