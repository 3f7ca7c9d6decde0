/* Listening on Unix sockets, and wherever fewer listen than there are loops. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <gyre/listen.h>

#include "base/atomic.h"
#include "base/macros.h"
#include "echo.h"
#include "fixture.h"
#include "net/socket_file.h"

TestSuite(unix_sockets, .timeout = 60);

enum { LOOPS = 3, CONNECTIONS = 60 };

static char folder[64];
static char path[96];
static char text[128];
static uint32_t served[LOOPS]; /* atomic: connections, by loop */

static void count_active(struct gyre_handler_context *ctx)
{
	(void)gy_fetch_add(&served[gyre_self(gyre_context_stack(ctx)).loop], 1);
}

static const struct gyre_handler counting_echo = { .active = count_active, .read = echo_read };

static int init_counting(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &counting_echo, arg);
}

static void begin(void)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/gyre-unix-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	(void)snprintf(text, sizeof(text), "unix:%s", path);
	fixture_open(LOOPS);
}

static void end(void)
{
	if (fixture.system != NULL) {
		fixture_close();
	}
	must_hold(rmdir(folder) == 0, "no file is left");
}

static int listen_on(const char *address)
{
	const struct gyre_acceptor_options options = { .bind = address,
						       .init_channel = init_counting };

	return gyre_system_listen(fixture.system, &options, NULL);
}

/* A connection, or a negative errno. */
static int connect_to(const struct gyre_socket_address *address)
{
	int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = connect(fd, (const struct sockaddr *)&address->storage, address->bytes) < 0 ? -errno
											    : fd;

	if (r < 0) {
		(void)close(fd);
	}
	return r;
}

static int connect_text(const char *to)
{
	struct gyre_socket_address address;

	cr_assert_eq(gyre_socket_address_parse(to, &address), 0);
	return connect_to(&address);
}

static bool exists(void)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

/* The file of a socket whose process has ended without removing it. */
static int bind_there(bool listens)
{
	struct gyre_socket_address address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(gyre_socket_address_parse(text, &address), 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	if (listens) {
		cr_assert_eq(listen(fd, 1), 0);
	}
	return fd;
}

/* ---- serving ---- */

static void expect_shares(const struct gyre_socket_address *address)
{
	int fds[CONNECTIONS];

	for (size_t i = 0; i < CONNECTIONS; i++) {
		fds[i] = connect_to(address);
		cr_assert(fds[i] >= 0 && echoes(fds[i]));
	}
	for (size_t i = 0; i < LOOPS; i++) {
		cr_expect_eq(gy_load_relaxed(&served[i]), CONNECTIONS / LOOPS);
	}
	for (size_t i = 0; i < CONNECTIONS; i++) {
		(void)close(fds[i]);
	}
}

Test(unix_sockets, serve_connections_of_a_path_on_all_loops_in_turn, .init = begin, .fini = end)
{
	struct gyre_socket_address address;

	cr_assert_eq(gyre_socket_address_parse(text, &address), 0);
	cr_assert_eq(listen_on(text), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	expect_shares(&address);
}

Test(unix_sockets, serve_connections_of_an_abstract_name, .init = begin, .fini = end)
{
	char name[64];
	int fd;

	(void)snprintf(name, sizeof(name), "unix:@gyre-test-%d", (int)getpid());
	cr_assert_eq(listen_on(name), 0);
	cr_assert_eq(listen_on(name), -EADDRINUSE);
	fixture.errors--; /* that was expected */
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fd = connect_text(name);
	cr_assert_geq(fd, 0);
	cr_expect(echoes(fd));
	(void)close(fd);
}

Test(unix_sockets, are_not_needed_for_one_listener_to_serve_all_loops, .init = begin, .fini = end)
{
	struct gyre_socket_address address = { 0 };
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init_counting,
						       .listeners = 1,
						       .ret_address = &address };

	cr_assert_eq(gyre_system_listen(fixture.system, &options, NULL), 0);
	cr_assert_neq(gyre_socket_address_port(&address), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	expect_shares(&address);
}

/* ---- the file ---- */

Test(unix_sockets, remove_their_file_at_the_end_of_the_system, .init = begin, .fini = end)
{
	cr_assert_eq(listen_on(text), 0);
	cr_expect(exists());
	fixture_close();
	cr_expect_not(exists());
}

Test(unix_sockets, remove_their_file_when_the_system_never_ran, .init = begin, .fini = end)
{
	cr_assert_eq(listen_on(text), 0);
	gyre_system_destroy(fixture.system);
	fixture.system = NULL;
	cr_expect_not(exists());
}

static struct gyre_address acceptor;

static int stop_acceptor(struct gyre_stack *stack)
{
	return gyre_stop(stack, acceptor);
}

Test(unix_sockets, remove_their_file_when_their_acceptor_stops, .init = begin, .fini = end)
{
	static const struct gyre_class stopper = { .name = "stopper", .mount = stop_acceptor };
	const struct gyre_acceptor_options options = { .bind = text,
						       .init_channel = init_counting };
	int other;
	int fd;

	cr_assert_eq(gyre_system_listen(fixture.system, &options, &acceptor), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fd = connect_text(text);
	cr_assert(fd >= 0 && echoes(fd));
	(void)spawn_outside(&stopper, 0);
	while ((other = connect_text(text)) >= 0) {
		(void)close(other);
	}
	cr_expect_not(exists());
	cr_expect(echoes(fd), "connections stay");
	(void)close(fd);
}

Test(unix_sockets, replace_an_old_file_that_nobody_listens_on, .init = begin, .fini = end)
{
	(void)close(bind_there(true));
	cr_assert(exists());
	cr_expect_eq(listen_on(text), 0);
}

Test(unix_sockets, leave_the_file_of_one_who_listens, .init = begin, .fini = end)
{
	int fd = bind_there(true);

	cr_expect_eq(listen_on(text), -EADDRINUSE);
	fixture.errors--;
	cr_expect(exists());
	(void)close(fd);
	(void)unlink(path);
}

Test(unix_sockets, leave_the_file_of_one_whose_backlog_is_full, .init = begin, .fini = end)
{
	struct gyre_socket_address address;
	int fd = bind_there(true);
	int clients[2];

	cr_assert_eq(gyre_socket_address_parse(text, &address), 0);
	for (size_t i = 0; i < gy_countof(clients); i++) {
		clients[i] = connect_to(&address);
		cr_assert_geq(clients[i], 0);
	}
	cr_expect_eq(listen_on(text), -EADDRINUSE);
	fixture.errors--;
	cr_expect(exists());
	for (size_t i = 0; i < gy_countof(clients); i++) {
		(void)close(clients[i]);
	}
	(void)close(fd);
	(void)unlink(path);
}

Test(unix_sockets, leave_a_file_that_is_no_socket, .init = begin, .fini = end)
{
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	(void)fclose(file);
	cr_expect_eq(listen_on(text), -EADDRINUSE);
	fixture.errors--;
	cr_expect(exists());
	(void)unlink(path);
}

Test(unix_sockets, leave_the_file_that_a_later_server_has_put_there, .init = begin, .fini = end)
{
	char old[128];

	cr_assert_eq(listen_on(text), 0);
	/* Both files are there for a while, so that they have different numbers. */
	(void)snprintf(old, sizeof(old), "%s.old", path);
	cr_assert_eq(rename(path, old), 0);
	(void)close(bind_there(true));
	fixture_close();
	cr_expect(exists());
	(void)unlink(path);
	(void)unlink(old);
}

Test(unix_sockets, have_the_permissions_that_were_asked_for, .init = begin, .fini = end)
{
	const struct gyre_acceptor_options options = { .bind = text,
						       .init_channel = init_counting,
						       .mode = 0666 };
	struct stat status;

	(void)umask(077);
	cr_assert_eq(gyre_system_listen(fixture.system, &options, NULL), 0);
	cr_assert_eq(lstat(path, &status), 0);
	cr_expect_eq(status.st_mode & 0777, 0666);
}

Test(unix_sockets, are_refused_where_they_cannot_be, .init = begin, .fini = end)
{
	const struct gyre_acceptor_options options = { .bind = text,
						       .init_channel = init_counting,
						       .mode = 01000 };

	cr_expect_eq(listen_on("unix:/no-such-folder/socket"), -ENOENT);
	cr_expect_eq(listen_on("unix+dgram:/tmp/socket"), -EINVAL);
	cr_expect_eq(gyre_system_listen(fixture.system, &options, NULL), -EINVAL);
	cr_expect_eq(fixture.errors, 3, "each is explained");
	fixture.errors = 0;
}

Test(unix_sockets, leave_no_connection_without_an_owner_when_their_acceptor_stops, .init = begin,
     .fini = end)
{
	static const struct gyre_class stopper = { .name = "stopper", .mount = stop_acceptor };
	const struct gyre_acceptor_options options = { .bind = text,
						       .init_channel = init_counting };
	int fds[200];
	size_t count = 0;

	cr_assert_eq(gyre_system_listen(fixture.system, &options, &acceptor), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	while (count < gy_countof(fds)) {
		fds[count] = connect_text(text);
		if (fds[count] < 0) {
			break;
		}
		if (++count == 50) {
			(void)spawn_outside(&stopper, LOOPS - 1);
		}
	}
	cr_assert_geq(count, 50);
	for (size_t i = 0; i < count; i++) {
		(void)echoes(fds[i]); /* it is served or closed: no client waits without end */
		(void)close(fds[i]);
	}
}

/* ---- the same path, for many at once ---- */

enum { RIVALS = 6, ROUNDS = 200 };

static pthread_barrier_t together;
static uint32_t winners; /* atomic */

static int bind_at_path(int type, int *ret_fd)
{
	struct gyre_socket_address address;

	cr_assert_eq(gyre_socket_address_parse(text, &address), 0);
	address.type = type;
	*ret_fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	return gy_socket_file_bind(*ret_fd, &address, 0, 4 * RIVALS);
}

static bool is_reached(int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool reached;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	reached = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	(void)close(fd);
	return reached;
}

/* Each round begins with a file that nobody listens on, and ends when all have tried. */
static void *compete(void *arg)
{
	int type = *(const int *)arg;
	uint32_t failures = 0;

	for (int round = 0; round < ROUNDS; round++) {
		int fd;
		int r;

		(void)pthread_barrier_wait(&together);
		r = bind_at_path(type, &fd);
		if (r == 0) {
			(void)gy_fetch_add(&winners, 1);
		}
		failures += r != 0 && r != -EADDRINUSE;
		(void)pthread_barrier_wait(&together);
		failures += r == 0 && !is_reached(type);
		(void)close(fd);
	}
	return failures == 0 ? arg : NULL;
}

static void let_compete(int type)
{
	pthread_t threads[RIVALS];

	winners = 0;
	cr_assert_eq(pthread_barrier_init(&together, NULL, RIVALS), 0);
	for (size_t i = 0; i < RIVALS; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, compete, &type), 0);
	}
	for (size_t i = 0; i < RIVALS; i++) {
		void *succeeded;

		cr_assert_eq(pthread_join(threads[i], &succeeded), 0);
		cr_expect_not_null(succeeded);
	}
	(void)pthread_barrier_destroy(&together);
	cr_expect_eq(winners, ROUNDS, "%u winners of %d rounds", winners, ROUNDS);
	cr_expect_eq(unlink(path), 0);
}

Test(unix_sockets, of_a_path_are_got_by_one_of_many_who_want_it, .init = begin, .fini = end)
{
	let_compete(SOCK_STREAM);
	let_compete(SOCK_SEQPACKET);
	let_compete(SOCK_DGRAM);
}

Test(unix_sockets, trust_no_lock_of_another_user, .init = begin, .fini = end)
{
	char lock[128];
	int fd;

	if (geteuid() != 0) {
		cr_skip_test("only root can make another user's file");
	}
	(void)snprintf(lock, sizeof(lock), "%s.lock", path);
	fd = open(lock, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
	cr_assert_geq(fd, 0);
	cr_assert_eq(fchown(fd, 65534, 65534), 0);
	cr_assert_eq(flock(fd, LOCK_EX), 0);
	cr_expect_eq(listen_on(text), -EACCES);
	fixture.errors--;
	(void)close(fd);
	cr_expect_eq(unlink(lock), 0);
}

Test(unix_sockets, take_the_lock_that_one_who_was_killed_has_left, .init = begin, .fini = end)
{
	char lock[128];
	int fd;

	(void)snprintf(lock, sizeof(lock), "%s.lock", path);
	fd = open(lock, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	(void)close(fd);
	cr_expect_eq(listen_on(text), 0);
	cr_expect_neq(access(lock, F_OK), 0);
}
