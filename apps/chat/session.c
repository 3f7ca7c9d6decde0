/*
 * A session, the actor of a connection: what the client types becomes questions to rooms. Each is
 * awaited, and only then the next line is read: so a client's lines are done with in their order,
 * and one that types faster than its room can pass on is slowed down by TCP.
 *
 * A command is a part of a handler: it is called again when what it awaits has come, by the same
 * way, since the message is still the same.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "chat.h"

struct session_frame {
	struct gyre_future answer;
	struct gyre_address room;
};

static struct session *session_of(struct gyre_stack *stack)
{
	return (struct session *)gyre_state(stack);
}

static struct session_frame *frame_of(struct gyre_stack *stack)
{
	return (struct session_frame *)gyre_frame(stack);
}

/* The client's next line is read when this one is done with: who types too fast is slowed down. */
static int end_line(struct gyre_stack *stack)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);

	if (channel != NULL) {
		gyre_context_read(gyre_channel_tail(channel));
	}
	return gyre_return(stack);
}

static int answer(struct gyre_stack *stack, const char *text)
{
	write_text(stack, gyre_bytes_printf("* %s", text));
	return end_line(stack);
}

static const char *reason(int error)
{
	return error == -EEXIST				? "somebody there has that nick"
	       : error == -ENOBUFS			? "there is no place"
	       : error == -ESRCH || error == -ESHUTDOWN ? "the room has just ended: try again"
							: strerror(-error);
}

static bool is_name(const char *text)
{
	size_t length = strlen(text);

	return length > 0 && length <= NAME_BYTES_MAX && strchr(text, ' ') == NULL;
}

static struct name name_of(const char *text)
{
	struct name name;

	(void)snprintf(name.text, sizeof(name.text), "%s", text);
	return name;
}

static int greet(struct gyre_stack *stack)
{
	struct session *session = session_of(stack);

	session->chat = (const struct chat *)gyre_message(stack, gyre_channel_attached)->arg;
	(void)snprintf(session->nick.text, sizeof(session->nick.text), "guest%u.%u",
		       (unsigned)gyre_self(stack).loop, (unsigned)gyre_self(stack).slot);
	write_text(stack, gyre_bytes_printf("* you are %s; /help tells what you can do",
					    session->nick.text));
	return end_line(stack);
}

static int rename_self(struct gyre_stack *stack, const char *nick)
{
	struct session *session = session_of(stack);
	struct session_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	if (!is_name(nick)) {
		return answer(stack, "a nick has 1 to 24 bytes and no space");
	}
	if (session->joined) {
		GYRE_AWAIT(stack,
			   gyre_ask(stack, session->room, gyre_new(stack, rename, name_of(nick)), 0,
				    &frame->answer));
		if (gyre_future_failed(&frame->answer)) {
			return answer(stack, reason(gyre_future_error(&frame->answer)));
		}
	}
	session->nick = name_of(nick);
	write_text(stack, gyre_bytes_printf("* you are %s", nick));
	return end_line(stack);
	GYRE_END(stack);
}

static int leave_room(struct gyre_stack *stack, const char *nothing)
{
	struct session *session = session_of(stack);
	struct session_frame *frame = frame_of(stack);

	(void)nothing;
	GYRE_BEGIN(stack);
	if (!session->joined) {
		return answer(stack, "you are in no room");
	}
	GYRE_AWAIT(stack,
		   gyre_ask(stack, session->room, gyre_new(stack, leave, 0), 0, &frame->answer));
	session->joined = false;
	return answer(stack, "you have left");
	GYRE_END(stack);
}

/* The room of that name, which is made if there is none. */
static int find_room(struct gyre_stack *stack, const char *name, struct gyre_address *ret_room)
{
	const struct gyre_spawn_options named = { .place = GYRE_PLACE_ROUND_ROBIN,
						  .detached = true,
						  .name = name };
	int r = gyre_spawn(stack, &room_class,
			   gyre_new(stack, founding, session_of(stack)->chat, name_of(name)),
			   &named, ret_room);

	return r == -EEXIST ? 0 : r;
}

static int join_room(struct gyre_stack *stack, const char *name)
{
	struct session *session = session_of(stack);
	struct session_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	if (!is_name(name) || session->joined) {
		return answer(stack, session->joined ? "you are in a room: /leave it first"
						     : "a room has 1 to 24 bytes and no space");
	}
	if (find_room(stack, name, &frame->room) < 0) {
		return answer(stack, "there is no place for another room");
	}
	GYRE_AWAIT(stack, gyre_ask(stack, frame->room, gyre_new(stack, join, session->nick), 0,
				   &frame->answer));
	if (gyre_future_failed(&frame->answer)) {
		return answer(stack, reason(gyre_future_error(&frame->answer)));
	}
	session->room = frame->room;
	session->joined = true;
	write_text(stack, gyre_bytes_printf("* you are in %s", name));
	return end_line(stack);
	GYRE_END(stack);
}

static int ask_who(struct gyre_stack *stack, const char *nothing)
{
	struct session *session = session_of(stack);

	(void)nothing;
	GYRE_BEGIN(stack);
	if (!session->joined) {
		return answer(stack, "you are in no room");
	}
	GYRE_AWAIT(stack, gyre_ask(stack, session->room, gyre_new(stack, who, 0), 0,
				   &frame_of(stack)->answer));
	return end_line(stack);
	GYRE_END(stack);
}

static int ask_rooms(struct gyre_stack *stack, const char *nothing)
{
	struct session *session = session_of(stack);

	(void)nothing;
	if (gyre_notify(stack, session->chat->rooms, gyre_new(stack, rooms, 0)) < 0) {
		return answer(stack, "there are no rooms");
	}
	return end_line(stack);
}

/* The session stops when its channel has closed. */
static int quit(struct gyre_stack *stack, const char *nothing)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);

	(void)nothing;
	write_text(stack, gyre_bytes_printf("* goodbye"));
	if (channel != NULL) {
		gyre_context_close(gyre_channel_tail(channel));
	}
	return gyre_return(stack);
}

static int help(struct gyre_stack *stack, const char *nothing)
{
	(void)nothing;
	return answer(stack, "/nick NAME, /join ROOM, /leave, /who, /rooms, /quit, /help");
}

static int say(struct gyre_stack *stack, const char *words)
{
	struct session *session = session_of(stack);

	GYRE_BEGIN(stack);
	if (*words == '\0') {
		return end_line(stack);
	}
	if (!session->joined) {
		return answer(stack, "you are in no room: /join one");
	}
	GYRE_AWAIT(stack,
		   gyre_ask(stack, session->room,
			    gyre_new(stack, text,
				     gyre_bytes_printf("<%s> %s", session->nick.text, words)),
			    0, &frame_of(stack)->answer));
	if (gyre_future_failed(&frame_of(stack)->answer)) {
		return answer(stack, reason(gyre_future_error(&frame_of(stack)->answer)));
	}
	return end_line(stack);
	GYRE_END(stack);
}

static int take_line(struct gyre_stack *stack)
{
	static const struct {
		const char *name;
		int (*run)(struct gyre_stack *stack, const char *argument);
	} commands[] = {
		{ "/nick", rename_self }, { "/join", join_room },  { "/leave", leave_room },
		{ "/who", ask_who },	  { "/rooms", ask_rooms }, { "/quit", quit },
		{ "/help", help },
	};
	const char *text = gyre_message(stack, line)->text;
	size_t length = strcspn(text, " ");

	if (*text != '/') {
		return say(stack, text);
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strlen(commands[i].name) == length &&
		    memcmp(commands[i].name, text, length) == 0) {
			return commands[i].run(stack, text + length + strspn(text + length, " "));
		}
	}
	return answer(stack, "there is no such command; see /help");
}

static int hear(struct gyre_stack *stack)
{
	write_heard(stack, gyre_message(stack, text)->bytes);
	return gyre_return(stack);
}

static const struct gyre_route notices[] = {
	GYRE_ROUTE(line, take_line),
	GYRE_ROUTE(text, hear),
	GYRE_ROUTE_END,
};

const struct gyre_class session_class = {
	.name = "session",
	.state_bytes = sizeof(struct session),
	.frame_bytes = sizeof(struct session_frame),
	.mount = greet,
	.behaviour.notice_routes = notices,
};
