/*
 * Processes that end in the midst of a hand-over, or only pretend: whoever is left serves, and
 * whoever comes then is let in.
 */
#include "fixture.h"

#include <gyre/channel.h>
#include <gyre/handover.h>
#include <gyre/listen.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/atomic.h"
#include "echo.h"
#include "net/fd_passing.h"
#include "net/pending_open.h"
#include "system/drain.h"
#include "system/handover/handover.h"
#include "system/system.h"

enum { ENDS_MAX = 64, PIECE_BYTES = 1 << 16, OWED_PIECES = 512, OWED_BYTES_MAX = 64 << 20 };

static char folder[32];
static char at[64];
static struct sockaddr_un point = { .sun_family = AF_UNIX };

static void begin(void)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/gyre-failure-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(at, sizeof(at), "unix:%s/handover", folder);
	(void)strncpy(point.sun_path, at + strlen("unix:"), sizeof(point.sun_path) - 1);
}

static void end(void)
{
	must_hold(rmdir(folder) == 0, "nothing stays behind");
}

TestSuite(handover_failure, .init = begin, .fini = end, .timeout = 60);

static uint32_t errors;
static char last_line[256];

static void hear(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	if (line->level == GYRE_LOG_ERROR) {
		errors++;
		(void)snprintf(last_line, sizeof(last_line), "%s", line->text);
	}
}

/* Who is connected is served on for half of that time, however long it takes here. */
static struct gyre_system_options options_of_system(void)
{
	return (struct gyre_system_options){ .loops = 2,
					     .handover = at,
					     .write_high_bytes = OWED_BYTES_MAX,
					     .write_max_bytes = OWED_BYTES_MAX,
					     .linger_ns = GYRE_SECONDS(500),
					     .drain_timeout_ns = GYRE_SECONDS(1000),
					     .log = hear };
}

/* Echoes, and is owed more than the kernel takes by who says "o". */
static void read_any(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	static const unsigned char piece[PIECE_BYTES];
	char first = 0;

	(void)gyre_buffer_copy(data, 0, &first, 1);
	for (uint32_t i = 0; first == 'o' && i < OWED_PIECES; i++) {
		(void)gyre_buffer_append(data, piece, PIECE_BYTES);
	}
	echo_read(ctx, data);
}

static const struct gyre_handler any = { .name = "any", .read = read_any };

static int init_any(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &any, arg);
}

static uint16_t port;
static uint32_t connections_max;
static uint64_t moved_ns; /* added to the machine's clock, for the first */

static int listen_in(struct gyre_system *system)
{
	char bind[64];
	const struct gyre_acceptor_options listening = { .bind = bind,
							 .connections_max = connections_max,
							 .init_channel = init_any,
							 .ret_port = &port };

	(void)snprintf(bind, sizeof(bind), "tcp://127.0.0.1:%u", (unsigned)port);
	return gyre_system_listen(system, &listening, NULL);
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

static void expect_echo(void)
{
	int fd = connect_there();

	cr_expect(echoes(fd));
	(void)close(fd);
}

static uint64_t read_moved(void *arg)
{
	return gy_clock_machine_ns() + gy_load_relaxed((uint64_t *)arg);
}

/* Its time begins with a reading of the clock that may be still to come. */
static void move_on(uint64_t by_ns)
{
	(void)gy_add_relaxed(&moved_ns, by_ns);
	gy_system_wake_all(fixture.system);
	(void)sched_yield();
}

static void start_first(void)
{
	struct gyre_system_options options = options_of_system();

	options.log = NULL;
	fixture_open_with(&options);
	fixture.system->homes.homes[0].loop.clock =
		(struct gy_clock){ .read_ns = read_moved, .arg = &moved_ns };
	cr_assert_eq(listen_in(fixture.system), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static struct gyre_system *create(void)
{
	const struct gyre_system_options options = options_of_system();
	struct gyre_system *system = NULL;

	cr_assert_eq(gyre_system_create(&options, &system), 0, "%s", last_line);
	return system;
}

static bool is_the_first(const struct gyre_system *system)
{
	return system->succession->predecessor_fd < 0;
}

/* ---- a successor that ends ---- */

static int come(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&point, sizeof(point)), 0);
	return fd;
}

/* It says that it runs, and has everything, until it is closed. */
static int run_in_pretence(void)
{
	struct gy_fd_message passing = { .kind = GY_FD_MESSAGE_SELF };
	int fd = come();

	while (passing.kind != GY_FD_MESSAGE_END) {
		cr_assert_eq(send(fd, "n", 1, MSG_NOSIGNAL), 1);
		cr_assert_eq(gy_fd_message_receive(fd, &passing), 0);
		for (uint32_t i = 0; i < passing.count; i++) {
			(void)close(passing.fds[i]);
		}
	}
	cr_assert_eq(send(fd, "r", 1, MSG_NOSIGNAL), 1);
	return fd;
}

static void expect_another_serves(int served)
{
	struct gyre_system *third = create();

	cr_expect(is_the_first(third));
	cr_expect_eq(listen_in(third), 0, "%s", last_line);
	cr_assert_eq(gyre_system_start(third), 0);
	cr_expect(echoes(served), "the one before serves on");
	expect_echo();
	(void)close(served);
	cr_expect_eq(gyre_system_wait(fixture.system), 0);
	expect_echo();
	gyre_system_destroy(third);
	fixture_close();
}

Test(handover_failure, lets_the_next_be_the_first_when_the_successor_ends_at_once)
{
	int served;

	start_first();
	served = connect_there();
	cr_expect(echoes(served));
	(void)close(run_in_pretence());
	expect_another_serves(served);
}

Test(handover_failure, lets_the_next_be_the_first_when_the_successor_ends_while_it_serves_on)
{
	char byte;
	int served;
	int fd;

	start_first();
	served = connect_there();
	cr_expect(echoes(served));
	fd = run_in_pretence();
	cr_expect_eq(recv(fd, &byte, 1, 0), 0, "its listeners have closed");
	(void)close(fd);
	expect_another_serves(served);
}

Test(handover_failure, lets_the_next_be_the_first_though_somebody_waits_for_room)
{
	struct gyre_system *third;
	struct gyre_counters counters = { 0 };
	int served;
	int held;

	connections_max = 1;
	start_first();
	served = connect_there();
	cr_expect(echoes(served));
	held = connect_there();
	while (counters.accepts_held == 0) {
		cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	}
	(void)close(run_in_pretence());
	third = create();
	cr_expect(is_the_first(third));
	cr_expect_eq(listen_in(third), 0, "%s", last_line);
	cr_assert_eq(gyre_system_start(third), 0);
	expect_echo();
	(void)close(served);
	cr_expect(echoes(held), "it has found room where it waited");
	(void)close(held);
	cr_expect_eq(gyre_system_wait(fixture.system), 0);
	expect_echo();
	gyre_system_destroy(third);
	fixture_close();
}

Test(handover_failure, keeps_nobody_waiting_who_came_before_the_successor_ended)
{
	struct gyre_system *third;
	int served;
	int next;
	char byte;

	start_first();
	served = connect_there();
	cr_expect(echoes(served));
	(void)close(run_in_pretence());
	next = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (connect(next, (struct sockaddr *)&point, sizeof(point)) == 0) {
		cr_expect_leq(recv(next, &byte, 1, 0), 0, "it waits for nobody");
	}
	(void)close(next);
	third = create();
	cr_expect(is_the_first(third));
	gyre_system_destroy(third);
	(void)close(served);
	cr_expect_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}

Test(handover_failure, says_nothing_of_one_who_only_looks_whether_it_is_there)
{
	struct gyre_system *next;

	start_first();
	for (int i = 0; i < 3; i++) {
		(void)close(come());
	}
	next = create(); /* let in when those have been seen */
	cr_expect_not(is_the_first(next));
	gyre_system_destroy(next);
	fixture_close();
	cr_expect_eq(fixture.warnings, 1, "of the one that did not run: %s", fixture.line);
}

/* ---- one that is being stopped ---- */

static void *create_in_thread(void *arg)
{
	struct gyre_system **ret_system = (struct gyre_system **)arg;
	const struct gyre_system_options options = options_of_system();

	return gyre_system_create(&options, ret_system) == 0 ? arg : NULL;
}

static void limit_descriptors(rlim_t count)
{
	struct rlimit limit;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static uint64_t turns_of_the_first(void)
{
	return gy_load_relaxed(&fixture.system->homes.homes[0].loop.counters.turns);
}

Test(handover_failure, waits_for_descriptors_says_so_once_and_goes_on)
{
	struct gyre_system_options options = options_of_system();
	struct gy_fd_message passing = { .kind = GY_FD_MESSAGE_END };
	uint64_t begun_ns;
	uint64_t before;
	int fd;

	options.log = NULL;
	fixture_open_with(&options); /* without acceptors, which say as much */
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	limit_descriptors(3);
	cr_assert_eq(connect(fd, (struct sockaddr *)&point, sizeof(point)), 0);
	while (gy_load_acquire(&fixture.warnings) == 0) {
		(void)sched_yield();
	}
	before = turns_of_the_first();
	begun_ns = gy_clock_machine_ns();
	while (gy_clock_machine_ns() - begun_ns < GYRE_MILLISECONDS(500)) {
		(void)sched_yield();
	}
	cr_expect_lt(turns_of_the_first() - before, 200, "it does not look all the time");
	cr_expect_eq(gy_load_acquire(&fixture.warnings), 1, "%s", fixture.line);
	cr_expect_not_null(strstr(fixture.line, "`ulimit -n`"), "%s", fixture.line);
	limit_descriptors(RLIM_INFINITY);
	cr_assert_eq(send(fd, "n", 1, MSG_NOSIGNAL), 1);
	cr_assert_eq(gy_fd_message_receive(fd, &passing), 0);
	cr_expect_eq(passing.kind, GY_FD_MESSAGE_SELF);
	for (uint32_t i = 0; i < passing.count; i++) {
		(void)close(passing.fds[i]);
	}
	(void)close(fd);
	fixture_close();
}

Test(handover_failure, comes_after_one_that_is_being_stopped_however_long_that_takes)
{
	struct gyre_system *next = NULL;
	struct gy_fd_message passing;
	pthread_t thread;
	void *created;
	char byte;
	int served;
	int fd;

	start_first();
	served = connect_there();
	cr_expect_eq(send(served, "o", 1, MSG_NOSIGNAL), 1);
	cr_expect_eq(recv(served, &byte, 1, 0), 1);
	gyre_system_stop(fixture.system);
	fd = come();
	cr_expect_eq(send(fd, "n", 1, MSG_NOSIGNAL), 1);
	cr_expect_eq(gy_fd_message_receive(fd, &passing), 0);
	cr_expect_eq(passing.kind, GY_FD_MESSAGE_ENDS);
	move_on(GYRE_SECONDS(2)); /* it is told again and again */
	cr_expect_eq(gy_fd_message_receive(fd, &passing), 0);
	cr_expect_eq(passing.kind, GY_FD_MESSAGE_ENDS);
	(void)close(fd);
	cr_assert_eq(pthread_create(&thread, NULL, create_in_thread, &next), 0);
	(void)close(served);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(pthread_join(thread, &created), 0);
	cr_assert_not_null(created, "%s", last_line);
	cr_expect(is_the_first(next));
	cr_expect_eq(listen_in(next), 0, "%s", last_line);
	gyre_system_destroy(next);
	fixture_close();
}

/* ---- one that starts for too long ---- */

Test(handover_failure, does_not_serve_beside_a_predecessor_that_has_waited_for_too_long)
{
	struct gyre_system *late;

	start_first();
	late = create();
	port = 0; /* the text that the first listens by */
	cr_assert_eq(listen_in(late), 0);
	do {
		move_on(GYRE_SECONDS(10 * GYRE_HANDOVER_SECONDS + 1));
	} while (!gy_fd_message_is_refused(late->succession->predecessor_fd));
	cr_assert_eq(gyre_system_start(late), 0);
	cr_expect_eq(gyre_system_wait(late), -ECONNABORTED);
	cr_expect_eq(errors, 1);
	cr_expect_not_null(strstr(last_line, "goes on"), "%s", last_line);
	gyre_system_destroy(late);
	cr_expect_eq(access(point.sun_path, F_OK), 0, "the file is not its own");
	expect_echo();
	fixture_close();
	cr_expect_geq(fixture.warnings, 1);
}

/* ---- one whose start fails ---- */

static void *start_in_thread(void *arg)
{
	static int result;

	result = gyre_system_start((struct gyre_system *)arg);
	return &result;
}

Test(handover_failure, changes_nothing_when_the_start_fails_though_loops_turn)
{
	struct gyre_counters counters = { 0 };
	struct gyre_system *next;
	pthread_t thread;
	void *result;
	uint16_t there;

	start_first();
	there = port;
	next = create();
	port = 0; /* the text that the first listens by */
	cr_assert_eq(listen_in(next), 0);
	gy_pending_open_begin(&next->homes); /* one more, that cannot be served */
	cr_assert_eq(pthread_create(&thread, NULL, start_in_thread, next), 0);
	while (counters.parks < 4) {
		cr_assert_eq(gyre_system_counters(next, &counters), 0);
	}
	gy_pending_open_fail(&next->homes.homes[0], "listening on", NULL, "nothing", -ENOMEM);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_expect_eq(*(int *)result, -ENOMEM);
	gyre_system_destroy(next);
	cr_expect_eq(access(point.sun_path, F_OK), 0, "the file is not its own");
	cr_expect_eq(port, there);
	expect_echo();
	next = create();
	cr_expect_not(is_the_first(next));
	gyre_system_destroy(next);
	fixture_close();
}

/* ---- a predecessor that ends, or only pretends ---- */

static int door;
static int bound; /* what it passes besides its door, if that is not 0 */
static uint32_t comings;

static void pretend(void)
{
	door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(door, (struct sockaddr *)&point, sizeof(point)), 0);
	cr_assert_eq(listen(door, 1), 0);
}

/* What stands in @passing is said, a message for each question; then it goes away. */
static void *answer(void *arg)
{
	const struct gy_fd_message *passing = (const struct gy_fd_message *)arg;
	char asked;
	int fd = accept(door, NULL, NULL);

	while (passing->kind != 0 && recv(fd, &asked, 1, 0) == 1) {
		struct gy_fd_message copy = *passing++;

		for (uint32_t i = 0; i < copy.count; i++) {
			copy.fds[i] = copy.kind == GY_FD_MESSAGE_SELF || bound == 0 ? door : bound;
		}
		(void)gy_fd_message_send(fd, &copy);
		if (copy.kind == GY_FD_MESSAGE_ENDS) {
			(void)gy_fd_message_send(fd, &copy);
			break;
		}
	}
	(void)close(fd);
	return NULL;
}

/* The same, and with it goes what it has. */
static void *answer_and_end(void *arg)
{
	(void)answer(arg);
	(void)close(door);
	return NULL;
}

static void expect_first_after(struct gy_fd_message *passing)
{
	struct gyre_system *system;
	pthread_t thread;
	int descriptors = descriptors_open();

	pretend();
	bound = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(pthread_create(&thread, NULL, answer_and_end, passing), 0);
	system = create();
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect(is_the_first(system));
	cr_assert_eq(listen_in(system), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	expect_echo();
	gyre_system_destroy(system);
	(void)close(bound);
	cr_expect_eq(descriptors_open(), descriptors);
	cr_expect_eq(errors, 0, "%s", last_line);
}

Test(handover_failure, is_the_first_when_the_predecessor_ends_before_it_has_passed_everything)
{
	struct gy_fd_message nothing[] = { { 0 } };
	struct gy_fd_message itself[] = { { .kind = GY_FD_MESSAGE_SELF, .count = 1 }, { 0 } };
	struct gy_fd_message half[] = { { .kind = GY_FD_MESSAGE_SELF, .count = 1 },
					{ .kind = GY_FD_MESSAGE_DATAGRAMS, .count = 1 },
					{ 0 } };

	expect_first_after(nothing);
	expect_first_after(itself);
	expect_first_after(half);
}

Test(handover_failure, is_the_first_when_the_predecessor_was_being_stopped)
{
	struct gy_fd_message ends[] = { { .kind = GY_FD_MESSAGE_ENDS }, { 0 } };
	struct gy_fd_message late[] = { { .kind = GY_FD_MESSAGE_SELF, .count = 1 },
					{ .kind = GY_FD_MESSAGE_ENDS },
					{ 0 } };

	expect_first_after(ends);
	expect_first_after(late);
}

/* As the accept of a process that was killed: it is called for a connection, and does not take it.
 */
static void *be_called(void *arg)
{
	struct epoll_event event;

	while (epoll_wait(*(const int *)arg, &event, 1, -1) < 0 && errno == EINTR) {
	}
	return NULL;
}

static int listen_before(int over)
{
	struct epoll_event ends = { .events = EPOLLIN };
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event called = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(bound, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(bound, 8), 0);
	cr_assert_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, bound, &called), 0);
	cr_assert_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, over, &ends), 0);
	return epoll;
}

Test(handover_failure, finds_a_connection_whose_call_went_to_a_process_that_was_killed)
{
	struct gy_fd_message all[] = {
		{ .kind = GY_FD_MESSAGE_SELF, .count = 1 },
		{ .kind = GY_FD_MESSAGE_LISTENER, .count = 1, .text = "tcp://127.0.0.1:0" },
		{ .kind = GY_FD_MESSAGE_END },
		{ 0 }
	};
	struct gyre_system *system;
	pthread_t killed;
	pthread_t called;
	int over = eventfd(0, EFD_CLOEXEC);
	int epoll = listen_before(over);

	pretend();
	cr_assert_eq(pthread_create(&killed, NULL, answer_and_end, all), 0);
	cr_assert_eq(pthread_create(&called, NULL, be_called, &epoll), 0);
	system = create();
	cr_assert_eq(pthread_join(killed, NULL), 0);
	cr_assert_eq(listen_in(system), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	expect_echo();
	cr_assert_eq(eventfd_write(over, 1), 0);
	cr_assert_eq(pthread_join(called, NULL), 0);
	(void)close(over);
	(void)close(epoll);
	(void)close(bound);
	gyre_system_destroy(system);
}

static void expect_failure(void *(*other)(void *arg), struct gy_fd_message *passing, int error,
			   const char *says)
{
	const struct gyre_system_options options = options_of_system();
	struct gyre_system *system = NULL;
	pthread_t thread;
	int descriptors;

	pretend();
	descriptors = descriptors_open();
	cr_assert_eq(pthread_create(&thread, NULL, other, passing), 0);
	cr_expect_eq(gyre_system_create(&options, &system), error);
	cr_expect_null(system);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(errors, 1, "one line");
	cr_expect_not_null(strstr(last_line, says), "%s", last_line);
	cr_expect_eq(descriptors_open(), descriptors);
	(void)close(door);
	cr_expect_eq(unlink(point.sun_path), 0, "the file is not its own");
}

static void expect_refusal(struct gy_fd_message *passing, int error, const char *says)
{
	expect_failure(answer, passing, error, says);
}

/* It accepts and says nothing, as often as anybody comes. */
static void *answer_nobody(void *arg)
{
	(void)arg;
	while (comings < ENDS_MAX) {
		(void)close(accept(door, NULL, NULL));
		comings++;
	}
	return NULL;
}

Test(handover_failure, comes_again_for_so_often_and_no_more)
{
	expect_failure(answer_nobody, NULL, -ENODATA, "has ended");
	cr_expect_eq(comings, ENDS_MAX);
}

Test(handover_failure, succeeds_nobody_that_refuses)
{
	struct gy_fd_message refused[] = { { .kind = GY_FD_MESSAGE_SELF, .count = 1 },
					   { .kind = GY_FD_MESSAGE_REFUSED },
					   { 0 } };

	expect_refusal(refused, -ECONNABORTED, "see its log");
}

Test(handover_failure, succeeds_nobody_that_does_not_introduce_itself)
{
	struct gy_fd_message listener_first[] = { { .kind = GY_FD_MESSAGE_LISTENER, .count = 1 },
						  { 0 } };

	expect_refusal(listener_first, -EPROTO, "another version");
}

Test(handover_failure, succeeds_nobody_that_has_no_more_before_it_introduces_itself)
{
	struct gy_fd_message nothing_else[] = { { .kind = GY_FD_MESSAGE_END }, { 0 } };

	expect_refusal(nothing_else, -EPROTO, "another version");
}

Test(handover_failure, succeeds_nobody_that_introduces_itself_twice)
{
	struct gy_fd_message twice[] = { { .kind = GY_FD_MESSAGE_SELF, .count = 1 },
					 { .kind = GY_FD_MESSAGE_SELF, .count = 1 },
					 { 0 } };

	expect_refusal(twice, -EPROTO, "another version");
}
