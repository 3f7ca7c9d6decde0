/*
 * The extra part of a house: fields that only few houses need, so that the many stay small. It is
 * built when the first of them is needed, and goes with the actor.
 */
#ifndef GY_ACTOR_HOUSE_EXTRA_H
#define GY_ACTOR_HOUSE_EXTRA_H

#include "actor/house.h"
#include "actor/mail/stash.h"
#include "actor/mail/urgent.h"
#include "base/table.h"

struct gy_cause;
struct gy_children;
struct gy_endpoints;
struct gy_graceful_stop;
struct gy_directory_entry;
struct gy_nested;
struct gy_receive_timeout;
struct gy_restart;
struct gy_stack;
struct gy_watch;

struct gy_house_extra {
	struct gy_stack *barrier;	/* whose end opens the mailbox again */
	struct gy_restart *restart;	/* NULL until the first failure */
	struct gy_table timers;		/* by key */
	struct gy_endpoints *endpoints; /* the channel floor's; NULL until the first channel */
	struct gy_directory_entry
		*directory_entry;     /* the system floor's; NULL without name and group */
	struct gy_children *children; /* NULL until the first child */
	struct gy_watch *watch;	      /* NULL until the first watch, either way */
	struct gy_nested *nested;     /* behaviours underneath; NULL until the first */
	struct gy_receive_timeout *receive_timeout; /* the receive time-out; NULL for none */
	struct gy_graceful_stop *graceful_stop;	    /* a graceful stop is under way */
	struct gy_cause *cause;			    /* of the last failure; NULL for none */
	/* NULL, or called when the last endpoint or the last child on this loop has gone. */
	void (*emptied)(struct gy_house *house);
	struct gy_stash stash;
	struct gy_urgent urgent;
	int cause_error;      /* of that failure */
	int reason;	      /* for which it ends: a negative errno, or 0 */
	bool awaits_channels; /* the end of this house does: see lifecycle.c */
	bool awaits_children;
	bool parts;		  /* goes on without its parent, which awaits that before it ends */
	uint8_t shutdown_holds;	  /* phases that it is to hold, a bit each */
	uint8_t shutdown_holding; /* the one that it holds now, or 0 */
	bool count_at_home; /* its mail is to be counted from when it is back; see steal_actor.c */
	bool keeps_notices; /* none is to be lost for lack of memory; see memory_retry.c */
};

/* The extra part, built if need be; NULL when there is no memory. */
GY_COLD struct gy_house_extra *gy_house_extra_build(struct gy_house *house);

static inline struct gy_house_extra *gy_house_extra_get(struct gy_house *house)
{
	return gy_likely(house->extra != NULL) ? house->extra : gy_house_extra_build(house);
}

/* Frees the extra part, which is empty. */
void gy_house_extra_fini(struct gy_house *house);

#endif
