/*
 * Groups that grow and shrink. Such a group has a keeper, which looks at the mail that waits for
 * its members now and then, on the first loop: senders know nothing of it. It rests while nothing
 * can change.
 */
#ifndef GY_SYSTEM_DIRECTORY_GROUP_KEEPER_H
#define GY_SYSTEM_DIRECTORY_GROUP_KEEPER_H

#include "loop/loop.h"
#include "system/directory/groups.h"

struct gy_leaver;

struct gy_group_keeper {
	struct gy_timer timer;
	struct gy_task begin; /* on the first loop: starts the timer */
	struct gyre_system *system;
	struct gyre_address group;
	struct gy_leaver *leavers; /* members that left the table and are to stop. Of that loop */
	uint64_t calm_since_ns;	   /* few mails have waited since then; UINT64_MAX when many do */
	uint64_t lacking_until_ns; /* until then none is made, since the last could not be */
	uint64_t shrink_after_ns;
	uint64_t pause_ns; /* the last one after members had ended; 0 for none */
	uint64_t grown_ns; /* when the last was made */
	uint32_t expected; /* members after the last look, with those that are ordered */
	bool poisoned;	   /* its members are ending: none is made. Under the mutex */
	bool is_begun;	   /* @begin is posted. Under the mutex */
	uint32_t count_min;
	uint32_t count_max;
	uint32_t grow_above;
	uint32_t ordered;	      /* members that parents are to make. Under the mutex */
	struct gy_group_keeper *next; /* in groups->keepers. Under the mutex */
};

/* Whether the group is to have a keeper. */
static inline bool gy_group_is_elastic(const struct gyre_group_options *options)
{
	return options->count_max != 0;
}

/* Whether the bounds and the marks go together. */
bool gy_group_bounds_are_valid(const struct gyre_group_options *options);
/* NULL without memory. It does nothing yet. */
struct gy_group_keeper *gy_group_keeper_create(struct gyre_system *system,
					       const struct gyre_group_options *options);
/* The group has been published. Under the mutex. From then on the keeper frees itself. */
void gy_group_keeper_start(struct gy_groups *groups, struct gy_group *group);
/* Members come or go, or the group ends: its keeper looks, if it has one that rests. Under the
 * mutex. */
void gy_group_keeper_wake(struct gy_group *group);
/* As much mail waits for a house as may let one of its groups grow. On its loop, without the
 * mutex. */
GY_COLD void gy_group_crowded(struct gy_house *house);
/* Frees all that are left, when no loop runs any more. */
void gy_group_keepers_fini(struct gy_groups *groups);

#endif
