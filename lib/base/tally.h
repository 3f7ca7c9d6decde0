/*
 * Counts by name, for a report at the end: so many of this, so many of that.
 */
#ifndef GY_BASE_TALLY_H
#define GY_BASE_TALLY_H

#include <stdint.h>

enum { GY_TALLY_NAMES_MAX = 8, GY_TALLY_NAME_BYTES = 128 };

struct gy_tally_entry {
	char name[GY_TALLY_NAME_BYTES];
	uint32_t count;
};

/* All zero is an empty one. */
struct gy_tally {
	struct gy_tally_entry entries[GY_TALLY_NAMES_MAX];
	uint32_t names;
	uint32_t others; /* of names for which there is no room */
};

/* Counts one more of @name, which is copied. */
void gy_tally_add(struct gy_tally *tally, const char *name);

#endif
