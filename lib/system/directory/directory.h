/*
 * The directory of a system: by what its actors are found, which is names, groups, services, and
 * what they have subscribed to.
 */
#ifndef GY_SYSTEM_DIRECTORY_DIRECTORY_H
#define GY_SYSTEM_DIRECTORY_DIRECTORY_H

#include "actor/house_extra.h"
#include "system/directory/groups.h"
#include "system/directory/names.h"
#include "system/directory/services.h"
#include "system/directory/topics.h"
#include "system/rcu.h"

struct gy_membership;
struct gy_name;

/* ---- entries ---- */

/*
 * How an actor is found: by names, in groups and services, and by its subscriptions. The entry
 * hangs in the extra part of the house and goes when the actor stops, with all that is in it.
 */
struct gy_directory_entry {
	struct gy_name *names;
	struct gy_membership *memberships;
	struct gy_table subscriptions; /* by the hash of their topics */
	struct gy_list services;       /* memberships; all zero before the first */
	struct gy_service_watch *listings;
};

/* NULL when it has none. */
static inline struct gy_directory_entry *gy_directory_entry_of(const struct gy_house *house)
{
	return house->extra == NULL ? NULL : house->extra->directory_entry;
}

/* Makes it if need be: 0, -ENOMEM, or -ESHUTDOWN when the actor is being taken down. */
int gy_directory_entry_get(struct gy_house *house, struct gy_directory_entry **ret_entry);
/* The house stops. */
void gy_directory_entry_withdraw(struct gy_house *house);

/* ---- the directory ---- */

struct gy_directory {
	struct gy_rcu rcu;
	struct gy_names names;
	struct gy_groups groups;
	struct gy_topics topics;
	struct gy_services services;
};

/* @homes are looked at when the first group is made. NULL when there is no memory. */
struct gy_directory *gy_directory_create(const struct gy_homes *homes);
/* When all threads of the system have ended. NULL is allowed. */
void gy_directory_destroy(struct gy_directory *directory);

/* The calls of homes into this floor. */
extern const struct gy_directory_ops gy_directory_ops;

#endif
