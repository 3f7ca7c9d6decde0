/*
 * A chat server of lines. Five things make it:
 *
 *	session.c     a session, the actor of a connection: understands commands, and speaks in the
 *		      room for the client
 *	member.c      its life in rooms: joins one, is told of its end, and joins it again
 *	connection.c  its channel: the last handler of that gives each line to the session; and how
 *		      the session writes to the client
 *	room.c        a room, an actor: knows its members, and sends what one says to the sessions
 *		      of the others
 *	porter.c      the porter, an actor of the node: knows where rooms are, and founds those of
 *		      his node
 *
 * A room begins with the first who joins it and ends with the last who leaves. What is said is one
 * block of shared bytes, to which each channel's output refers: it is never copied for a receiver
 * of the same node.
 *
 * Several servers can be the nodes of a cluster (main.c, node.c). Clients then speak to those of
 * all nodes. A room has one home, the node that its name leads to among those that are up: each
 * porter finds it by himself, as rendezvous hashing gives the same answer wherever the same nodes
 * are known. When a node is declared down, its rooms have other homes, and its sessions leave.
 * When a node comes, some rooms move to it. Either way a room that is not at home ends, and the
 * sessions that were in it join it again, which founds it anew; their clients are told.
 *
 * What this gives, and what it does not:
 *
 * - Nodes that do not see each other have each a room of that name, with their own sessions. When
 *   they meet again one home is left, and all come together there.
 * - Where nodes do not agree about who is up, because one sees two that do not see each other, a
 *   room cannot be joined at a node that takes another one for its home.
 * - Lines of one client are heard in their order and never twice, by those who were in the room
 *   with him all the time. What was under way when a link broke, or a room moved, may be lost: who
 *   has said it is told, unless it was lost between the room and some of the hearers.
 * - A nick is one client's in a room. Of two who had it on the two sides, the later one is told so
 *   when they meet, and is then in no room.
 */
#ifndef APPS_CHAT_CHAT_H
#define APPS_CHAT_CHAT_H

#include <gyre/gyre.h>

enum { LINE_BYTES_MAX = 512, NAME_BYTES_MAX = 24, NODES_MAX = 64 };

/* The same for all; but for @guests it does not change while the system runs. */
struct chat {
	uint64_t members_max; /* of a room */
	uint64_t node;	      /* 0: there are no others */
	struct gyre_address porter;
	struct gyre_address rooms; /* the group of those of this node */
	uint32_t guests;	   /* sessions so far; atomic */
};

struct name {
	char text[NAME_BYTES_MAX + 1];
};

enum stage {
	OUT,	 /* in no room */
	MOVING,	 /* a command to join or to leave is under way */
	IN,	 /* in @room */
	LOOKING, /* @room was lost, and is joined again */
};

/* The state of a session, within reach of the handlers of its channel. */
struct session {
	const struct chat *chat;
	enum stage stage;
	struct gyre_address room;
	struct name room_name;
	struct name nick;
	uint64_t missed; /* lines left out, since the client does not read */
	bool is_busy;	 /* a line of the client is under way */
	bool is_last;	 /* and no other comes */
};

struct session_frame {
	struct gyre_future answer;
	struct gyre_address room;
	uint32_t tries;
};

extern const struct gyre_class porter_class;
extern const struct gyre_class room_class;
extern const struct gyre_class session_class;

static inline struct session *session_of(struct gyre_stack *stack)
{
	return (struct session *)gyre_state(stack);
}

static inline struct session_frame *session_frame_of(struct gyre_stack *stack)
{
	return (struct session_frame *)gyre_frame(stack);
}

/* ---- connection.c ---- */

int init_connection(struct gyre_channel *channel, void *chat);
/* Of a session: writes to the client, if that is there still. Takes the bytes. */
void write_text(struct gyre_stack *stack, struct gyre_bytes *bytes);
/* The same for what others say: left out while the client does not read. Leaves the bytes. */
void write_heard(struct gyre_stack *stack, struct gyre_bytes *bytes);

/* ---- session.c: the ends of a command ---- */

/* The client's next line is read when this one is done with: who types too fast is slowed down. */
int end_line(struct gyre_stack *stack);
/* Has the session quit when it has handled what it was told before. */
void part(struct gyre_stack *stack);
/* The same after a text for the client. */
int answer_client(struct gyre_stack *stack, const char *text);

/* ---- member.c ---- */

const char *reason(int error);
bool is_name(const char *text);
struct name name_of(const char *text);
/* Commands, as those in session.c. */
int join_room(struct gyre_stack *stack, const char *name);
int leave_room(struct gyre_stack *stack, const char *nothing);
/* What is said in a room. */
int hear(struct gyre_stack *stack);
/* Handlers for what ends a membership without the client's doing. */
int miss_room(struct gyre_stack *stack);
int be_sent_off(struct gyre_stack *stack);
int see_node(struct gyre_stack *stack);

/* ---- node.c: the system as a node ---- */

enum { PEERS_BYTES_MAX = 8192 };

struct node_settings {
	uint64_t id;
	const char *listen;
	const char *peers_text;
	const char *cluster;
	const char *secret;
	bool no_encryption;
	uint64_t down_ms;
	struct gyre_node_peer peers[NODES_MAX];
	char text[PEERS_BYTES_MAX]; /* that the addresses of peers are in */
};

/*
 * Fills @ret_node, which refers to @settings from then on. False if there is a mistake, which is
 * then on standard error.
 */
bool make_node(struct node_settings *settings, struct gyre_node_options *ret_node);

/* ---- what they say to each other ---- */

/* To a session: what the client has typed. */
struct line {
	char text[LINE_BYTES_MAX + 1];
};
GYRE_MESSAGE(line, 0x400);

struct text {
	struct gyre_bytes *bytes;
};

int encode_text(const void *payload, struct gyre_encoder *out);
int decode_text(void *payload, struct gyre_decoder *in);
static const struct gyre_encoding text_encoding = { 1, encode_text, decode_text };

static inline void forget_text(struct text *text)
{
	gyre_bytes_unref(text->bytes);
}
/* To a room: what is said there, an ask that is answered with done. To a session: the same. */
GYRE_MESSAGE_ENCODED(text, 0x402, text_encoding, forget_text);

/* To a session: what its client has asked for. */
struct told {
	struct gyre_bytes *bytes;
};

static inline void forget_told(struct told *told)
{
	gyre_bytes_unref(told->bytes);
}
GYRE_MESSAGE_ENCODED(told, 0x40a, text_encoding, forget_told);

/* Asks of a session to a room, which are answered with done. Who is in it already is so again. */
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

/* Likewise: tell the session who is there. */
struct who {
	char nothing;
};
GYRE_MESSAGE(who, 0x407);

/* To porters and rooms: tell a session of the rooms. An ask, to the porter of the own node. */
struct rooms {
	struct gyre_address session;
};
GYRE_MESSAGE(rooms, 0x408);

/* With which a room begins. */
struct founding {
	const struct chat *chat;
	struct name name;
};
GYRE_MESSAGE(founding, 0x409);

/* With which the porter begins. */
struct hiring {
	const struct chat *chat;
};
GYRE_MESSAGE(hiring, 0x40b);

/* To a porter: where is the room of that name? */
struct find {
	struct name name;
};
GYRE_MESSAGE(find, 0x40c);

struct found {
	struct gyre_address room;
};
GYRE_MESSAGE(found, 0x40d);

/* A room asks its porter which nodes are up, and is answered with homes. */
struct founded {
	char nothing;
};
GYRE_MESSAGE(founded, 0x40e);

/* From a porter to the rooms of his node, also when that has changed. */
struct homes {
	uint32_t count;
	uint16_t nodes[NODES_MAX];
};
GYRE_MESSAGE(homes, 0x40f);

/* To a session that a room cannot watch any more: it is in there no longer. */
struct sent_off {
	char nothing;
};
GYRE_MESSAGE(sent_off, 0x410);

/* The node where a room is to be, of those that are up. */
uint16_t home_of(const struct homes *homes, const struct name *room);
/* Whether a name that may have come from another node has its end. */
bool is_whole(const struct name *name);

#endif
