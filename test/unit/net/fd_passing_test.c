/* Messages with sockets: what is sent comes, and what is no such message is refused without a
 * descriptor left. */
#include "net/fd_passing.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"
#include "net/net_state.h"

static int ends[2];
static int listener;
static int descriptors;
static struct gy_net net;
static struct gy_homes homes = { .net = &net };

/* A socket of a name of its own, that listens if that is possible. */
static int open_one(int type)
{
	const struct sockaddr unnamed = { .sa_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	cr_assert_eq(bind(fd, &unnamed, sizeof(unnamed.sa_family)), 0);
	cr_assert(type == SOCK_DGRAM || listen(fd, 1) == 0);
	return fd;
}

static void begin(void)
{
	descriptors = descriptors_open();
	listener = open_one(SOCK_STREAM);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	(void)pthread_mutex_init(&homes.placing, NULL);
	gy_net_init(&net);
}

static void end(void)
{
	(void)close(ends[0]);
	(void)close(ends[1]);
	(void)close(listener);
	(void)pthread_mutex_destroy(&homes.placing);
	must_hold(descriptors_open() == descriptors, "none is left");
}

TestSuite(fd_passing, .init = begin, .fini = end, .timeout = 30);

static struct gy_fd_message sent;
static struct gy_fd_message got;

static void send_it(uint32_t count)
{
	sent = (struct gy_fd_message){ .kind = GY_FD_MESSAGE_LISTENER,
				       .serial = 7,
				       .count = count };
	(void)strncpy(sent.text, "tcp://[::]:7000", GY_FD_MESSAGE_TEXT_MAX);
	for (uint32_t i = 0; i < count; i++) {
		sent.fds[i] = listener;
	}
	cr_assert_eq(gy_fd_message_send(ends[0], &sent), 0);
}

static void close_got(void)
{
	for (uint32_t i = 0; i < got.count; i++) {
		(void)close(got.fds[i]);
	}
}

Test(fd_passing, brings_as_many_sockets_as_a_message_may_have)
{
	send_it(GY_FD_MESSAGE_FDS_MAX);
	cr_assert_eq(gy_fd_message_receive(ends[1], &got), 0);
	cr_expect_eq(got.kind, GY_FD_MESSAGE_LISTENER);
	cr_expect_eq(got.serial, 7);
	cr_expect_eq(got.count, GY_FD_MESSAGE_FDS_MAX);
	cr_expect_str_eq(got.text, "tcp://[::]:7000");
	close_got();
}

Test(fd_passing, tells_that_there_is_no_sender_any_more)
{
	(void)shutdown(ends[0], SHUT_WR);
	cr_expect_eq(gy_fd_message_receive(ends[1], &got), -ENODATA);
}

Test(fd_passing, refuses_what_is_too_short)
{
	cr_assert_eq(send(ends[0], "?", 1, 0), 1);
	cr_expect_eq(gy_fd_message_receive(ends[1], &got), -EPROTO);
}

Test(fd_passing, refuses_another_version)
{
	char bytes[2048];
	ssize_t count;

	send_it(0);
	count = recv(ends[1], bytes, sizeof(bytes), 0);
	bytes[0] ^= 2;
	cr_assert_eq(send(ends[0], bytes, (size_t)count, 0), count);
	cr_expect_eq(gy_fd_message_receive(ends[1], &got), -EPROTO);
}

Test(fd_passing, refuses_a_message_without_its_sockets)
{
	char bytes[2048];
	ssize_t count;

	send_it(2);
	count = recv(ends[1], bytes, sizeof(bytes), 0); /* which drops them */
	cr_assert_eq(send(ends[0], bytes, (size_t)count, 0), count);
	cr_expect_eq(gy_fd_message_receive(ends[1], &got), -EPROTO);
}

Test(fd_passing, refuses_a_kind_that_there_is_not)
{
	sent = (struct gy_fd_message){ .kind = GY_FD_MESSAGE_DATAGRAMS + 1,
				       .count = 1,
				       .fds = { listener } };
	cr_assert_eq(gy_fd_message_send(ends[0], &sent), 0);
	cr_expect_eq(gy_fd_message_receive(ends[1], &got), -EPROTO);
}

Test(fd_passing, refuses_a_text_without_end)
{
	sent = (struct gy_fd_message){ .kind = GY_FD_MESSAGE_LISTENER };
	memset(sent.text, 'x', sizeof(sent.text));
	cr_assert_eq(gy_fd_message_send(ends[0], &sent), 0);
	cr_expect_eq(gy_fd_message_receive(ends[1], &got), -EPROTO);
}

static void send_one(enum gy_fd_message_kind kind, int fd, uint32_t count)
{
	sent = (struct gy_fd_message){ .kind = kind, .serial = 1, .count = count };
	for (uint32_t i = 0; i < count; i++) {
		sent.fds[i] = fd;
	}
	cr_assert_eq(gy_fd_message_send(ends[0], &sent), 0);
}

Test(fd_passing, refuses_descriptors_that_are_not_what_the_kind_says)
{
	int datagrams = open_one(SOCK_DGRAM);
	int packets = open_one(SOCK_SEQPACKET);
	int silent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int numbers[2];

	cr_assert_eq(pipe(numbers), 0);
	send_one(GY_FD_MESSAGE_SELF, listener, 1);
	send_one(GY_FD_MESSAGE_SELF, packets, 2);
	send_one(GY_FD_MESSAGE_SELF, packets, 0);
	send_one(GY_FD_MESSAGE_SELF, ends[0], 1); /* which does not listen */
	send_one(GY_FD_MESSAGE_LISTENER, datagrams, 1);
	send_one(GY_FD_MESSAGE_LISTENER, silent, 3);
	send_one(GY_FD_MESSAGE_LISTENER, numbers[0], 1);
	send_one(GY_FD_MESSAGE_LISTENER, listener, 0);
	send_one(GY_FD_MESSAGE_DATAGRAMS, listener, 1);
	send_one(GY_FD_MESSAGE_DATAGRAMS, numbers[1], 1);
	send_one(GY_FD_MESSAGE_DATAGRAMS, datagrams, 0);
	send_one(GY_FD_MESSAGE_END, listener, 1);
	for (int i = 0; i < 12; i++) {
		cr_expect_eq(gy_fd_message_receive(ends[1], &got), -EPROTO, "%d", i);
	}
	send_one(GY_FD_MESSAGE_SELF, packets, 1);
	cr_expect_eq(gy_fd_message_receive(ends[1], &got), 0);
	close_got();
	send_one(GY_FD_MESSAGE_DATAGRAMS, datagrams, 2);
	cr_expect_eq(gy_fd_message_receive(ends[1], &got), 0);
	close_got();
	(void)close(datagrams);
	(void)close(packets);
	(void)close(silent);
	(void)close(numbers[0]);
	(void)close(numbers[1]);
}

Test(fd_passing, tells_when_there_is_no_room_for_descriptors_and_keeps_none)
{
	struct rlimit before;
	struct rlimit tight;
	int highest = dup(listener);

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	tight = before;
	tight.rlim_cur = (rlim_t)highest + 3;
	send_one(GY_FD_MESSAGE_LISTENER, listener, 20);
	(void)setrlimit(RLIMIT_NOFILE, &tight);
	cr_expect_eq(gy_fd_message_receive(ends[1], &got), -EMFILE);
	(void)setrlimit(RLIMIT_NOFILE, &before);
	(void)close(highest);
}

/* ---- who is at the other end ---- */

static int check_peer_as(uid_t owner, uid_t self)
{
	int pair[2];
	int r;

	cr_assert_eq(seteuid(owner), 0); /* the kernel notes it when they are made */
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	cr_assert_eq(seteuid(0), 0);
	cr_assert_eq(seteuid(self), 0);
	r = gy_fd_message_check_peer(pair[0]);
	cr_assert_eq(seteuid(0), 0);
	(void)close(pair[0]);
	(void)close(pair[1]);
	return r;
}

Test(fd_passing, is_for_processes_of_the_same_user_and_of_the_superuser)
{
	enum { OTHER = 65534 };

	cr_expect_eq(gy_fd_message_check_peer(ends[0]), 0);
	if (geteuid() != 0) {
		cr_skip_test("only root can be another user");
	}
	cr_expect_eq(check_peer_as(OTHER, OTHER), 0);
	cr_expect_eq(check_peer_as(0, OTHER), 0);
	cr_expect_eq(check_peer_as(OTHER, 0), -EPERM);
	cr_expect_eq(check_peer_as(OTHER, OTHER - 1), -EPERM);
}

/* ---- what a successor says ---- */

static void expect_heard(const char *bytes, size_t count, int heard)
{
	cr_assert_eq(send(ends[0], bytes, count, 0), (ssize_t)count);
	cr_expect_eq(gy_fd_message_read_successor(ends[1]), heard, "%s", bytes);
}

Test(fd_passing, hears_a_byte_at_a_time_and_no_nonsense)
{
	cr_expect_eq(gy_fd_message_read_successor(ends[1]), -EAGAIN);
	expect_heard("n", 1, GY_SUCCESSOR_ASKS);
	expect_heard("r", 1, GY_SUCCESSOR_RUNS);
	expect_heard("x", 1, -EPROTO);
	expect_heard("\0", 1, -EPROTO);
	expect_heard("\377", 1, -EPROTO);
	expect_heard("nr", 2, -EPROTO);
	send_it(2); /* with descriptors, which are not left */
	cr_expect_eq(gy_fd_message_read_successor(ends[1]), -EPROTO);
	(void)shutdown(ends[0], SHUT_WR);
	cr_expect_eq(gy_fd_message_read_successor(ends[1]), -ENODATA);
}

Test(fd_passing, does_not_wait_for_a_receiver)
{
	int r = 0;

	sent = (struct gy_fd_message){ .kind = GY_FD_MESSAGE_END };
	for (uint32_t i = 0; i < 100000 && r == 0; i++) {
		r = gy_fd_message_send(ends[0], &sent);
	}
	cr_expect_eq(r, -EAGAIN);
}

/* ---- the store ---- */

static void add(uint32_t serial, const char *text, uint32_t count)
{
	struct gy_fd_message passing = { .kind = GY_FD_MESSAGE_LISTENER, .serial = serial };

	(void)strncpy(passing.text, text, GY_FD_MESSAGE_TEXT_MAX);
	for (; passing.count < count; passing.count++) {
		passing.fds[passing.count] = dup(ends[0]);
	}
	cr_assert_eq(gy_passed_sockets_add(&homes, &passing), 0);
}

static void expect_taken(const char *text, uint32_t count)
{
	struct gy_passed_sockets *passed =
		gy_passed_sockets_take(&homes, GY_FD_MESSAGE_LISTENER, text);
	int fds[2 * GY_FD_MESSAGE_FDS_MAX];

	cr_assert_not_null(passed);
	cr_assert_eq(passed->count, count);
	for (uint32_t i = 0; i < count; i++) {
		fds[i] = passed->fds[i];
		cr_expect_geq(fcntl(fds[i], F_GETFD), 0);
	}
	gy_passed_sockets_destroy(passed);
	for (uint32_t i = 0; i < count; i++) {
		cr_expect_eq(fcntl(fds[i], F_GETFD), -1, "its record has closed it");
	}
}

Test(fd_passing, keeps_the_listeners_of_one_text_apart_and_in_order)
{
	add(1, "a", 2);
	add(2, "a", 1);
	add(3, "b", 1);
	cr_expect_null(gy_passed_sockets_take(&homes, GY_FD_MESSAGE_LISTENER, "c"));
	cr_expect_null(gy_passed_sockets_take(&homes, GY_FD_MESSAGE_DATAGRAMS, "a"));
	expect_taken("a", 2);
	expect_taken("a", 1);
	cr_expect_null(gy_passed_sockets_take(&homes, GY_FD_MESSAGE_LISTENER, "a"));
	cr_expect_eq(gy_passed_sockets_drop(&homes), 1);
	cr_expect_eq(gy_passed_sockets_drop(&homes), 0);
}

Test(fd_passing, joins_the_messages_of_one_listener)
{
	add(1, "a", GY_FD_MESSAGE_FDS_MAX);
	add(1, "a", 3);
	expect_taken("a", GY_FD_MESSAGE_FDS_MAX + 3);
}

Test(fd_passing, takes_no_listener_without_sockets)
{
	const struct gy_fd_message passing = { .kind = GY_FD_MESSAGE_LISTENER, .serial = 1 };

	cr_expect_eq(gy_passed_sockets_add(&homes, &passing), -EPROTO);
}
