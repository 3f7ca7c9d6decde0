/*
 * What an actor is listed as: under names, and in groups. It hangs at the annex of the house and
 * goes when the actor stops, with all that is in it.
 */
#ifndef GY_SYSTEM_LISTING_H
#define GY_SYSTEM_LISTING_H

#include "actor/annex.h"

struct gy_membership;
struct gy_name;

struct gy_listing {
	struct gy_name *names;
	struct gy_membership *memberships;
};

/* NULL when it has none. */
static inline struct gy_listing *gy_listing_of(const struct gy_house *house)
{
	return house->annex == NULL ? NULL : (struct gy_listing *)house->annex->listing;
}

/* Makes it if need be: 0, -ENOMEM, or -ESHUTDOWN when the actor is being taken down. */
int gy_listing_get(struct gy_house *house, struct gy_listing **ret_listing);
/* The house stops. */
void gy_listing_withdraw(struct gy_house *house);

#endif
