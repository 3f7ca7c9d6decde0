/*
 * Pipes: a filter between standard input and output, which numbers lines like cat -n.
 *
 * The filter is a channel with a pipeline like any other, owned by an actor. The main actor watches
 * that, and ends the program with it: at the end of the input, or when nobody reads the output. A
 * last line without its end is a line all the same; the codec could also drop it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

static void number_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	uint64_t *count = gyre_context_arg(ctx);
	char text[32];
	int bytes = snprintf(text, sizeof(text), "%6" PRIu64 "\t", ++*count);

	if (gyre_buffer_prepend(line, text, (size_t)bytes) < 0) {
		gyre_buffer_destroy(line);
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
		return;
	}
	(void)gyre_context_write(ctx, line);
}

static const struct gyre_handler numbers = { .read = number_line };

static int init_channel(struct gyre_channel *channel, void *count)
{
	const struct gyre_line_options lines = { .append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &numbers, count);
}

static int open_pipe(struct gyre_stack *stack)
{
	const struct gyre_pipe_options options = { .init_channel = init_channel,
						   .init_arg = gyre_state(stack) };
	struct gyre_address pipe;
	int r = gyre_system_pipe_open(gyre_system_of(stack), &options, &pipe);

	return r < 0 ? gyre_throw(stack, r) : gyre_watch(stack, pipe);
}

static int see_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *pipe = gyre_message(stack, gyre_terminated);

	if (pipe->reason < 0 && pipe->reason != -EPIPE) {
		gyre_log(stack, GYRE_LOG_ERROR, "%s", strerror(-pipe->reason));
		gyre_exit(stack, EXIT_FAILURE);
	}
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_route events[] = {
	GYRE_ROUTE(gyre_terminated, see_end),
	GYRE_ROUTE_END,
};

static const struct gyre_class main_class = { .name = "main",
					      .state_bytes = sizeof(uint64_t),
					      .mount = open_pipe,
					      .behaviour.event_routes = events };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
