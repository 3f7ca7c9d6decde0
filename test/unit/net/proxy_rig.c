/*
 * The handler changes where its channel is connected to, and keeps the beginning to itself: active
 * is passed on when the proxy has said that the way is free.
 */
#include "net/proxy_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/buffer.h>

#include "net/client_rig.h"

/* ---- the handler ---- */

enum {
	SOCKS_VERSION = 5,
	SOCKS_CONNECT = 1,
	SOCKS_IPV4 = 1,
	SOCKS_NAME = 3,
	SOCKS_REFUSED = 5,
	SOCKS_GREETING_BYTES = 2,
	SOCKS_ANSWER_BYTES = 10,
};

struct socks {
	const char *proxy;
	char host[PROXY_NAME_BYTES];
	uint16_t port;
	bool greeted;
	bool through;
	struct gyre_buffer *in;	  /* what is no whole answer yet */
	struct gyre_buffer *held; /* written before the way is free */
};

static struct socks *socks_of(const struct gyre_handler_context *ctx)
{
	return (struct socks *)gyre_context_arg(ctx);
}

static int socks_connect(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	struct socks *socks = socks_of(ctx);
	const char *host = strstr(to, "//");
	const char *port = strrchr(to, ':');

	if (host == NULL || port == NULL || port - host - 2 >= PROXY_NAME_BYTES) {
		return -EINVAL;
	}
	(void)snprintf(socks->host, sizeof(socks->host), "%.*s", (int)(port - host - 2), host + 2);
	socks->port = (uint16_t)strtoul(port + 1, NULL, 10);
	return gyre_context_connect(ctx, socks->proxy, local);
}

static void say(struct gyre_handler_context *ctx, const void *bytes, size_t count)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	if (buffer != NULL && gyre_buffer_append(buffer, bytes, count) == 0) {
		(void)gyre_context_write(ctx, buffer);
	} else {
		gyre_buffer_destroy(buffer);
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
	}
}

static void socks_active(struct gyre_handler_context *ctx)
{
	static const unsigned char greeting[] = { SOCKS_VERSION, 1, 0 };

	say(ctx, greeting, sizeof(greeting));
}

static void ask(struct gyre_handler_context *ctx)
{
	const struct socks *socks = socks_of(ctx);
	unsigned char order[PROXY_NAME_BYTES + 8] = { SOCKS_VERSION, SOCKS_CONNECT, 0, SOCKS_NAME };
	size_t count = strlen(socks->host);
	uint16_t port = htons(socks->port);

	order[4] = (unsigned char)count;
	memcpy(order + 5, socks->host, count);
	memcpy(order + 5 + count, &port, sizeof(port));
	say(ctx, order, 5 + count + sizeof(port));
}

/* The way is free: what was kept goes on, in both directions. */
static void go_through(struct gyre_handler_context *ctx)
{
	struct socks *socks = socks_of(ctx);
	struct gyre_buffer *held = socks->held;
	struct gyre_buffer *in = socks->in;

	socks->through = true;
	socks->held = NULL;
	socks->in = NULL;
	if (held != NULL) {
		(void)gyre_context_write(ctx, held);
	}
	gyre_context_fire_active(ctx);
	if (gyre_buffer_bytes(in) > 0) {
		gyre_context_fire_read(ctx, in);
	} else {
		gyre_buffer_destroy(in);
	}
}

static void hear_answer(struct gyre_handler_context *ctx, const unsigned char *answer)
{
	if (answer[0] != SOCKS_VERSION) {
		gyre_channel_abort(gyre_context_channel(ctx), -EPROTO);
	} else if (answer[1] != 0) {
		gyre_channel_abort(gyre_context_channel(ctx),
				   answer[1] == SOCKS_REFUSED ? -ECONNREFUSED : -EHOSTUNREACH);
	} else if (socks_of(ctx)->greeted) {
		go_through(ctx);
	} else {
		socks_of(ctx)->greeted = true;
		ask(ctx);
	}
}

static void socks_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct socks *socks = socks_of(ctx);
	size_t needed = socks->greeted ? SOCKS_ANSWER_BYTES : SOCKS_GREETING_BYTES;
	unsigned char answer[SOCKS_ANSWER_BYTES];

	if (socks->through) {
		gyre_context_fire_read(ctx, data);
		return;
	}
	if (socks->in == NULL) {
		socks->in = data;
	} else if (gyre_buffer_join(socks->in, data) < 0) {
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
		return;
	}
	if (gyre_buffer_bytes(socks->in) >= needed) {
		(void)gyre_buffer_read(socks->in, answer, needed);
		hear_answer(ctx, answer);
	}
}

static int socks_write(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct socks *socks = socks_of(ctx);

	if (socks->through) {
		return gyre_context_write(ctx, data);
	}
	if (socks->held != NULL) {
		return gyre_buffer_join(socks->held, data);
	}
	socks->held = data;
	return 0;
}

/* Who has not heard that it is active need not hear that it is not. */
static void socks_inactive(struct gyre_handler_context *ctx)
{
	if (socks_of(ctx)->through) {
		gyre_context_fire_inactive(ctx);
	}
}

static void socks_removed(struct gyre_handler_context *ctx)
{
	struct socks *socks = socks_of(ctx);

	gyre_buffer_destroy(socks->in);
	gyre_buffer_destroy(socks->held);
	free(socks);
}

static const struct gyre_handler socks_handler = {
	.removed = socks_removed,
	.connect = socks_connect,
	.active = socks_active,
	.read = socks_read,
	.write = socks_write,
	.inactive = socks_inactive,
};

int proxy_add(struct gyre_channel *channel, const char *proxy)
{
	struct socks *socks = (struct socks *)calloc(1, sizeof(*socks));
	int r;

	if (socks == NULL) {
		return -ENOMEM;
	}
	socks->proxy = proxy;
	r = gyre_pipeline_add(channel, GYRE_LAST, &socks_handler, socks);
	if (r < 0) {
		free(socks);
	}
	return r;
}

/* ---- the proxy ---- */

static bool take(int fd, void *bytes, size_t count)
{
	return recv(fd, bytes, count, MSG_WAITALL) == (ssize_t)count;
}

static bool give(int fd, const void *bytes, size_t count)
{
	return send(fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count;
}

/* Its greeting, and what it asks for; false if it has gone. */
static bool hear_order(struct proxy *proxy, int client)
{
	static const unsigned char welcome[] = { SOCKS_VERSION, 0 };
	unsigned char bytes[5];
	uint16_t port;

	if (!take(client, bytes, 3) || !give(client, welcome, 1) || !give(client, welcome + 1, 1)) {
		return false;
	}
	memset(proxy->asked_host, 0, sizeof(proxy->asked_host));
	if (!take(client, bytes, 5) || !take(client, proxy->asked_host, bytes[4]) ||
	    !take(client, &port, sizeof(port))) {
		return false;
	}
	proxy->asked_port = ntohs(port);
	proxy->asked++;
	return true;
}

static void answer(int client, unsigned char how)
{
	const unsigned char bytes[SOCKS_ANSWER_BYTES] = { SOCKS_VERSION, how, 0, SOCKS_IPV4 };

	(void)give(client, bytes, sizeof(bytes));
}

/* Carries one way what is there; false at the end. */
static bool carry(int from, int to)
{
	char bytes[4096];
	ssize_t count = recv(from, bytes, sizeof(bytes), 0);

	if (count <= 0) {
		(void)shutdown(to, SHUT_WR);
		return false;
	}
	return give(to, bytes, (size_t)count);
}

static void relay(int a, int b)
{
	struct pollfd ways[] = { { .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN } };

	while ((ways[0].fd >= 0 || ways[1].fd >= 0) && poll(ways, 2, -1) > 0) {
		if (ways[0].revents != 0 && !carry(a, b)) {
			ways[0].fd = -1;
		}
		if (ways[1].revents != 0 && !carry(b, a)) {
			ways[1].fd = -1;
		}
	}
}

static void connect_through(const struct proxy *proxy, int client)
{
	uint16_t port = proxy->target != 0 ? proxy->target : proxy->asked_port;
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		answer(client, SOCKS_REFUSED);
	} else {
		answer(client, 0);
		relay(client, fd);
	}
	(void)close(fd);
}

static void serve(struct proxy *proxy, int client)
{
	char byte;

	if (proxy->manner == PROXY_TALKS_NONSENSE) {
		(void)give(client, "HTTP/1.0 400", 12);
	} else if (proxy->manner == PROXY_IS_SILENT) {
		while (take(client, &byte, 1)) {
		}
		return;
	} else if (hear_order(proxy, client)) {
		if (proxy->manner == PROXY_SERVES) {
			connect_through(proxy, client);
			return;
		}
		answer(client, SOCKS_REFUSED);
	}
	while (take(client, &byte, 1)) {
	}
}

static void *run(void *arg)
{
	struct proxy *proxy = (struct proxy *)arg;
	int client;

	while ((client = accept4(proxy->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		serve(proxy, client);
		(void)close(client);
	}
	return NULL;
}

void proxy_open(struct proxy *proxy)
{
	uint16_t port;

	proxy->fd = client_listen(&port);
	(void)snprintf(proxy->address, sizeof(proxy->address), "tcp://127.0.0.1:%u",
		       (unsigned)port);
	cr_assert_eq(pthread_create(&proxy->thread, NULL, run, proxy), 0);
}

void proxy_close(struct proxy *proxy)
{
	(void)shutdown(proxy->fd, SHUT_RDWR);
	cr_assert_eq(pthread_join(proxy->thread, NULL), 0);
	(void)close(proxy->fd);
}
