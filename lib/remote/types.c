/*
 * The registry of types is made once, before the node has a link, and only read from then on.
 */
#include "remote/types.h"

#include <errno.h>

#include <gyre/node.h>

#include "base/memory.h"
#include "base/table.h"

enum { IDS_OF_USERS = 0x100 };

static uint32_t slot_of(const struct gy_types *types, uint32_t id)
{
	uint32_t slot = (uint32_t)gy_table_mix(id) & types->mask;

	while (types->slots[slot] != NULL && types->slots[slot]->id != id) {
		slot = (slot + 1) & types->mask;
	}
	return slot;
}

static int add(struct gy_types *types, const struct gyre_type *type)
{
	uint32_t slot = slot_of(types, type->id);

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
	while (slots < 2 * (count + 1)) {
		slots *= 2;
	}
	types->mask = slots - 1;
	types->slots = (const struct gyre_type **)gy_memory_get(slots * sizeof(*types->slots));
	if (types->slots == NULL) {
		*ret_bad = NULL;
		return -ENOMEM;
	}
	(void)add(types, &gyre_type_gyre_node_found);
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

const struct gyre_type *gy_types_find(const struct gy_types *types, uint32_t id)
{
	return types->slots[slot_of(types, id)];
}

uint16_t gy_type_layout(const struct gyre_type *type)
{
	uint64_t version = type->encoding == NULL ? 0 : type->encoding->version;
	uint64_t bytes = gy_type_is_encoded(type) ? UINT32_MAX : type->bytes;

	return (uint16_t)(gy_table_mix(version << 32 | bytes) >> 48);
}

bool gy_type_travels(const struct gyre_type *type)
{
	return gy_type_is_encoded(type) ? type->encoding->decode != NULL : type->destroy == NULL;
}
