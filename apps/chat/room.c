/*
 * A room. It is where its name is, and nobody keeps a list: who joins spawns a room of that name,
 * and where there is one already gets its address. Members are sessions, which the room watches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"

struct member {
	struct gyre_address session;
	struct name nick;
};

struct room {
	const struct chat *chat;
	struct name name;
	struct member *members;
	size_t count;
	size_t space;
	int refusal; /* why nobody can join */
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

static bool is_taken(const struct room *room, const struct name *nick)
{
	for (size_t i = 0; i < room->count; i++) {
		if (strcmp(room->members[i].nick.text, nick->text) == 0) {
			return true;
		}
	}
	return false;
}

/* One block for all; each mail has a reference, and so has each output. */
static void broadcast(struct gyre_stack *stack, struct gyre_address but, struct gyre_bytes *bytes)
{
	const struct room *room = room_of(stack);

	for (size_t i = 0; bytes != NULL && i < room->count; i++) {
		const struct member *member = &room->members[i];

		if (!gyre_address_equal(member->session, but)) {
			(void)gyre_notify(stack, member->session,
					  gyre_new(stack, text, gyre_bytes_ref(bytes)));
		}
	}
}

/* Says something to all but one, and lets go of it. */
static void announce(struct gyre_stack *stack, struct gyre_address but, struct gyre_bytes *bytes)
{
	broadcast(stack, but, bytes);
	gyre_bytes_unref(bytes);
}

static int found_room(struct gyre_stack *stack)
{
	const struct founding *founding = gyre_message(stack, founding);
	struct room *room = room_of(stack);

	room->chat = founding->chat;
	room->name = founding->name;
	room->refusal = gyre_group_join(stack, room->chat->rooms);
	return gyre_return(stack);
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

static int close_if_empty(struct gyre_stack *stack)
{
	return room_of(stack)->count > 0 ? 0 : gyre_stop(stack, gyre_self(stack));
}

static int let_in(struct gyre_stack *stack)
{
	const struct join *join = gyre_message(stack, join);
	struct gyre_address session = gyre_sender(stack);
	struct room *room = room_of(stack);
	int r = is_taken(room, &join->nick) ? -EEXIST : make_space(room);

	if (r == 0) {
		r = gyre_watch(stack, session);
	}
	if (r < 0) {
		(void)close_if_empty(stack);
		return gyre_throw(stack, r);
	}
	room->members[room->count++] = (struct member){ session, join->nick };
	announce(stack, session,
		 gyre_bytes_printf("* %s has joined %s", join->nick.text, room->name.text));
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

/* Whose connection has ended leaves all the same: the room watches the session. */
static int miss_member(struct gyre_stack *stack)
{
	return see_off(stack, gyre_message(stack, gyre_terminated)->actor);
}

static int pass_text(struct gyre_stack *stack)
{
	broadcast(stack, gyre_sender(stack), gyre_message(stack, text)->bytes);
	return gyre_reply(stack, gyre_new(stack, done, 0));
}

static int rename_member(struct gyre_stack *stack)
{
	const struct rename *rename = gyre_message(stack, rename);
	struct gyre_address session = gyre_sender(stack);
	struct member *member = find_member(room_of(stack), session);

	if (member == NULL || is_taken(room_of(stack), &rename->nick)) {
		return gyre_throw(stack, member == NULL ? -ESRCH : -EEXIST);
	}
	announce(stack, session,
		 gyre_bytes_printf("* %s is now %s", member->nick.text, rename->nick.text));
	member->nick = rename->nick;
	return gyre_reply(stack, gyre_new(stack, done, 0));
}

/* Sends text to the session that has asked for it; takes it. */
static void tell(struct gyre_stack *stack, struct gyre_bytes *bytes)
{
	(void)gyre_notify(stack, gyre_sender(stack), gyre_new(stack, text, bytes));
}

static int tell_who(struct gyre_stack *stack)
{
	const struct room *room = room_of(stack);

	for (size_t i = 0; i < room->count; i++) {
		tell(stack, gyre_bytes_printf("* %s is in %s", room->members[i].nick.text,
					      room->name.text));
	}
	return gyre_reply(stack, gyre_new(stack, done, 0));
}

static int tell_room(struct gyre_stack *stack)
{
	tell(stack,
	     gyre_bytes_printf("* %s: %zu", room_of(stack)->name.text, room_of(stack)->count));
	return gyre_return(stack);
}

static const struct gyre_route room_asks[] = {
	GYRE_ROUTE(text, pass_text),	   GYRE_ROUTE(join, let_in),  GYRE_ROUTE(leave, let_out),
	GYRE_ROUTE(rename, rename_member), GYRE_ROUTE(who, tell_who), GYRE_ROUTE_END,
};
static const struct gyre_route room_notices[] = {
	GYRE_ROUTE(rooms, tell_room),
	GYRE_ROUTE_END,
};
static const struct gyre_route room_events[] = {
	GYRE_ROUTE(gyre_terminated, miss_member),
	GYRE_ROUTE_END,
};

const struct gyre_class room_class = {
	.name = "room",
	.state_bytes = sizeof(struct room),
	.mount = found_room,
	.clean = end_room,
	.behaviour = { .ask_routes = room_asks,
		       .notice_routes = room_notices,
		       .event_routes = room_events },
};
