/*
 * Links whose answers cannot come, since the peer cannot dial this node; see one_way.c.
 */
#ifndef GY_REMOTE_PEER_ONE_WAY_H
#define GY_REMOTE_PEER_ONE_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "actor/home.h"
#include "remote/peer/peer.h"
#include "remote/wire.h"

struct gy_link;
struct gy_links;

/* State of a dialled link that is one-way; see one_way.c. */
struct gy_one_way {
	uint64_t since_ns;
	uint64_t until_ns;  /* unless the peer says more */
	uint64_t failed_ns; /* when asks were failed for that last, also of an earlier connection */
	bool due;	    /* they are to be failed, a while after that */
	bool logged;	    /* that it is one-way */
	bool told;	    /* watches have ended for it, and new ones are refused */
};

/* A dial has failed. */
void gy_peer_unreachable(struct gy_link *link, int error);
/* An answer, or an end that is watched, was for a node that cannot even be dialled. */
void gy_peer_answer_lost(struct gy_links *links, uint16_t node, int error);
/* Mail has waited for a link long enough. */
void gy_peer_wait_expired(struct gy_link *link);
static inline bool gy_peer_is_unreached(const struct gy_peer *peer)
{
	return gy_load_relaxed(&peer->unreached_ns) != 0;
}
/* There is one. */
void gy_peer_reached(struct gy_links *links, struct gy_peer *peer);
/* The peer has no link any more, and cannot be told. */
void gy_peer_left(struct gy_links *links, struct gy_peer *peer);
/* All links of the peer to this loop, or one that has opened, say how it is, if that is news. */
void gy_links_send_reach(struct gy_links *links, const struct gy_peer *peer);
void gy_one_way_send_reach(struct gy_link *link);
/* REACH has come over a link that this side has dialled; -EPROTO. */
int gy_one_way_receive_reach(struct gy_link *link, const struct gy_frame *frame);
/* Now and then, of a link that is one-way. */
void gy_one_way_check(struct gy_link *link);
/* Its connection has ended: nobody knows. */
void gy_one_way_forget(struct gy_link *link);
/* Whether mail needs what could not come. */
bool gy_one_way_refuses(const struct gy_links *links, struct gyre_address to,
			const struct gyre_mail *mail);
int gy_one_way_route(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);

#endif
