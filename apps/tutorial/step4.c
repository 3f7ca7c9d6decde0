/*
 * Step 4: a session, an actor for each client, which has a name and asks the room.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { LINE_BYTES_MAX = 512, NAME_BYTES_MAX = 24, MEMBERS_MAX = 1000 };

struct name {
	char text[NAME_BYTES_MAX + 1];
};

/* ---- messages ---- */

/* To a session: what its client has typed. */
struct line {
	char text[LINE_BYTES_MAX + 1];
};
GYRE_MESSAGE(line, 0x100);

/* To the room: a client says this. To a session: its client is to read this. */
struct text {
	struct gyre_bytes *bytes;
};

static void forget(struct text *text)
{
	gyre_bytes_unref(text->bytes);
}
GYRE_MESSAGE_OWNING(text, 0x101, forget);

/* The answer of the room to all that it is asked. */
struct done {
	char nothing;
};
GYRE_MESSAGE(done, 0x102);

/* A session comes into the room, or takes another name there. */
struct join {
	struct name name;
};
GYRE_REQUEST(join, 0x103, done);

struct rename {
	struct name name;
};
GYRE_REQUEST(rename, 0x104, done);

/* A line as shared bytes, or NULL. */
__attribute__((format(printf, 1, 2))) static struct gyre_bytes *compose(const char *format, ...)
{
	char line[LINE_BYTES_MAX + 2 * NAME_BYTES_MAX + 64];
	va_list arguments;
	int count;

	va_start(arguments, format);
	count = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	return count < 0 || count >= (int)sizeof(line) ? NULL
						       : gyre_bytes_create(line, (size_t)count);
}

/* ---- the room ---- */

struct member {
	struct gyre_address session;
	struct name name;
};

struct room {
	struct member members[MEMBERS_MAX];
	size_t count;
};

static struct member *find_session(struct room *room, struct gyre_address session)
{
	for (size_t i = 0; i < room->count; i++) {
		if (gyre_address_equal(room->members[i].session, session)) {
			return &room->members[i];
		}
	}
	return NULL;
}

static bool is_taken(const struct room *room, const struct name *name)
{
	for (size_t i = 0; i < room->count; i++) {
		if (strcmp(room->members[i].name.text, name->text) == 0) {
			return true;
		}
	}
	return false;
}

/* Sends the same bytes to all but one; each mail has a reference. */
static void send_others(struct gyre_stack *stack, struct gyre_address but, struct gyre_bytes *bytes)
{
	const struct room *room = gyre_state(stack);

	for (size_t i = 0; bytes != NULL && i < room->count; i++) {
		if (!gyre_address_equal(room->members[i].session, but)) {
			(void)gyre_notify(stack, room->members[i].session,
					  gyre_new(stack, text, gyre_bytes_ref(bytes)));
		}
	}
}

static void announce(struct gyre_stack *stack, struct gyre_address but, struct gyre_bytes *bytes)
{
	send_others(stack, but, bytes);
	gyre_bytes_unref(bytes);
}

static int let_in(struct gyre_stack *stack)
{
	struct room *room = gyre_state(stack);
	const struct join *join = gyre_message(stack, join);
	struct gyre_address session = gyre_sender(stack);
	int r = room->count == MEMBERS_MAX ? -ENOBUFS : 0;

	r = r == 0 && is_taken(room, &join->name) ? -EEXIST : r;
	r = r < 0 ? r : gyre_watch(stack, session);
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	room->members[room->count++] = (struct member){ session, join->name };
	announce(stack, session, compose("* %s has come", join->name.text));
	return gyre_reply_to(stack, join, 0);
}

/* A client that has gone leaves no word; the end of its session tells. */
static int miss(struct gyre_stack *stack)
{
	struct room *room = gyre_state(stack);
	struct gyre_address session = gyre_message(stack, gyre_terminated)->actor;
	struct member *member = find_session(room, session);
	struct name name;

	if (member != NULL) {
		name = member->name;
		*member = room->members[--room->count];
		announce(stack, session, compose("* %s has gone", name.text));
	}
	return gyre_return(stack);
}

static int rename_member(struct gyre_stack *stack)
{
	struct room *room = gyre_state(stack);
	const struct name *name = &gyre_message(stack, rename)->name;
	struct member *member = find_session(room, gyre_sender(stack));

	if (member == NULL || is_taken(room, name)) {
		return gyre_throw(stack, member == NULL ? -ESRCH : -EEXIST);
	}
	announce(stack, member->session, compose("* %s is now %s", member->name.text, name->text));
	member->name = *name;
	return gyre_reply_to(stack, rename, 0);
}

static int pass_on(struct gyre_stack *stack)
{
	send_others(stack, gyre_sender(stack), gyre_message(stack, text)->bytes);
	return gyre_reply(stack, gyre_new(stack, done, 0));
}

static const struct gyre_route room_asks[] = {
	GYRE_ROUTE(text, pass_on),
	GYRE_ROUTE(join, let_in),
	GYRE_ROUTE(rename, rename_member),
	GYRE_ROUTE_END,
};
static const struct gyre_route room_events[] = {
	GYRE_ROUTE(gyre_terminated, miss),
	GYRE_ROUTE_END,
};

static const struct gyre_class room_class = {
	.name = "room",
	.state_bytes = sizeof(struct room),
	.behaviour = { .ask_routes = room_asks, .event_routes = room_events },
};

/* ---- a session ---- */

struct session {
	struct gyre_address room;
	struct name name;
};

struct session_frame {
	struct gyre_future answer;
};

static void write_bytes(struct gyre_channel *channel, struct gyre_bytes *bytes)
{
	struct gyre_handler_context *tail = gyre_channel_tail(channel);
	struct gyre_buffer *buffer = gyre_context_buffer(tail);

	(void)gyre_buffer_append_shared(buffer, bytes);
	(void)gyre_context_write(tail, buffer);
}

/* Writes to the client, if that is still there. */
static void tell(struct gyre_stack *stack, struct gyre_bytes *bytes)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);

	if (channel != NULL) {
		write_bytes(channel, bytes);
	}
	gyre_bytes_unref(bytes);
}

/* The client's next line is read when the session has finished with this one. */
static int end_line(struct gyre_stack *stack)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);

	if (channel != NULL) {
		gyre_context_read(gyre_channel_tail(channel));
	}
	return gyre_return(stack);
}

static int refuse(struct gyre_stack *stack, int error)
{
	tell(stack, compose("* %s", error == -EEXIST ? "that name is taken" : strerror(-error)));
	return end_line(stack);
}

static int begin(struct gyre_stack *stack)
{
	const struct gyre_address *room = gyre_message(stack, gyre_channel_attached)->arg;
	struct session *session = gyre_state(stack);
	struct session_frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	session->room = *room;
	(void)snprintf(session->name.text, sizeof(session->name.text), "guest%u.%u",
		       (unsigned)gyre_self(stack).loop, (unsigned)gyre_self(stack).slot);
	GYRE_AWAIT(stack, gyre_ask(stack, session->room, gyre_new(stack, join, session->name), 0,
				   &frame->answer));
	if (gyre_future_failed(&frame->answer)) {
		tell(stack, compose("* %s", strerror(-gyre_future_error(&frame->answer))));
		return gyre_stop(stack, gyre_self(stack));
	}
	tell(stack, compose("* you are %s; /name NAME, /quit", session->name.text));
	return end_line(stack);
	GYRE_END(stack);
}

static int take_name(struct gyre_stack *stack, const char *text)
{
	struct session *session = gyre_state(stack);
	struct session_frame *frame = gyre_frame(stack);
	struct name name = { 0 };

	GYRE_BEGIN(stack);
	if (*text == 0 || strlen(text) > NAME_BYTES_MAX) {
		return refuse(stack, -EINVAL);
	}
	(void)snprintf(name.text, sizeof(name.text), "%s", text);
	GYRE_AWAIT(stack, gyre_ask(stack, session->room, gyre_new(stack, rename, name), 0,
				   &frame->answer));
	if (gyre_future_failed(&frame->answer)) {
		return refuse(stack, gyre_future_error(&frame->answer));
	}
	(void)snprintf(session->name.text, sizeof(session->name.text), "%s", text);
	tell(stack, compose("* you are %s", text));
	return end_line(stack);
	GYRE_END(stack);
}

static int say(struct gyre_stack *stack, const char *words)
{
	struct session *session = gyre_state(stack);
	struct session_frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, session->room,
			    gyre_new(stack, text, compose("<%s> %s", session->name.text, words)), 0,
			    &frame->answer));
	if (gyre_future_failed(&frame->answer)) {
		return refuse(stack, gyre_future_error(&frame->answer));
	}
	return end_line(stack);
	GYRE_END(stack);
}

/* The session ends with its channel. */
static int quit(struct gyre_stack *stack)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);

	tell(stack, compose("* goodbye"));
	if (channel != NULL) {
		gyre_context_close(gyre_channel_tail(channel));
	}
	return gyre_return(stack);
}

static int take_line(struct gyre_stack *stack)
{
	const char *text = gyre_message(stack, line)->text;

	if (strncmp(text, "/name ", 6) == 0) {
		return take_name(stack, text + 6);
	}
	return strcmp(text, "/quit") == 0 ? quit(stack) : say(stack, text);
}

/* What another client says. */
static int hear(struct gyre_stack *stack)
{
	tell(stack, gyre_bytes_ref(gyre_message(stack, text)->bytes));
	return gyre_return(stack);
}

static const struct gyre_route session_notices[] = {
	GYRE_ROUTE(line, take_line),
	GYRE_ROUTE(text, hear),
	GYRE_ROUTE_END,
};

static const struct gyre_class session_class = {
	.name = "session",
	.state_bytes = sizeof(struct session),
	.frame_bytes = sizeof(struct session_frame),
	.mount = begin,
	.behaviour.notice_routes = session_notices,
};

/* ---- a connection ---- */

static void read_line(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct line line = { 0 };

	(void)gyre_buffer_copy(data, 0, line.text, LINE_BYTES_MAX);
	gyre_buffer_destroy(data);
	if (gyre_notify(stack, gyre_self(stack), gyre_new_copy(stack, line, &line)) < 0) {
		gyre_context_close(ctx);
	}
}

static void take_exception(struct gyre_handler_context *ctx, int error)
{
	if (error != -EMSGSIZE) {
		gyre_context_fire_exception(ctx, error);
		return;
	}
	tell(gyre_context_stack(ctx), compose("* a line has at most %d bytes", LINE_BYTES_MAX));
	gyre_context_read(ctx);
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
		.actor_class = &session_class,
		.channel = { .manual_read = true },
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
