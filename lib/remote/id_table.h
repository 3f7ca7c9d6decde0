/*
 * A table of things by the 16 bits of a node's id, read without a lock; see id_table.c.
 */
#ifndef GY_REMOTE_ID_TABLE_H
#define GY_REMOTE_ID_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

enum { GY_PEER_PAGE = 256 };

/* Finds things by 16 bits; pages are never freed before the whole. */
struct gy_id_table {
	void **pages[GY_PEER_PAGE];
	uint32_t end; /* above all that were set; of those who set them */
};

static inline void *gy_id_table_find(const struct gy_id_table *peers, uint16_t id)
{
	void **page = gy_load_acquire(&peers->pages[id / GY_PEER_PAGE]);

	return page == NULL ? NULL : gy_load_acquire(&page[id % GY_PEER_PAGE]);
}
/* Sets a place that is empty; -ENOMEM. By one thread at a time. */
int gy_id_table_set(struct gy_id_table *peers, uint16_t id, void *thing);
void gy_id_table_fini(struct gy_id_table *peers);

#endif
