/*
 * Step 2: the server hears lines, and gives each back to its client.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { LINE_BYTES_MAX = 512 };

/* ---- a connection ---- */

static void write_text(struct gyre_handler_context *ctx, const char *text)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)gyre_buffer_append(buffer, text, strlen(text));
	(void)gyre_context_write(ctx, buffer);
}

static void greet(struct gyre_handler_context *ctx)
{
	write_text(ctx, "* welcome");
}

static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	(void)gyre_context_write(ctx, line);
}

static void take_exception(struct gyre_handler_context *ctx, int error)
{
	if (error == -EMSGSIZE) {
		write_text(ctx, "* that line is too long");
	} else {
		gyre_context_fire_exception(ctx, error);
	}
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
