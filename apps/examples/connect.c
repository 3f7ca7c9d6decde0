/*
 * Connecting: a client that tries until the server is there, sends a line, and prints the answer.
 *
 *	gyre-example-connect ADDRESS [LINE]
 *
 * The actor that connects tells its owner of each step, and stops when its connection has ended, or
 * it has given up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

static void send_line(struct gyre_handler_context *ctx)
{
	const char *text = gyre_context_arg(ctx);
	struct gyre_buffer *line = gyre_context_buffer(ctx);

	if (gyre_buffer_append(line, text, strlen(text)) == 0) {
		(void)gyre_context_write(ctx, line);
	} else {
		gyre_buffer_destroy(line);
	}
}

static void print_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	char text[256];
	size_t bytes = gyre_buffer_copy(line, 0, text, sizeof(text));

	printf("%.*s\n", (int)bytes, text);
	gyre_buffer_destroy(line);
	gyre_context_close(ctx);
}

static const struct gyre_handler client = { .active = send_line, .read = print_line };

static int init_channel(struct gyre_channel *channel, void *text)
{
	const struct gyre_line_options lines = { .append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &client, text);
}

static int start(struct gyre_stack *stack)
{
	static char hello[] = "hello";
	const struct gyre_arguments *arguments = gyre_message(stack, gyre_arguments);
	const struct gyre_connect_options options = {
		.to = arguments->argv[1],
		.init_channel = init_channel,
		.init_arg = arguments->argc > 2 ? arguments->argv[2] : hello,
		.retries_max = 100,
		.owner = gyre_self(stack),
	};
	struct gyre_address socket;

	if (arguments->argc < 2) {
		(void)fprintf(stderr, "usage: gyre-example-connect ADDRESS [LINE]\n");
		gyre_exit(stack, EXIT_FAILURE);
		return gyre_return(stack);
	}
	return gyre_connect(stack, &options, &socket);
}

static int see_step(struct gyre_stack *stack)
{
	const struct gyre_connection *connection = gyre_message(stack, gyre_connection);

	if (connection->step == GYRE_CONNECTION_PAUSE) {
		printf("%s, trying again\n", strerror(-connection->reason));
		(void)fflush(stdout);
	}
	if (connection->step == GYRE_CONNECTION_GIVEN_UP) {
		gyre_exit(stack, EXIT_FAILURE);
	}
	return connection->step == GYRE_CONNECTION_CLOSED ? gyre_stop(stack, gyre_self(stack))
							  : gyre_return(stack);
}

static const struct gyre_route notices[] = {
	GYRE_ROUTE(gyre_connection, see_step),
	GYRE_ROUTE_END,
};

static const struct gyre_class main_class = { .name = "main",
					      .mount = start,
					      .behaviour.notice_routes = notices };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
