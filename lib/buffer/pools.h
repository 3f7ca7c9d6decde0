/*
 * The memory of a loop's buffers: pools of their parts, the addresses that datagrams have, and the
 * way back of pages that the kernel receives into. It knows nothing of who reads or writes buffers:
 * the floor above sets hooks.
 */
#ifndef GY_BUFFER_POOLS_H
#define GY_BUFFER_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/memory/pool.h"
#include "buffer/address_table.h"
#include "loop/loop.h"

struct gy_page;

struct gy_buffer_pools {
	struct gy_loop *loop;
	struct gy_ring *ring;
	struct gy_pool buffers;
	struct gy_pool slices;
	struct gy_pool pages;
	struct gy_pool foreigns;
	struct gy_address_table addresses;
	uint32_t lent; /* pages of the ring that only buffers have, and the kernel no longer has */

	/*
	 * The queue for receive buffers, in the order of service. The items belong to the floor
	 * above, which @available tells that the ring has another buffer.
	 */
	struct gy_list waiting;
	void (*available)(struct gy_buffer_pools *pools);
	/* The last slice of a page of the ring's datagram buffers is gone. */
	void (*datagram_page_returned)(struct gy_buffer_pools *pools, struct gy_page *page);
};

enum { GY_BUFFER_POOLS = 4 };

/* The hooks are the caller's to set, before the first page of the ring is handed out. */
void gy_buffer_pools_init(struct gy_buffer_pools *pools, struct gy_loop *loop);
/* Its pools, for trimming, reports and the end. */
void gy_buffer_pools_list(struct gy_buffer_pools *pools, struct gy_pool *ret[GY_BUFFER_POOLS]);

#endif
