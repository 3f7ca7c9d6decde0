/*
 * A lock-free hash table that grows. Lookups and changes are liburcu's. Growing is done by the
 * thread that waits for grace periods; until then chains are longer, up to a bound beyond which the
 * thread that adds grows the table itself.
 */
#ifndef GY_SYSTEM_DIRECTORY_GROWING_TABLE_H
#define GY_SYSTEM_DIRECTORY_GROWING_TABLE_H

#include <urcu/rculfhash.h>

#include "base/keyed_hash.h"
#include "system/rcu.h"

struct gy_growing_table {
	struct cds_lfht *table; /* NULL for one that could not be made */
	struct gy_rcu *rcu;
	uint64_t count;	   /* atomic: nodes */
	uint64_t buckets;  /* atomic */
	uint32_t growing;  /* atomic: @growth is under way */
	uint32_t resizing; /* atomic: a thread makes more buckets */
	struct gy_rcu_item growth;
	struct gy_hash_key key;
};

int gy_growing_table_init(struct gy_growing_table *table, struct gy_rcu *rcu);
/* It is empty, and nothing that was retired is pending. Takes one that could not be made too. */
void gy_growing_table_fini(struct gy_growing_table *table);
/* Between gy_rcu_enter() and gy_rcu_leave(), each of them. */
void gy_growing_table_add(struct gy_growing_table *table, unsigned long hash,
			  struct cds_lfht_node *node);
/* The node that is there already, or @node. */
struct cds_lfht_node *gy_growing_table_add_unique(struct gy_growing_table *table,
						  unsigned long hash, cds_lfht_match_fct match,
						  const void *key, struct cds_lfht_node *node);
struct cds_lfht_node *gy_growing_table_find(const struct gy_growing_table *table,
					    unsigned long hash, cds_lfht_match_fct match,
					    const void *key);
/* Of a loop, also outside of the two. */
void gy_growing_table_remove(struct gy_growing_table *table, struct cds_lfht_node *node);

/* The hash of some bytes, of one kind or another, which nobody outside can foretell. */
unsigned long gy_growing_table_hash(const struct gy_growing_table *table, const void *bytes,
				    size_t count, uint64_t kind);

#endif
