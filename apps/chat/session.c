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

int end_line(struct gyre_stack *stack)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);
	struct session *session = session_of(stack);

	session->is_busy = false;
	if (session->is_last) {
		part(stack);
	} else if (channel != NULL) {
		gyre_context_read(gyre_channel_tail(channel));
	}
	return gyre_return(stack);
}

void part(struct gyre_stack *stack)
{
	struct gyre_channel *channel = gyre_actor_channel(stack);

	if (gyre_notify(stack, gyre_self(stack), gyre_new(stack, line, "/quit")) < 0 &&
	    channel != NULL) {
		gyre_context_close(gyre_channel_tail(channel));
	}
}

int answer_client(struct gyre_stack *stack, const char *text)
{
	write_text(stack, gyre_bytes_printf("* %s", text));
	return end_line(stack);
}

static const char looking[] = "the room is being looked for: wait until you are in it";

static const char guest[] = "guest";

/*
 * A nick that no other session has, of any node. It is not made of the session's address: a room
 * may still have an older session of the same slot, of whose end it has not heard.
 */
static void make_nick(struct session *session, struct chat *chat)
{
	uint32_t number = __atomic_fetch_add(&chat->guests, 1, __ATOMIC_RELAXED);
	char node[8] = "";

	if (chat->node != 0) {
		(void)snprintf(node, sizeof(node), "%u.", (unsigned)chat->node);
	}
	(void)snprintf(session->nick.text, sizeof(session->nick.text), "%s%s%u", guest, node,
		       (unsigned)number);
}

static bool is_guest(const char *nick)
{
	size_t length = strlen(guest);

	return strncmp(nick, guest, length) == 0 && nick[length] >= '0' && nick[length] <= '9';
}

static int greet(struct gyre_stack *stack)
{
	struct session *session = session_of(stack);
	struct chat *chat = (struct chat *)gyre_message(stack, gyre_channel_attached)->arg;

	session->chat = chat;
	make_nick(session, chat);
	write_text(stack, gyre_bytes_printf("* you are %s; /help tells what you can do",
					    session->nick.text));
	if (session->chat->node != 0) {
		int r = gyre_node_watch(stack);

		if (r < 0) {
			return gyre_throw(stack, r);
		}
	}
	return end_line(stack);
}

static int rename_self(struct gyre_stack *stack, const char *nick)
{
	struct session *session = session_of(stack);
	struct session_frame *frame = session_frame_of(stack);

	GYRE_BEGIN(stack);
	if (!is_name(nick)) {
		return answer_client(stack, "a nick has 1 to 24 bytes and no space");
	}
	if (is_guest(nick)) {
		return answer_client(stack, "only guests have such a nick");
	}
	if (session->stage == LOOKING) {
		return answer_client(stack, looking);
	}
	if (session->stage == IN) {
		GYRE_AWAIT(stack,
			   gyre_ask(stack, session->room, gyre_new(stack, rename, name_of(nick)), 0,
				    &frame->answer));
		if (gyre_future_failed(&frame->answer)) {
			return answer_client(stack, reason(gyre_future_error(&frame->answer)));
		}
	}
	session->nick = name_of(nick);
	write_text(stack, gyre_bytes_printf("* you are %s", nick));
	return end_line(stack);
	GYRE_END(stack);
}

static int ask_who(struct gyre_stack *stack, const char *nothing)
{
	struct session *session = session_of(stack);

	(void)nothing;
	GYRE_BEGIN(stack);
	if (session->stage != IN) {
		return answer_client(stack, session->stage == OUT ? "you are in no room" : looking);
	}
	GYRE_AWAIT(stack, gyre_ask(stack, session->room, gyre_new(stack, who, 0), 0,
				   &session_frame_of(stack)->answer));
	if (gyre_future_failed(&session_frame_of(stack)->answer)) {
		return answer_client(stack,
				     reason(gyre_future_error(&session_frame_of(stack)->answer)));
	}
	return end_line(stack);
	GYRE_END(stack);
}

/* The rooms answer by themselves. */
static int ask_rooms(struct gyre_stack *stack, const char *nothing)
{
	(void)nothing;
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, session_of(stack)->chat->porter,
				   gyre_new(stack, rooms, gyre_self(stack)), 0,
				   &session_frame_of(stack)->answer));
	if (gyre_future_failed(&session_frame_of(stack)->answer)) {
		return answer_client(stack, "there are no rooms");
	}
	return end_line(stack);
	GYRE_END(stack);
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
	return answer_client(stack, "/nick NAME, /join ROOM, /leave, /who, /rooms, /quit, /help");
}

static int say(struct gyre_stack *stack, const char *words)
{
	struct session *session = session_of(stack);
	struct session_frame *frame = session_frame_of(stack);

	GYRE_BEGIN(stack);
	if (*words == '\0') {
		return end_line(stack);
	}
	if (session->stage != IN) {
		return answer_client(stack, session->stage == OUT ? "you are in no room: /join one"
								  : looking);
	}
	GYRE_AWAIT(stack,
		   gyre_ask(stack, session->room,
			    gyre_new(stack, text,
				     gyre_bytes_printf("<%s> %s", session->nick.text, words)),
			    0, &frame->answer));
	if (gyre_future_error(&frame->answer) == -ENOTCONN) {
		(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, sent_off, 0));
	}
	if (gyre_future_failed(&frame->answer)) {
		return answer_client(stack, reason(gyre_future_error(&frame->answer)));
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
	return answer_client(stack, "there is no such command; see /help");
}

static int be_told(struct gyre_stack *stack)
{
	write_heard(stack, gyre_message(stack, told)->bytes);
	return gyre_return(stack);
}

static const struct gyre_route notices[] = {
	GYRE_ROUTE(line, take_line),	   GYRE_ROUTE(text, hear), GYRE_ROUTE(told, be_told),
	GYRE_ROUTE(sent_off, be_sent_off), GYRE_ROUTE_END,
};
static const struct gyre_route events[] = {
	GYRE_ROUTE(gyre_terminated, miss_room),
	GYRE_ROUTE(gyre_node_event, see_node),
	GYRE_ROUTE_END,
};

const struct gyre_class session_class = {
	.name = "session",
	.state_bytes = sizeof(struct session),
	.frame_bytes = sizeof(struct session_frame),
	.mount = greet,
	.behaviour = { .notice_routes = notices, .event_routes = events },
};
