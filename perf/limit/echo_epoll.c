/*
 * A TCP echo server on epoll: level-triggered, one thread, one read and one write a request.
 *
 * All connections share one receive buffer, since what was read is written back before anything
 * else is read. Only what the socket does not take is copied aside; the connection then waits to be
 * writable and is not read until all of that is gone, so that a peer who does not read cannot flood
 * the server.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/options.h"
#include "limit/echo.h"

enum {
	EVENTS_MAX = 1024,
	RECEIVE_BYTES = 64 * 1024,
};

struct connection {
	int fd;
	char *rest; /* what is still to be written; NULL: nothing */
	size_t rest_bytes;
	size_t rest_done;
};

struct server {
	int epoll;
	int listener;
	struct echo_counts counts;
	char buffer[RECEIVE_BYTES];
};

static void watch(struct server *server, int operation, int fd, uint32_t events, void *data)
{
	struct epoll_event event = { .events = events, .data = { .ptr = data } };

	server->counts.system_calls++;
	if (epoll_ctl(server->epoll, operation, fd, &event) < 0) {
		exit(perf_fail("epoll_ctl", -errno));
	}
}

static void drop(struct server *server, struct connection *connection)
{
	server->counts.system_calls++;
	close(connection->fd);
	free(connection->rest);
	free(connection);
}

static void accept_all(struct server *server)
{
	for (;;) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): epoll has the connections */
		int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *connection;

		server->counts.system_calls++;
		if (fd < 0) {
			return;
		}
		connection = calloc(1, sizeof(*connection));
		if (connection == NULL) {
			close(fd);
			return;
		}
		connection->fd = fd;
		server->counts.connections++;
		watch(server, EPOLL_CTL_ADD, fd, EPOLLIN, connection);
	}
}

/* How much of @bytes the socket took, or a negative errno. */
static ssize_t put(struct server *server, int fd, const char *data, size_t bytes)
{
	ssize_t sent = send(fd, data, bytes, MSG_NOSIGNAL);

	server->counts.system_calls++;
	if (sent < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	return sent;
}

static int keep_rest(struct server *server, struct connection *connection, const char *data,
		     size_t bytes)
{
	connection->rest = malloc(bytes);
	if (connection->rest == NULL) {
		return -ENOMEM;
	}
	memcpy(connection->rest, data, bytes);
	connection->rest_bytes = bytes;
	connection->rest_done = 0;
	watch(server, EPOLL_CTL_MOD, connection->fd, EPOLLOUT, connection);
	return 0;
}

/* 0, or a negative errno if the connection is at its end. */
static int serve_readable(struct server *server, struct connection *connection)
{
	ssize_t got = recv(connection->fd, server->buffer, sizeof(server->buffer), 0);
	ssize_t sent;

	server->counts.system_calls++;
	if (got <= 0) {
		return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -ENOTCONN;
	}
	server->counts.requests++;
	server->counts.bytes += (uint64_t)got;
	sent = put(server, connection->fd, server->buffer, (size_t)got);
	if (sent < 0) {
		return (int)sent;
	}
	if (sent < got) {
		return keep_rest(server, connection, server->buffer + sent, (size_t)(got - sent));
	}
	return 0;
}

static int serve_writable(struct server *server, struct connection *connection)
{
	ssize_t sent = put(server, connection->fd, connection->rest + connection->rest_done,
			   connection->rest_bytes - connection->rest_done);

	if (sent < 0) {
		return (int)sent;
	}
	connection->rest_done += (size_t)sent;
	if (connection->rest_done == connection->rest_bytes) {
		free(connection->rest);
		connection->rest = NULL;
		watch(server, EPOLL_CTL_MOD, connection->fd, EPOLLIN, connection);
	}
	return 0;
}

static void serve(struct server *server, struct connection *connection)
{
	int r = connection->rest != NULL ? serve_writable(server, connection)
					 : serve_readable(server, connection);

	if (r < 0) {
		drop(server, connection);
	}
}

/* Serves until @signals, a descriptor, is readable. */
static void run(struct server *server, int *signals)
{
	static struct epoll_event events[EVENTS_MAX];
	bool stop = false;

	watch(server, EPOLL_CTL_ADD, server->listener, EPOLLIN, &server->listener);
	watch(server, EPOLL_CTL_ADD, *signals, EPOLLIN, signals);
	while (!stop) {
		int count = epoll_wait(server->epoll, events, EVENTS_MAX, -1);

		server->counts.system_calls++;
		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr == &server->listener) {
				accept_all(server);
			} else if (events[i].data.ptr == signals) {
				stop = true;
			} else {
				serve(server, events[i].data.ptr);
			}
		}
	}
}

int main(int argc, char **argv)
{
	static struct server server;
	struct echo_options options = { .host = "127.0.0.1", .port = 7000, .cpu = -1 };
	int signals;

	echo_options_parse(&options, argc, argv, "A TCP echo server on epoll.", NULL);
	signals = echo_signals();
	if (signals < 0) {
		return perf_fail("signals", signals);
	}
	server.listener = echo_listen(&options, SOCK_NONBLOCK);
	if (server.listener < 0) {
		return perf_fail("cannot listen", server.listener);
	}
	server.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (server.epoll < 0) {
		return perf_fail("epoll", -errno);
	}
	run(&server, &signals);
	echo_print("limit/echo_epoll", &options, &server.counts);
	return 0;
}
