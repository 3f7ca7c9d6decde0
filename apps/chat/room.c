/*
 * A room. It is where its name is, and nobody keeps a list: a porter spawns a room of that name,
 * and where there is one already gets its address. Members are sessions, which the room watches.
 *
 * It ends when it is empty, and when its home is elsewhere: then its members, who watch it, join
 * it there. It also ends when its node was declared down, as nobody elsewhere has its address.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"

struct member {
	struct gyre_address session;
	struct name nick;
	uint64_t missed; /* texts for which there was no place on the link, or no memory */
};

struct room {
	const struct chat *chat;
	struct name name;
	struct member *members;
	size_t count;
	size_t space;
	int refusal; /* why nobody can join */
};

struct room_frame {
	struct gyre_future homes;
};

static struct room *room_of(struct gyre_stack *stack)
{
	return (struct room *)gyre_state(stack);
}

static struct member *find_member(const struct room *room, struct gyre_address session)
{
	for (size_t i = 0; i < room->count; i++) {
		if (gyre_address_equal(room->members[i].session, session)) {
			return &room->members[i];
		}
	}
	return NULL;
}

/* Its node may have a new life since it joined: the address of that is another one. */
static struct member *find_in_any_life(const struct room *room, struct gyre_address session)
{
	for (size_t i = 0; i < room->count; i++) {
		struct gyre_address member = room->members[i].session;

		member.life = session.life;
		if (gyre_address_equal(member, session)) {
			return &room->members[i];
		}
	}
	return NULL;
}

/* By another member than @but. */
static bool is_taken(const struct room *room, const struct name *nick, const struct member *but)
{
	for (size_t i = 0; i < room->count; i++) {
		if (strcmp(room->members[i].nick.text, nick->text) == 0) {
			return &room->members[i] != but;
		}
	}
	return false;
}

static void tell_missed(struct gyre_stack *stack, struct member *member)
{
	struct gyre_bytes *bytes =
		gyre_bytes_printf("* you missed %" PRIu64 " lines", member->missed);

	if (gyre_notify(stack, member->session, gyre_new(stack, told, bytes)) == 0) {
		member->missed = 0;
	}
}

/* Whose session has ended needs no telling. */
static bool is_told(struct gyre_stack *stack, const struct member *member, struct gyre_bytes *bytes)
{
	int r = gyre_notify(stack, member->session, gyre_new(stack, text, gyre_bytes_ref(bytes)));

	return r != -EAGAIN && r != -ENOMEM;
}

/*
 * One block for all; each mail has a reference, and so has each output. That of another node is
 * encoded for each.
 */
static void broadcast(struct gyre_stack *stack, struct gyre_address but, struct gyre_bytes *bytes)
{
	struct room *room = room_of(stack);

	for (size_t i = 0; bytes != NULL && i < room->count; i++) {
		struct member *member = &room->members[i];

		if (gyre_address_equal(member->session, but)) {
			continue;
		}
		if (member->missed > 0) {
			tell_missed(stack, member);
		}
		if (member->missed > 0 || !is_told(stack, member, bytes)) {
			member->missed++;
		}
	}
}

/* Says something to all but one, and lets go of it. */
static void announce(struct gyre_stack *stack, struct gyre_address but, struct gyre_bytes *bytes)
{
	broadcast(stack, but, bytes);
	gyre_bytes_unref(bytes);
}

static bool is_home(const struct room *room, const struct homes *homes)
{
	return home_of(homes, &room->name) == room->chat->node;
}

static int close_if_empty(struct gyre_stack *stack)
{
	return room_of(stack)->count > 0 ? 0 : gyre_stop(stack, gyre_self(stack));
}

static int start_patience(struct gyre_stack *stack)
{
	static const struct gyre_timer_options options = { .delay_ns = GYRE_SECONDS(10) };

	return gyre_timer_start(stack, 0, &options);
}

/* Who had it founded has not come. */
static int lose_patience(struct gyre_stack *stack)
{
	return close_if_empty(stack) < 0 ? gyre_throw(stack, -ENOMEM) : gyre_return(stack);
}

static int found_room(struct gyre_stack *stack)
{
	const struct founding *founding = gyre_message(stack, founding);
	struct room *room = room_of(stack);
	struct room_frame *frame = (struct room_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	room->chat = founding->chat;
	room->name = founding->name;
	room->refusal = gyre_group_join(stack, room->chat->rooms);
	room->refusal = room->refusal < 0 ? room->refusal : start_patience(stack);
	if (room->chat->node == 0) {
		return gyre_return(stack);
	}
	room->refusal = room->refusal < 0 ? room->refusal : gyre_node_watch(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, room->chat->porter, gyre_new(stack, founded, 0), 0,
				   &frame->homes));
	if (room->refusal == 0 && gyre_future_failed(&frame->homes)) {
		room->refusal = gyre_future_error(&frame->homes);
	} else if (room->refusal == 0 && !is_home(room, gyre_future_get(&frame->homes, homes))) {
		room->refusal = -EAGAIN;
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

/* The home is elsewhere: it is founded there when its members join it again. */
static int move_if_away(struct gyre_stack *stack)
{
	return is_home(room_of(stack), gyre_message(stack, homes))
		       ? gyre_return(stack)
		       : gyre_stop(stack, gyre_self(stack));
}

/* Others take this node for dead, and members there have left. */
static int end_if_declared_down(struct gyre_stack *stack)
{
	return gyre_message(stack, gyre_node_event)->state == GYRE_NODE_QUARANTINED
		       ? gyre_stop(stack, gyre_self(stack))
		       : gyre_return(stack);
}

static void end_room(void *state)
{
	free(((struct room *)state)->members);
}

static int make_space(struct room *room)
{
	size_t space = room->space == 0 ? 8 : 2 * room->space;
	struct member *members;

	if (room->refusal < 0 || room->count == room->chat->members_max) {
		return room->refusal < 0 ? room->refusal : -ENOBUFS;
	}
	if (room->count < room->space) {
		return 0;
	}
	members = (struct member *)realloc(room->members, space * sizeof(*members));
	if (members == NULL) {
		return -ENOMEM;
	}
	room->members = members;
	room->space = space;
	return 0;
}

/* Of its former life, or of a membership of which its session does not know. */
static void forget_member(struct gyre_stack *stack, struct member *member)
{
	struct room *room = room_of(stack);

	(void)gyre_unwatch(stack, member->session);
	*member = room->members[--room->count];
}

static int refuse(struct gyre_stack *stack, int error)
{
	(void)close_if_empty(stack);
	return gyre_throw(stack, error);
}

static int let_in(struct gyre_stack *stack)
{
	const struct join *join = gyre_message(stack, join);
	struct gyre_address session = gyre_sender(stack);
	struct room *room = room_of(stack);
	struct member *before = find_in_any_life(room, session);
	struct name was = { "" };
	int r = !is_whole(&join->nick)		      ? -EPROTO
		: is_taken(room, &join->nick, before) ? -EEXIST
						      : 0;

	if (r == 0 && before != NULL) {
		was = before->nick;
		forget_member(stack, before);
	}
	r = r < 0 ? r : make_space(room);
	if (r == 0) {
		r = gyre_watch(stack, session);
	}
	if (r < 0) {
		if (was.text[0] != '\0') {
			announce(stack, session,
				 gyre_bytes_printf("* %s has left %s", was.text, room->name.text));
		}
		return refuse(stack, r);
	}
	room->members[room->count++] = (struct member){ session, join->nick, 0 };
	if (before == NULL) {
		announce(stack, session,
			 gyre_bytes_printf("* %s has joined %s", join->nick.text, room->name.text));
	}
	return gyre_reply(stack, gyre_new(stack, done, 0));
}

static int see_off(struct gyre_stack *stack, struct gyre_address session)
{
	struct room *room = room_of(stack);
	struct member *member = find_member(room, session);

	if (member != NULL) {
		struct name nick = member->nick;

		*member = room->members[--room->count];
		announce(stack, session,
			 gyre_bytes_printf("* %s has left %s", nick.text, room->name.text));
	}
	return close_if_empty(stack);
}

static int let_out(struct gyre_stack *stack)
{
	int r = gyre_reply(stack, gyre_new(stack, done, 0));

	(void)gyre_unwatch(stack, gyre_sender(stack));
	(void)see_off(stack, gyre_sender(stack));
	return r;
}

/*
 * Whose connection has ended leaves all the same: the room watches the session. One whose end the
 * room would not hear of, as its node cannot be dialled, is sent off.
 */
static int miss_member(struct gyre_stack *stack)
{
	const struct gyre_terminated *end = gyre_message(stack, gyre_terminated);

	if (end->reason == -EADDRNOTAVAIL && find_member(room_of(stack), end->actor) != NULL) {
		(void)gyre_notify(stack, end->actor, gyre_new(stack, sent_off, 0));
	}
	return see_off(stack, end->actor);
}

static int pass_text(struct gyre_stack *stack)
{
	if (find_member(room_of(stack), gyre_sender(stack)) == NULL) {
		return gyre_throw(stack, -ENOTCONN);
	}
	if (gyre_message(stack, text)->bytes == NULL) {
		return gyre_throw(stack, -ENOMEM);
	}
	broadcast(stack, gyre_sender(stack), gyre_message(stack, text)->bytes);
	return gyre_reply(stack, gyre_new(stack, done, 0));
}

static int rename_member(struct gyre_stack *stack)
{
	const struct rename *rename = gyre_message(stack, rename);
	struct gyre_address session = gyre_sender(stack);
	struct member *member = find_member(room_of(stack), session);

	if (member == NULL || !is_whole(&rename->nick)) {
		return gyre_throw(stack, member == NULL ? -ENOTCONN : -EPROTO);
	}
	if (is_taken(room_of(stack), &rename->nick, member)) {
		return gyre_throw(stack, -EEXIST);
	}
	if (strcmp(member->nick.text, rename->nick.text) == 0) {
		/* The answer that it is so was lost. */
		return gyre_reply(stack, gyre_new(stack, done, 0));
	}
	announce(stack, session,
		 gyre_bytes_printf("* %s is now %s", member->nick.text, rename->nick.text));
	member->nick = rename->nick;
	return gyre_reply(stack, gyre_new(stack, done, 0));
}

/* Sends text to a session that has asked for it; takes it. */
static void tell(struct gyre_stack *stack, struct gyre_address session, struct gyre_bytes *bytes)
{
	(void)gyre_notify(stack, session, gyre_new(stack, told, bytes));
}

static int tell_who(struct gyre_stack *stack)
{
	const struct room *room = room_of(stack);

	for (size_t i = 0; i < room->count; i++) {
		tell(stack, gyre_sender(stack),
		     gyre_bytes_printf("* %s is in %s", room->members[i].nick.text,
				       room->name.text));
	}
	return gyre_reply(stack, gyre_new(stack, done, 0));
}

static int tell_room(struct gyre_stack *stack)
{
	tell(stack, gyre_message(stack, rooms)->session,
	     gyre_bytes_printf("* %s: %zu", room_of(stack)->name.text, room_of(stack)->count));
	return gyre_return(stack);
}

static const struct gyre_route room_asks[] = {
	GYRE_ROUTE(text, pass_text),	   GYRE_ROUTE(join, let_in),  GYRE_ROUTE(leave, let_out),
	GYRE_ROUTE(rename, rename_member), GYRE_ROUTE(who, tell_who), GYRE_ROUTE_END,
};
static const struct gyre_route room_notices[] = {
	GYRE_ROUTE(rooms, tell_room),
	GYRE_ROUTE(homes, move_if_away),
	GYRE_ROUTE_END,
};
static const struct gyre_route room_events[] = {
	GYRE_ROUTE(gyre_terminated, miss_member),
	GYRE_ROUTE(gyre_node_event, end_if_declared_down),
	GYRE_ROUTE(gyre_timeout, lose_patience),
	GYRE_ROUTE_END,
};

const struct gyre_class room_class = {
	.name = "room",
	.state_bytes = sizeof(struct room),
	.frame_bytes = sizeof(struct room_frame),
	.mount = found_room,
	.clean = end_room,
	.behaviour = { .ask_routes = room_asks,
		       .notice_routes = room_notices,
		       .event_routes = room_events },
};
