/*
 * The registry of types is made once, before the node has a link, and only read from then on.
 */
#include "remote/types.h"

#include <errno.h>

#include <gyre/node.h>

#include "actor/mail/mail.h"
#include "base/memory.h"

enum { IDS_OF_USERS = 0x100 };

static int add(struct gy_types *types, const struct gyre_type *type)
{
	uint32_t slot = gy_types_slot(types, type->id);

	if (types->slots[slot] != NULL) {
		return -EEXIST;
	}
	types->slots[slot] = type;
	return 0;
}

int gy_types_init(struct gy_types *types, const struct gyre_type *const *list,
		  const struct gyre_type **ret_bad)
{
	uint32_t count = 0;
	uint32_t slots = 2;

	while (list != NULL && list[count] != NULL) {
		count++;
	}
	while (slots < 2 * (count + 2)) {
		slots *= 2;
	}
	types->mask = slots - 1;
	types->slots = (const struct gyre_type **)gy_memory_get(slots * sizeof(*types->slots));
	if (types->slots == NULL) {
		*ret_bad = NULL;
		return -ENOMEM;
	}
	(void)add(types, &gyre_type_gyre_node_found);
	(void)add(types, &gy_type_stopped);
	for (uint32_t i = 0; i < count; i++) {
		bool good = gy_type_travels(list[i]) && list[i]->id >= IDS_OF_USERS;
		int r = good ? add(types, list[i]) : -EINVAL;

		if (r < 0) {
			*ret_bad = list[i];
			return r;
		}
	}
	return 0;
}

void gy_types_fini(struct gy_types *types)
{
	gy_memory_put((void *)types->slots);
	types->slots = NULL;
}

bool gy_type_travels(const struct gyre_type *type)
{
	return gy_type_is_encoded(type) ? gy_type_encoding(type)->decode != NULL
					: type->destroy == NULL;
}
