/*
 * Making listings, and taking them back.
 */
#include "system/listing.h"

#include <errno.h>

#include "base/memory.h"
#include "system/directory.h"
#include "system/system.h"

int gy_listing_get(struct gy_house *house, struct gy_listing **ret_listing)
{
	struct gy_annex *annex;

	if (house->status == GY_HOUSE_STOPPING) {
		return -ESHUTDOWN; /* its channels still run handlers, but it has left */
	}
	annex = gy_annex_get(house);
	if (annex != NULL && annex->listing == NULL) {
		annex->listing = gy_memory_get(sizeof(struct gy_listing));
	}
	if (annex == NULL || annex->listing == NULL) {
		return -ENOMEM;
	}
	*ret_listing = (struct gy_listing *)annex->listing;
	return 0;
}

void gy_listing_withdraw(struct gy_house *house)
{
	struct gy_directory *directory = house->home->options.system->directory;
	struct gy_listing *listing = gy_listing_of(house);

	gy_names_withdraw(&directory->names, listing->names);
	gy_groups_withdraw(&directory->groups, house, listing->memberships);
	gy_memory_put(listing);
	house->annex->listing = NULL;
}
