/*
 * Counts by a few names, searched one by one.
 */
#include "base/tally.h"

#include <string.h>

void gy_tally_add(struct gy_tally *tally, const char *name)
{
	struct gy_tally_entry *entry = tally->entries;

	for (; entry < tally->entries + tally->names; entry++) {
		if (strncmp(entry->name, name, sizeof(entry->name) - 1) == 0) {
			entry->count++;
			return;
		}
	}
	if (tally->names == GY_TALLY_NAMES_MAX) {
		tally->others++;
		return;
	}
	(void)strncpy(entry->name, name, sizeof(entry->name) - 1);
	entry->count = 1;
	tally->names++;
}
