/*
 * Nodes of threads that turn no loop: a pool for each such thread; see foreign_nodes.c.
 */
#ifndef GY_LOOP_FOREIGN_NODES_H
#define GY_LOOP_FOREIGN_NODES_H

#include <pthread.h>

#include "loop/loop.h"

/* What a thread gets and puts with no atomic operation: a list of free nodes for each size. */
struct gy_foreign_mine {
	struct gy_node *free[GY_SIZES_COUNT];
	uint16_t free_count[GY_SIZES_COUNT];
	uint16_t owner;	      /* of its nodes */
	uint64_t ask_wait_ns; /* the average of its recent waits for answers */
};

/* Of the calling thread; NULL before its first node. */
extern _Thread_local struct gy_foreign_mine *gy_foreign_mine;

/* gy_foreign_node_get() when the list is empty. */
GY_COLD struct gy_node *gy_foreign_node_get_slow(size_t bytes);

/*
 * A node of at least @bytes, its header included, that any thread may free; NULL when there is no
 * memory, or when @bytes are more than GY_NODE_BYTES_MAX.
 */
static inline struct gy_node *gy_foreign_node_get(size_t bytes)
{
	struct gy_foreign_mine *mine = gy_foreign_mine;
	uint8_t size_class = gy_sizes_class(bytes);
	struct gy_node *node;

	if (gy_unlikely(mine == NULL) || gy_unlikely(size_class == GY_SIZES_HEAP)) {
		return gy_foreign_node_get_slow(bytes);
	}
	node = mine->free[size_class];
	if (gy_unlikely(node == NULL)) {
		return gy_foreign_node_get_slow(bytes);
	}
	mine->free[size_class] = node->next;
	mine->free_count[size_class]--;
	gy_node_fetch_ahead(node);
	gy_unpoison(node, size_class == 0 ? gy_sizes_bytes(0) : bytes);
	node->owner = mine->owner;
	node->kind = GY_NODE_NEW;
	return node;
}

/* Frees a node of gy_foreign_node_get() that is in no queue, and holds nothing. Any thread. */
void gy_foreign_node_put(struct gy_node *node);

/* Frees such a node on a loop: it goes home in a chain with others. */
void gy_foreign_node_return(struct gy_loop *loop, struct gy_node *node);
void gy_foreign_nodes_flush_kept(struct gy_loop *loop);
/* Sends home what gy_foreign_node_return() has kept. A loop does so before each sleep, most often
 * with nothing: then it leaves the chains, a line each, alone. */
static inline void gy_foreign_nodes_flush(struct gy_loop *loop)
{
	if (gy_unlikely(loop->keeps_foreign)) {
		gy_foreign_nodes_flush_kept(loop);
	}
}

/* Gives to the heap what is at home in pools whose threads have fetched nothing since the last
 * call; with @every, in all of them. Any thread. */
void gy_foreign_nodes_trim(bool every);

/* Gives to the heap what the calling thread has fetched and not used. */
void gy_foreign_nodes_free_mine(void);

/* How many bytes of nodes are at home in pools, and how many pools have a thread. Any thread; for
 * tests. */
struct gy_foreign_use {
	uint64_t home_bytes;
	uint32_t threads;
	uint32_t pools;
};
struct gy_foreign_use gy_foreign_nodes_use(void);

/*
 * The pools of a process. One that was made stays. The set is found by a function, so that
 * processes that are simulated can have a set each: nodes of one must not come into another, which
 * may go on when the memory of the first one is gone.
 */
struct gy_foreign_pool;

struct gy_foreign_pools {
	pthread_mutex_t mutex;		/* guards all but what says atomic */
	struct gy_foreign_pool *idle;	/* a list: without a thread */
	uint32_t made;			/* atomic */
	uint32_t pools_max;		/* places of @pools */
	struct gy_foreign_pool **pools; /* atomic */
};

/* The set of this process. Any thread. */
struct gy_foreign_pools *gy_foreign_pools_here(void);
/* Frees the pools of a set whose threads run no more. */
void gy_foreign_pools_fini(struct gy_foreign_pools *pools);

#endif
