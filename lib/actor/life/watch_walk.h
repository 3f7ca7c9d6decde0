/*
 * Walks over the watches of all actors of a loop, so many at a time, since there may be very many.
 *
 * Orders to watch and to forget may be lost with a link. So the node of the watchers goes through
 * its watches in rounds, which have numbers: each order to watch says in which round it was sent,
 * and in a round all watches on the other node are named once more, by the same order. A walk does
 * that. When the round is over the other node forgets the watches that were not named in it, which
 * is a walk too. When there are rounds, and what keeps them apart, is said in remote/peer/rounds.c.
 */
#ifndef GY_ACTOR_LIFE_WATCH_WALK_H
#define GY_ACTOR_LIFE_WATCH_WALK_H

#include "actor/home.h"

/* Slots and watches that a step takes, more or less: well under a millisecond. */
enum { GY_WATCH_WALK_STEP = 4096 };

/* Where among the watches of a house. */
struct gy_watch_place {
	uint32_t bucket;
	uint32_t size; /* of the table */
};

struct gy_watch_walk {
	bool sweeps; /* it forgets watchers; else it names what actors here watch */
	bool again;  /* a house that was away lacked memory: all are to be visited once more */
	uint16_t node;
	/* Watchers are forgotten that are of this loop and life, as they stand in an origin, and
	 * were named in an earlier round. */
	uint16_t loop;
	uint32_t life;
	uint32_t round;
	uint32_t slot; /* the next house */
	struct gy_watch_place place;
	uint32_t away; /* houses that were away, and are to be visited when they are back */
	void (*back)(struct gy_watch_walk *walk); /* the last of these has been visited, or ended */
};

/* Takes a step. True when all houses have been visited, but for those that are away; else it is
 * called again in a moment: there is more, or memory is lacking. */
bool gy_watch_walk_step(struct gy_home *home, struct gy_watch_walk *walk);

/* Visits a house that was away; NULL for one that has ended. Takes the mail. */
void gy_watch_visit_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);

#endif
