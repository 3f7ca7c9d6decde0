/*
 * Unix sockets of a simulated host.
 */
#include <fcntl.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/un.h>

#include "net_rig.h"

#include "sim/net/socket.h"

static void run_alone(gyre_sim_boot_fn boot)
{
	struct gyre_sim *sim = sim_make(1);
	bool done = false;

	(void)sim_add(sim, "alpha", boot, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}

static struct sockaddr_un path_address(const char *path, socklen_t *ret_bytes)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	memcpy(name.sun_path, path, strlen(path));
	if (path[0] == '@') {
		name.sun_path[0] = '\0';
	}
	*ret_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	return name;
}

static int bind_to(int fd, const char *path)
{
	socklen_t bytes;
	const struct sockaddr_un name = path_address(path, &bytes);

	return bind(fd, (const struct sockaddr *)&name, bytes) < 0 ? -errno : 0;
}

static int connect_to(int fd, const char *path)
{
	socklen_t bytes;
	const struct sockaddr_un name = path_address(path, &bytes);

	return connect(fd, (const struct sockaddr *)&name, bytes) < 0 ? -errno : 0;
}

/* ---- streams ---- */

static void use_name(const char *path)
{
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	char byte;
	int other;

	cr_assert_eq(connect_to(fd, path), path[0] == '@' ? -ECONNREFUSED : -ENOENT);
	cr_assert_eq(bind_to(listener, path), 0);
	cr_assert_eq(connect_to(fd, path), -ECONNREFUSED);
	cr_assert_eq(bind_to(fd, path), -EADDRINUSE);
	cr_assert_eq(listen(listener, 0), 0);
	cr_assert_eq(connect_to(fd, path), 0);
	cr_assert_eq(net_events(listener), POLLIN);
	cr_assert_eq(send(fd, "x", 1, 0), 1); /* before it is accepted */
	other = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	cr_assert_eq(connect_to(other, path), -EAGAIN);
	(void)close(other);
	other = accept(listener, NULL, NULL);
	cr_assert(other >= 0);
	cr_assert(recv(other, &byte, 1, 0) == 1 && byte == 'x');
	cr_assert_eq(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes), 0);
	cr_assert_eq(peer.pid, getpid());
	(void)close(listener);
	(void)close(other);
	(void)close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_eq(connect_to(fd, path), -ECONNREFUSED);
	cr_assert_eq(bind_to(fd, path), path[0] == '@' ? 0 : -EADDRINUSE); /* the file stays */
	(void)close(fd);
}

static int use_names(void *arg)
{
	use_name("@somewhere");
	use_name("/run/somewhere");
	*(bool *)arg = true;
	return 0;
}

Test(sim_local, is_found_by_its_abstract_name_or_its_path)
{
	run_alone(use_names);
}

static int use_pair(void *arg)
{
	char bytes[8];
	int left = 0;
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	cr_assert_eq(net_events(fds[0]), POLLOUT);
	cr_assert_eq(send(fds[0], "ab", 2, 0), 2);
	cr_assert_eq(send(fds[0], "cd", 2, 0), 2);
	cr_assert(ioctl(fds[1], FIONREAD, &left) == 0 && left == 4);
	cr_assert_eq(recv(fds[1], bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT), 2);
	cr_assert_eq(recv(fds[1], bytes, sizeof(bytes), MSG_DONTWAIT), 4);
	cr_assert_eq(memcmp(bytes, "abcd", 4), 0);
	cr_assert_eq(shutdown(fds[0], SHUT_WR), 0);
	cr_assert_eq(net_events(fds[1]), POLLIN | POLLOUT | POLLRDHUP);
	cr_assert_eq(recv(fds[1], bytes, sizeof(bytes), 0), 0);
	cr_assert_eq(send(fds[1], "e", 1, 0), 1);
	(void)close(fds[0]); /* with that unread */
	cr_assert_eq(net_events(fds[1]), POLLIN | POLLOUT | POLLRDHUP | POLLHUP | POLLERR);
	cr_assert(recv(fds[1], bytes, sizeof(bytes), 0) < 0 && errno == ECONNRESET);
	cr_assert_eq(recv(fds[1], bytes, sizeof(bytes), 0), 0);
	cr_assert(send(fds[1], "f", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
	(void)close(fds[1]);
	*(bool *)arg = true;
	return 0;
}

Test(sim_local, has_ends_and_resets_as_the_kernel_has)
{
	run_alone(use_pair);
}

static int fill_pair(void *arg)
{
	static char bytes[4096];
	struct epoll_event event = { .events = EPOLLOUT | EPOLLET };
	int epoll = epoll_create1(0);
	size_t done = 0;
	ssize_t count;
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	cr_assert_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event), 0);
	cr_assert_eq(epoll_wait(epoll, &event, 1, 0), 1);
	while ((count = write(fds[0], bytes, sizeof(bytes))) > 0) {
		done += (size_t)count;
	}
	cr_assert(count < 0 && errno == EAGAIN);
	cr_assert_eq(done, 128 * 1024);
	cr_assert_eq(epoll_wait(epoll, &event, 1, 0), 0);
	while ((count = read(fds[1], bytes, sizeof(bytes))) > 0) {
		done -= (size_t)count;
	}
	cr_assert_eq(done, 0);
	cr_assert_eq(epoll_wait(epoll, &event, 1, 0), 1);
	cr_assert_eq(event.events, EPOLLOUT);
	*(bool *)arg = true;
	return 0;
}

Test(sim_local, tells_of_room_when_the_peer_has_read)
{
	run_alone(fill_pair);
}

/* ---- files that are passed ---- */

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

static void pass(int fd, const int *passed, size_t count)
{
	struct iovec slice = { .iov_base = (char[]){ "!" }, .iov_len = 1 };
	union control control = { 0 };
	struct msghdr message = { .msg_iov = &slice,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = CMSG_SPACE(count * sizeof(int)) };

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&control.header), passed, count * sizeof(int));
	cr_assert_eq(sendmsg(fd, &message, 0), 1);
}

/* How many have come. */
static size_t take(int fd, size_t room, int *ret_fds, int *ret_flags)
{
	char bytes[8];
	struct iovec slice = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	union control control = { 0 };
	struct msghdr message = { .msg_iov = &slice,
				  .msg_iovlen = 1,
				  .msg_control = room == 0 ? NULL : &control,
				  .msg_controllen = room == 0 ? 0 : CMSG_LEN(room * sizeof(int)) };
	size_t count;

	cr_assert_eq(recvmsg(fd, &message, MSG_CMSG_CLOEXEC), 1);
	*ret_flags = message.msg_flags;
	if (CMSG_FIRSTHDR(&message) == NULL) {
		return 0;
	}
	count = (control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(ret_fds, CMSG_DATA(&control.header), count * sizeof(int));
	return count;
}

static int pass_files(int type)
{
	char byte;
	int fds[2];
	int pair[2];
	int got[2];
	int flags;

	cr_assert_eq(socketpair(AF_UNIX, type, 0, fds), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pass(fds[0], pair, 2);
	pass(fds[0], pair, 2);
	(void)close(pair[0]);
	(void)close(pair[1]);
	cr_assert_eq(take(fds[1], 2, got, &flags), 2);
	cr_assert_eq(flags & MSG_CTRUNC, 0);
	cr_assert_eq(send(got[0], "x", 1, 0), 1);
	cr_assert(recv(got[1], &byte, 1, 0) == 1 && byte == 'x');
	cr_assert_eq(fcntl(got[0], F_GETFD), FD_CLOEXEC);
	(void)close(got[1]);
	cr_assert_eq(net_events(got[0]), POLLOUT); /* another passed one is still under way */
	cr_assert_eq(take(fds[1], 1, got + 1, &flags), 1);
	cr_assert_eq(flags & MSG_CTRUNC, MSG_CTRUNC);
	cr_assert_eq(net_events(got[0]) & POLLHUP, POLLHUP);
	(void)close(fds[0]);
	(void)close(fds[1]);
	return 0;
}

static int pass_files_both_ways(void *arg)
{
	(void)pass_files(SOCK_STREAM);
	(void)pass_files(SOCK_SEQPACKET);
	*(bool *)arg = true;
	return 0;
}

Test(sim_local, passes_open_files)
{
	run_alone(pass_files_both_ways);
}

/* ---- datagrams ---- */

static int use_datagrams(void *arg)
{
	struct sockaddr_un from;
	socklen_t from_bytes = sizeof(from);
	struct pollfd one = { .events = POLLOUT };
	char bytes[4];
	int server = socket(AF_UNIX, SOCK_DGRAM, 0);
	int client = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	const sa_family_t unnamed = AF_UNIX;
	int sent = 0;

	cr_assert_eq(bind_to(server, "@server"), 0);
	cr_assert_eq(bind(client, (const struct sockaddr *)&unnamed, sizeof(unnamed)), 0);
	cr_assert_eq(connect_to(client, "@server"), 0);
	while (send(client, "12345", 5, 0) == 5) {
		sent++;
	}
	cr_assert_eq(errno, EAGAIN);
	cr_assert_eq(sent, 11); /* as Linux has it */
	one.fd = client;
	cr_assert_eq(poll(&one, 1, 0), 0);
	cr_assert_eq(recvfrom(server, bytes, sizeof(bytes), MSG_TRUNC, (struct sockaddr *)&from,
			      &from_bytes),
		     5);
	cr_assert_eq(from_bytes, offsetof(struct sockaddr_un, sun_path) + 6);
	cr_assert_eq(poll(&one, 1, 0), 1);
	cr_assert_eq(sendto(server, "back", 4, 0, (struct sockaddr *)&from, from_bytes), 4);
	cr_assert_eq(recv(client, bytes, sizeof(bytes), 0), 4);
	(void)close(server);
	cr_assert(send(client, "x", 1, 0) < 0 && errno == ECONNREFUSED);
	*(bool *)arg = true;
	return 0;
}

/* Sockets in whose queues they themselves, and one another, are under way. */
static int pass_in_circles(void *arg)
{
	int pair[2];
	int alone[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, alone), 0);
	pass(pair[0], pair, 2);
	pass(pair[1], alone, 2);
	pass(alone[0], pair, 1);
	pass(alone[0], &alone[1], 1);
	(void)close(pair[0]);
	(void)close(pair[1]);
	(void)close(alone[0]);
	(void)close(alone[1]);
	*(bool *)arg = true;
	return 0;
}

Test(sim_local, lets_go_what_is_passed_in_circles_when_the_host_is_down)
{
	struct gyre_sim *sim = sim_make(1);
	bool done = false;

	(void)sim_add(sim, "alpha", pass_in_circles, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(done);
	cr_assert(gy_list_empty(&sim->hosts[0]->net->sockets));
	gyre_sim_destroy(sim);
}

Test(sim_local, brings_datagrams_and_makes_senders_wait)
{
	run_alone(use_datagrams);
}

/* ---- crashes ---- */

static int leave_a_file(void *arg)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	uint32_t *boots = (uint32_t *)arg;

	cr_assert_eq(bind_to(fd, "/run/server"), (*boots)++ == 0 ? 0 : -EADDRINUSE);
	net_pause(GYRE_SECONDS(100));
	return 0;
}

Test(sim_local, leaves_its_file_behind_when_the_host_crashes)
{
	struct gyre_sim *sim = sim_make(2);
	uint32_t boots = 0;
	uint32_t host = sim_add(sim, "alpha", leave_a_file, &boots);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(gyre_sim_crash(sim, host), 0);
	cr_assert_eq(gyre_sim_restart(sim, host), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(boots, 2);
	gyre_sim_destroy(sim);
}
