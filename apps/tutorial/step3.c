/*
 * Step 3: a room for all, who hear what each of them types.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

enum { LINE_BYTES_MAX = 512 };

/* ---- what is published ---- */

struct said {
	struct gyre_address session; /* of the client that has said it */
	struct gyre_bytes *bytes;
};

static void forget(struct said *said)
{
	gyre_bytes_unref(said->bytes);
}

static int share(struct said *said)
{
	(void)gyre_bytes_ref(said->bytes);
	return 0;
}
GYRE_MESSAGE_OWNING(said, 0x100, forget, share);

/* ---- a session, the actor of a connection ---- */

/* Writes to the client, if that is still there. */
static void tell(struct gyre_stack *stack, struct gyre_bytes *bytes)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);
	struct gyre_buffer *buffer = gyre_buffer_create(stack);

	if (channel != NULL && gyre_buffer_append_shared(buffer, bytes) == 0) {
		(void)gyre_context_write(gyre_channel_tail(channel), buffer);
	} else {
		gyre_buffer_destroy(buffer);
	}
	gyre_bytes_unref(bytes);
}

static int begin(struct gyre_stack *stack)
{
	tell(stack, gyre_bytes_printf("* welcome"));
	return gyre_subscribe(stack, &gyre_type_said, gyre_event_key_of(NULL), NULL);
}

static int hear(struct gyre_stack *stack)
{
	const struct said *said = gyre_message(stack, said);

	if (!gyre_address_equal(said->session, gyre_self(stack))) {
		tell(stack, gyre_bytes_ref(said->bytes));
	}
	return gyre_return(stack);
}

static const struct gyre_route session_events[] = {
	GYRE_ROUTE(said, hear),
	GYRE_ROUTE_END,
};

static const struct gyre_class session_class = {
	.name = "session",
	.mount = begin,
	.behaviour.event_routes = session_events,
};

/* ---- its channel ---- */

static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct gyre_bytes *bytes = gyre_bytes_of_buffer(line);

	(void)gyre_publish(stack, gyre_new(stack, said, gyre_self(stack), bytes),
			   gyre_event_key_of(NULL));
	gyre_buffer_destroy(line);
}

static void take_exception(struct gyre_handler_context *ctx, int error)
{
	if (error != -EMSGSIZE) {
		gyre_context_fire_exception(ctx, error);
		return;
	}
	tell(gyre_context_stack(ctx),
	     gyre_bytes_printf("* a line has at most %d bytes", LINE_BYTES_MAX));
}

static const struct gyre_handler chat_handler = {
	.name = "chat",
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

int main(int argc, char **argv)
{
	uint16_t port = 0;
	const struct gyre_acceptor_options acceptor = {
		.bind = argc > 1 ? argv[1] : "tcp://[::]:7001",
		.init_channel = init_connection,
		.actor_class = &session_class,
		.ret_port = &port,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r : gyre_system_listen(system, &acceptor, NULL);
	if (r == 0) {
		printf("listening on port %u\n", port);
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
