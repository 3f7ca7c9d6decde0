/*
 * The room for heads. Most links need few: those are in the link. Where actors and types are many,
 * heads soon take each other's places, and the sender goes over to the whole table; the receiver
 * does when it sees an index that it has no room for. A head keeps its index then, so both sides
 * agree on those that came before.
 */
#include "remote/message/heads.h"

#include <errno.h>

#include "base/memory/memory.h"

void gy_heads_init(struct gy_heads *heads)
{
	heads->all = heads->first_sent;
	heads->shift = GY_HEADS_FIRST_SHIFT;
	heads->mask = GY_HEADS_FIRST - 1;
	heads->replaced = 0;
	memset(heads->first_sent, 0, sizeof(heads->first_sent));
}

void gy_heads_reset(struct gy_heads *heads)
{
	if (heads->all != heads->first_sent) {
		gy_memory_put(heads->all);
	}
	gy_heads_init(heads);
}

int gy_heads_grow(struct gy_heads *heads)
{
	void *all = gy_memory_get(sizeof(*heads->sent) << GY_WIRE_HEADS_SHIFT);

	gy_assert(heads->all == heads->first_sent);
	if (all == NULL) {
		return -ENOMEM;
	}
	memcpy(all, heads->first_sent, sizeof(heads->first_sent));
	heads->all = all;
	heads->shift = GY_WIRE_HEADS_SHIFT;
	heads->mask = (1U << GY_WIRE_HEADS_SHIFT) - 1;
	return 0;
}
