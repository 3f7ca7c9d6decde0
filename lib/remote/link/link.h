/*
 * A link is one connection, of TCP or of a Unix socket, between a loop of this node and some loop
 * of a peer. The side that dialled sends messages over it; both send the rest. So a loop has up to
 * one dialled link to a peer, which all that its actors send there goes over, in order; and any
 * number of accepted ones. Two nodes may dial each other at once: both connections stay, one for
 * each direction. A link outlives its connection, and dials again.
 *
 * A link belongs to its loop.
 */
#ifndef GY_REMOTE_LINK_LINK_H
#define GY_REMOTE_LINK_LINK_H

#include <gyre/channel.h>
#include <gyre/socket_address.h>

#include "actor/home.h"
#include "remote/link/frame_page.h"
#include "remote/link/in_flight.h"
#include "remote/link/links.h"
#include "remote/link/partial_message.h"
#include "remote/message/heads.h"
#include "remote/message/incoming.h"
#include "remote/peer/one_way.h"
#include "remote/peer/peer.h"
#include "remote/wire.h"

/* The stages of a link; link.c has the steps that are allowed. */
enum gy_link_stage {
	GY_LINK_STAGE_UNCONNECTED,  /* nothing to send, a dial is under way, or a pause before it */
	GY_LINK_STAGE_AWAITS_HELLO, /* connected: the peer has still to say hello */
	GY_LINK_STAGE_AWAITS_PROOF, /* and to prove that it has the secret */
	GY_LINK_STAGE_AWAITS_ORDER, /* accepted: older links are being emptied; see link_order.c */
	GY_LINK_STAGE_OPEN,
	GY_LINK_STAGE_LEAVING, /* its loop retires: sends what is queued, awaits the credit */
	GY_LINK_STAGE_ENDED,   /* its connection is about to end; an accepted link stays so */
	GY_LINK_STAGES,
};

/* The state of a link beside its stage. */
enum gy_link_flag {
	/* About its connection; the next dial clears these. */
	GY_LINK_FLAG_CONNECTED = 1 << 0, /* the dial has come to a connection */
	GY_LINK_FLAG_GREETED = 1 << 1,	 /* which has come to be open */
	GY_LINK_FLAG_CLOSING = 1 << 2,	 /* one side has said CLOSE, since the link was idle */
	GY_LINK_FLAG_SUCCESSOR = 1 << 3, /* another link of that loop of the peer came before it */
	GY_LINK_CONNECTION_FLAGS = 0xf,
	/* To be undone when it ends. */
	GY_LINK_FLAG_HAS_CLIENT = 1 << 4,   /* a client of the net floor dials for it */
	GY_LINK_FLAG_STRANGER = 1 << 5,	    /* it is counted in links->strangers */
	GY_LINK_FLAG_COUNTED_OPEN = 1 << 6, /* it is counted in peer->links */
	GY_LINK_FLAG_FLUSH_QUEUED = 1 << 7, /* it is flushed at the end of the phase */
	/* Why it stays open though idle, or is dialled though nothing waits. */
	GY_LINK_FLAG_PINNED = 1 << 8,	       /* an actor here watches one there */
	GY_LINK_FLAG_PEER_UNSURE = 1 << 9,     /* links of the peer broke: is it still alive? */
	GY_LINK_FLAG_REDIAL_AT_ONCE = 1 << 10, /* it was ended for a new life of this node */
	/* Losses. */
	GY_LINK_FLAG_UNACKNOWLEDGED = 1 << 11, /* bytes of the last connection were not credited */
	GY_LINK_FLAG_ONE_WAY = 1 << 12, /* the other side's answers cannot come; see one_way.c */
	/* Beside FLUSH_QUEUED: */
	GY_LINK_FLAG_FLUSH_SOON = 1 << 13, /* it is flushed at the end of the job, too */
};

enum { GY_LINK_FLAGS = 14, GY_LINK_TEXT_BYTES = 256 };

struct gy_link {
	struct gy_list item; /* in links->all */
	struct gy_links *links;
	struct gy_peer *peer;		  /* NULL for an accepted one before its hello */
	struct gyre_handler_context *ctx; /* NULL without a channel */
	enum gy_link_stage stage;	  /* set by gy_link_set_stage() */
	uint32_t flags;			  /* enum gy_link_flag; set by the functions below */
	bool dialled;			  /* by this side; fixed */
	bool local;			  /* its connection is one of a Unix socket */
	uint8_t secret;	    /* which one it is dialled with, or was proved by the peer */
	uint32_t failures;  /* to have an open connection, in a row */
	uint32_t life;	    /* of the peer, by number, as it said in its hello */
	uint32_t life_mark; /* the same as it stands in the slot of an origin */
	uint64_t dials;	    /* that came to a hello */
	uint64_t claim;	    /* see link_order.c; 0 before it has one */
	struct gy_timer redial;
	struct gy_heads heads;
	uint32_t last_index; /* of the head that was named last */

	/*
	 * Out. The words are explained in fragments.h. Counts of bytes and frames are of messages,
	 * not of control frames. They grow over the life of a connection, and gy_outgoing_reset()
	 * sets them to 0: what is queued and not credited is the difference of two counts.
	 */
	struct gy_later ending;		 /* flushes at the end of the phase that said something */
	struct gy_later later;		 /* flushes at the end of the job that said much */
	struct gy_frame_page frame_page; /* the page that frames are written to */
	/* Up to there on the page mail may be written without a look at stage, bounds and all else;
	 * NULL for not at all. */
	unsigned char *direct_end;
	/* Frames that have left the page and have not been given to the channel; NULL for none. */
	struct gyre_buffer *out;
	struct gy_list fragments; /* streams of parcels; see fragments.c */
	uint32_t fragments_count; /* streams in @fragments */
	uint32_t stream_number;	  /* of the last parcel that was made */
	/* Sum of the whole lengths of those parcels of which a fragment has left, but not all. */
	uint64_t begun_bytes;
	/* Frames and parcels that were queued; the head of a fragment counts once it is taken. */
	uint64_t queued_bytes;
	uint64_t sent_bytes;	  /* of @queued_bytes, those that were given to the channel */
	uint64_t credited_bytes;  /* of @sent_bytes, those that the peer says it has consumed */
	uint64_t credited_frames; /* of @queued_frames, likewise */
	uint64_t parcel_bytes;	  /* of @queued_bytes, those of parcels, sent or not */
	uint64_t fragment_bytes;  /* of @sent_bytes, those of fragments */
	struct gy_in_flight in_flight;
	/* No more is given to the channel while as much as this is sent and not credited. */
	uint64_t window_bytes;
	uint64_t queued_bytes_max; /* the bound of what is queued and not credited */
	uint32_t message_bytes_max;
	uint64_t queued_frames;	 /* messages that were queued: whole frames and parcels */
	uint64_t counted_frames; /* of @queued_frames, those that peer->sent has counted */
	struct gy_node *waiting; /* mail until the link is open; NULL for none */
	struct gy_node *waiting_last;
	uint64_t waiting_bytes;	   /* sum of gy_outgoing_waiting_bytes() over @waiting */
	uint64_t waiting_since_ns; /* since when nothing could be sent */

	/* In: */
	struct gy_partial_frame partial_frame;
	struct gy_list partial_messages;
	uint64_t partial_messages_bytes; /* sum of the whole lengths of @partial_messages */
	uint64_t consumed_bytes;	 /* frames and fragments that were taken in */
	uint64_t consumed_frames;	 /* messages that were: whole frames and partial messages */
	uint64_t announced_bytes;    /* of @consumed_bytes, those that the last CREDIT has told */
	uint64_t uncredited_tracked; /* asks and answers that came since then */

	/* Life: */
	struct gy_hello mine;
	struct gy_hello theirs;
	uint64_t opened_ns;  /* when the channel became active */
	uint64_t heard_ns;   /* when bytes came last */
	uint64_t sent_ns;    /* when bytes were given to the channel last */
	uint64_t used_ns;    /* when it was opened, or a message went or came last */
	uint64_t judged_ns;  /* when the peer was heard, as of the last look at that */
	uint64_t excused_ns; /* of the time since then: this loop did not listen */
	uint64_t judge_ns;   /* when it was seen last to show how its peer is */
	struct gy_one_way back;
	uint64_t dial_failed_ns;		    /* when a dial failed last */
	int dial_error;				    /* why */
	char address[GYRE_SOCKET_ADDRESS_TEXT_MAX]; /* of the other side; see link_event.h */
};

static inline bool gy_link_has(const struct gy_link *link, enum gy_link_flag flag)
{
	return (link->flags & flag) != 0;
}

static inline void gy_link_set(struct gy_link *link, enum gy_link_flag flag)
{
	link->flags |= flag;
}

static inline void gy_link_clear(struct gy_link *link, enum gy_link_flag flag)
{
	link->flags &= ~(uint32_t)flag;
}

static inline void gy_link_assign(struct gy_link *link, enum gy_link_flag flag, bool is_set)
{
	link->flags = is_set ? link->flags | flag : link->flags & ~(uint32_t)flag;
}

/* Takes a step, which must be an allowed one; a step to the same stage is none. */
void gy_link_set_stage(struct gy_link *link, enum gy_link_stage stage);
bool gy_link_stage_is_allowed(enum gy_link_stage from, enum gy_link_stage to);
const char *gy_link_stage_name(enum gy_link_stage stage);
/* Stage, side and flags, for logs: "dialled, open: connected greeted". */
const char *gy_link_describe(const struct gy_link *link, char text[GY_LINK_TEXT_BYTES]);
/* Walks the link with all that it queues and receives, and asserts that its sums hold. */
void gy_link_check(const struct gy_link *link);

/* Whether an address is of another life of the peer than the link is. */
static inline bool gy_link_is_stale(const struct gy_link *link, struct gyre_address to)
{
	return to.life != gy_life_of(link->theirs.incarnation) && to.life != 0;
}

/* Whether messages may go over its connection. */
static inline bool gy_link_can_send(const struct gy_link *link)
{
	return link->stage == GY_LINK_STAGE_OPEN || link->stage == GY_LINK_STAGE_LEAVING;
}

/*
 * The link that mail for a peer goes over; it dials if it has no connection. NULL, and a negative
 * errno in @ret_error, where mail cannot go to that peer now.
 */
struct gy_link *gy_link_get(struct gy_links *links, uint16_t node, int *ret_error);
/* The dialled link to a peer, made if there is none; NULL without memory. */
struct gy_link *gy_link_get_dialled(struct gy_links *links, struct gy_peer *peer);
/* Has a peer dialled that is alive as far as is known, if no loop has a link to it, to learn
 * whether it is still. */
void gy_link_examine(struct gy_links *links, struct gy_peer *peer);
/* The peer has proved what it is: mail that waits is sent. */
void gy_link_open(struct gy_link *link);
/* Ends its connection for that reason. */
void gy_link_abort(struct gy_link *link, int reason);
/* Tells the peer that the connection is closed in good order, and sends nothing after that. */
void gy_link_say_close(struct gy_link *link);
/* Ends its connection in good order, since all has been sent. */
void gy_link_close(struct gy_link *link);

/* Its loop retires: it does not dial again, and mail that waits leaves by another loop. */
static inline bool gy_link_is_retiring(const struct gy_link *link)
{
	const struct gy_loop *loop = &link->links->home->loop;

	return link->dialled && loop->index >= gy_loops_count(loop->peers);
}
/* A step of leaving: nothing that another loop sends then overtakes what went by this link. */
void gy_link_leave(struct gy_link *link);
/* Makes a link of a connection that another node has dialled. */
int gy_link_accept(struct gyre_channel *channel, void *arg);
/* Gives a connection that a link has dialled its handlers. */
int gy_link_init_channel(struct gyre_channel *channel, void *arg);

#endif
