/*
 * Connecting: a client that tries until the server is there, sends a line, and prints the answer.
 *
 *	gyre-example-connect ADDRESS [LINE]
 *
 * The handler awaits the connection, and gets the address of its channel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

struct main_frame {
	struct gyre_future future;
};

static void print_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	char text[256];
	size_t bytes = gyre_buffer_copy(line, 0, text, sizeof(text));

	printf("%.*s\n", (int)bytes, text);
	gyre_buffer_destroy(line);
	gyre_context_close(ctx);
}

static const struct gyre_handler client = { .read = print_line };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	const struct gyre_line_options lines = { .append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &client, arg);
}

static int connect_to(struct gyre_stack *stack, const char *address, struct gyre_future *ret_future)
{
	const struct gyre_connect_options options = { .to = address,
						      .init_channel = init_channel,
						      .retries_max = 100,
						      .owner = gyre_self(stack) };

	return gyre_connect(stack, &options, NULL, ret_future);
}

static int run(struct gyre_stack *stack)
{
	const struct gyre_arguments *arguments = gyre_message(stack, gyre_arguments);
	struct main_frame *frame = gyre_frame(stack);
	const char *line = arguments->argc > 2 ? arguments->argv[2] : "hello";
	const struct gyre_connected *connected;

	GYRE_BEGIN(stack);
	if (arguments->argc < 2) {
		(void)fprintf(stderr, "usage: gyre-example-connect ADDRESS [LINE]\n");
		gyre_exit(stack, EXIT_FAILURE);
		return gyre_return(stack);
	}
	GYRE_AWAIT(stack, connect_to(stack, arguments->argv[1], &frame->future));
	connected = gyre_future_get(&frame->future, gyre_connected);
	if (connected == NULL) {
		(void)fprintf(stderr, "%s: %s\n", arguments->argv[1],
			      strerror(-gyre_future_error(&frame->future)));
		gyre_exit(stack, EXIT_FAILURE);
		return gyre_return(stack);
	}
	GYRE_AWAIT(stack, gyre_send_bytes(stack, connected->channel, line, strlen(line), 0,
					  &frame->future));
	GYRE_END(stack);
}

/* It hears of each step of the connection, and ends when that is closed, for it would be made
 * again. */
static int hear(struct gyre_stack *stack)
{
	return gyre_message(stack, gyre_connection)->step == GYRE_CONNECTION_CLOSED
		       ? gyre_stop(stack, gyre_self(stack))
		       : gyre_return(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct main_frame),
					      .mount = run,
					      .behaviour.notice = hear };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
