/*
 * How the lock-free table of names and topics grows when nobody can wait for a grace period.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "base/table.h"
#include "system/directory/growing_table.h"

enum { COUNT = 100000, NODES_A_BUCKET_MAX = 16 };

struct numbered {
	struct cds_lfht_node node;
	uint64_t number;
};

static int match(struct cds_lfht_node *node, const void *key)
{
	return gy_container_of(node, struct numbered, node)->number == *(const uint64_t *)key;
}

static unsigned long hash_of(uint64_t number)
{
	return (unsigned long)gy_table_mix(number);
}

static struct numbered *find(const struct gy_growing_table *table, uint64_t number)
{
	struct cds_lfht_node *node = gy_growing_table_find(table, hash_of(number), match, &number);

	return node == NULL ? NULL : gy_container_of(node, struct numbered, node);
}

Test(growing_table, has_short_chains_also_for_a_reader_that_fills_it_without_a_pause)
{
	struct numbered *nodes = calloc(COUNT, sizeof(*nodes));
	struct gy_growing_table table;
	struct gy_rcu rcu;
	bool entered;

	cr_assert_not_null(nodes);
	gy_rcu_init(&rcu);
	cr_assert_eq(gy_growing_table_init(&table, &rcu), 0);
	entered = gy_rcu_enter(); /* no grace period ends until this reader has left */
	for (uint64_t i = 0; i < COUNT; i++) {
		nodes[i].number = i;
		gy_growing_table_add(&table, hash_of(i), &nodes[i].node);
		cr_assert_leq(gy_load_relaxed(&table.count),
			      gy_load_relaxed(&table.buckets) * NODES_A_BUCKET_MAX);
	}
	for (uint64_t i = 0; i < COUNT; i++) {
		cr_assert_eq(find(&table, i), &nodes[i]);
	}
	for (uint64_t i = 0; i < COUNT; i++) {
		gy_growing_table_remove(&table, &nodes[i].node);
	}
	gy_rcu_leave(entered);
	gy_rcu_fini(&rcu);
	gy_growing_table_fini(&table);
	free(nodes);
}
