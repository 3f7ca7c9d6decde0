/* Processes that succeed each other, as two systems of one process; and others that only pretend.
 */
#include "fixture.h"

#include <gyre/channel.h>
#include <gyre/handover.h>
#include <gyre/listen.h>
#include <gyre/resize.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "echo.h"
#include "net/fd_passing.h"
#include "system/drain.h"
#include "system/handover/handover.h"
#include "system/system.h"

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

static struct gyre_system_options options_of(const char *handover)
{
	/* Who is connected is served on for half of it, however long that takes here. */
	return (struct gyre_system_options){ .loops = LOOPS,
					     .handover = handover,
					     .drain_timeout_ns = GYRE_SECONDS(1000) };
}

static int listen_in(struct gyre_system *system, const char *bind)
{
	const struct gyre_acceptor_options listening = { .bind = bind,
							 .init_channel = init_echo,
							 .ret_port = &port };

	return gyre_system_listen(system, &listening, NULL);
}

/* What the successor logs. */
static uint32_t errors;
static char last_line[256];

static void hear(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	errors += line->level == GYRE_LOG_ERROR;
	(void)snprintf(last_line, sizeof(last_line), "%s", line->text);
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
	cr_expect(echoes(fd));
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

/* It is told that the other goes on, and no more. */
static void expect_refused(int fd)
{
	struct gy_fd_message passing;

	cr_expect_eq(gy_fd_message_receive(fd, &passing), 0);
	cr_expect_eq(passing.kind, GY_FD_MESSAGE_REFUSED);
	cr_expect_eq(gy_fd_message_receive(fd, &passing), -ENODATA);
	(void)close(fd);
}

static void expect_goes_on(void)
{
	int fd = come();

	cr_expect_eq(send(fd, "?", 1, MSG_NOSIGNAL), 1);
	expect_refused(fd);
	expect_echo(connect_there());
}

Test(handover, goes_on_when_a_successor_says_nonsense_or_goes_away)
{
	struct gy_fd_message passing;
	int fd;

	open_first();
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	expect_goes_on();
	fd = come();
	cr_expect_eq(send(fd, "n", 1, MSG_NOSIGNAL), 1);
	cr_expect_eq(gy_fd_message_receive(fd, &passing), 0);
	cr_expect_eq(passing.kind, GY_FD_MESSAGE_SELF);
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

Test(handover, tells_nothing_to_a_successor_that_runs_before_it_has_asked)
{
	int fd;

	open_first();
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fd = come();
	cr_expect_eq(send(fd, "r", 1, MSG_NOSIGNAL), 1);
	expect_refused(fd);
	expect_goes_on();
	fixture_close();
}

/* Asks for everything; the number of messages with sockets. */
static uint32_t ask_for_all(int fd)
{
	struct gy_fd_message passing = { .kind = GY_FD_MESSAGE_SELF };
	uint32_t messages = 0;

	while (passing.kind != GY_FD_MESSAGE_END) {
		cr_assert_eq(send(fd, "n", 1, MSG_NOSIGNAL), 1);
		cr_assert_eq(gy_fd_message_receive(fd, &passing), 0);
		for (uint32_t i = 0; i < passing.count; i++) {
			(void)close(passing.fds[i]);
		}
		messages += passing.kind != GY_FD_MESSAGE_END;
	}
	return messages;
}

Test(handover, tells_everything_once)
{
	int fd;

	open_first();
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fd = come();
	cr_expect_eq(ask_for_all(fd), 2);
	cr_expect_eq(send(fd, "n", 1, MSG_NOSIGNAL), 1);
	expect_refused(fd);
	expect_goes_on();
	fixture_close();
}

/* The machine's clock, and what has been added to it. */
static uint64_t read_moved(void *arg)
{
	return gy_clock_machine_ns() + gy_load_relaxed((uint64_t *)arg);
}

static void until_one_is_let_in(void)
{
	while (gy_load_acquire(&fixture.system->resizing.refused) == 0) {
		(void)sched_yield();
	}
}

Test(handover, waits_for_a_successor_that_says_nothing_for_so_long_and_no_longer)
{
	static uint64_t moved_ns;
	char byte;
	int silent;
	int next;

	open_first();
	fixture.system->homes.homes[0].loop.clock =
		(struct gy_clock){ .read_ns = read_moved, .arg = &moved_ns };
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	silent = come();
	until_one_is_let_in();
	next = come();
	cr_expect_eq(send(next, "n", 1, MSG_NOSIGNAL), 1);
	do { /* its time begins with a reading of the clock that may be still to come */
		(void)gy_add_relaxed(&moved_ns, GYRE_SECONDS(GYRE_HANDOVER_SECONDS + 1));
		gy_system_wake_all(fixture.system);
		(void)sched_yield();
	} while (recv(silent, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	cr_expect_gt(recv(next, &byte, 1, 0), 0, "the next is answered");
	(void)close(silent);
	(void)close(next);
	expect_goes_on();
	fixture_close();
	cr_expect_geq(fixture.warnings, 2);
}

Test(handover, lets_few_successors_wait)
{
	enum { MANY = 16 };

	int fds[MANY];
	int waiting = 0;

	open_first();
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fds[waiting++] = come();
	until_one_is_let_in();
	while (waiting < MANY) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		fds[waiting] = fd;
		if (connect(fd, (struct sockaddr *)&point, point_bytes) < 0) {
			cr_expect_eq(errno, EAGAIN);
			(void)close(fd);
			break;
		}
		waiting++;
	}
	cr_expect_lt(waiting, MANY, "there is no end of them");
	while (waiting > 0) {
		(void)close(fds[--waiting]);
	}
	expect_goes_on();
	fixture_close();
}

/* ---- loops that come and go meanwhile ---- */

Test(handover, lets_no_loop_come_or_go_while_a_successor_starts)
{
	int fd;
	int r;

	open_first();
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fd = come();
	cr_expect_eq(ask_for_all(fd), 2);
	cr_expect_eq(gyre_system_resize(fixture.system, 1), -EBUSY);
	cr_expect_eq(gyre_system_loops(fixture.system), LOOPS);
	(void)close(fd);
	do {
		r = gyre_system_resize(fixture.system, 1);
	} while (r == -EBUSY); /* it has to see that there is none any more */
	cr_expect_eq(r, 0);
	expect_goes_on();
	fixture_close();
}

Test(handover, lets_a_successor_wait_while_loops_come_or_go)
{
	struct gy_fd_message passing;
	int fd;

	open_first();
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	gy_store_full(&fixture.system->resizing.under_way, 1);
	fd = come();
	cr_expect_eq(send(fd, "n", 1, MSG_NOSIGNAL), 1);
	until_one_is_let_in();
	cr_expect_eq(recv(fd, &passing, 1, MSG_DONTWAIT), -1);
	cr_expect_eq(errno, EAGAIN);
	gy_store_full(&fixture.system->resizing.under_way, 0);
	cr_expect_eq(gy_fd_message_receive(fd, &passing), 0);
	(void)close(passing.fds[0]);
	(void)close(fd);
	expect_goes_on();
	fixture_close();
}

/* ---- files ---- */

static struct {
	char folder[32];
	char handover[64];
	char listener[64];
} files;

static void open_first_with_files(void)
{
	struct gyre_system_options options;

	(void)snprintf(files.folder, sizeof(files.folder), "/tmp/gyre-handover-XXXXXX");
	cr_assert_not_null(mkdtemp(files.folder));
	(void)snprintf(files.handover, sizeof(files.handover), "unix:%s/handover", files.folder);
	(void)snprintf(files.listener, sizeof(files.listener), "unix:%s/echo", files.folder);
	options = options_of(files.handover);
	fixture_open_with(&options);
	cr_assert_eq(listen_in(fixture.system, files.listener), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static struct gyre_system *create_successor(void)
{
	const struct gyre_system_options options = options_of(files.handover);
	struct gyre_system *successor = NULL;

	cr_assert_eq(gyre_system_create(&options, &successor), 0);
	cr_assert_eq(listen_in(successor, files.listener), 0);
	return successor;
}

static void stop_first(void)
{
	gyre_system_stop(fixture.system);
	cr_expect_eq(gyre_system_wait(fixture.system), 0);
}

static bool is_there(const char *text)
{
	return access(text + strlen("unix:"), F_OK) == 0;
}

static void expect_echo_at_file(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)strncpy(address.sun_path, files.listener + strlen("unix:"),
		      sizeof(address.sun_path) - 1);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	expect_echo(fd);
}

static void expect_no_files(void)
{
	cr_expect_not(is_there(files.handover));
	cr_expect_not(is_there(files.listener));
	cr_expect_eq(rmdir(files.folder), 0);
}

Test(handover, leaves_the_files_to_a_successor_that_starts_while_it_is_stopped)
{
	struct gyre_system *successor;
	struct gyre_system *third;

	open_first_with_files();
	successor = create_successor();
	stop_first();
	cr_assert(is_there(files.handover));
	cr_assert(is_there(files.listener));
	cr_assert_eq(gyre_system_start(successor), 0);
	expect_echo_at_file();
	third = create_successor();
	cr_assert_eq(gyre_system_start(third), 0);
	cr_expect_eq(gyre_system_wait(successor), 0);
	gyre_system_destroy(successor);
	expect_echo_at_file();
	gyre_system_destroy(third);
	fixture_close();
	expect_no_files();
}

Test(handover, keeps_its_files_when_a_successor_fails)
{
	open_first_with_files();
	for (int i = 0; i < 3; i++) {
		gyre_system_destroy(create_successor());
		cr_assert(is_there(files.handover));
		expect_echo_at_file();
	}
	fixture_close();
	expect_no_files();
}

Test(handover, leaves_no_files_when_it_is_stopped_and_the_successor_fails_then)
{
	struct gyre_system *successor;

	open_first_with_files();
	successor = create_successor();
	stop_first();
	gyre_system_destroy(successor);
	fixture_close();
	expect_no_files();
}

Test(handover, removes_its_files_when_the_successor_has_failed_before_it_is_stopped)
{
	struct gyre_system *successor;

	open_first_with_files();
	successor = create_successor();
	gyre_system_destroy(successor);
	while (gy_load_acquire(&fixture.system->resizing.refused) != 0) {
		(void)sched_yield(); /* it has to see that there is none any more */
	}
	fixture_close();
	expect_no_files();
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
	cr_expect_not_null(strstr(last_line, "unix:PATH"), "%s", last_line);
}
