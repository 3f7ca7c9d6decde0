/*
 * Sockets, descriptors, files, signals and names without a ring: results, and what stays as it was
 * on failure.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "ring/descriptor.h"
#include "ring/file.h"
#include "ring/host.h"
#include "ring/signal.h"
#include "ring/socket.h"

static bool is_closed_by_exec(int fd)
{
	return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

static bool is_nonblocking(int fd)
{
	return (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

/* Two ends of a connection; the second is the accepted one. */
static void connect_pair(int ret_fds[2])
{
	const struct sockaddr_in any = { .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_storage name;
	socklen_t bytes;
	int listener = gy_socket_open(AF_INET, SOCK_STREAM, 0);

	cr_assert_geq(listener, 0);
	cr_assert_eq(gy_socket_bind(listener, (const struct sockaddr *)&any, sizeof(any)), 0);
	cr_assert_eq(gy_socket_listen(listener, 1), 0);
	cr_assert_eq(gy_socket_name(listener, &name, &bytes), 0);
	ret_fds[0] = gy_socket_open(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(gy_socket_connect(ret_fds[0], (const struct sockaddr *)&name, bytes), 0);
	ret_fds[1] = gy_socket_accept(listener);
	cr_assert_geq(ret_fds[1], 0);
	cr_assert_eq(gy_descriptor_close(listener), 0);
}

static void close_pair(const int fds[2])
{
	cr_assert_eq(gy_descriptor_close(fds[0]), 0);
	cr_assert_eq(gy_descriptor_close(fds[1]), 0);
}

Test(socket, accepts_connections_that_are_nonblocking_and_closed_by_exec)
{
	int fds[2];

	connect_pair(fds);
	cr_assert(is_closed_by_exec(fds[0]) && !is_nonblocking(fds[0]));
	cr_assert(is_closed_by_exec(fds[1]) && is_nonblocking(fds[1]));
	close_pair(fds);
}

Test(socket, has_the_name_that_its_peer_knows_it_by)
{
	struct sockaddr_storage name = { 0 };
	struct sockaddr_storage peer = { 0 };
	socklen_t name_bytes = 0;
	socklen_t peer_bytes = 0;
	int fds[2];

	connect_pair(fds);
	cr_assert_eq(gy_socket_name(fds[0], &name, &name_bytes), 0);
	cr_assert_eq(gy_socket_peer(fds[1], &peer, &peer_bytes), 0);
	cr_assert_eq(name_bytes, sizeof(struct sockaddr_in));
	cr_assert_eq(peer_bytes, name_bytes);
	cr_assert_eq(memcmp(&name, &peer, name_bytes), 0);
	close_pair(fds);
}

Test(socket, sends_and_says_that_nothing_has_come)
{
	char bytes[8];
	int fds[2];

	connect_pair(fds);
	cr_assert_eq(gy_socket_receive(fds[1], bytes, sizeof(bytes), 0), -EAGAIN);
	cr_assert_eq(gy_socket_send(fds[1], "hello", 5, 0), 5);
	cr_assert_eq(gy_socket_receive(fds[0], bytes, 5, MSG_WAITALL), 5);
	cr_assert_eq(memcmp(bytes, "hello", 5), 0);
	close_pair(fds);
}

/* The signal would end the test. */
Test(socket, raises_no_signal_when_its_peer_has_gone)
{
	char byte = 'x';
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	const struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	int fds[2];

	connect_pair(fds);
	cr_assert_eq(gy_socket_shutdown(fds[0], SHUT_WR), 0);
	cr_assert_eq(gy_socket_send(fds[0], "x", 1, 0), -EPIPE);
	cr_assert_eq(gy_socket_send_message(fds[0], &message, 0), -EPIPE);
	close_pair(fds);
}

Test(socket, leaves_outputs_as_they_are_on_failure)
{
	struct sockaddr_storage name = { .ss_family = 42 };
	socklen_t bytes = 7;

	cr_assert_eq(gy_socket_name(-1, &name, &bytes), -EBADF);
	cr_assert_eq(gy_socket_peer(-1, &name, &bytes), -EBADF);
	cr_assert_eq(name.ss_family, 42);
	cr_assert_eq(bytes, 7);
	cr_assert_eq(gy_socket_open(-1, SOCK_STREAM, 0), -EAFNOSUPPORT);
}

Test(socket, has_options_of_the_size_that_is_asked_for)
{
	int fd = gy_socket_open(AF_INET, SOCK_STREAM, 0);
	const int on = 1;
	int value = 0;
	struct linger linger;

	cr_assert_eq(gy_socket_set_option(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)), 0);
	cr_assert_eq(gy_socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof(value)), 0);
	cr_assert_eq(value, 1);
	cr_assert_eq(gy_socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, &linger, sizeof(linger)),
		     -EINVAL);
	cr_assert_eq(gy_descriptor_close(fd), 0);
}

Test(descriptor, is_duplicated_from_a_number_on_and_replaced)
{
	int fd = gy_descriptor_open_event(true);
	int other = gy_descriptor_duplicate(fd, 100);

	cr_assert_geq(other, 100);
	cr_assert(is_closed_by_exec(other));
	cr_assert_eq(gy_descriptor_close(other), 0);
	cr_assert_not(gy_descriptor_is_open(other));
	cr_assert_eq(gy_descriptor_duplicate(other, 0), -EBADF);
	other = gy_descriptor_open_event(true);
	cr_assert_eq(gy_descriptor_replace(other, fd), 0);
	cr_assert_eq(gy_descriptor_post_event(other), 0);
	cr_assert_eq(gy_descriptor_take_event(fd), 0);
	cr_assert_eq(gy_descriptor_close(other), 0);
	cr_assert_eq(gy_descriptor_close(fd), 0);
}

Test(descriptor, of_an_event_is_readable_until_it_is_taken)
{
	struct pollfd event = { .fd = gy_descriptor_open_event(true), .events = POLLIN };

	cr_assert_eq(gy_descriptor_poll(&event, 1, 0), 0);
	cr_assert_eq(gy_descriptor_take_event(event.fd), -EAGAIN);
	cr_assert_eq(gy_descriptor_post_event(event.fd), 0);
	cr_assert_eq(gy_descriptor_post_event(event.fd), 0);
	cr_assert_eq(gy_descriptor_poll(&event, 1, 0), 1);
	cr_assert_eq(gy_descriptor_take_event(event.fd), 0);
	cr_assert_eq(gy_descriptor_poll(&event, 1, 0), 0);
	cr_assert_eq(gy_descriptor_close(event.fd), 0);
}

Test(descriptor, of_a_pipe_takes_bytes_and_flags)
{
	char byte = 0;
	int fds[2];

	cr_assert_eq(gy_descriptor_open_pipe(fds), 0);
	cr_assert(is_closed_by_exec(fds[0]) && is_closed_by_exec(fds[1]));
	cr_assert_eq(gy_descriptor_set_flags(fds[0], O_NONBLOCK), 0);
	cr_assert_eq(gy_descriptor_read(fds[0], &byte, 1), -EAGAIN);
	cr_assert_eq(gy_descriptor_write(fds[1], "x", 1), 1);
	cr_assert_eq(gy_descriptor_read(fds[0], &byte, 1), 1);
	cr_assert_eq(byte, 'x');
	close_pair(fds);
}

Test(file, is_made_read_and_removed_by_its_path)
{
	char path[] = "/tmp/gyre-seam-XXXXXX";
	struct stat carried;
	struct stat found;
	char bytes[4] = "";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(gy_descriptor_write(fd, "0123", 4), 4);
	cr_assert_eq(gy_file_read_at(fd, bytes, 4, 2), 2);
	cr_assert_eq(memcmp(bytes, "23", 2), 0);
	cr_assert_eq(gy_file_lock(fd), 0);
	cr_assert_eq(gy_file_set_mode(path, 0640), 0);
	cr_assert_eq(gy_descriptor_status(fd, &carried), 0);
	cr_assert_eq(gy_file_status(path, &found), 0);
	cr_assert_eq(found.st_ino, carried.st_ino);
	cr_assert_eq(found.st_mode & 0777, 0640);
	cr_assert_eq(gy_file_remove(path), 0);
	cr_assert_eq(gy_file_status(path, &found), -ENOENT);
	cr_assert_eq(gy_file_open(path, O_RDONLY | O_CLOEXEC, 0), -ENOENT);
	cr_assert_eq(gy_descriptor_close(fd), 0);
}

Test(signal, is_read_from_a_descriptor_whose_signals_change)
{
	struct signalfd_siginfo infos[2];
	struct sigaction action;
	sigset_t before;
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	fd = gy_signal_open(&set);
	cr_assert(is_closed_by_exec(fd) && is_nonblocking(fd));
	(void)sigaddset(&set, SIGUSR1);
	gy_thread_mask_signals(SIG_BLOCK, &set, &before);
	(void)raise(SIGUSR1);
	cr_assert_eq(gy_signal_read(fd, infos, 2), -EAGAIN);
	cr_assert_eq(gy_signal_change(fd, &set), 0);
	cr_assert_eq(gy_signal_read(fd, infos, 2), 1);
	cr_assert_eq(infos[0].ssi_signo, SIGUSR1);
	cr_assert_not(gy_signal_take(&set));
	(void)raise(SIGUSR1);
	cr_assert(gy_signal_take(&set));
	cr_assert_eq(gy_signal_action(SIGUSR1, &action), 0);
	cr_assert_eq(gy_signal_action(-1, &action), -EINVAL);
	gy_thread_restore_signals(&before);
	cr_assert_eq(gy_descriptor_close(fd), 0);
}

Test(host, knows_interfaces_by_name_and_number)
{
	char name[IF_NAMESIZE];
	uint32_t index = 0;

	cr_assert_eq(gy_interface_index("lo", &index), 0);
	cr_assert_eq(gy_interface_name(index, name), 0);
	cr_assert_str_eq(name, "lo");
	cr_assert_eq(gy_interface_index("no-such-thing", &index), -ENODEV);
	cr_assert_eq(gy_interface_name(INT32_MAX, name), -ENODEV);
}

Test(host, is_looked_up_or_why_it_is_not)
{
	struct sockaddr_storage name;
	const char *why = NULL;
	socklen_t bytes = 0;

	cr_assert_eq(gy_host_look_up("127.0.0.1", SOCK_STREAM, &name, &bytes, &why), 0);
	cr_assert_eq(name.ss_family, AF_INET);
	cr_assert_eq(bytes, sizeof(struct sockaddr_in));
	cr_assert_null(why);
	cr_assert_lt(gy_host_look_up("a name with spaces", SOCK_STREAM, &name, &bytes, &why), 0);
	cr_assert_not_null(why);
}
