/*
 * The lives of a peer, the ends of which every loop carries out, and the lives of this node; see
 * peer_life.c.
 */
#ifndef GY_REMOTE_PEER_PEER_LIFE_H
#define GY_REMOTE_PEER_PEER_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "actor/mail/mail.h"
#include "base/atomic.h"
#include "loop/loop.h"
#include "remote/peer/rounds.h"

struct gy_links;
struct gy_nodes;
struct gy_peer;

/* Tasks of a loop about a peer, as bits; see peer_life.c. */
enum {
	GY_PEER_TASK_POSTED = 1,
	GY_PEER_TASK_CUT = 2,	   /* a life of it is over */
	GY_PEER_TASK_ROUND = 4,	   /* mail of watches may be lost: see rounds.c */
	GY_PEER_TASK_REACH = 8,	   /* it is to hear whether it can be dialled */
	GY_PEER_TASK_EXAMINE = 16, /* another loop that dials nobody has lost sight of it */
};

struct gy_peer_task {
	struct gy_task task;
	struct gy_task end_watches; /* a task of its own, since its place in the inbox matters */
	struct gy_peer *peer;
	struct gy_links *links;
	uint32_t wanted;       /* atomic: the bits above */
	uint32_t ending_up_to; /* under the mutex: @end_watches is posted for lives up to that; or 0
				*/
	uint32_t ended_up_to;  /* of the loop: watches of lives up to that have ended there */
	/* Of the loop: deeds that lacked memory, as bits of the enum in actor/life/node_loss.h. */
	struct gy_timer again;
	uint32_t lacking;
	bool unexamined;      /* memory was lacking for that as well */
	uint64_t asked_until; /* the asks that fail are no newer */
	struct gy_rounds rounds;
	/* Mail of the loop that waits for memory to leave with; see unlinked.c. */
	struct gy_list unlinked_item; /* in links->unlinked, with such mail */
	struct gy_node *unlinked;     /* NULL for none */
	struct gy_node *unlinked_last;
};

/*
 * The lives of a peer are numbered as they come, from 1 on. Those up to @over have ended; so the
 * last one, @count, is alive if it is above. What is written is under the mutex.
 */
struct gy_lives {
	uint64_t *incarnations;	 /* atomic: the last GY_LIVES_KEPT, by gy_life_code() */
	uint32_t count;		 /* atomic */
	uint32_t over;		 /* atomic */
	uint32_t cut;		 /* are cut off, or about to be */
	uint32_t cut_everywhere; /* atomic: are cut off on all loops */
	uint32_t cutting;	 /* loops that have still to cut */
	uint32_t accused; /* the low half of the one that the peer is told to be over; or 0 */
	uint32_t watchers[GY_LIVES]; /* atomic: by gy_life_code(), watches that it has here */
};

/* Number 0 stands for no life; see gy_origin. */
enum { GY_LIVES_KEPT = GY_LIVES - 1 };

/* The life of an incarnation, as addresses carry it. */
static inline uint32_t gy_life_of(uint64_t incarnation)
{
	return (uint32_t)incarnation;
}

/* 1 to GY_LIVES_KEPT, for a number that is not 0. */
static inline uint32_t gy_life_code(uint32_t number)
{
	return (number - 1) % GY_LIVES_KEPT + 1;
}

int gy_lives_init(struct gy_peer *peer);
void gy_lives_fini(struct gy_peer *peer);
/* Its number, or 0 for one that has not come or was forgotten. */
uint32_t gy_lives_find(const struct gy_lives *lives, uint32_t life);
/* Watches that actors of all these lives have here. */
uint32_t gy_lives_watchers(const struct gy_lives *lives);
static inline bool gy_lives_is_over(const struct gy_lives *lives, uint32_t number)
{
	return number <= gy_load_acquire(&lives->over);
}
/* Under the mutex: the next life has come; the present one is over. */
void gy_lives_begin(struct gy_peer *peer, uint64_t incarnation);
void gy_lives_end(struct gy_peer *peer);
/* The life that a hello to the peer declares over, or 0; @incarnation is that of the peer's hello.
 */
uint32_t gy_lives_accuse(struct gy_peer *peer, uint64_t incarnation);
/* Has the loop carry out those tasks. Any thread. */
void gy_peer_task_request(struct gy_links *links, struct gy_peer *peer, uint32_t peer_tasks);
/* There is no memory for a link to examine the peer by: that is done in a moment. */
void gy_peer_task_examine_later(struct gy_links *links, struct gy_peer *peer);
/* Carries out a cut that is due at once: nothing of the next life comes before it. */
void gy_peer_task_run(struct gy_links *links, struct gy_peer *peer);
/* The end of what that address was made in is still to be told on this loop. */
bool gy_lives_end_is_due(const struct gy_links *links, struct gyre_address address);
/* An address with the life of its node, if it is made of an origin. */
struct gyre_address gy_lives_shown(const struct gy_nodes *nodes, struct gyre_address address);

/* A peer has declared that life of this node down: it takes another one, unless it did, or is to
 * end. Whether it has the one that is over still. */
bool gy_nodes_declared_down(struct gy_links *links, uint16_t by, uint32_t life);
/* The loop ends what was of the former life, if it has not yet. */
void gy_links_adopt_new_life(struct gy_links *links);
void gy_links_init_life(struct gy_links *links);

#endif
