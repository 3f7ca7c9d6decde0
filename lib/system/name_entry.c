/*
 * Making listings, and taking them back.
 */
#include "system/name_entry.h"

#include <errno.h>

#include "base/memory.h"
#include "system/directory.h"
#include "system/system.h"

int gy_name_entry_get(struct gy_house *house, struct gy_name_entry **ret_listing)
{
	struct gy_house_extra *extra;

	if (house->status == GY_HOUSE_STOPPING) {
		return -ESHUTDOWN; /* its channels still run handlers, but it has left */
	}
	extra = gy_house_extra_get(house);
	if (extra != NULL && extra->name_entry == NULL) {
		extra->name_entry = gy_memory_get(sizeof(struct gy_name_entry));
	}
	if (extra == NULL || extra->name_entry == NULL) {
		return -ENOMEM;
	}
	*ret_listing = (struct gy_name_entry *)extra->name_entry;
	return 0;
}

void gy_name_entry_withdraw(struct gy_house *house)
{
	struct gy_directory *directory = house->home->options.system->directory;
	struct gy_name_entry *name_entry = gy_name_entry_of(house);

	gy_names_withdraw(&directory->names, name_entry->names);
	gy_groups_withdraw(&directory->groups, house, name_entry->memberships);
	gy_memory_put(name_entry);
	house->extra->name_entry = NULL;
}
