/*
 * A link is one TCP connection between a loop of this node and some loop of a peer. The side that
 * dialled sends messages over it; both send the rest. So a loop has up to one dialled link to a
 * peer, which all that its actors send there goes over, in order; and any number of accepted ones.
 * A link outlives its connection, and dials again.
 *
 * A link belongs to its loop.
 */
#ifndef GY_REMOTE_LINK_H
#define GY_REMOTE_LINK_H

#include <gyre/channel.h>

#include "actor/home.h"
#include "remote/frame_page.h"
#include "remote/in_flight.h"
#include "remote/incoming.h"
#include "remote/links.h"
#include "remote/one_way.h"
#include "remote/outgoing.h"
#include "remote/peer.h"
#include "remote/repeat.h"
#include "remote/wire.h"

enum gy_link_stage {
	GY_LINK_PAUSED, /* there is nothing to say, or the next dial waits for its time */
	GY_LINK_DIALLING,
	GY_LINK_AWAITS_HELLO, /* the peer's hello is awaited */
	GY_LINK_AWAITS_PROOF, /* its proof is */
	GY_LINK_AWAITS_ORDER, /* nothing older is to be read any more; see link_order.c */
	GY_LINK_OPEN,
	GY_LINK_LEAVING, /* its loop retires: it says what it has, and waits until that is taken */
	GY_LINK_ENDED,
};

struct gy_link {
	struct gy_list item; /* in links->all */
	struct gy_links *links;
	struct gy_peer *peer;		  /* NULL for an accepted one before its hello */
	struct gyre_handler_context *ctx; /* NULL without a channel */
	enum gy_link_stage stage;
	bool dialled;
	bool stranger;	     /* it is counted as one */
	bool dialling;	     /* there is a client for it */
	bool greeted;	     /* the last connection came to be open */
	bool opened;	     /* it is counted as open */
	bool pinned;	     /* somebody watches an actor there: it stays open though idle */
	bool peer_unsure;    /* the peer's links broke, and it is not known yet how it is */
	bool bye;	     /* one side has closed the connection, since nothing was on it */
	bool unacknowledged; /* the last connection ended before all that was said was taken */
	bool again;	     /* it was let in after another one of that loop */
	bool new_life;	     /* it was ended for a new life of this node: it is dialled at once */
	bool connected;	     /* the last dial has come to a connection */
	bool one_way;	     /* what the other side answers cannot come; see one_way.c */
	uint8_t secret;	     /* which one it is dialled with, or was proved by the peer */
	uint32_t failures;   /* to have an open connection, in a row */
	uint32_t life;	     /* of the peer, by number, as it said in its hello */
	uint32_t life_mark;  /* the same as it stands in the slot of an origin */
	uint64_t dials;	     /* that came to a hello */
	uint64_t claim;	     /* see link_order.c; 0 before it has one */
	struct gy_timer redial;

	/* Out: */
	struct gy_later later; /* flushes at the end of the job that said something */
	bool flushing;
	struct gy_frame_page frame_page; /* where frames are written */
	struct gy_last_sent last_sent;
	struct gyre_buffer *out;  /* those of them that are not on it, nor given to the channel;
				     NULL for none */
	struct gy_list fragments; /* see fragments.c */
	uint32_t fragments_count;
	uint32_t stream_number;
	uint64_t begun_bytes;  /* of parcels that have left in part, of the whole ones */
	uint64_t queued_bytes; /* of frames, from the send on until the peer credits them */
	uint64_t sent_bytes;   /* of messages, given to the channel since it opened */
	uint64_t credited_bytes;
	uint64_t credited_frames;
	uint64_t parcel_bytes;	 /* of the queued ones, those of what goes in fragments */
	uint64_t fragment_bytes; /* given to the channel */
	struct gy_in_flight in_flight;
	uint64_t window_bytes;
	uint64_t queued_bytes_max; /* not credited */
	uint32_t message_bytes_max;
	uint64_t queued_frames;
	uint64_t told_frames;	 /* of these, counted with the peer */
	struct gy_node *waiting; /* mail until the link is open; NULL for none */
	struct gy_node *waiting_last;
	uint64_t waiting_bytes;
	uint64_t away_ns; /* since when nothing could be sent */

	/* In: */
	struct gy_partial_frame partial_frame;
	struct gy_last_received last_received;
	struct gy_list partial_messages;
	uint64_t partial_messages_bytes; /* of these, of the whole ones */
	uint64_t consumed_bytes;
	uint64_t consumed_frames;
	uint64_t told_bytes; /* of @consumed_bytes */

	/* Life: */
	struct gy_hello mine;
	struct gy_hello theirs;
	uint64_t opened_ns; /* the channel */
	uint64_t heard_ns;
	uint64_t said_ns;
	uint64_t used_ns;
	uint64_t judged_ns;  /* when the peer was heard, as of the last look at that */
	uint64_t excused_ns; /* of the time since then: this loop did not listen */
	struct gy_one_way back;
	uint64_t missed_ns; /* when a dial has failed last */
	int missed;	    /* why */
};

/* Whether messages may go over its connection. */
static inline bool gy_link_can_send(const struct gy_link *link)
{
	return link->stage == GY_LINK_OPEN || link->stage == GY_LINK_LEAVING;
}

/*
 * The link that mail for a peer goes over where none is open: it dials if need be; NULL with -errno
 * in @ret_error.
 */
struct gy_link *gy_link_get(struct gy_links *links, uint16_t node, int *ret_error);
/* Its connection has ended, or could not be made. */
void gy_link_lost(struct gy_link *link, int reason);
/* The peer has proved what it is: what waits may go. */
void gy_link_open(struct gy_link *link);
/* Ends its connection for a reason. */
void gy_link_abort(struct gy_link *link, int reason);

/* Its loop retires: it does not dial again, and what waits goes another way. */
static inline bool gy_link_is_last(const struct gy_link *link)
{
	const struct gy_loop *loop = &link->links->home->loop;

	return link->dialled && loop->index >= gy_loops_count(loop->peers);
}

/* A step of that: nothing that goes another way then overtakes what went by this link. */
void gy_link_leave(struct gy_link *link);

/* Makes a link of a connection that another node has made. */
int gy_link_accept(struct gyre_channel *channel, void *arg);
/* Gives a connection that a link has dialled its handler. */
int gy_link_init_channel(struct gyre_channel *channel, void *arg);

#endif
