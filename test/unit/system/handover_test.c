/* Processes that succeed each other, as two systems of one process; and others that only pretend.
 */
#include "fixture.h"

#include <gyre/channel.h>
#include <gyre/handover.h>
#include <gyre/listen.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "net/passing.h"
#include "system/succession.h"

enum { LOOPS = 2, EARLY = 20 };

static char at[64]; /* with an abstract name, so that other users could come too */
static struct sockaddr_un point = { .sun_family = AF_UNIX };
static socklen_t point_bytes;
static uint16_t port;

static void begin(void)
{
	int bytes = snprintf(at, sizeof(at), "unix:@gyre-handover-%d", (int)getpid());

	memcpy(point.sun_path + 1, at + strlen("unix:@"), (size_t)bytes - strlen("unix:@"));
	point_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes -
				  strlen("unix:@"));
}

TestSuite(handover, .init = begin, .timeout = 60);

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_channel_write(ctx, data);
}

static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

static int init_echo(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add_last(channel, &echo, arg);
}

static struct gyre_system_options options_of(const char *handover)
{
	return (struct gyre_system_options){ .loops = LOOPS, .handover = handover };
}

static int listen_in(struct gyre_system *system, const char *bind)
{
	const struct gyre_acceptor_options listening = { .bind = bind,
							 .init_channel = init_echo,
							 .ret_port = &port };

	return gyre_listen(system, &listening, NULL);
}

/* What the successor logs. */
static uint32_t errors;
static char line[256];

static void hear(enum gyre_log_level level, const char *message, void *arg)
{
	(void)arg;
	errors += level == GYRE_LOG_ERROR;
	(void)snprintf(line, sizeof(line), "%s", message);
}

/* The first, in the fixture. */
static void open_first(void)
{
	const struct gyre_system_options options = options_of(at);

	fixture_open_with(&options);
	cr_assert_eq(listen_in(fixture.system, "tcp://127.0.0.1:0"), 0);
}

static int connect_there(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void expect_echo(int fd)
{
	char byte = 'x';

	cr_expect_eq(send(fd, &byte, 1, MSG_NOSIGNAL), 1);
	cr_expect_eq(recv(fd, &byte, 1, 0), 1);
	(void)close(fd);
}

/* ---- a successor ---- */

Test(handover, takes_the_sockets_and_leaves_nobody_behind)
{
	const struct gyre_system_options options = options_of(at);
	struct gyre_system *successor;
	uint16_t before;
	int early[EARLY];

	open_first();
	before = port;
	for (size_t i = 0; i < EARLY; i++) {
		early[i] = connect_there(); /* no loop turns yet */
	}
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(gyre_system_create(&options, &successor), 0);
	cr_assert_eq(listen_in(successor, "tcp://127.0.0.1:0"), 0);
	cr_expect_eq(port, before);
	cr_assert_eq(gyre_system_start(successor), 0);
	for (size_t i = 0; i < EARLY; i++) {
		expect_echo(early[i]);
	}
	cr_expect_eq(gyre_system_wait(fixture.system), 0, "it ends by itself");
	for (size_t i = 0; i < EARLY; i++) {
		expect_echo(connect_there());
	}
	gyre_system_destroy(successor);
	fixture_close();
	cr_expect_eq(fixture.warnings, 0, "%s", fixture.line);
}

Test(handover, closes_what_the_successor_does_not_listen_on)
{
	const struct gyre_system_options options = options_of(at);
	struct gyre_system *successor;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd;

	open_first();
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_port = htons(port);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(gyre_system_create(&options, &successor), 0);
	cr_assert_eq(gyre_system_start(successor), 0);
	cr_expect_eq(gyre_system_wait(fixture.system), 0);
	cr_expect_lt(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_expect_eq(errno, ECONNREFUSED);
	(void)close(fd);
	gyre_system_destroy(successor);
	fixture_close();
}

Test(handover, changes_nothing_until_the_successor_runs)
{
	const struct gyre_system_options options = options_of(at);
	struct gyre_system *successor;

	open_first();
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(gyre_system_create(&options, &successor), 0);
		cr_assert_eq(listen_in(successor, "tcp://127.0.0.1:0"), 0);
		gyre_system_destroy(successor);
		for (size_t j = 0; j < EARLY; j++) {
			expect_echo(connect_there());
		}
	}
	fixture_close();
}

/* ---- a successor that only pretends ---- */

static int come(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&point, point_bytes), 0);
	return fd;
}

static void expect_goes_on(void)
{
	char byte;
	int fd = come();

	cr_expect_eq(send(fd, "?", 1, MSG_NOSIGNAL), 1);
	cr_expect_eq(recv(fd, &byte, 1, 0), 0, "it answers nonsense");
	(void)close(fd);
	expect_echo(connect_there());
}

Test(handover, goes_on_when_a_successor_says_nonsense_or_goes_away)
{
	struct gy_passing passing;
	int fd;

	open_first();
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	expect_goes_on();
	fd = come();
	cr_expect_eq(send(fd, "n", 1, MSG_NOSIGNAL), 1);
	cr_expect_eq(gy_passing_receive(fd, &passing), 0);
	cr_expect_eq(passing.kind, GY_PASSING_SELF);
	(void)close(passing.fds[0]);
	(void)close(fd);
	expect_goes_on();
	expect_goes_on();
	fixture_close();
	cr_expect_geq(fixture.warnings, 3);
}

Test(handover, talks_to_processes_of_its_own_user_only)
{
	pid_t child;
	int status;

	if (geteuid() != 0) {
		cr_skip_test("only root can be another user");
	}
	open_first();
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	child = fork();
	if (child == 0) {
		char byte;
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		_exit(setuid(65534) == 0 &&
				      connect(fd, (struct sockaddr *)&point, point_bytes) == 0 &&
				      send(fd, "n", 1, MSG_NOSIGNAL) >= -1 &&
				      recv(fd, &byte, 1, 0) <= 0
			      ? 0
			      : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
	expect_goes_on();
	fixture_close();
	cr_expect_geq(fixture.warnings, 2);
}

/* ---- a predecessor that only pretends ---- */

static int door;

static void pretend(void)
{
	door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(door, (struct sockaddr *)&point, point_bytes), 0);
	cr_assert_eq(listen(door, 1), 0);
}

static void *answer(void *arg)
{
	const struct gy_passing *passing = (const struct gy_passing *)arg;
	char asked;
	int fd = accept(door, NULL, NULL);

	while (recv(fd, &asked, 1, 0) == 1 && passing->kind != 0) {
		struct gy_passing copy = *passing++;

		for (uint32_t i = 0; i < copy.count; i++) {
			copy.fds[i] = door;
		}
		(void)gy_passing_send(fd, &copy);
	}
	(void)close(fd);
	return NULL;
}

static void expect_refusal(struct gy_passing *passing, int error, const char *says)
{
	struct gyre_system_options options = options_of(at);
	struct gyre_system *system = NULL;
	pthread_t thread;
	int descriptors;

	pretend();
	descriptors = descriptors_open();
	options.log = hear;
	cr_assert_eq(pthread_create(&thread, NULL, answer, passing), 0);
	cr_expect_eq(gyre_system_create(&options, &system), error);
	cr_expect_null(system);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(errors, 1, "one line");
	cr_expect_not_null(strstr(line, says), "%s", line);
	cr_expect_eq(descriptors_open(), descriptors);
	(void)close(door);
}

Test(handover, succeeds_nobody_that_goes_away)
{
	struct gy_passing nothing[] = { { 0 } };

	expect_refusal(nothing, -EPROTO, "it may be ending");
}

Test(handover, succeeds_nobody_that_does_not_introduce_itself)
{
	struct gy_passing listener_first[] = { { .kind = GY_PASSING_LISTENER, .count = 1 }, { 0 } };

	expect_refusal(listener_first, -EPROTO, "another version");
}

Test(handover, succeeds_nobody_that_ends_before_it_introduces_itself)
{
	struct gy_passing nothing_else[] = { { .kind = GY_PASSING_END }, { 0 } };

	expect_refusal(nothing_else, -EPROTO, "another version");
}

Test(handover, succeeds_nobody_that_introduces_itself_twice)
{
	struct gy_passing twice[] = { { .kind = GY_PASSING_SELF, .count = 1 },
				      { .kind = GY_PASSING_LISTENER, .count = 2 },
				      { .kind = GY_PASSING_SELF, .count = 1 },
				      { 0 } };

	expect_refusal(twice, -EPROTO, "another version");
}

Test(handover, is_at_a_unix_socket)
{
	struct gyre_system_options options = options_of("udp://127.0.0.1:7000");
	struct gyre_system *system;

	options.log = hear;
	cr_expect_eq(gyre_system_create(&options, &system), -EINVAL);
	options.handover = "unix+dgram:/tmp/x";
	cr_expect_eq(gyre_system_create(&options, &system), -EINVAL);
	options.handover = "nonsense";
	cr_expect_eq(gyre_system_create(&options, &system), -EINVAL);
	cr_expect_eq(errors, 3);
	cr_expect_not_null(strstr(line, "unix:PATH"), "%s", line);
}
