/*
 * A chat server of lines. Three things make it:
 *
 *	session.c     a session, the actor of a connection: understands commands, and speaks in the
 *		      room for the client
 *	connection.c  its channel: the last handler of that gives each line to the session; and how
 *		      the session writes to the client
 *	room.c        a room, an actor that is found by its name: knows its members, and sends what
 *		      one says to the sessions of the others
 *
 * A room begins with the first who joins it and ends with the last who leaves. What is said is one
 * block of shared bytes, to which each channel's output refers: it is never copied for a receiver.
 */
#ifndef APPS_CHAT_CHAT_H
#define APPS_CHAT_CHAT_H

#include <gyre/gyre.h>

enum { LINE_BYTES_MAX = 512, NAME_BYTES_MAX = 24 };

/* The same for all; it does not change while the system runs. */
struct chat {
	uint64_t members_max; /* of a room */
	struct gyre_address rooms;
};

struct name {
	char text[NAME_BYTES_MAX + 1];
};

/* The state of a session, within reach of the handlers of its channel. */
struct session {
	const struct chat *chat;
	struct gyre_address room;
	struct name nick;
	bool joined;
	uint64_t missed; /* lines left out, since the client does not read */
};

extern const struct gyre_class room_class;
extern const struct gyre_class session_class;

int init_connection(struct gyre_channel *channel, void *chat);
/* Of a session: writes to the client, if that is there still. Takes the bytes. */
void write_text(struct gyre_stack *stack, struct gyre_bytes *bytes);
/* The same for what others say: left out while the client does not read. Leaves the bytes. */
void write_heard(struct gyre_stack *stack, struct gyre_bytes *bytes);

/* ---- what they say to each other ---- */

/* To a session: what the client has typed. */
struct line {
	char text[LINE_BYTES_MAX + 1];
};
GYRE_MESSAGE(line, 0x400);

/* To a room: what is said there. To a session: what its client is to read. */
struct text {
	struct gyre_bytes *bytes;
};

static inline void forget_text(struct text *text)
{
	gyre_bytes_unref(text->bytes);
}
GYRE_MESSAGE_OWNING(text, 0x402, forget_text);

/* Asks of a session to a room, which are answered with done. */
struct join {
	struct name nick;
};
GYRE_MESSAGE(join, 0x403);

struct rename {
	struct name nick;
};
GYRE_MESSAGE(rename, 0x404);

struct leave {
	char nothing;
};
GYRE_MESSAGE(leave, 0x405);

struct done {
	char nothing;
};
GYRE_MESSAGE(done, 0x406);

/* To a room, and to all rooms: tell the session who is there, and of the room. */
struct who {
	char nothing;
};
GYRE_MESSAGE(who, 0x407);

struct rooms {
	char nothing;
};
GYRE_MESSAGE(rooms, 0x408);

/* With which a room begins. */
struct founding {
	const struct chat *chat;
	struct name name;
};
GYRE_MESSAGE(founding, 0x409);

#endif
