/*
 * Families: the children of one parent that live on one loop.
 *
 * A child stands in the family of its parent on its own loop, so that joining and leaving touch
 * nothing elsewhere. The parent only remembers on which loops it has ever made children. When it
 * stops, it orders each of these loops to stop them, and ends itself when all have reported: so
 * children end before parents, and nothing is sent for a child that ends before that.
 *
 * The order cannot overtake a spawn, since both go the same way from the parent's loop.
 */
#ifndef GY_ACTOR_LIFE_CHILDREN_H
#define GY_ACTOR_LIFE_CHILDREN_H

#include "actor/life/family.h"
#include "loop/loop.h"

struct gy_home;
struct gy_homes;
struct gy_house;
struct gy_restart_window;
struct gyre_mail;

/* The parent's side; hangs at the extra part of its house. */
struct gy_children {
	struct gy_timer again; /* to repeat orders that lacked memory */
	struct gy_later gone;
	struct gy_house *parent;
	struct gy_lineage *lineage; /* its part of their paths */
	uint32_t spawned;	    /* how many it has ever had */
	uint32_t reports;	    /* that are awaited */
	bool ordered;
	bool telling;			    /* @gone is on its way */
	struct gy_restart_window *restarts; /* that it has decided; NULL until the first */
	uint64_t loops[];		    /* a bit each */
};

/* What a new house is told of its family, besides its parent. */
struct gy_kin {
	struct gy_lineage *lineage; /* the parent's; NULL for none */
	uint32_t number;
};

/* The parent is about to have a child on that loop; -ENOMEM. */
int gy_children_add(struct gy_house *parent, uint16_t loop, struct gy_kin *ret_kin);
/* An actor without a parent is about to be spawned. Any thread. */
struct gy_kin gy_kin_of_orphan(struct gy_homes *homes);
/* Makes the families of the roots. */
void gy_families_init(struct gy_home *home);
/* Puts a new house into the family of @parent, or of a root if that is nobody; -ENOMEM. */
int gy_family_join(struct gy_house *house, struct gy_origin parent, const struct gy_kin *kin);
void gy_family_leave(struct gy_house *house);
/* Lets an actor go on without its parent: from now on it is one of a root. */
void gy_family_orphan(struct gy_house *house);
/* Stops the children of a house that stops or restarts. True if no child is left; else
 * gy_house_children_gone() follows. */
bool gy_children_stop(struct gy_house *house);
void gy_children_fini(struct gy_house *house);
/* Whether some are on its loop, or may be on others. */
bool gy_children_may_be_left(const struct gy_house *parent);
/* The first loop from @from on that may have children; UINT32_MAX for none. */
uint32_t gy_children_next_loop(const struct gy_children *children, uint32_t from);
/* The restarts of children that the parent has decided; NULL when there is no memory. */
GY_COLD struct gy_restart_window *gy_children_restarts(struct gy_house *parent);
/* The parent begins anew: none of them count any more. */
void gy_children_forget_restarts(struct gy_house *parent);

/* The family of the children of @parent on a home, NULL for none. On the home's thread, or under
 * the mutex of its slots. */
struct gy_family *gy_family_find(const struct gy_home *home, struct gy_origin parent);
/* Returns whether a house has children that live on its own loop. */
bool gy_family_has_local_children(const struct gy_house *parent);

/* Orders and reports between homes. Take the mail. */
void gy_family_order_arrived(struct gy_home *home, struct gyre_mail *mail);
void gy_family_report_arrived(struct gy_home *home, struct gyre_mail *mail);

#endif
