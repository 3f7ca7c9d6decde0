/*
 * A family as it stands in its home; see children.h.
 */
#ifndef GY_ACTOR_LIFE_FAMILY_H
#define GY_ACTOR_LIFE_FAMILY_H

#include "actor/life/path.h"
#include "actor/mail/mail.h"
#include "base/table.h"

/* Fields that are marked atomic are read from any thread, under the mutex of the home's slots. */
struct gy_family {
	struct gy_table_item item;
	struct gy_origin parent; /* nobody for a root */
	enum gy_root root;
	uint32_t count;		    /* atomic */
	uint32_t first;		    /* atomic; slot of a child; they stand in a ring */
	struct gy_lineage *lineage; /* the parent's; NULL for a root */
	bool ordered;		    /* its parent, which lives here, has it stop */
	struct gyre_mail
		*order; /* the order of a parent elsewhere to stop; goes back as the report */
};

#endif
