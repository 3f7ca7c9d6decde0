/*
 * Clients and servers of one system meet over TCP and Unix sockets: each connection is closed by
 * one of the two after a few bytes, some by a reset, and made again; some are refused, or given up,
 * by the client's own handler when they are ordered. The servers have limits, so
 * that connections of all loops contend for room; one has a single listener, which hands its
 * connections to all loops. In the end the system is stopped in the middle of it all, and what was
 * opened must have been closed.
 */
#include <errno.h>

#include <gyre/connect.h>
#include <gyre/listen.h>

#include "stress.h"

enum { LOOPS = 3, CLIENTS = 4, CONNECTIONS = 6, OPENED = 3000, LIMIT = 10 };

static uint64_t seed;
static uint64_t opened;
static uint64_t closed;
static uint64_t ordered;
static uint32_t serving; /* connections of one server */

static void end_somehow(struct gyre_handler_context *ctx)
{
	uint64_t random = seed + gy_fetch_add(&closed, 1);

	switch (stress_random(&random, 8)) {
	case 0:
		gyre_channel_abort(gyre_context_channel(ctx), -ECONNABORTED);
		break;
	case 1:
	case 2:
		gyre_context_close(ctx);
		break;
	default:
		break;
	}
}

static void server_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
	end_somehow(ctx);
}

static const struct gyre_handler server = { .name = "server", .read = server_read };

static void client_active(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *hello = gyre_context_buffer(ctx);

	check(hello != NULL && gyre_buffer_append(hello, "hello", 5) == 0);
	(void)gyre_context_write(ctx, hello);
}

static int client_connect(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	uint64_t random = seed + gy_fetch_add(&ordered, 1);

	switch (stress_random(&random, 16)) {
	case 0:
		return -EACCES;
	case 1:
		gyre_context_close(ctx);
		return 0;
	case 2:
		check(gyre_context_connect(ctx, to, local) == 0);
		gyre_channel_abort(gyre_context_channel(ctx), -ECONNABORTED);
		return 0;
	default:
		return gyre_context_connect(ctx, to, local);
	}
}

static const struct gyre_handler client = {
	.name = "client", .connect = client_connect, .active = client_active, .read = server_read
};

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, (const struct gyre_handler *)arg, NULL);
}

static int listen_report(struct gyre_stack *stack, const struct gyre_listen_event *event,
			 struct gyre_channel *channel, void *arg)
{
	check(stack != NULL && (arg == &serving));
	check((channel != NULL) == (event->step >= GYRE_LISTEN_REGISTERED));
	if (event->step == GYRE_LISTEN_ACCEPTED) {
		check(gy_fetch_add(&serving, 1) < LIMIT);
	} else if (event->step == GYRE_LISTEN_CLOSED) {
		(void)gy_fetch_add(&serving, -1U);
	}
	return 0;
}

static void connect_report(struct gyre_stack *stack, const struct gyre_connection *connection,
			   struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	if (connection->step == GYRE_CONNECTION_OPEN && gy_fetch_add(&opened, 1) == OPENED) {
		gyre_system_stop(gyre_system_of(stack));
	}
}

static void begin_server(struct gyre_system *system, struct gyre_acceptor_options options,
			 struct gyre_socket_address *ret_address)
{
	options.init_channel = init_channel;
	options.init_arg = (void *)(uintptr_t)&server;
	options.ret_address = ret_address;
	check(gyre_system_listen(system, &options, NULL) == 0);
}

static void begin_client(struct gyre_system *system, const struct gyre_socket_address *to)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct gyre_connect_options options = {
		.to = text,
		.init_channel = init_channel,
		.init_arg = (void *)(uintptr_t)&client,
		.connections = CONNECTIONS,
		.retries_max = GYRE_RETRIES_UNLIMITED,
		.retry_min_ns = GYRE_MICROSECONDS(100),
		.retry_max_ns = GYRE_MILLISECONDS(1),
		.report = connect_report,
	};
	struct gyre_address actor;

	check(gyre_socket_address_format(to, sizeof(text), text) > 0);
	check(gyre_system_connect(system, &options, &actor) == 0);
}

int main(int argc, char **argv)
{
	struct gyre_system_options options = { .loops = LOOPS };
	struct gyre_socket_address shared;
	struct gyre_socket_address handed;
	struct gyre_counters counters;
	struct gyre_system *system;
	char name[64];

	seed = stress_begin(argc, argv);
	(void)snprintf(name, sizeof(name), "unix:@gyre-stress-%d", (int)getpid());
	check(gyre_system_create(&options, &system) == 0);
	begin_server(system,
		     (struct gyre_acceptor_options){ .bind = "tcp://127.0.0.1:0",
						     .connections_max = LIMIT,
						     .report = listen_report,
						     .report_arg = &serving },
		     &shared);
	begin_server(system,
		     (struct gyre_acceptor_options){ .bind = name, .loop_connections_max = 2 },
		     &handed);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		begin_client(system, i % 2 == 0 ? &shared : &handed);
	}
	check(gyre_system_start(system) == 0);
	check(gyre_system_wait(system) == 0);
	check(gyre_system_counters(system, &counters) == 0);
	check(counters.accepted + counters.connected == counters.closed);
	check(gy_load_relaxed(&serving) == 0);
	gyre_system_destroy(system);
	return 0;
}
