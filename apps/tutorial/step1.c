/*
 * Step 1: a server that greets each client, and hears nothing yet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

/* ---- a connection ---- */

static void greet(struct gyre_handler_context *ctx)
{
	static const char text[] = "* welcome\n";
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)gyre_buffer_append(buffer, text, strlen(text));
	(void)gyre_context_write(ctx, buffer);
}

static const struct gyre_handler chat_handler = { .name = "chat", .active = greet };

static int init_connection(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &chat_handler, arg);
}

/* ---- the program ---- */

static void print_listening(struct gyre_system *system, void *address)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX] = "nowhere";

	(void)system;
	(void)gyre_socket_address_format(address, sizeof(text), text);
	printf("listening on %s\n", text);
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	struct gyre_socket_address address;
	const struct gyre_system_options options = { .started = print_listening,
						     .started_arg = &address };
	const struct gyre_acceptor_options acceptor = {
		.bind = argc > 1 ? argv[1] : "tcp://[::]:7001",
		.init_channel = init_connection,
		.ret_address = &address,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	r = r < 0 ? r : gyre_system_listen(system, &acceptor, NULL);
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
