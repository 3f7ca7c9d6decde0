/*
 * Connection actor: each client has an actor, which counts its lines.
 *
 *	gyre-example-connection_actor [ADDRESS]
 *	nc localhost 7001
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

struct client {
	const char *greeting;
	uint64_t lines;
	uint64_t answers;
	bool is_last; /* the client sends no more */
};

struct line {
	uint64_t number;
};
GYRE_MESSAGE(line, 0x100);

static int begin(struct gyre_stack *stack)
{
	const struct gyre_channel_attached *attached = gyre_message(stack, gyre_channel_attached);

	((struct client *)gyre_state(stack))->greeting = attached->arg;
	gyre_context_read(gyre_channel_tail(attached->channel));
	return gyre_return(stack);
}

/* The next line is read when this one is answered: who does not read answers is slowed down. */
static int answer(struct gyre_stack *stack)
{
	struct client *client = gyre_state(stack);
	struct gyre_channel *channel;
	struct gyre_handler_context *tail;
	struct gyre_buffer *buffer;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(200), gyre_frame(stack)));
	client->answers++;
	channel = gyre_actor_channel(stack);
	if (channel != NULL) { /* else it has closed while this waited */
		tail = gyre_channel_tail(channel);
		buffer = gyre_context_buffer(tail);
		if (gyre_buffer_printf(buffer, "%s: line %" PRIu64, client->greeting,
				       gyre_message(stack, line)->number) < 0) {
			gyre_channel_abort(channel, -ENOMEM);
		}
		(void)gyre_context_write(tail, buffer);
		(client->is_last ? gyre_context_close : gyre_context_read)(tail);
	}
	GYRE_END(stack);
}

static const struct gyre_class client_class = { .name = "client",
						.state_bytes = sizeof(struct client),
						.frame_bytes = sizeof(struct gyre_future),
						.mount = begin,
						.behaviour.notice = answer };

/* A handler of the pipeline reaches the state without a message. What waits is for the actor. */
static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *text)
{
	struct client *client = gyre_channel_actor_state(gyre_context_channel(ctx));
	struct gyre_stack *stack = gyre_context_stack(ctx);

	gyre_buffer_destroy(text);
	client->lines++;
	if (gyre_notify(stack, gyre_self(stack), gyre_new(stack, line, client->lines)) < 0) {
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
	}
}

static void see_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		      const void *event)
{
	struct client *client = gyre_channel_actor_state(gyre_context_channel(ctx));

	client->is_last = client->is_last || type->id == GYRE_ID(gyre_input_closed);
	if (client->is_last && client->answers == client->lines) {
		gyre_context_close(ctx);
	}
	gyre_context_fire_event(ctx, type, event);
}

static int init_channel(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler handler = { .name = "client",
						     .read = read_line,
						     .event = see_event };
	const struct gyre_line_options lines = { .append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

int main(int argc, char **argv)
{
	static char greeting[] = "welcome";
	const struct gyre_acceptor_options acceptor = {
		.bind = argc > 1 ? argv[1] : "tcp://[::]:7001",
		.init_channel = init_channel,
		.init_arg = greeting,
		.actor_class = &client_class,
		.channel = { .manual_read = true, .allow_half_close = true }
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r : gyre_system_listen(system, &acceptor, NULL);
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
