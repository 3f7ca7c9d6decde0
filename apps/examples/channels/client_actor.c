/*
 * Client actor: a connection to a server has an actor, and others speak to the server through it.
 *
 * The main actor sends the lines to the actor of the connection, and ends when all are answered. It
 * watches that actor, which ends with the connection: so it hears when the server closes too early.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

struct line {
	const char *text; /* of the arguments, which stay */
};
GYRE_MESSAGE(line, 0x100);

struct answer {
	size_t bytes;
};
GYRE_MESSAGE(answer, 0x101);

/* A handler of the actor, which gets the channel from gyre. Its state is who gets the answers. */
static int send_line(struct gyre_stack *stack)
{
	struct gyre_address *asker = gyre_state(stack);
	struct gyre_channel *channel = gyre_actor_channel(stack);
	struct gyre_buffer *buffer;

	if (channel == NULL) {
		return gyre_return(stack); /* it has closed */
	}
	*asker = gyre_sender(stack);
	buffer = gyre_context_buffer(gyre_channel_tail(channel));
	if (gyre_buffer_printf(buffer, "%s", gyre_message(stack, line)->text) < 0) {
		gyre_channel_abort(channel, -ENOMEM);
	}
	(void)gyre_context_write(gyre_channel_tail(channel), buffer);
	return gyre_return(stack);
}

static const struct gyre_class client_class = { .name = "client",
						.state_bytes = sizeof(struct gyre_address),
						.behaviour.notice = send_line };

/* A handler of the pipeline, which gets the state of the actor, and sends in its name. */
static void read_answer(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	const struct gyre_address *asker = gyre_state(stack);

	if (gyre_notify(stack, *asker, gyre_new(stack, answer, gyre_buffer_bytes(line))) < 0) {
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
	}
	gyre_buffer_destroy(line);
}

static int init_channel(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler handler = { .name = "answers", .read = read_answer };
	const struct gyre_line_options lines = { .append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

static int run(struct gyre_stack *stack)
{
	const struct gyre_arguments *arguments = gyre_message(stack, gyre_arguments);
	const struct gyre_connect_options options = { .to = arguments->argv[1],
						      .init_channel = init_channel,
						      .actor_class = &client_class };
	struct gyre_future *future = gyre_frame(stack);
	struct gyre_address client;
	int *due = gyre_state(stack); /* answers */
	int r;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_connect(stack, &options, NULL, future));
	if (gyre_future_failed(future)) {
		return gyre_throw(stack, gyre_future_error(future));
	}
	client = gyre_future_get(future, gyre_connected)->actor;
	r = gyre_watch(stack, client);
	for (; r == 0 && *due < arguments->argc - 2; ++*due) {
		r = gyre_notify(stack, client, gyre_new(stack, line, arguments->argv[2 + *due]));
	}
	return r;
	GYRE_END(stack);
}

static int hear_answer(struct gyre_stack *stack)
{
	int *due = gyre_state(stack);

	printf("an answer of %zu bytes\n", gyre_message(stack, answer)->bytes);
	return --*due == 0 ? gyre_stop(stack, gyre_self(stack)) : gyre_return(stack);
}

static int see_end(struct gyre_stack *stack)
{
	return gyre_throw(stack, -ENODATA);
}

int main(int argc, char **argv)
{
	static const struct gyre_class main_class = { .name = "main",
						      .state_bytes = sizeof(int),
						      .frame_bytes = sizeof(struct gyre_future),
						      .mount = run,
						      .behaviour = { .notice = hear_answer,
								     .event = see_end },
						      .strategy = GYRE_STRATEGY_ESCALATE };

	if (argc < 3) {
		(void)fprintf(stderr, "usage: gyre-example-client_actor ADDRESS LINE ...\n");
	}
	return argc < 3 ? EXIT_FAILURE : gyre_main(&main_class, argc, argv, NULL);
}
