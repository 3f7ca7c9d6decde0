/*
 * Step 1: a server that greets each client, and hears nothing yet.
 */
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

/* ---- a connection ---- */

static void greet(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)gyre_buffer_printf(buffer, "* welcome\n");
	(void)gyre_context_write(ctx, buffer);
}

static const struct gyre_handler chat_handler = { .name = "chat", .active = greet };

static int init_connection(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &chat_handler, arg);
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
	uint16_t port = 0;
	const struct gyre_acceptor_options acceptor = {
		.bind = argc > 1 ? argv[1] : "tcp://[::]:7001",
		.init_channel = init_connection,
		.ret_port = &port,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r : gyre_system_listen(system, &acceptor, NULL);
	if (r == 0) {
		printf("listening on port %u\n", port);
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
