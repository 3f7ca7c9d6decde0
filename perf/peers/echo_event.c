/*
 * A TCP echo server on libevent, as its users write one: an evconnlistener, a bufferevent a
 * connection, and evbuffers whose chains move from input to output without a copy. While output
 * waits over the mark a connection is not read.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>

#include "common/options.h"
#include "limit/echo.h"

enum {
	HIGH_BYTES = 256 * 1024,
	READ_BYTES = 64 * 1024,
	BACKLOG = 4096,
};

static struct {
	struct event_base *base;
	struct echo_counts counts;
} server;

static void received(struct bufferevent *connection, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(connection);
	struct evbuffer *output = bufferevent_get_output(connection);

	(void)arg;
	server.counts.requests++;
	server.counts.bytes += evbuffer_get_length(input);
	(void)evbuffer_add_buffer(output, input);
	if (evbuffer_get_length(output) > HIGH_BYTES) {
		(void)bufferevent_disable(connection, EV_READ);
	}
}

/* All output is gone. */
static void written(struct bufferevent *connection, void *arg)
{
	(void)arg;
	if ((bufferevent_get_enabled(connection) & EV_READ) == 0) {
		(void)bufferevent_enable(connection, EV_READ);
	}
}

static void ended(struct bufferevent *connection, short what, void *arg)
{
	(void)arg;
	if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0) {
		bufferevent_free(connection);
	}
}

static void connected(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
		      int bytes, void *arg)
{
	struct bufferevent *connection =
		bufferevent_socket_new(server.base, fd, BEV_OPT_CLOSE_ON_FREE);
	int on = 1;

	(void)listener;
	(void)address;
	(void)bytes;
	(void)arg;
	if (connection == NULL) {
		(void)evutil_closesocket(fd);
		return;
	}
	server.counts.connections++;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)bufferevent_set_max_single_read(connection, READ_BYTES);
	(void)bufferevent_set_max_single_write(connection, READ_BYTES);
	bufferevent_setcb(connection, received, written, ended, NULL);
	(void)bufferevent_enable(connection, EV_READ | EV_WRITE);
}

static void signalled(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	(void)arg;
	(void)event_base_loopbreak(server.base);
}

static int watch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM };

	for (int i = 0; i < 2; i++) {
		struct event *event = evsignal_new(server.base, numbers[i], signalled, NULL);

		if (event == NULL || event_add(event, NULL) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

static int serve(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) },
	};
	struct evconnlistener *listener;

	server.base = event_base_new();
	if (server.base == NULL || watch_signals() < 0) {
		return -ENOMEM;
	}
	listener = evconnlistener_new_bind(server.base, connected, NULL,
					   LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, BACKLOG,
					   (const struct sockaddr *)&address, sizeof(address));
	if (listener == NULL) {
		return -errno;
	}
	(void)event_base_dispatch(server.base);
	evconnlistener_free(listener);
	return 0;
}

int main(int argc, char **argv)
{
	struct echo_options options = { .port = 7000, .cpu = -1 };
	int r;

	echo_options_parse(&options, argc, argv, "A TCP echo server on libevent.", NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	r = serve((uint16_t)options.port);
	if (r < 0) {
		return perf_fail("cannot serve", r);
	}
	echo_print("peers/echo_event", &options, &server.counts);
	return 0;
}
