/*
 * Step 2: lines, which come back to the client that has typed them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

enum { LINE_BYTES_MAX = 512 };

/* ---- a connection ---- */

static void greet(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)gyre_buffer_printf(buffer, "* welcome");
	(void)gyre_context_write(ctx, buffer);
}

static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	(void)gyre_context_write(ctx, line);
}

static void take_exception(struct gyre_handler_context *ctx, int error)
{
	struct gyre_buffer *buffer;

	if (error != -EMSGSIZE) {
		gyre_context_fire_exception(ctx, error);
		return;
	}
	buffer = gyre_context_buffer(ctx);
	(void)gyre_buffer_printf(buffer, "* a line has at most %d bytes", LINE_BYTES_MAX);
	(void)gyre_context_write(ctx, buffer);
}

static const struct gyre_handler chat_handler = {
	.name = "chat",
	.active = greet,
	.read = read_line,
	.exception = take_exception,
};

static int init_connection(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_line_options lines = { .frame_bytes_max = LINE_BYTES_MAX,
							.append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &chat_handler, arg);
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
