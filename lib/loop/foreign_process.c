/*
 * The pools of foreign nodes that a process has. They stand apart from those who use them, so that
 * the simulator can put a function of its own in the place of this one.
 */
#include "loop/foreign_nodes.h"

enum { POOLS_MAX = GY_NODE_FROM_HEAP - GY_NODE_FOREIGN };

struct gy_foreign_pools *gy_foreign_pools_here(void)
{
	static struct gy_foreign_pool *pools[POOLS_MAX];
	static struct gy_foreign_pools all = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.pools_max = POOLS_MAX,
		.pools = pools,
	};

	return &all;
}
