/*
 * Sending: an actor writes to its client piece by piece, as fast as that reads.
 *
 * Each connection gets an actor beside it. It awaits the end of each write before it makes the next
 * piece, so that a slow client costs one piece of memory, and others do not wait for it. The
 * argument is where to listen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { PIECES = 256, PIECE_BYTES = 64 * 1024 };

struct client {
	struct gyre_address channel;
};
GYRE_MESSAGE(client, 0x100);

struct sender {
	char piece[PIECE_BYTES];
};

struct frame {
	struct gyre_future sent;
	int pieces;
};

/* The whole life of a sender is its mount. */
static int send_pieces(struct gyre_stack *stack)
{
	const struct client *client = gyre_message(stack, client);
	struct sender *sender = gyre_state(stack);
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	do {
		memset(sender->piece, 'a' + frame->pieces % 26, sizeof(sender->piece));
		GYRE_AWAIT(stack,
			   gyre_send_bytes(stack, client->channel, sender->piece,
					   sizeof(sender->piece), GYRE_FOREVER, &frame->sent));
	} while (!gyre_future_failed(&frame->sent) && ++frame->pieces < PIECES);
	printf("sent %d pieces: %s\n", frame->pieces, strerror(-gyre_future_error(&frame->sent)));
	(void)fflush(stdout);
	(void)gyre_stop(stack, client->channel);
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class sender_class = { .name = "sender",
						.state_bytes = sizeof(struct sender),
						.frame_bytes = sizeof(struct frame),
						.mount = send_pieces };

static void begin(struct gyre_handler_context *ctx)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct gyre_address sender;
	int r = gyre_spawn(stack, &sender_class,
			   gyre_new(stack, client, gyre_channel_address(channel)), NULL, &sender);

	if (r < 0) {
		gyre_channel_abort(channel, r);
	}
}

static const struct gyre_handler handler = { .active = begin };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

int main(int argc, char **argv)
{
	uint16_t port = 0;
	const struct gyre_acceptor_options options = {
		.bind = argc > 1 ? argv[1] : "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.channel.allow_half_close = true, /* it may have said all that it has to say */
		.ret_port = &port,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r : gyre_system_listen(system, &options, NULL);
	if (r == 0) {
		printf("listening on port %u\n", port);
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
