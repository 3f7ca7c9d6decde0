/*
 * Two nodes that exchange messages without members: one is asked a ping and answers with a pong,
 * and sends each bell back. It is compiled as C and as C++, and each of the two talks to the other:
 *
 *	empty-c server tcp://127.0.0.1:9001
 *	empty-cxx client tcp://127.0.0.1:9001 tcp://127.0.0.1:9002
 *
 * The client exits with 0 when all has come back as it should.
 */
#include "empty_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVER = 1, CLIENT = 2, ROUNDS = 100 };

static const char server_name[] = "server";
static int exit_status = EXIT_FAILURE;

static int say(struct gyre_stack *stack, const char *what)
{
	(void)puts(what);
	(void)fflush(stdout);
	return gyre_return(stack);
}

/* ---- the server ---- */

static int server_mount(struct gyre_stack *stack)
{
	int r = gyre_name_register(stack, server_name);

	return r < 0 ? gyre_throw(stack, r) : say(stack, "ready");
}

static int server_ask(struct gyre_stack *stack)
{
	if (gyre_message(stack, ping) == NULL) {
		return gyre_throw(stack, -EPROTO);
	}
	return gyre_reply_to(stack, ping);
}

static int server_notice(struct gyre_stack *stack)
{
	struct bell taken;

	if (gyre_move(stack, bell, &taken) < 0) {
		return gyre_throw(stack, -EPROTO);
	}
	return gyre_notify(stack, gyre_sender(stack), gyre_new_copy(stack, bell, &taken));
}

/* ---- the client ---- */

struct client_frame {
	struct gyre_future future;
	struct gyre_address server;
	int rounds;
};

struct client {
	int bells;
};

static int client_notice(struct gyre_stack *stack)
{
	struct client *self = (struct client *)gyre_state(stack);

	if (gyre_message(stack, bell) != NULL && ++self->bells == ROUNDS) {
		exit_status = EXIT_SUCCESS;
		gyre_system_stop(gyre_system_of(stack));
	}
	return gyre_return(stack);
}

static int fail(struct gyre_stack *stack, const char *what)
{
	(void)say(stack, what);
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

/* Not the mount, which would hold back the bells. */
static int client_event(struct gyre_stack *stack)
{
	struct client_frame *frame = (struct client_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_node_lookup(stack, SERVER, server_name, GYRE_SECONDS(20), &frame->future));
	if (gyre_future_failed(&frame->future)) {
		return fail(stack, strerror(-gyre_future_error(&frame->future)));
	}
	frame->server = gyre_future_get(&frame->future, gyre_node_found)->address;
	while (frame->rounds++ < ROUNDS) {
		GYRE_AWAIT(stack, gyre_ask(stack, frame->server, gyre_new(stack, ping),
					   GYRE_SECONDS(20), &frame->future));
		if (gyre_future_failed(&frame->future)) {
			return fail(stack, strerror(-gyre_future_error(&frame->future)));
		}
		if (gyre_future_answer_to(&frame->future, ping) == NULL) {
			return fail(stack, "the answer is no pong");
		}
		(void)gyre_notify(stack, frame->server, gyre_new(stack, bell));
	}
	GYRE_END(stack);
}

static int client_mount(struct gyre_stack *stack)
{
	struct gyre_timer_options now;

	memset(&now, 0, sizeof(now));
	return gyre_timer_start(stack, 1, &now);
}

/* ---- the process ---- */

static struct gyre_class class_of(bool server)
{
	struct gyre_class made;

	memset(&made, 0, sizeof(made));
	made.name = server ? server_name : "client";
	made.state_bytes = sizeof(struct client);
	made.frame_bytes = sizeof(struct client_frame);
	made.mount = server ? server_mount : client_mount;
	made.behaviour.ask = server ? server_ask : NULL;
	made.behaviour.notice = server ? server_notice : client_notice;
	made.behaviour.event = client_event;
	return made;
}

static int run(bool server, const char *listen, const char *peer)
{
	const struct gyre_type *const types[] = { &gyre_type_ping, &gyre_type_pong, &gyre_type_bell,
						  NULL };
	const struct gyre_node_peer peers[] = { { SERVER, peer }, { 0, NULL } };
	const struct gyre_class actor_class = class_of(server);
	struct gyre_system_options options;
	struct gyre_node_options node;
	struct gyre_system *system = NULL;
	struct gyre_address actor;
	int r;

	memset(&options, 0, sizeof(options));
	memset(&node, 0, sizeof(node));
	node.id = server ? SERVER : CLIENT;
	node.listen = listen;
	node.peers = peer == NULL ? NULL : peers;
	node.types = types;
	options.loops = 1;
	options.node = &node;
	r = gyre_system_create(&options, &system);
	if (r == 0) {
		r = gyre_system_spawn(system, &actor_class, GYRE_NO_ARGUMENT, NULL, &actor);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r;
}

static bool have_no_bytes(void)
{
	return gyre_type_ping.bytes == 0 && gyre_type_pong.bytes == 0 && gyre_type_bell.bytes == 0;
}

int main(int argc, char **argv)
{
	bool server = argc == 3 && strcmp(argv[1], "server") == 0;
	bool client = argc == 4 && strcmp(argv[1], "client") == 0;
	int r;

	if (!server && !client) {
		(void)fputs("usage: server ADDRESS | client ADDRESS OWN-ADDRESS\n", stderr);
		return EXIT_FAILURE;
	}
	if (!have_no_bytes()) {
		(void)fputs("a message without members has bytes\n", stderr);
		return EXIT_FAILURE;
	}
	r = run(server, argv[argc - 1], client ? argv[2] : NULL);
	return r < 0 ? EXIT_FAILURE : server ? EXIT_SUCCESS : exit_status;
}
