/*
 * What C++17 writes where C has designated initialisers: tables are constexpr, filled by a function
 * that is called in place; options are zeroed and then filled; members of messages come in their
 * order. A server and its client in one program do so with all of these; exits with 0 when the line
 * has come back.
 */
#include <cstdio>
#include <cstring>

#include <gyre/gyre.h>

namespace
{

struct serve {
	int port;
	gyre_address owner;
	char greeting[8];
};
GYRE_MESSAGE(serve, 0x0201);

struct done {
	size_t bytes;
};
GYRE_MESSAGE(done, 0x0202);

bool came_back;

/* ---- the server ---- */

void echo_read(gyre_handler_context *ctx, gyre_buffer *line)
{
	(void)gyre_context_write(ctx, line);
}

constexpr gyre_handler echo = [] {
	gyre_handler made = {};

	made.name = "echo";
	made.read = echo_read;
	return made;
}();

int init_server(gyre_channel *channel, void *)
{
	gyre_idle_options idle = {};
	gyre_line_options lines = {};
	int r;

	idle.read_ns = GYRE_SECONDS(60);
	idle.close = true;
	lines.append = GYRE_APPEND_CRLF;
	r = gyre_pipeline_add(channel, GYRE_LAST, &echo, nullptr);
	r = r < 0 ? r : gyre_idle_add(channel, GYRE_FIRST, &idle);
	return r < 0 ? r : gyre_line_codec_add(channel, GYRE_BEFORE("echo"), &lines);
}

/* ---- the client ---- */

struct client_state {
	gyre_address owner;
	char greeting[8];
};

void client_active(gyre_handler_context *ctx)
{
	const client_state *state = static_cast<const client_state *>(gyre_context_arg(ctx));
	gyre_buffer *line = gyre_context_buffer(ctx);

	(void)gyre_buffer_append(line, state->greeting, std::strlen(state->greeting));
	(void)gyre_context_write(ctx, line);
}

void client_read(gyre_handler_context *ctx, gyre_buffer *line)
{
	const client_state *state = static_cast<const client_state *>(gyre_context_arg(ctx));
	gyre_stack *stack = gyre_context_stack(ctx);

	(void)gyre_notify(stack, state->owner, gyre_new(stack, done, gyre_buffer_bytes(line)));
	gyre_buffer_destroy(line);
	gyre_context_close(ctx);
}

constexpr gyre_handler client = [] {
	gyre_handler made = {};

	made.active = client_active;
	made.read = client_read;
	return made;
}();

int init_client(gyre_channel *channel, void *state)
{
	gyre_line_options lines = {};
	gyre_position position = GYRE_LAST;
	int r;

	lines.append = GYRE_APPEND_LF;
	position.name = "client";
	r = gyre_line_codec_add(channel, GYRE_FIRST, &lines);
	return r < 0 ? r : gyre_pipeline_add(channel, position, &client, state);
}

/* ---- the actor that connects ---- */

int connect_there(gyre_stack *stack)
{
	const serve *what = gyre_message(stack, serve);
	client_state *state = static_cast<client_state *>(gyre_state(stack));
	gyre_connect_options options = {};
	gyre_address connector;
	char to[64];

	(void)std::snprintf(to, sizeof(to), "tcp://127.0.0.1:%d", what->port);
	state->owner = gyre_self(stack);
	std::memcpy(state->greeting, what->greeting, sizeof(state->greeting));
	options.to = to;
	options.init_channel = init_client;
	options.init_arg = state;
	options.retries_max = GYRE_RETRIES_UNLIMITED;
	return gyre_connect(stack, &options, &connector, nullptr);
}

int see_line(gyre_stack *stack)
{
	came_back = gyre_message(stack, done)->bytes == 5;
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

constexpr gyre_route notices[] = {
	GYRE_ROUTE(serve, connect_there),
	GYRE_ROUTE(done, see_line),
	GYRE_ROUTE_END,
};

constexpr gyre_class customer = [] {
	gyre_class made = {};

	made.name = "customer";
	made.state_bytes = sizeof(client_state);
	made.behaviour.notice_routes = notices;
	return made;
}();

int run(gyre_system *system)
{
	gyre_acceptor_options listening = {};
	gyre_address actor;
	uint16_t port = 0;
	int r;

	listening.bind = "tcp://127.0.0.1:0";
	listening.init_channel = init_server;
	listening.channel.keep_alive_ns = GYRE_SECONDS(60);
	listening.ret_port = &port;
	r = gyre_system_listen(system, &listening, nullptr);
	if (r == 0) {
		r = gyre_system_spawn(system, &customer, GYRE_NO_ARGUMENT, nullptr, &actor);
	}
	if (r == 0) {
		r = gyre_system_notify(system, actor,
				       gyre_system_new(system, serve, port, GYRE_NOBODY, "hello"));
	}
	return r < 0 ? r : gyre_system_run(system);
}

} /* namespace */

int main()
{
	gyre_system_options options = {};
	gyre_system *system = nullptr;
	int r;

	options.loops = 1;
	options.stall_ns = GYRE_STALL_NEVER;
	r = gyre_system_create(&options, &system);
	if (r == 0) {
		r = run(system);
	}
	gyre_system_destroy(system);
	return r == 0 && came_back ? 0 : 1;
}
