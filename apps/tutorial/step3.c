/*
 * Step 3: a room, an actor that passes on what each client says to all others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { LINE_BYTES_MAX = 512, MEMBERS_MAX = 1000 };

/* ---- messages ---- */

/* To the room: a channel that is to hear all, or is to hear nothing more. */
struct join {
	struct gyre_address channel;
};
GYRE_MESSAGE(join, 0x100);

struct leave {
	struct gyre_address channel;
};
GYRE_MESSAGE(leave, 0x101);

/* To the room: a client has said something. To a channel: its client is to read that. */
struct said {
	struct gyre_address channel; /* of the client */
	struct gyre_bytes *bytes;
};

static void forget(struct said *said)
{
	gyre_bytes_unref(said->bytes);
}
GYRE_MESSAGE_OWNING(said, 0x102, forget);

/* ---- the room ---- */

struct room {
	struct gyre_address members[MEMBERS_MAX];
	size_t count;
};

static int let_in(struct gyre_stack *stack)
{
	struct room *room = gyre_state(stack);
	struct gyre_address channel = gyre_message(stack, join)->channel;

	if (room->count == MEMBERS_MAX) {
		return gyre_stop(stack, channel);
	}
	room->members[room->count++] = channel;
	return gyre_return(stack);
}

static int let_out(struct gyre_stack *stack)
{
	struct room *room = gyre_state(stack);
	struct gyre_address channel = gyre_message(stack, leave)->channel;

	for (size_t i = 0; i < room->count; i++) {
		if (gyre_address_equal(room->members[i], channel)) {
			room->members[i] = room->members[--room->count];
			break;
		}
	}
	return gyre_return(stack);
}

static int pass_on(struct gyre_stack *stack)
{
	const struct room *room = gyre_state(stack);
	const struct said *said = gyre_message(stack, said);

	for (size_t i = 0; i < room->count; i++) {
		if (!gyre_address_equal(room->members[i], said->channel)) {
			(void)gyre_notify(
				stack, room->members[i],
				gyre_new(stack, said, said->channel, gyre_bytes_ref(said->bytes)));
		}
	}
	return gyre_return(stack);
}

static const struct gyre_route room_notices[] = {
	GYRE_ROUTE(said, pass_on),
	GYRE_ROUTE(join, let_in),
	GYRE_ROUTE(leave, let_out),
	GYRE_ROUTE_END,
};

static const struct gyre_class room_class = {
	.name = "room",
	.state_bytes = sizeof(struct room),
	.behaviour.notice_routes = room_notices,
};

/* ---- a connection ---- */

static struct gyre_address room_of(struct gyre_handler_context *ctx)
{
	return *(const struct gyre_address *)gyre_context_arg(ctx);
}

static struct gyre_address channel_of(struct gyre_handler_context *ctx)
{
	return gyre_channel_address(gyre_context_channel(ctx));
}

static void write_text(struct gyre_handler_context *ctx, const char *text)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)gyre_buffer_append(buffer, text, strlen(text));
	(void)gyre_context_write(ctx, buffer);
}

static void enter_room(struct gyre_handler_context *ctx)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	(void)gyre_notify(stack, room_of(ctx), gyre_new(stack, join, channel_of(ctx)));
	write_text(ctx, "* welcome");
}

static void leave_room(struct gyre_handler_context *ctx)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	(void)gyre_notify(stack, room_of(ctx), gyre_new(stack, leave, channel_of(ctx)));
}

static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	(void)gyre_notify(stack, room_of(ctx),
			  gyre_new(stack, said, channel_of(ctx), gyre_bytes_of_buffer(line)));
	gyre_buffer_destroy(line);
}

static void take_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		       const void *event)
{
	struct gyre_buffer *buffer;

	if (type->id != GYRE_ID(said)) {
		gyre_context_fire_event(ctx, type, event);
		return;
	}
	buffer = gyre_context_buffer(ctx);
	(void)gyre_buffer_append_shared(buffer, ((const struct said *)event)->bytes);
	(void)gyre_context_write(ctx, buffer);
}

static void take_exception(struct gyre_handler_context *ctx, int error)
{
	if (error == -EMSGSIZE) {
		write_text(ctx, "* that line is too long");
	} else {
		gyre_context_fire_exception(ctx, error);
	}
}

static const struct gyre_handler chat_handler = {
	.name = "chat",
	.active = enter_room,
	.read = read_line,
	.event = take_event,
	.exception = take_exception,
	.inactive = leave_room,
};

static int init_connection(struct gyre_channel *channel, void *room)
{
	static const struct gyre_line_options lines = { .frame_bytes_max = LINE_BYTES_MAX,
							.append = GYRE_APPEND_LF };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &chat_handler, room);
}

/* ---- the program ---- */

static void print_listening(struct gyre_system *system, void *address)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX] = "nowhere";

	(void)system;
	(void)gyre_socket_address_format(address, sizeof(text), text);
	printf("listening on %s\n", text);
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	struct gyre_address room;
	struct gyre_socket_address address;
	const struct gyre_system_options options = { .started = print_listening,
						     .started_arg = &address };
	const struct gyre_acceptor_options acceptor = {
		.bind = argc > 1 ? argv[1] : "tcp://[::]:7001",
		.init_channel = init_connection,
		.init_arg = &room,
		.ret_address = &address,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	r = r < 0 ? r : gyre_system_spawn(system, &room_class, GYRE_NO_ARGUMENT, NULL, &room);
	r = r < 0 ? r : gyre_system_listen(system, &acceptor, NULL);
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
