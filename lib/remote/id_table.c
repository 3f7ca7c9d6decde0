/*
 * Things by the 16 bits of a node's id: pages that are made when they are needed, and stay. Found
 * without a lock, also while another thread adds one.
 */
#include "remote/id_table.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/memory/memory.h"

int gy_id_table_set(struct gy_id_table *peers, uint16_t id, void *thing)
{
	void **page = peers->pages[id / GY_PEER_PAGE];

	if (page == NULL) {
		page = (void **)gy_memory_get(GY_PEER_PAGE * sizeof(*page));
		if (page == NULL) {
			return -ENOMEM;
		}
		gy_store_release(&peers->pages[id / GY_PEER_PAGE], page);
	}
	gy_store_release(&page[id % GY_PEER_PAGE], thing);
	peers->end = id < peers->end ? peers->end : id + 1U;
	return 0;
}

void gy_id_table_fini(struct gy_id_table *peers)
{
	for (uint32_t i = 0; i < GY_PEER_PAGE; i++) {
		gy_memory_put((void *)peers->pages[i]);
		peers->pages[i] = NULL;
	}
}
