/*
 * Rounds: watches on another node are named once more after a link broke, and watchers that were
 * not named are forgotten there; see rounds.c.
 */
#ifndef GY_REMOTE_PEER_ROUNDS_H
#define GY_REMOTE_PEER_ROUNDS_H

#include "actor/life/watch_walk.h"
#include "actor/mail/mail.h"
#include "loop/loop.h"

struct gy_frame;
struct gy_link;
struct gy_links;
struct gy_peer;
struct gy_peer_task;

/* The rounds of a loop with a peer. */
struct gy_rounds {
	uint32_t number; /* that orders to watch have now */
	bool due;	 /* the round of that number is not over */
	bool anew;	 /* the next one is to begin with the next step */
	/* Atomic, and stays: orders to watch have left, or were lost on another loop that ran the
	 * actor. Else nothing is named, and the peer has nothing to forget. */
	bool used;
	bool relayed; /* it goes by loop 0 */
	uint32_t way; /* the one that loop 0 had when the round began; or 0 */
	struct gy_watch_walk walk;
	struct gy_list turn; /* in links->rounds_due, if it waits for its next step */
};

/* The round of a loop is over: goes to the peer. */
struct gy_round_over {
	uint32_t number;
	uint32_t way;
};
extern const struct gyre_type gy_type_round_over;

void gy_rounds_init(struct gy_peer_task *peer_task);
/* Orders of this loop to the peer may be lost: the next round begins, now or when there is a link.
 */
void gy_rounds_begin(struct gy_peer_task *peer_task);
/* An order about a watch by an actor of @loop is lost for want of memory: a round begins in a
 * moment. */
void gy_rounds_begin_later(struct gy_links *links, uint16_t node, uint16_t loop);
/* A dialled link is open: a round that waits for it goes on, and so do those by loop 0. */
void gy_rounds_link_opened(struct gy_link *link);
/* A dialled link was open. @lost: what it had sent may be lost. */
void gy_rounds_link_ended(struct gy_link *link, bool lost);
/* An order to watch leaves its loop: it gets the number of the round. False if nothing is known of
 * the node: it is not to leave, as no round would name the watch. */
bool gy_rounds_mark(struct gy_links *links, struct gyre_address to, struct gyre_mail *order);
/* That the round of another loop is over has come to loop 0. Takes the mail. */
void gy_rounds_relay(struct gy_links *links, struct gyre_address to, struct gyre_mail *mail);

/* Of struct gy_remote_ops: watches that peers have here are counted, up to @watches_max. */
bool gy_watcher_hold(struct gy_home *home, struct gy_origin watcher);
void gy_watcher_release(struct gy_home *home, struct gy_origin watcher);

/* The peer says that a round of a loop of it is over: -EPROTO, -ENOMEM. */
int gy_sweeps_begin(struct gy_link *link, const struct gy_frame *frame);

/* Rounds and sweeps of a loop. */
void gy_walks_init(struct gy_links *links);
/* It stops, or retires: its actors end anyway. */
void gy_walks_drain(struct gy_links *links);
void gy_walks_fini(struct gy_links *links);

#endif
