/*
 * What the kernel tells of a socket.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring/socket.h"

static void connect_pair(int *ret_from, int *ret_to)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_eq(bind(listener, (struct sockaddr *)&address, bytes), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
	*ret_from = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(connect(*ret_from, (struct sockaddr *)&address, bytes), 0);
	*ret_to = accept(listener, NULL, NULL);
	cr_assert_geq(*ret_to, 0);
	(void)close(listener);
}

Test(ring_socket, tells_what_stands_unread_in_it)
{
	struct pollfd input = { .events = POLLIN };
	char bytes[5];
	int from;
	int to;

	connect_pair(&from, &to);
	cr_assert_eq(gy_socket_unread_bytes(to), 0);
	cr_assert_eq(write(from, "hello", 5), 5);
	input.fd = to;
	cr_assert_eq(poll(&input, 1, -1), 1);
	cr_assert_eq(gy_socket_unread_bytes(to), 5);
	cr_assert_eq(read(to, bytes, 3), 3);
	cr_assert_eq(gy_socket_unread_bytes(to), 2);
	(void)close(from);
	(void)close(to);
}

/* A peer that reads nothing takes no more than there is room for at both ends. */
Test(ring_socket, tells_what_its_peer_has_not_taken)
{
	static const char bytes[65536];
	int from;
	int to;

	connect_pair(&from, &to);
	cr_assert_eq(gy_socket_unsent_bytes(from), 0);
	while (send(from, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
	}
	cr_assert_gt(gy_socket_unsent_bytes(from), 0);
	(void)close(from);
	(void)close(to);
}

Test(ring_socket, that_is_none_has_nothing)
{
	cr_assert_eq(gy_socket_unsent_bytes(-1), 0);
	cr_assert_eq(gy_socket_unread_bytes(-1), 0);
}
