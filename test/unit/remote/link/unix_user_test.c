/*
 * The user at the other end of a Unix socket: who may have a link, and that nothing is read from,
 * or said to, anybody else. The other user is a child that has become nobody, which takes the
 * superuser: without that these tests are skipped.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gyre/outside.h>

#include "base/atomic.h"
#include "remote/unix_rig.h"

enum { NOBODY = 65534, BYTES = 64 };

static const uint32_t nobody[] = { 7, NOBODY };

/* ---- the other user ---- */

/* What the child found: its exit status. */
enum { FOUND_NOTHING = 10, FOUND_BYTES, FOUND_FAILURE };

static int found(int fd)
{
	char bytes[BYTES];
	ssize_t got = fd < 0 ? -1 : recv(fd, bytes, sizeof(bytes), 0);

	/* The end of a connection of which not all was read is a reset. */
	return got > 0					      ? FOUND_BYTES
	       : got == 0 || (fd >= 0 && errno == ECONNRESET) ? FOUND_NOTHING
							      : FOUND_FAILURE;
}

/* Says hello and looks for an answer. */
static int dial(const struct unix_place *place, int ready)
{
	const struct gy_hello hello = stranger_hello();
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	int fd = unix_connect(place);

	(void)ready;
	if (fd >= 0) {
		(void)send(fd, bytes, gy_hello_put(&hello, bytes), MSG_NOSIGNAL);
	}
	return found(fd);
}

/* Waits for the node, and for what it says. */
static int serve(const struct unix_place *place, int ready)
{
	int listener = unix_listen(place);

	if (listener < 0 || write(ready, "", 1) != 1) {
		return FOUND_FAILURE;
	}
	return found(accept(listener, NULL, NULL));
}

static bool become_nobody(void)
{
	return setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0;
}

/* Forked before the node has threads. It begins when there is a byte in @begin. */
struct child {
	pid_t pid;
	int begin;
	int ready;
};

static struct child start_child(int (*work)(const struct unix_place *place, int ready),
				const struct unix_place *place)
{
	struct child child;
	int begin[2];
	int ready[2];

	if (geteuid() != 0) {
		cr_skip_test("it takes the superuser to become another user");
	}
	cr_assert_eq(pipe(begin), 0);
	cr_assert_eq(pipe(ready), 0);
	child.pid = fork();
	cr_assert_geq(child.pid, 0);
	if (child.pid == 0) {
		char byte;

		(void)close(begin[1]);
		(void)close(ready[0]);
		(void)!read(begin[0], &byte, 1);
		_exit(become_nobody() ? work(place, ready[1]) : FOUND_FAILURE);
	}
	(void)close(begin[0]);
	(void)close(ready[1]);
	child.begin = begin[1];
	child.ready = ready[0];
	return child;
}

static void begin(const struct child *child)
{
	cr_assert_eq(write(child->begin, "", 1), 1);
}

static void await_ready(const struct child *child)
{
	char byte;

	cr_assert_eq(read(child->ready, &byte, 1), 1, "it listens");
}

static void expect_found(const struct child *child, int what)
{
	int status = 0;

	cr_assert_eq(waitpid(child->pid, &status, 0), child->pid);
	cr_assert(WIFEXITED(status));
	cr_expect_eq(WEXITSTATUS(status), what, "%d", WEXITSTATUS(status));
}

/* When the node is gone, which counts descriptors. */
static void end_child(const struct child *child)
{
	cr_assert_eq(close(child->begin), 0);
	cr_assert_eq(close(child->ready), 0);
}

static void open_node(const struct unix_place *place, const char *secret, uint32_t users)
{
	struct gyre_node_options options = stranger_quick;

	options.listen = place->text;
	options.secret = secret;
	options.users = nobody;
	options.users_count = users;
	options.listen_mode = 0666;
	options.redial_min_ns = GYRE_SECONDS(60); /* one line a dial */
	options.redial_max_ns = GYRE_SECONDS(60);
	stranger_open(&options);
}

static void expect_line(const struct child *child)
{
	char process[BYTES];

	(void)snprintf(process, sizeof(process), "user %d, process %d,", NOBODY, (int)child->pid);
	cr_expect_eq(fixture.warnings, 1, "%u", fixture.warnings);
	cr_expect_not_null(strstr(fixture.line, process), "%s", fixture.line);
	cr_expect_not_null(strstr(fixture.line, "(users)"), "%s", fixture.line);
}

/* ---- who dials ---- */

static void play_dialler(const char *secret, uint32_t users, int expected)
{
	const struct unix_place place = unix_place("node");
	struct child child = start_child(dial, &place);

	open_node(&place, secret, users);
	begin(&child);
	expect_found(&child, expected);
	fixture_close();
	end_child(&child);
	if (expected == FOUND_NOTHING) {
		expect_line(&child);
	}
}

Test(unix_user, that_is_another_and_dials_gets_no_byte, .init = unix_open, .fini = unix_close)
{
	play_dialler(NULL, 0, FOUND_NOTHING);
}

Test(unix_user, that_is_another_is_refused_with_a_secret_as_well, .init = unix_open,
     .fini = unix_close)
{
	play_dialler("known to few, and long", 0, FOUND_NOTHING);
}

Test(unix_user, that_is_not_among_those_allowed_is_refused, .init = unix_open, .fini = unix_close)
{
	play_dialler(NULL, 1, FOUND_NOTHING);
}

Test(unix_user, that_is_allowed_dials_as_the_own_does, .init = unix_open, .fini = unix_close)
{
	play_dialler(NULL, 2, FOUND_BYTES);
}

/* ---- who listens ---- */

static void play_listener(const char *secret, uint32_t users, int expected)
{
	const struct unix_place node = unix_place("node");
	const struct unix_place peer = unix_place("peer");
	const struct gyre_node_peer known = { STRANGER_ID, peer.text };
	const struct gyre_address afar = { .slot = 5, .cookie = 6, .node = STRANGER_ID };
	struct child child = start_child(serve, &peer);

	open_node(&node, secret, users);
	begin(&child);
	await_ready(&child);
	cr_assert_eq(gyre_system_node_add_peer(fixture.system, &known), 0);
	cr_assert_eq(gyre_system_notify(fixture.system, afar,
					gyre_system_new(fixture.system, number, 1)),
		     0);
	expect_found(&child, expected);
	fixture_close();
	end_child(&child);
	if (expected == FOUND_NOTHING) {
		expect_line(&child);
	}
	cr_expect_eq(unlink(peer.path), 0);
}

Test(unix_user, that_is_another_and_listens_hears_no_byte, .init = unix_open, .fini = unix_close)
{
	play_listener(NULL, 0, FOUND_NOTHING);
}

Test(unix_user, that_is_another_and_listens_hears_nothing_encrypted_either, .init = unix_open,
     .fini = unix_close)
{
	play_listener("known to few, and long", 0, FOUND_NOTHING);
}

Test(unix_user, that_is_allowed_and_listens_is_greeted, .init = unix_open, .fini = unix_close)
{
	play_listener(NULL, 2, FOUND_BYTES);
}
