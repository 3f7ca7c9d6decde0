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

#include "actor/mail/mail.h"
#include "base/table.h"
#include "loop/loop.h"

struct gy_home;
struct gy_house;

struct gy_family {
	struct gy_table_item item;
	struct gy_origin parent;
	uint32_t count;
	uint32_t first; /* slot of a child; they stand in a ring */
	struct gyre_mail
		*order; /* the order of a parent elsewhere to stop; goes back as the report */
};

/* The parent's side; hangs at the extra part of its house. */
struct gy_children {
	struct gy_timer again; /* to repeat orders that lacked memory */
	struct gy_later gone;
	struct gy_house *parent;
	uint32_t reports; /* that are awaited */
	bool ordered;
	uint64_t loops[]; /* a bit each */
};

/* The parent is about to have a child on that loop; -ENOMEM. */
int gy_children_add(struct gy_house *parent, uint16_t loop);
/* Puts a new house into the family of @parent, which may be nobody; -ENOMEM. */
int gy_family_join(struct gy_house *house, struct gy_origin parent);
void gy_family_leave(struct gy_house *house);
/* Stops the children of a stopping house. True if no child is left; else gy_house_children_gone()
 * follows. */
bool gy_children_stop(struct gy_house *house);
void gy_children_fini(struct gy_house *house);

/* Returns whether a house has children that live on its own loop. */
bool gy_family_has_local_children(const struct gy_house *parent);

/* Orders and reports between homes. Take the mail. */
void gy_family_order_arrived(struct gy_home *home, struct gyre_mail *mail);
void gy_family_report_arrived(struct gy_home *home, struct gyre_mail *mail);

#endif
