/*
 * How a lock-free table grows: when it has twice as many nodes as buckets, the thread that waits
 * for grace periods makes four times as many buckets. A handler that fills the table alone keeps
 * that thread waiting, so a table with sixteen times as many nodes as buckets grows where it is
 * filled. Then the cost of growing is paid by those who add, in proportion to what they add.
 */
#include "system/directory/growing_table.h"

#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/random.h"
#include "base/thread.h"

enum { BUCKETS_FIRST = 64, LOAD_MAX = 2, LOAD_URGENT = 16, GROWTH = 4 };

/*
 * More buckets. liburcu may have threads of its own fill them, which take no signals of the
 * program. From 0.13 on it stays online meanwhile and waits for no grace period, so that a reader
 * may ask for it, as its manual forbids, as long as the table never shrinks.
 */
static void resize(struct gy_growing_table *table, uint64_t buckets)
{
	sigset_t before;

	gy_thread_block_signals(&before);
	cds_lfht_resize(table->table, (unsigned long)buckets);
	gy_thread_restore_signals(&before);
	gy_store_relaxed(&table->buckets, buckets);
}

/* One thread at a time, so that the size asked for only grows. */
static void grow_if_above(struct gy_growing_table *table, uint64_t load)
{
	uint64_t buckets;

	if (gy_exchange(&table->resizing, 1) != 0) {
		return;
	}
	buckets = gy_load_relaxed(&table->buckets);
	if (gy_load_relaxed(&table->count) > buckets * load) {
		resize(table, buckets * GROWTH);
	}
	gy_store_release(&table->resizing, 0);
}

static void grow_later(struct gy_rcu_item *item)
{
	struct gy_growing_table *table = gy_container_of(item, struct gy_growing_table, growth);

	grow_if_above(table, LOAD_MAX);
	gy_store_release(&table->growing, 0);
}

static void count_up(struct gy_growing_table *table)
{
	uint64_t count = gy_fetch_add(&table->count, 1) + 1;
	uint64_t buckets = gy_load_relaxed(&table->buckets);

	if (count <= buckets * LOAD_MAX) {
		return;
	}
	if (count > buckets * LOAD_URGENT) {
		grow_if_above(table, LOAD_URGENT);
	}
	if (gy_load_relaxed(&table->growing) == 0 && gy_exchange(&table->growing, 1) == 0) {
		gy_rcu_call(table->rcu, &table->growth, grow_later);
	}
}

int gy_growing_table_init(struct gy_growing_table *table, struct gy_rcu *rcu)
{
	*table = (struct gy_growing_table){ .rcu = rcu, .buckets = BUCKETS_FIRST };
	gy_random_seed(&table->key, sizeof(table->key));
	/* Without its own resizing, for which it would keep another thread. */
	table->table =
		cds_lfht_new_flavor(BUCKETS_FIRST, BUCKETS_FIRST, 0, 0, &urcu_qsbr_flavor, NULL);
	return table->table == NULL ? -ENOMEM : 0;
}

void gy_growing_table_fini(struct gy_growing_table *table)
{
	int r = table->table == NULL ? 0 : cds_lfht_destroy(table->table, NULL);

	gy_assert(r == 0);
	(void)r;
	table->table = NULL;
}

void gy_growing_table_add(struct gy_growing_table *table, unsigned long hash,
			  struct cds_lfht_node *node)
{
	cds_lfht_node_init(node);
	cds_lfht_add(table->table, hash, node);
	count_up(table);
}

struct cds_lfht_node *gy_growing_table_add_unique(struct gy_growing_table *table,
						  unsigned long hash, cds_lfht_match_fct match,
						  const void *key, struct cds_lfht_node *node)
{
	struct cds_lfht_node *found;

	cds_lfht_node_init(node);
	found = cds_lfht_add_unique(table->table, hash, match, key, node);
	if (found == node) {
		count_up(table);
	}
	return found;
}

struct cds_lfht_node *gy_growing_table_find(const struct gy_growing_table *table,
					    unsigned long hash, cds_lfht_match_fct match,
					    const void *key)
{
	struct cds_lfht_iter iter;

	cds_lfht_lookup(table->table, hash, match, key, &iter);
	return cds_lfht_iter_get_node(&iter);
}

void gy_growing_table_remove(struct gy_growing_table *table, struct cds_lfht_node *node)
{
	int r = cds_lfht_del(table->table, node);

	gy_assert(r == 0);
	(void)r;
	gy_assert(gy_load_relaxed(&table->count) > 0);
	(void)gy_add_relaxed(&table->count, UINT64_MAX);
}

unsigned long gy_growing_table_hash(const struct gy_growing_table *table, const void *bytes,
				    size_t count, uint64_t kind)
{
	const struct gy_hash_key key = { table->key.low ^ kind, table->key.high };

	return (unsigned long)gy_keyed_hash(&key, bytes, count);
}
