/*
 * The links of one loop: what they share, and what is done to all of them.
 */
#ifndef GY_REMOTE_LINK_LINKS_H
#define GY_REMOTE_LINK_LINKS_H

#include <gyre/encode.h>

#include "actor/home.h"
#include "remote/id_table.h"
#include "remote/link/frame_page.h"

struct gy_link;
struct gy_nodes;
struct gy_peer;

enum { GY_SWEEP_LISTS = 64 };

/* The links of one loop; it hangs there as home->loop.own_links. */
struct gy_links {
	struct gy_nodes *nodes;
	struct gy_home *home;
	uint64_t incarnation;	     /* in which its links say that they are */
	struct gy_task new_life;     /* the node has taken another life */
	uint32_t new_life_posted;    /* atomic */
	struct gy_list unlinked;     /* struct gy_peer_task: with mail that lacks memory */
	struct gy_timer relink;	     /* gives such mail its way */
	struct gy_list rounds_due;   /* struct gy_rounds: with a peer each, in their turn */
	struct gy_timer rounds_more; /* takes a step of the first */
	/* Of watchers that are forgotten, by loop of the peer; see rounds.c. */
	struct gy_list sweeps[GY_SWEEP_LISTS];
	struct gy_list sweeps_due;	/* of these, in their turn */
	struct gy_timer sweeps_more;	/* takes a step of the first */
	struct gy_timer behind;		/* a watcher of nodes is */
	struct gy_timer new_life_retry; /* and memory to tell actors of it was lacking */
	uint64_t new_life_asked_until;	/* who had asked up to then */
	struct gy_id_table dialled;	/* struct gy_link, by peer */
	struct gy_link *recent;		/* of these, that mail went over last; or NULL */
	struct gy_frame_pages frame_pages;
	struct gyre_encoder encoder; /* the memory of the last one */
	struct gy_list all;
	struct gy_timer beat;
	uint64_t random;
	uint64_t expected_ns; /* when the next beat should be */
	uint32_t strangers;   /* connections that others have made, and are no links yet */
	uint64_t refused;     /* atomic: of those, that have ended */
	uint64_t full_logged_ns;
	uint32_t one_ways;	    /* links that are one-way */
	struct gyre_address deputy; /* which asks for others: see forward.c; or nobody */
	bool draining;
};

static inline struct gy_links *gy_links_of(const struct gy_home *home)
{
	return home->loop.own_links;
}

/* Whether its loop takes part: others, which retire, are not announced yet or are pinned, dial
 * nobody. */
static inline bool gy_links_may_dial(const struct gy_links *links)
{
	const struct gy_loop *loop = &links->home->loop;

	return loop->index < gy_loops_count(loop->peers);
}
/* Ends all links to a peer, on this loop, whose life is over, and gives up what waits for it. */
void gy_links_cut(struct gy_links *links, const struct gy_peer *peer);
/* Ends all links that have said the former life of this node. */
void gy_links_end_former(struct gy_links *links);
/* The dialled links of a loop end as soon as all that was said is taken; whether they have. */
bool gy_links_leave(struct gy_home *home);
void gy_links_drain(struct gy_links *links);
/* The loop had retired, and comes back. */
void gy_links_resume(struct gy_links *links);
void gy_links_init(struct gy_links *links, struct gy_nodes *nodes, struct gy_home *home);
void gy_links_fini(struct gy_links *links);

#endif
