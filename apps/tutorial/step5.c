/*
 * Step 5: one order for all in a room, clients that are too fast or too slow, and ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum {
	LINE_BYTES_MAX = 512,
	NAME_BYTES_MAX = 24,
	CONNECTIONS_MAX = 10000,
	LINES_WAITING_MAX = 65536, /* for one session */
};

struct name {
	char text[NAME_BYTES_MAX + 1];
};

/* ---- what is sent to an announcer, and published by it with the name of the room as the key ----
 */

struct said {
	struct gyre_address session; /* of the client that has said it */
	struct name room;
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

/* ---- an announcer, of which each loop has one ---- */

static int publish(struct gyre_stack *stack)
{
	struct name room = gyre_message(stack, said)->room;
	int r = gyre_publish(stack, gyre_take(stack), gyre_event_key_of(room.text));

	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class announcer_class = {
	.name = "announcer",
	.behaviour.notice = publish,
};

/* What is said in one room goes to one announcer. */
static uint64_t key_of_room(const struct gyre_type *type, const void *message)
{
	const char *room = ((const struct said *)message)->room.text;
	uint64_t key = 0;

	(void)type;
	while (*room != 0) {
		key = 31 * key + (unsigned char)*room++;
	}
	return key;
}

/* ---- a session, the actor of a connection ---- */

struct session {
	struct gyre_address announcers;
	struct name name;
	struct name room; /* empty for none */
	bool is_talking;  /* what the client has said has not come back yet */
	bool is_member;	  /* that it has joined has come back */
	uint64_t missed;  /* lines that the client was too slow for */
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

static int announce(struct gyre_stack *stack, struct gyre_address who, struct gyre_bytes *bytes)
{
	const struct session *session = gyre_state(stack);

	return gyre_notify(stack, session->announcers,
			   gyre_new(stack, said, who, session->room, bytes));
}

/* Has all in the room told, and the session too, which then reads the next line. */
static void talk(struct gyre_stack *stack, struct gyre_bytes *bytes)
{
	struct session *session = gyre_state(stack);
	int r = announce(stack, gyre_self(stack), bytes);

	session->is_talking = r == 0;
	if (r < 0) {
		refuse(stack, r);
	}
}

static void leave_room(struct gyre_stack *stack)
{
	struct session *session = gyre_state(stack);
	const char *name = session->name.text;
	const char *room = session->room.text;

	(void)gyre_unsubscribe(stack, &gyre_type_said, gyre_event_key_of(room));
	(void)gyre_name_unregister(stack, member_of(room, name).text);
	/* Not as the session: it may be back before this is, and must not take it for its own. */
	(void)announce(stack, session->announcers,
		       gyre_bytes_printf("* %s has left %s", name, room));
	session->is_talking = session->is_member = false;
	session->room = name_of("");
}

static void join_room(struct gyre_stack *stack, const char *room)
{
	struct session *session = gyre_state(stack);
	const struct gyre_subscribe_options patient = { .waiting_max = LINES_WAITING_MAX };
	int r;

	if (is_in_room(session)) {
		leave_room(stack);
	}
	r = gyre_subscribe(stack, &gyre_type_said, gyre_event_key_of(room), &patient);
	r = r < 0 ? r : gyre_name_register(stack, member_of(room, session->name.text).text);
	if (r < 0) {
		(void)gyre_unsubscribe(stack, &gyre_type_said, gyre_event_key_of(room));
		refuse(stack, r);
		return;
	}
	session->room = name_of(room);
	talk(stack, gyre_bytes_printf("* %s has joined %s", session->name.text, room));
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
		talk(stack, gyre_bytes_printf("* %s is now %s", session->name.text, name));
	}
	session->name = name_of(name);
	tell(stack, gyre_bytes_printf("* you are %s", name));
}

static void say(struct gyre_stack *stack, const char *words)
{
	const struct session *session = gyre_state(stack);

	if (is_in_room(session)) {
		talk(stack, gyre_bytes_printf("<%s> %s", session->name.text, words));
	} else {
		tell(stack, gyre_bytes_printf("* you are in no room: /join one"));
	}
}

/* The session ends with its channel. */
static void quit(struct gyre_stack *stack)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);

	tell(stack, gyre_bytes_printf("* goodbye"));
	if (channel != NULL) {
		gyre_context_close(gyre_channel_tail(channel));
	}
}

static void take_line(struct gyre_stack *stack, const char *line)
{
	if (strcmp(line, "/quit") == 0) {
		quit(stack);
	} else if (strncmp(line, "/name ", 6) != 0 && strncmp(line, "/join ", 6) != 0) {
		say(stack, line);
	} else if (!is_name(line + 6)) {
		refuse(stack, -EINVAL);
	} else if (line[1] == 'n') {
		take_name(stack, line + 6);
	} else {
		join_room(stack, line + 6);
	}
}

/* The channel reads a line when the session has done with the one before. */
static void read_next(struct gyre_stack *stack)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);

	if (channel != NULL) {
		gyre_context_read(gyre_channel_tail(channel));
	}
}

static int begin(struct gyre_stack *stack)
{
	const struct gyre_address *announcers = gyre_message(stack, gyre_channel_attached)->arg;
	struct session *session = gyre_state(stack);

	session->announcers = *announcers;
	(void)snprintf(session->name.text, sizeof(session->name.text), "guest%u.%u",
		       (unsigned)gyre_self(stack).loop, (unsigned)gyre_self(stack).slot);
	tell(stack,
	     gyre_bytes_printf("* you are %s; /name NAME, /join ROOM, /quit", session->name.text));
	read_next(stack);
	return gyre_return(stack);
}

/* ---- what the client hears; one that does not read misses lines ---- */

static bool client_reads(struct gyre_stack *stack)
{
	const struct gyre_channel *channel = gyre_actor_channel(stack);

	return channel != NULL && gyre_channel_is_writable(channel);
}

static void tell_missed(struct gyre_stack *stack)
{
	struct session *session = gyre_state(stack);

	if (session->missed > 0 && client_reads(stack)) {
		tell(stack, gyre_bytes_printf("* you missed %" PRIu64 " lines", session->missed));
		session->missed = 0;
	}
}

static void end_talk(struct gyre_stack *stack)
{
	struct session *session = gyre_state(stack);

	if (!session->is_talking) {
		return;
	}
	if (!session->is_member) {
		tell(stack, gyre_bytes_printf("* you are in %s", session->room.text));
	}
	session->is_talking = false;
	session->is_member = true;
	read_next(stack);
}

static int hear(struct gyre_stack *stack)
{
	struct session *session = gyre_state(stack);
	const struct said *said = gyre_message(stack, said);

	if (gyre_address_equal(said->session, gyre_self(stack))) {
		end_talk(stack);
	} else if (session->is_member && client_reads(stack)) {
		tell(stack, gyre_bytes_ref(said->bytes));
	} else {
		session->missed += session->is_member;
	}
	return gyre_return(stack);
}

/* More lines waited than may; the session's own may be among those that it has missed. */
static int miss(struct gyre_stack *stack)
{
	struct session *session = gyre_state(stack);

	session->missed += gyre_message(stack, gyre_events_missed)->count;
	tell_missed(stack);
	end_talk(stack);
	return gyre_return(stack);
}

static const struct gyre_route session_events[] = {
	GYRE_ROUTE(said, hear),
	GYRE_ROUTE(gyre_events_missed, miss),
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
	const struct session *session = gyre_state(stack);
	char line[LINE_BYTES_MAX + 1] = { 0 };

	(void)gyre_buffer_copy(data, 0, line, LINE_BYTES_MAX);
	gyre_buffer_destroy(data);
	take_line(stack, line);
	if (!session->is_talking) {
		gyre_context_read(ctx);
	}
}

static void take_writability(struct gyre_handler_context *ctx, bool writable)
{
	(void)writable;
	tell_missed(gyre_context_stack(ctx));
}

/* The client sends no more, or the server ends. */
static void take_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		       const void *event)
{
	const struct gyre_input_closed *closed = event;

	if (type->id != GYRE_ID(gyre_input_closed)) {
		gyre_context_fire_event(ctx, type, event);
	} else if (closed->draining != 0) {
		tell(gyre_context_stack(ctx), gyre_bytes_printf("* the server ends"));
	} else {
		quit(gyre_context_stack(ctx));
	}
}

static void end_session(struct gyre_handler_context *ctx)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	if (is_in_room(gyre_state(stack))) {
		leave_room(stack);
	}
}

/* A line that is too long is left out: the codec goes on to the one that was asked for. */
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
	.event = take_event,
	.writability = take_writability,
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
	struct gyre_address announcers;
	const struct gyre_group_options by_room = { .routing = GYRE_ROUTING_BY_KEY,
						    .key = key_of_room };
	const struct gyre_acceptor_options acceptor = {
		.bind = argc > 1 ? argv[1] : "tcp://[::]:7001",
		.init_channel = init_connection,
		.init_arg = &announcers,
		.actor_class = &session_class,
		.channel = { .manual_read = true, .allow_half_close = true },
		.connections_max = CONNECTIONS_MAX,
		.ret_port = &port,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r
		  : gyre_system_group_spawn(system, &announcer_class, GYRE_NO_ARGUMENT, &by_room,
					    &announcers);
	r = r < 0 ? r : gyre_system_listen(system, &acceptor, NULL);
	if (r == 0) {
		printf("listening on port %u\n", port);
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
