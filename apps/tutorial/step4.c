/*
 * Step 4: names, and rooms.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { LINE_BYTES_MAX = 512, NAME_BYTES_MAX = 24 };

struct name {
	char text[NAME_BYTES_MAX + 1];
};

/* ---- what is published, with the name of its room as the key ---- */

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

struct session {
	struct name name;
	struct name room; /* empty for none */
};

/* A client in a room: what its session is registered as. No name has a space. */
struct member {
	char text[2 * sizeof(struct name)];
};

static bool is_name(const char *text)
{
	size_t bytes = strlen(text);

	return bytes > 0 && bytes <= NAME_BYTES_MAX && strchr(text, ' ') == NULL;
}

static struct name name_of(const char *text)
{
	struct name name;

	(void)snprintf(name.text, sizeof(name.text), "%s", text);
	return name;
}

static struct member member_of(const char *room, const char *name)
{
	struct member member;

	(void)snprintf(member.text, sizeof(member.text), "%s %s", room, name);
	return member;
}

static bool is_in_room(const struct session *session)
{
	return session->room.text[0] != 0;
}

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

static void refuse(struct gyre_stack *stack, int error)
{
	const char *reason = error == -EEXIST ? "that name is taken" : strerror(-error);

	tell(stack, gyre_bytes_printf("* %s", reason));
}

/* Tells all others in the room. */
static void publish(struct gyre_stack *stack, struct gyre_bytes *bytes)
{
	const struct session *session = gyre_state(stack);

	(void)gyre_publish(stack, gyre_new(stack, said, gyre_self(stack), bytes),
			   gyre_event_key_of(session->room.text));
}

static void leave_room(struct gyre_stack *stack)
{
	struct session *session = gyre_state(stack);
	const char *name = session->name.text;
	const char *room = session->room.text;

	(void)gyre_unsubscribe(stack, &gyre_type_said, gyre_event_key_of(room));
	(void)gyre_name_unregister(stack, member_of(room, name).text);
	publish(stack, gyre_bytes_printf("* %s has left %s", name, room));
	session->room = name_of("");
}

static void join_room(struct gyre_stack *stack, const char *room)
{
	struct session *session = gyre_state(stack);
	int r;

	if (is_in_room(session)) {
		leave_room(stack);
	}
	r = gyre_subscribe(stack, &gyre_type_said, gyre_event_key_of(room), NULL);
	r = r < 0 ? r : gyre_name_register(stack, member_of(room, session->name.text).text);
	if (r < 0) {
		(void)gyre_unsubscribe(stack, &gyre_type_said, gyre_event_key_of(room));
		refuse(stack, r);
		return;
	}
	session->room = name_of(room);
	publish(stack, gyre_bytes_printf("* %s has joined %s", session->name.text, room));
	tell(stack, gyre_bytes_printf("* you are in %s", room));
}

static void take_name(struct gyre_stack *stack, const char *name)
{
	struct session *session = gyre_state(stack);
	const char *room = session->room.text;
	int r = is_in_room(session) ? gyre_name_register(stack, member_of(room, name).text) : 0;

	if (r < 0) {
		refuse(stack, r);
		return;
	}
	if (is_in_room(session)) {
		(void)gyre_name_unregister(stack, member_of(room, session->name.text).text);
		publish(stack, gyre_bytes_printf("* %s is now %s", session->name.text, name));
	}
	session->name = name_of(name);
	tell(stack, gyre_bytes_printf("* you are %s", name));
}

static void say(struct gyre_stack *stack, const char *words)
{
	const struct session *session = gyre_state(stack);

	if (is_in_room(session)) {
		publish(stack, gyre_bytes_printf("<%s> %s", session->name.text, words));
	} else {
		tell(stack, gyre_bytes_printf("* you are in no room: /join one"));
	}
}

static int begin(struct gyre_stack *stack)
{
	struct session *session = gyre_state(stack);

	(void)snprintf(session->name.text, sizeof(session->name.text), "guest%u.%u",
		       (unsigned)gyre_self(stack).loop, (unsigned)gyre_self(stack).slot);
	tell(stack, gyre_bytes_printf("* you are %s; /name NAME, /join ROOM", session->name.text));
	return gyre_return(stack);
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
	.state_bytes = sizeof(struct session),
	.mount = begin,
	.behaviour.event_routes = session_events,
};

/* ---- its channel ---- */

static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	char line[LINE_BYTES_MAX + 1] = { 0 };

	(void)gyre_buffer_copy(data, 0, line, LINE_BYTES_MAX);
	gyre_buffer_destroy(data);
	if (strncmp(line, "/name ", 6) != 0 && strncmp(line, "/join ", 6) != 0) {
		say(stack, line);
	} else if (!is_name(line + 6)) {
		refuse(stack, -EINVAL);
	} else if (line[1] == 'n') {
		take_name(stack, line + 6);
	} else {
		join_room(stack, line + 6);
	}
}

static void end_session(struct gyre_handler_context *ctx)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	if (is_in_room(gyre_state(stack))) {
		leave_room(stack);
	}
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
	.inactive = end_session,
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
