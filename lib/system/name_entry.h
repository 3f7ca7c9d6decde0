/*
 * What an actor is listed as: under names, and in groups. It hangs in the extra part of the house
 * and goes when the actor stops, with all that is in it.
 */
#ifndef GY_SYSTEM_NAME_ENTRY_H
#define GY_SYSTEM_NAME_ENTRY_H

#include "actor/house_extra.h"

struct gy_membership;
struct gy_name;

struct gy_name_entry {
	struct gy_name *names;
	struct gy_membership *memberships;
};

/* NULL when it has none. */
static inline struct gy_name_entry *gy_name_entry_of(const struct gy_house *house)
{
	return house->extra == NULL ? NULL : (struct gy_name_entry *)house->extra->name_entry;
}

/* Makes it if need be: 0, -ENOMEM, or -ESHUTDOWN when the actor is being taken down. */
int gy_name_entry_get(struct gy_house *house, struct gy_name_entry **ret_listing);
/* The house stops. */
void gy_name_entry_withdraw(struct gy_house *house);

#endif
