/*
 * Making the pools of a loop's buffers. They are trimmed, reported and ended with the other pools
 * of the loop's channels, which ask for the list of them.
 */
#include "buffer/pools.h"

#include "buffer/buffer.h"

void gy_buffer_pools_init(struct gy_buffer_pools *pools, struct gy_loop *loop)
{
	pools->loop = loop;
	pools->ring = loop->ring;
	gy_pool_init(&pools->buffers, "buffer", sizeof(struct gyre_buffer));
#if GY_ASSERT_LEVEL >= 2
	gy_pool_know_all(&pools->buffers);
#endif
	gy_pool_init(&pools->slices, "slice", sizeof(struct gy_slice));
	gy_pool_init(&pools->pages, "page",
		     sizeof(struct gy_page) + GY_POOL_HEAD_BYTES + GY_POOL_PAGE_BYTES);
	gy_pool_init(&pools->foreigns, "foreign page", sizeof(struct gy_foreign));
	gy_list_init(&pools->waiting);
	loop->buffer_pools = pools;
}

void gy_buffer_pools_list(struct gy_buffer_pools *pools, struct gy_pool *ret[GY_BUFFER_POOLS])
{
	ret[0] = &pools->buffers;
	ret[1] = &pools->slices;
	ret[2] = &pools->pages;
	ret[3] = &pools->foreigns;
}
