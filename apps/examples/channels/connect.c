/*
 * Connecting: a client that tries until the server is there, sends a line, and prints the answer.
 *
 *	gyre-example-connect ADDRESS [LINE]
 *
 * The handler awaits the connection, and gets the address of its channel.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

struct main_frame {
	struct gyre_future future;
};

static void print_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	const void *bytes;
	size_t count;

	for (size_t at = 0; (count = gyre_buffer_peek(line, at, &bytes)) > 0; at += count) {
		(void)fwrite(bytes, 1, count, stdout);
	}
	printf("\n");
	*(bool *)gyre_context_arg(ctx) = true;
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
						      .init_arg = gyre_state(stack),
						      .retries_max = 100,
						      .owner = gyre_self(stack) };

	return gyre_connect(stack, &options, NULL, ret_future);
}

static int fail(struct gyre_stack *stack, const char *what, int error)
{
	(void)fprintf(stderr, "%s: %s\n", what, strerror(-error));
	gyre_exit(stack, EXIT_FAILURE);
	return gyre_return(stack);
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
		return fail(stack, arguments->argv[1], gyre_future_error(&frame->future));
	}
	GYRE_AWAIT(stack, gyre_send_bytes(stack, connected->channel, line, strlen(line), 0,
					  &frame->future));
	if (gyre_future_failed(&frame->future) && !*(bool *)gyre_state(stack)) {
		return fail(stack, arguments->argv[1], gyre_future_error(&frame->future));
	}
	GYRE_END(stack);
}

/* It hears of each step of the connection, and ends when that is closed, for it would be made
 * again. */
static int hear(struct gyre_stack *stack)
{
	const struct gyre_connection *connection = gyre_message(stack, gyre_connection);
	const bool *answered = gyre_state(stack);

	if (connection->step != GYRE_CONNECTION_CLOSED) {
		return gyre_return(stack);
	}
	return *answered ? gyre_stop(stack, gyre_self(stack))
			 : fail(stack, "no answer",
				connection->reason < 0 ? connection->reason : -ENODATA);
}

static const struct gyre_class main_class = { .name = "main",
					      .state_bytes = sizeof(bool), /* answered */
					      .frame_bytes = sizeof(struct main_frame),
					      .mount = run,
					      .behaviour.notice = hear };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
