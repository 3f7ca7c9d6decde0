/*
 * An actor for each connection: the server counts the lines of each client, and asks an actor that
 * all share for the sum, which it awaits before it answers.
 *
 *	gyre-example-connection_actor [ADDRESS]
 *	nc localhost 7001
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

struct counted {
	uint64_t sum;
};
GYRE_MESSAGE(counted, 0x100);

struct count {
	char nothing;
};
GYRE_REQUEST(count, 0x101, counted);

/* ---- what all share ---- */

static int count_one(struct gyre_stack *stack)
{
	uint64_t *sum = gyre_state(stack);

	return gyre_reply_to(stack, count, ++*sum);
}

static const struct gyre_class total_class = { .name = "total",
					       .state_bytes = sizeof(uint64_t),
					       .behaviour.ask = count_one };

/* ---- a connection ---- */

struct client {
	const struct gyre_address *total;
	uint64_t lines;
};

struct client_frame {
	struct gyre_future answer;
};

static int begin(struct gyre_stack *stack)
{
	struct client *client = gyre_state(stack);

	client->total = gyre_message(stack, gyre_channel_attached)->arg;
	return gyre_return(stack);
}

/* The channel may have closed while this waited. */
static int answer(struct gyre_stack *stack)
{
	struct client *client = gyre_state(stack);
	struct client_frame *frame = gyre_frame(stack);
	const struct counted *counted;
	struct gyre_channel *channel;
	struct gyre_buffer *buffer;
	char text[64];

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, *client->total, gyre_new(stack, count, 0), 0, &frame->answer));
	counted = gyre_future_get(&frame->answer, counted);
	channel = gyre_actor_channel(stack);
	if (counted != NULL && channel != NULL) {
		buffer = gyre_context_buffer(gyre_channel_tail(channel));
		(void)snprintf(text, sizeof(text), "line %" PRIu64 " of you, %" PRIu64 " of all",
			       client->lines, counted->sum);
		(void)gyre_buffer_append(buffer, text, strlen(text));
		(void)gyre_context_write(gyre_channel_tail(channel), buffer);
	}
	GYRE_END(stack);
}

static const struct gyre_class client_class = { .name = "client",
						.state_bytes = sizeof(struct client),
						.frame_bytes = sizeof(struct client_frame),
						.mount = begin,
						.behaviour.notice = answer };

/* The handlers reach the state without a message. What may wait goes to the actor. */
static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	struct client *client = gyre_channel_actor_state(gyre_context_channel(ctx));
	struct gyre_stack *stack = gyre_context_stack(ctx);

	client->lines++;
	gyre_buffer_destroy(line);
	(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, count, 0));
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
	static struct gyre_address total;
	const struct gyre_acceptor_options acceptor = {
		.bind = argc > 1 ? argv[1] : "tcp://[::]:7001",
		.init_channel = init_channel,
		.init_arg = &total,
		.actor_class = &client_class,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r : gyre_system_spawn(system, &total_class, GYRE_NO_ARGUMENT, NULL, &total);
	r = r < 0 ? r : gyre_system_listen(system, &acceptor, NULL);
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
