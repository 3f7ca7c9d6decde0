/*
 * Connection actor: each client has an actor, which counts its lines.
 *
 *	gyre-example-connection_actor [ADDRESS]
 *	nc localhost 7001
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

struct client {
	const char *greeting;
	uint64_t lines;
};

struct client_frame {
	struct gyre_future slept;
};

struct line {
	uint64_t number;
};
GYRE_MESSAGE(line, 0x100);

static int begin(struct gyre_stack *stack)
{
	struct client *client = gyre_state(stack);

	client->greeting = gyre_message(stack, gyre_channel_attached)->arg;
	return gyre_return(stack);
}

/* The channel may have closed while this waited. */
static int answer(struct gyre_stack *stack)
{
	const struct client *client = gyre_state(stack);
	struct client_frame *frame = gyre_frame(stack);
	struct gyre_channel *channel;
	struct gyre_buffer *buffer;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(200), &frame->slept));
	channel = gyre_actor_channel(stack);
	if (channel != NULL) {
		buffer = gyre_context_buffer(gyre_channel_tail(channel));
		(void)gyre_buffer_printf(buffer, "%s: line %" PRIu64 " of %" PRIu64,
					 client->greeting, gyre_message(stack, line)->number,
					 client->lines);
		(void)gyre_context_write(gyre_channel_tail(channel), buffer);
	}
	GYRE_END(stack);
}

static const struct gyre_class client_class = { .name = "client",
						.state_bytes = sizeof(struct client),
						.frame_bytes = sizeof(struct client_frame),
						.mount = begin,
						.behaviour.notice = answer };

/* A handler of the pipeline reaches the state without a message. What waits is for the actor. */
static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *text)
{
	struct client *client = gyre_channel_actor_state(gyre_context_channel(ctx));
	struct gyre_stack *stack = gyre_context_stack(ctx);

	gyre_buffer_destroy(text);
	client->lines++;
	(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, line, client->lines));
}

static int init_channel(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler handler = { .name = "client", .read = read_line };
	const struct gyre_line_options lines = { .append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

int main(int argc, char **argv)
{
	static char greeting[] = "welcome";
	const struct gyre_acceptor_options acceptor = { .bind = argc > 1 ? argv[1]
									 : "tcp://[::]:7001",
							.init_channel = init_channel,
							.init_arg = greeting,
							.actor_class = &client_class };
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r : gyre_system_listen(system, &acceptor, NULL);
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
