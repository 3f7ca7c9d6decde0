/*
 * A chat server of lines. Three things make it:
 *
 *	connection.c  a connection, a channel: its last handler gives each line to the session, and
 *		      writes what it hears to the client
 *	session.c     a session, an actor beside it: understands commands, and speaks in the room
 *		      for the client
 *	room.c        a room, an actor that is found by its name: knows its members, and sends what
 *		      one says to the channels of the others
 *
 * A room begins with the first who joins it and ends with the last who leaves. What is said is one
 * block of shared bytes, to which each channel's output refers: it is never copied for a receiver.
 */
#ifndef APPS_CHAT_CHAT_H
#define APPS_CHAT_CHAT_H

#include <gyre/gyre.h>

enum { LINE_BYTES_MAX = 512, TEXT_BYTES_MAX = 640, NAME_BYTES_MAX = 24 };

/* The same for all; it does not change while the system runs. */
struct chat {
	uint64_t members_max; /* of a room */
	struct gyre_address rooms;
};

struct name {
	char text[NAME_BYTES_MAX + 1];
};

extern const struct gyre_class room_class;
extern const struct gyre_class session_class;

int init_connection(struct gyre_channel *channel, void *chat);

/* A line of text as shared bytes, or NULL. */
__attribute__((format(printf, 1, 2))) struct gyre_bytes *compose(const char *format, ...);

/* ---- what they say to each other ---- */

/* To a session: what the client has typed. */
struct line {
	char text[LINE_BYTES_MAX + 1];
};
GYRE_MESSAGE(line, 0x400);

/* To a channel: the session has done with a line. */
struct next_line {
	char nothing;
};
GYRE_MESSAGE(next_line, 0x401);

/* To a room: what is said there. To a channel: what its client is to read. */
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
	struct gyre_address channel;
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

/* To a room, and to all rooms: tell this channel who is there, and of the room. */
struct who {
	struct gyre_address channel;
};
GYRE_MESSAGE(who, 0x407);

struct rooms {
	struct gyre_address channel;
};
GYRE_MESSAGE(rooms, 0x408);

/* With which a room begins, and a session. */
struct founding {
	const struct chat *chat;
	struct name name;
};
GYRE_MESSAGE(founding, 0x409);

struct greeting {
	const struct chat *chat;
	struct gyre_address channel;
};
GYRE_MESSAGE(greeting, 0x40a);

/* Sends text to a channel; takes it. */
static inline void tell(struct gyre_stack *stack, struct gyre_address channel,
			struct gyre_bytes *bytes)
{
	(void)gyre_notify(stack, channel, gyre_new(stack, text, bytes));
}

#endif
