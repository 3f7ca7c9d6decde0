/*
 * A session's life in rooms. It asks its porter for the room, joins that, and watches it. When the
 * room ends, because it moves or its node is lost, and when the own node was declared down and so
 * all rooms have seen it off, the session looks for the room until it is in it again.
 *
 * A room may take a session for a member that does not take itself for one: its answer was lost.
 * The session leaves as soon as it hears something said there. It does not while it joins, since
 * it may be that room which it joins.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "chat.h"

enum { TRIES_MAX = 60 };

static const uint64_t try_again_ns = GYRE_SECONDS(1);

const char *reason(int error)
{
	switch (error) {
	case -EEXIST:
		return "somebody there has that nick";
	case -ENOBUFS:
		return "there is no place";
	case -ESRCH:
	case -ESHUTDOWN:
		return "the room has just ended: try again";
	case -EAGAIN:
		return "the room is moving: try again";
	case -ENOTCONN:
		return "you were taken for gone: wait until you are in the room";
	case -ECONNRESET:
	case -ETIMEDOUT:
		return "the room's node does not answer: that was done, or not";
	case -EADDRNOTAVAIL:
	case -EHOSTDOWN:
	case -EHOSTUNREACH:
		return "the room's node cannot be reached: try again";
	default:
		return strerror(-error);
	}
}

bool is_name(const char *text)
{
	size_t length = strlen(text);

	return length > 0 && length <= NAME_BYTES_MAX && strchr(text, ' ') == NULL;
}

struct name name_of(const char *text)
{
	struct name name = { "" };

	(void)snprintf(name.text, sizeof(name.text), "%s", text);
	return name;
}

/* ---- joining ---- */

static bool is_in(const struct session *session, struct gyre_address room)
{
	return session->stage == IN && gyre_address_equal(room, session->room);
}

/* The steps of joining, for two handlers that await them. */
static int ask_where(struct gyre_stack *stack)
{
	const struct session *session = session_of(stack);

	return gyre_ask(stack, session->chat->porter, gyre_new(stack, find, session->room_name), 0,
			&session_frame_of(stack)->answer);
}

/* If the porter has not told, it is the answer of the room that has failed. */
static int ask_in(struct gyre_stack *stack)
{
	struct session_frame *frame = session_frame_of(stack);

	if (gyre_future_failed(&frame->answer)) {
		return gyre_future_error(&frame->answer);
	}
	frame->room = gyre_future_get(&frame->answer, found)->room;
	return gyre_ask(stack, frame->room, gyre_new(stack, join, session_of(stack)->nick), 0,
			&frame->answer);
}

static int settle(struct gyre_stack *stack)
{
	const struct session_frame *frame = session_frame_of(stack);
	struct session *session = session_of(stack);
	int r = gyre_future_failed(&frame->answer) ? gyre_future_error(&frame->answer)
						   : gyre_watch(stack, frame->room);

	if (r == 0) {
		session->room = frame->room;
		session->stage = IN;
		write_text(stack, gyre_bytes_printf("* you are in %s", session->room_name.text));
	}
	return r;
}

int join_room(struct gyre_stack *stack, const char *name)
{
	struct session *session = session_of(stack);
	int r;

	GYRE_BEGIN(stack);
	if (!is_name(name) || session->stage != OUT) {
		return answer_client(stack, session->stage != OUT
						    ? "you are in a room: /leave it first"
						    : "a room has 1 to 24 bytes and no "
						      "space");
	}
	session->stage = MOVING;
	session->room_name = name_of(name);
	GYRE_AWAIT(stack, ask_where(stack));
	GYRE_AWAIT(stack, ask_in(stack));
	r = settle(stack);
	if (r < 0) {
		session->stage = OUT;
		return answer_client(stack, reason(r));
	}
	return end_line(stack);
	GYRE_END(stack);
}

int leave_room(struct gyre_stack *stack, const char *nothing)
{
	struct session *session = session_of(stack);

	(void)nothing;
	GYRE_BEGIN(stack);
	if (session->stage != IN) {
		return answer_client(stack,
				     session->stage == OUT
					     ? "you are in no room"
					     : "the room is being looked for: wait, or /quit");
	}
	session->stage = MOVING;
	(void)gyre_unwatch(stack, session->room);
	GYRE_AWAIT(stack, gyre_ask(stack, session->room, gyre_new(stack, leave, 0), 0,
				   &session_frame_of(stack)->answer));
	session->stage = OUT;
	return answer_client(stack, "you have left");
	GYRE_END(stack);
}

int hear(struct gyre_stack *stack)
{
	struct session *session = session_of(stack);

	GYRE_BEGIN(stack);
	if (is_in(session, gyre_sender(stack))) {
		write_heard(stack, gyre_message(stack, text)->bytes);
	} else if (session->stage == IN || session->stage == OUT) {
		GYRE_AWAIT(stack, gyre_ask(stack, gyre_sender(stack), gyre_new(stack, leave, 0), 0,
					   &session_frame_of(stack)->answer));
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

/* ---- being lost ---- */

static bool is_for_good(int error)
{
	return error == -EEXIST || error == -ENOBUFS || error == -EPROTO;
}

/* Part of a handler that awaits it. The client's lines are read meanwhile. */
static int look_for_room(struct gyre_stack *stack)
{
	struct session *session = session_of(stack);
	struct session_frame *frame = session_frame_of(stack);
	int r;

	GYRE_BEGIN(stack);
	session->stage = LOOKING;
	write_text(stack, gyre_bytes_printf("* you have lost %s: looking for it again",
					    session->room_name.text));
	for (;;) {
		GYRE_AWAIT(stack, ask_where(stack));
		GYRE_AWAIT(stack, ask_in(stack));
		r = settle(stack);
		if (r == 0) {
			break;
		}
		if (is_for_good(r) || ++frame->tries == TRIES_MAX) {
			session->stage = OUT;
			write_text(stack, gyre_bytes_printf("* %s: you are in no room", reason(r)));
			break;
		}
		GYRE_AWAIT(stack, gyre_sleep(stack, try_again_ns, &frame->answer));
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

int miss_room(struct gyre_stack *stack)
{
	return gyre_stack_state(stack) != 0 ||
			       is_in(session_of(stack), gyre_message(stack, gyre_terminated)->actor)
		       ? look_for_room(stack)
		       : gyre_return(stack);
}

/* By the room, or by itself, when the room has refused what its client says. */
int be_sent_off(struct gyre_stack *stack)
{
	const struct session *session = session_of(stack);

	return gyre_stack_state(stack) != 0 || is_in(session, gyre_sender(stack)) ||
			       (session->stage == IN &&
				gyre_address_equal(gyre_sender(stack), gyre_self(stack)))
		       ? look_for_room(stack)
		       : gyre_return(stack);
}

/* All that watched the session were told of its end. */
int see_node(struct gyre_stack *stack)
{
	return gyre_stack_state(stack) != 0 || (session_of(stack)->stage == IN &&
						gyre_message(stack, gyre_node_event)->state ==
							GYRE_NODE_QUARANTINED)
		       ? look_for_room(stack)
		       : gyre_return(stack);
}
