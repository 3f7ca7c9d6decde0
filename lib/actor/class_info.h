/*
 * The facts and counters that all houses of one class share on one loop. Dispatch reads the facts
 * for each message.
 *
 * The records stand in a list that only grows while the system lives, so that any thread may read
 * their names and counters. A class may end with its last actor, and another class may then have
 * its address; so a record has its own copy of the name, and reads the class anew for the first
 * actor.
 */
#ifndef GY_ACTOR_CLASS_INFO_H
#define GY_ACTOR_CLASS_INFO_H

#include <gyre/actor.h>
#include <gyre/counters.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/table.h"

struct gy_class_log;
struct gy_home;

enum { GY_CLASS_NAME_BYTES = 48 };

struct gy_class_info {
	const struct gyre_class *class;
	uint32_t frame_bytes;
	uint8_t stack_class; /* of gy_sizes, for stacks of its houses */
	bool plain;	     /* the class has no barriers, batches, urgent mail or limit */
	uint32_t actors;

	/* Written by the loop with gy_count(), read from any thread. */
	uint64_t handled;
	uint64_t dropped[GYRE_DROP_COUNT];
	uint64_t busy_ticks; /* see loop/meter.h */

	struct gy_class_log *log; /* never NULL */
	struct gy_class_info *next;
	struct gy_table_item item; /* its key is the mixed address of the class */
	char name[GY_CLASS_NAME_BYTES];
};

struct gy_class_infos {
	struct gy_table by_class;
	struct gy_class_info *first; /* the newest; read from any thread */
	struct gy_class_info *recent;
};

/* The record of a class that may have no actor here; NULL when there is no memory. */
struct gy_class_info *gy_class_info_get(struct gy_home *home, const struct gyre_class *class);
/* The record of a class for one more actor; NULL when there is no memory. */
struct gy_class_info *gy_class_info_enter(struct gy_home *home, const struct gyre_class *class);
/* Whether the class has actors here, and spawned the last one; then it is unchanged since the first
 * of them. */
static inline bool gy_class_infos_have(const struct gy_class_infos *infos,
				       const struct gyre_class *class)
{
	const struct gy_class_info *recent = infos->recent;

	return recent != NULL && recent->class == class && recent->actors > 0;
}

static inline void gy_class_info_leave(struct gy_class_info *info)
{
	gy_assert(info->actors > 0);
	gy_store_relaxed(&info->actors, info->actors - 1);
}

void gy_class_infos_fini(struct gy_home *home);

#endif
