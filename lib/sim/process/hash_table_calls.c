/*
 * The hash tables that gyre has from liburcu, which allocates them itself: each is listed with its
 * host, so that a crash can end it.
 */
#include <urcu/urcu-qsbr.h>

#include <urcu/rculfhash.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/sim.h"
#include "sim/wrapped.h"

struct listed {
	struct gy_list of_host;
	struct cds_lfht *table;
};

struct cds_lfht *__wrap__cds_lfht_new(unsigned long first, unsigned long least, unsigned long most,
				      int flags, const struct cds_lfht_mm_type *memory,
				      const struct rcu_flavor_struct *flavor,
				      pthread_attr_t *attributes)
{
	struct cds_lfht *table =
		__real__cds_lfht_new(first, least, most, flags, memory, flavor, attributes);
	struct gy_sim_host *host = gy_sim_host_here();
	struct listed *listed;

	if (table != NULL && host != NULL) {
		listed = (struct listed *)gy_sim_get(sizeof(*listed));
		listed->table = table;
		gy_list_append(&host->hash_tables, &listed->of_host);
	}
	return table;
}

static void unlist(struct listed *listed)
{
	gy_list_remove(&listed->of_host);
	gy_sim_put(listed);
}

int __wrap_cds_lfht_destroy(struct cds_lfht *table, pthread_attr_t **ret_attributes)
{
	struct gy_sim_host *host = gy_sim_host_here();
	struct gy_list *next;

	for (struct gy_list *item = host == NULL ? NULL : host->hash_tables.next;
	     item != NULL && item != &host->hash_tables; item = next) {
		struct listed *listed = gy_container_of(item, struct listed, of_host);

		next = item->next;
		if (listed->table == table) {
			unlist(listed);
		}
	}
	return __real_cds_lfht_destroy(table, ret_attributes);
}

void gy_sim_hash_tables_crash(struct gy_sim_host *host)
{
	while (!gy_list_empty(&host->hash_tables)) {
		struct listed *listed =
			gy_container_of(host->hash_tables.next, struct listed, of_host);
		struct cds_lfht_iter iter;
		struct cds_lfht_node *node;
		int r;

		cds_lfht_for_each(listed->table, &iter, node)
		{
			(void)cds_lfht_del(listed->table, node);
		}
		r = __real_cds_lfht_destroy(listed->table, NULL);
		gy_assert(r == 0);
		(void)r;
		unlist(listed);
	}
}
