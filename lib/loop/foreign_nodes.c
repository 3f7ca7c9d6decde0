/*
 * Nodes of threads that turn no loop. Each such thread has a pool, made at its first node, for all
 * systems of the process. A node carries the number of its pool as its owner. The loop on which it
 * ends keeps it in a chain with others of that pool and size, and puts the whole chain on a stack
 * in the pool, its home. The thread fetches a chain from there whenever it has used one up. So
 * neither side allocates in the steady state, and a line of the other side is touched once in a
 * chain.
 *
 *                 put on home    fetch     trim          begin, end
 *   put on home   any            any       any           any
 *   fetch         any            -         one gives up  same thread
 *   trim          any            gives up  one gives up  mutex
 *
 * Only who has @fetching takes from a home, so that no chain can leave and come back while its link
 * is read. Nobody waits for another there: a thread that finds the trimmer at work allocates, and
 * the trimmer passes over a pool whose thread fetches.
 *
 * Nodes are allocations of their own, and all of one size are alike. So when a thread ends, its
 * pool need not wait for nodes under way: they are freed where they end, and if another thread has
 * taken over the pool by then, they are that thread's. The number of pools is that of the threads
 * that were there at once; a thread that finds none left gets its nodes from the heap, as are those
 * of a size that no pool has.
 *
 * A home takes no more than HOME_BYTES_MAX. What the threads do not fetch goes to the heap when the
 * loops trim their own pools, when a system ends, and when memory is short.
 */
#include "loop/foreign_nodes.h"

#include <pthread.h>

#include "base/memory/memory.h"
#include "base/memory/pool.h"

enum {
	CHAIN_MAX = 64, /* nodes that go home together */
	FREE_MAX =
		2 * CHAIN_MAX, /* nodes of a size that a thread keeps when it frees them itself */
	HOME_BYTES_MAX = 4 << 20, /* of each pool */
};

/* The first node of a chain that is at home. */
struct chain_head {
	struct gy_node node;
	struct chain_head *link; /* the chain below */
	uint32_t count;
};

_Static_assert(sizeof(struct chain_head) <= 1 << GY_SIZES_SHIFT, "the smallest node has the room");

struct gy_foreign_pool {
	/* Any thread. */
	int64_t home_bytes GY_ALIGNED_LINE;
	uint32_t fetching;
	bool abandoned; /* under the mutex */
	struct chain_head *home[GY_SIZES_COUNT];
	/* The thread's own; @used is cleared by who trims. */
	struct gy_foreign_mine mine GY_ALIGNED_LINE;
	bool used;
	struct gy_foreign_pool *next; /* of those without a thread */
};

_Thread_local struct gy_foreign_mine *gy_foreign_mine;

/* What stands in the home of a pool without a thread. */
static struct chain_head nobody;

/* What a thread has that has a pool; for all sets. */
static struct {
	pthread_once_t once;
	pthread_key_t key;
	bool has_key;
} ends = { .once = PTHREAD_ONCE_INIT };

/* NULL: the node is of another set, which has more pools. */
static struct gy_foreign_pool *pool_of(uint16_t owner)
{
	struct gy_foreign_pools *all = gy_foreign_pools_here();
	uint32_t number = (uint32_t)owner - GY_NODE_FOREIGN;

	gy_assert(owner >= GY_NODE_FOREIGN && owner < GY_NODE_FROM_HEAP);
	return number < all->pools_max ? gy_load_acquire(&all->pools[number]) : NULL;
}

static void free_nodes(struct gy_node *node)
{
	while (node != NULL) {
		struct gy_node *next = node->next;

		gy_unpoison(node, gy_sizes_bytes(node->size_class));
		gy_memory_put(node);
		node = next;
	}
}

static void free_chains(struct chain_head *head)
{
	while (head != NULL) {
		struct chain_head *link = head->link;

		free_nodes(&head->node);
		head = link;
	}
}

/* What a node takes. The smallest has a pair of cache lines to itself, as in a loop's own pools:
 * see gy_pool_keep_apart(). */
static size_t bytes_of(uint8_t size_class)
{
	return gy_pool_bytes_apart(gy_sizes_bytes(size_class));
}

/* ---- homes ---- */

/* Returns false if the thread of the pool has ended. */
static bool push(struct chain_head **home, struct chain_head *head)
{
	struct chain_head *below = gy_load_relaxed(home);

	do {
		if (below == &nobody) {
			return false;
		}
		head->link = below;
	} while (!gy_compare_exchange(home, &below, head));
	return true;
}

static void put_home(struct gy_foreign_pool *pool, struct gy_node *first, uint32_t count)
{
	struct chain_head *head = (struct chain_head *)(void *)first;
	int64_t bytes = (int64_t)(count * bytes_of(first->size_class));
	int64_t home_bytes;

	if (gy_unlikely(pool == NULL)) {
		free_nodes(first);
		return;
	}
	home_bytes = gy_add_relaxed(&pool->home_bytes, bytes) + bytes;
	gy_unpoison(head, sizeof(*head));
	head->count = count;
	if (home_bytes > HOME_BYTES_MAX || !push(&pool->home[first->size_class], head)) {
		(void)gy_add_relaxed(&pool->home_bytes, -bytes);
		free_nodes(first);
	}
}

/* Gives the thread the chain on top of a home; false if there is none. */
static bool fetch(struct gy_foreign_pool *pool, uint8_t size_class)
{
	struct chain_head **home = &pool->home[size_class];
	struct chain_head *head;

	if (gy_load_relaxed(home) == NULL || gy_exchange(&pool->fetching, 1) != 0) {
		return false;
	}
	do {
		head = gy_load_acquire(home);
	} while (head != NULL && !gy_compare_exchange(home, &head, head->link));
	gy_store_release(&pool->fetching, 0);
	if (head == NULL) {
		return false;
	}
	(void)gy_add_relaxed(&pool->home_bytes, -(int64_t)(head->count * bytes_of(size_class)));
	gy_assert(pool->mine.free[size_class] == NULL && pool->mine.free_count[size_class] == 0);
	pool->mine.free[size_class] = &head->node;
	pool->mine.free_count[size_class] = (uint16_t)head->count;
	return true;
}

/* Takes all chains of a home, and leaves @instead there. */
static struct chain_head *clear(struct gy_foreign_pool *pool, uint8_t size_class,
				struct chain_head *instead)
{
	struct chain_head *top = gy_exchange(&pool->home[size_class], instead);
	int64_t bytes = 0;

	for (struct chain_head *head = top; head != NULL; head = head->link) {
		bytes += (int64_t)(head->count * bytes_of(size_class));
	}
	(void)gy_add_relaxed(&pool->home_bytes, -bytes);
	return top;
}

/* Takes what is at home in a pool, for who trims. */
static void trim(struct gy_foreign_pool *pool)
{
	struct chain_head *taken[GY_SIZES_COUNT];

	if (gy_exchange(&pool->fetching, 1) != 0) {
		return;
	}
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		taken[i] = clear(pool, (uint8_t)i, NULL);
	}
	gy_store_release(&pool->fetching, 0);
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		free_chains(taken[i]);
	}
}

void gy_foreign_nodes_trim(bool every)
{
	struct gy_foreign_pools *all = gy_foreign_pools_here();
	uint32_t made = gy_load_acquire(&all->made);

	if (made == 0 || pthread_mutex_trylock(&all->mutex) != 0) {
		return;
	}
	for (uint32_t i = 0; i < made; i++) {
		struct gy_foreign_pool *pool = all->pools[i];

		if (gy_load_relaxed(&pool->home_bytes) == 0 || pool->abandoned) {
			continue;
		}
		if (every || !gy_load_relaxed(&pool->used)) {
			trim(pool);
		}
		gy_store_relaxed(&pool->used, false);
	}
	(void)pthread_mutex_unlock(&all->mutex);
}

struct gy_foreign_use gy_foreign_nodes_use(void)
{
	struct gy_foreign_pools *all = gy_foreign_pools_here();
	struct gy_foreign_use use = { 0 };

	(void)pthread_mutex_lock(&all->mutex);
	use.pools = all->made;
	for (uint32_t i = 0; i < all->made; i++) {
		use.home_bytes += (uint64_t)gy_load_relaxed(&all->pools[i]->home_bytes);
		use.threads += !all->pools[i]->abandoned;
	}
	(void)pthread_mutex_unlock(&all->mutex);
	return use;
}

/* ---- threads come and go ---- */

static void free_mine(struct gy_foreign_mine *mine)
{
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		free_nodes(mine->free[i]);
		mine->free[i] = NULL;
		mine->free_count[i] = 0;
	}
}

/* A pool whose thread has ended: what is put on its homes later goes to the heap. */
static void free_all(struct gy_foreign_pool *pool)
{
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		free_chains(clear(pool, (uint8_t)i, &nobody));
	}
	free_mine(&pool->mine);
}

void gy_foreign_nodes_free_mine(void)
{
	if (gy_foreign_mine != NULL) {
		free_mine(gy_foreign_mine);
	}
}

static void end_thread(void *arg)
{
	struct gy_foreign_pools *all = gy_foreign_pools_here();
	struct gy_foreign_pool *pool = (struct gy_foreign_pool *)arg;

	gy_foreign_mine = NULL;
	(void)pthread_mutex_lock(&all->mutex);
	free_all(pool);
	pool->abandoned = true;
	pool->next = all->idle;
	all->idle = pool;
	(void)pthread_mutex_unlock(&all->mutex);
}

static void make_key(void)
{
	ends.has_key = pthread_key_create(&ends.key, end_thread) == 0;
}

/* Where the library is unloaded, threads that end later must not call it. */
static __attribute__((destructor)) void delete_key(void)
{
	if (ends.has_key) {
		(void)pthread_key_delete(ends.key);
	}
}

static struct gy_foreign_pool *make_pool(struct gy_foreign_pools *all)
{
	struct gy_foreign_pool *pool = NULL;

	if (all->made < all->pools_max) {
		pool = (struct gy_foreign_pool *)gy_memory_get_lasting(sizeof(*pool));
	}
	if (pool != NULL) {
		pool->mine.owner = (uint16_t)(GY_NODE_FOREIGN + all->made);
		gy_store_release(&all->pools[all->made], pool);
		gy_store_release(&all->made, all->made + 1);
	}
	return pool;
}

/* NULL where the thread has to do without. */
static struct gy_foreign_mine *begin_thread(void)
{
	struct gy_foreign_pools *all = gy_foreign_pools_here();
	struct gy_foreign_pool *pool;

	(void)pthread_once(&ends.once, make_key);
	if (!ends.has_key) {
		return NULL;
	}
	(void)pthread_mutex_lock(&all->mutex);
	pool = all->idle;
	if (pool != NULL) {
		all->idle = pool->next;
	} else {
		pool = make_pool(all);
	}
	if (pool != NULL && pthread_setspecific(ends.key, pool) != 0) {
		pool->abandoned = true;
		pool->next = all->idle;
		all->idle = pool;
		pool = NULL;
	}
	if (pool != NULL) {
		for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
			gy_store_release(&pool->home[i], NULL);
		}
		pool->abandoned = false;
		gy_foreign_mine = &pool->mine;
	}
	(void)pthread_mutex_unlock(&all->mutex);
	return gy_foreign_mine;
}

void gy_foreign_pools_fini(struct gy_foreign_pools *pools)
{
	for (uint32_t i = 0; i < pools->made; i++) {
		struct gy_foreign_pool *pool = pools->pools[i];

		if (!pool->abandoned) {
			free_all(pool); /* the thread stood still where it was */
		}
		gy_memory_put(pool);
	}
	pools->made = 0;
	pools->idle = NULL;
}

/* ---- nodes ---- */

static struct gy_node *make_node(const struct gy_foreign_mine *mine, uint8_t size_class,
				 size_t bytes)
{
	size_t all_bytes = gy_sizes_bytes(size_class);
	struct gy_node *node = (struct gy_node *)gy_memory_get_raw(bytes_of(size_class));

	if (node != NULL) {
		node->ahead = 0;
		node->owner = mine->owner;
		node->size_class = size_class;
		node->kind = GY_NODE_NEW;
		if (size_class > 0 && bytes < all_bytes) {
			gy_poison((char *)node + bytes, all_bytes - bytes);
		}
	}
	return node;
}

struct gy_node *gy_foreign_node_get_slow(size_t bytes)
{
	uint8_t size_class = gy_sizes_class(bytes);
	struct gy_foreign_mine *mine = gy_foreign_mine;
	struct gy_foreign_pool *pool;

	if (size_class == GY_SIZES_HEAP) {
		return gy_node_get_from_heap(bytes);
	}
	if (mine == NULL) {
		mine = begin_thread();
	}
	if (mine == NULL) {
		return gy_node_get_from_heap(bytes);
	}
	pool = gy_container_of(mine, struct gy_foreign_pool, mine);
	gy_store_relaxed(&pool->used, true);
	return fetch(pool, size_class) ? gy_foreign_node_get(bytes)
				       : make_node(mine, size_class, bytes);
}

void gy_foreign_node_put(struct gy_node *node)
{
	struct gy_foreign_mine *mine = gy_foreign_mine;
	uint8_t size_class = node->size_class;

	if (node->owner == GY_NODE_FROM_HEAP) {
		gy_memory_put(node);
		return;
	}
	gy_node_poison(node);
	node->kind = GY_NODE_RETURNED;
	node->next = NULL;
	node->ahead = 0;
	if (mine == NULL || mine->owner != node->owner ||
	    mine->free_count[size_class] >= FREE_MAX) {
		put_home(pool_of(node->owner), node, 1);
		return;
	}
	mine->free_count[size_class]++;
	node->next = mine->free[size_class];
	mine->free[size_class] = node;
}

static void flush(struct gy_foreign_chain *chain)
{
	if (chain->chain.count > 0) {
		put_home(pool_of(chain->chain.first->owner), chain->chain.first,
			 chain->chain.count);
		gy_chain_clear(&chain->chain);
	}
}

void gy_foreign_node_return(struct gy_loop *loop, struct gy_node *node)
{
	uint32_t origin = gy_node_origin_of(node);
	struct gy_foreign_chain *chain =
		&loop->foreign[(node->owner + node->size_class) % GY_FOREIGN_CHAINS];

	gy_assert((node->owner & GY_NODE_HOLDS) == 0);
	gy_node_poison(node);
	node->kind = GY_NODE_RETURNED;
	if (gy_unlikely(chain->origin != origin)) {
		flush(chain);
		chain->origin = origin;
	}
	gy_chain_append(&chain->chain, node);
	loop->keeps_foreign = true;
	if (chain->chain.count == CHAIN_MAX) {
		flush(chain);
	}
}

void gy_foreign_nodes_flush_kept(struct gy_loop *loop)
{
	loop->keeps_foreign = false;
	for (uint32_t i = 0; i < GY_FOREIGN_CHAINS; i++) {
		flush(&loop->foreign[i]);
	}
}
