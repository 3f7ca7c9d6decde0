/*
 * Names in liburcu's lock-free hash table. Of several that register one name at once the table lets
 * exactly one in. The table grows in the thread that waits for grace periods, since a loop may not
 * wait for what growing waits for; until then chains are longer.
 */
#include "system/directory/names.h"

#include <errno.h>
#include <string.h>
#include <urcu/rculfhash.h>

#include <gyre/name.h>

#include "actor/stack/stack.h"
#include "base/atomic.h"
#include "base/happens.h"
#include "base/memory.h"
#include "system/directory/directory.h"
#include "system/system.h"

enum { BUCKETS_FIRST = 64, LOAD_MAX = 2, GROWTH = 4 };

struct gy_name {
	struct gy_rcu_item item; /* first */
	struct cds_lfht_node node;
	struct cds_lfht_node first; /* by address, of the first name of an actor */
	bool is_first;
	struct gy_name *next; /* of the actor */
	struct gyre_address address;
	size_t bytes;
	char text[];
};

struct key {
	const char *text;
	size_t bytes;
	unsigned long hash;
};

/* ---- the table ---- */

static int make_key(const char *text, struct key *ret_key)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	size_t bytes = text == NULL ? 0 : strnlen(text, GYRE_NAME_BYTES_MAX + 1);

	if (bytes == 0 || bytes > GYRE_NAME_BYTES_MAX) {
		return -EINVAL;
	}
	for (size_t i = 0; i < bytes; i++) {
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	}
	*ret_key = (struct key){ text, bytes, (unsigned long)gy_table_mix(hash) };
	return 0;
}

static bool equal(const struct gy_name *name, const struct key *key)
{
	return name->bytes == key->bytes && memcmp(name->text, key->text, key->bytes) == 0;
}

/* The only place where names of others are read, together with look_up(). */
static int match(struct cds_lfht_node *node, const void *key)
{
	const struct gy_name *name = gy_container_of(node, struct gy_name, node);
	bool is_it;

	gy_happens_after(name);
	is_it = equal(name, (const struct key *)key);
	gy_happens_before(name);
	return is_it;
}

static void grow(struct gy_rcu_item *item)
{
	struct gy_names *names = gy_container_of(item, struct gy_names, growth);
	uint64_t buckets = gy_load_relaxed(&names->buckets) * GROWTH;

	cds_lfht_resize(names->table, (unsigned long)buckets);
	cds_lfht_resize(names->by_address, (unsigned long)buckets);
	gy_store_relaxed(&names->buckets, buckets);
	gy_store_release(&names->growing, 0);
}

static void count_up(struct gy_names *names)
{
	uint64_t count = gy_fetch_add(&names->count, 1) + 1;

	if (count > gy_load_relaxed(&names->buckets) * LOAD_MAX &&
	    gy_load_relaxed(&names->growing) == 0 && gy_exchange(&names->growing, 1) == 0) {
		gy_rcu_call(names->rcu, &names->growth, grow);
	}
}

int gy_names_init(struct gy_names *names, struct gy_rcu *rcu)
{
	*names = (struct gy_names){ .rcu = rcu, .buckets = BUCKETS_FIRST };
	/* Without its own resizing, for which it would keep another thread. */
	names->table =
		cds_lfht_new_flavor(BUCKETS_FIRST, BUCKETS_FIRST, 0, 0, &urcu_qsbr_flavor, NULL);
	names->by_address =
		cds_lfht_new_flavor(BUCKETS_FIRST, BUCKETS_FIRST, 0, 0, &urcu_qsbr_flavor, NULL);
	return names->table == NULL || names->by_address == NULL ? -ENOMEM : 0;
}

void gy_names_fini(struct gy_names *names)
{
	int r = names->table == NULL ? 0 : cds_lfht_destroy(names->table, NULL);

	gy_assert(r == 0);
	r = names->by_address == NULL ? 0 : cds_lfht_destroy(names->by_address, NULL);
	gy_assert(r == 0);
	(void)r;
	names->table = NULL;
	names->by_address = NULL;
}

static void take_back(struct gy_names *names, struct gy_name *name)
{
	int r = cds_lfht_del(names->table, &name->node);

	gy_assert(r == 0);
	r = name->is_first ? cds_lfht_del(names->by_address, &name->first) : 0;
	gy_assert(r == 0);
	(void)r;
	gy_assert(gy_load_relaxed(&names->count) > 0);
	(void)gy_add_relaxed(&names->count, UINT64_MAX);
	gy_rcu_retire(names->rcu, &name->item);
}

void gy_names_withdraw(struct gy_names *names, struct gy_name *first)
{
	while (first != NULL) {
		struct gy_name *next = first->next;

		take_back(names, first);
		first = next;
	}
}

static int look_up(struct gy_names *names, const char *text, struct gyre_address *ret_address)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;
	struct key key;
	bool entered;

	if (ret_address == NULL || make_key(text, &key) < 0) {
		return -EINVAL;
	}
	entered = gy_rcu_enter();
	cds_lfht_lookup(names->table, key.hash, match, &key, &iter);
	node = cds_lfht_iter_get_node(&iter);
	if (node != NULL) {
		const struct gy_name *name = gy_container_of(node, struct gy_name, node);

		*ret_address = name->address;
		gy_happens_before(name);
	}
	gy_rcu_leave(entered);
	return node == NULL ? -ENOENT : 0;
}

/* ---- of an actor ---- */

static struct gy_names *names_of(const struct gyre_stack *stack)
{
	return &gy_stack_of_const(stack)->home->options.system->directory->names;
}

static struct gy_name *make_name(struct gyre_address address, const struct key *key)
{
	struct gy_name *name =
		(struct gy_name *)gy_memory_get_raw(sizeof(struct gy_name) + key->bytes);

	if (name != NULL) {
		name->address = address;
		name->is_first = false;
		name->bytes = key->bytes;
		memcpy(name->text, key->text, key->bytes);
		cds_lfht_node_init(&name->node);
	}
	return name;
}

/*
 * Puts a name into the table. -EEXIST if it is there: then @name is freed, and @ret_holder, which
 * may be NULL, is who has it.
 */
static int publish(struct gy_names *names, struct gy_name *name, const struct key *key,
		   struct gyre_address *ret_holder)
{
	bool entered = gy_rcu_enter();
	struct cds_lfht_node *found;

	gy_happens_before(name);
	found = cds_lfht_add_unique(names->table, key->hash, match, key, &name->node);
	if (found != &name->node) {
		const struct gy_name *holder = gy_container_of(found, struct gy_name, node);

		if (ret_holder != NULL) {
			*ret_holder = holder->address;
		}
		gy_happens_before(holder);
	}
	gy_rcu_leave(entered);
	if (found != &name->node) {
		gy_memory_put(name);
		return -EEXIST;
	}
	count_up(names);
	return 0;
}

static unsigned long address_hash(struct gyre_address address)
{
	return (unsigned long)gy_origin_key(gy_origin_of(address));
}

/* The actor has the name, which is in the table by now. */
static void keep(struct gy_names *names, struct gy_name_entry *name_entry, struct gy_name *name)
{
	name->next = name_entry->names;
	name_entry->names = name;
	if (name->next == NULL) {
		bool entered = gy_rcu_enter();

		name->is_first = true;
		cds_lfht_node_init(&name->first);
		gy_happens_before(name);
		cds_lfht_add(names->by_address, address_hash(name->address), &name->first);
		gy_rcu_leave(entered);
	}
}

static int match_address(struct cds_lfht_node *node, const void *key)
{
	const struct gy_name *name = gy_container_of(node, struct gy_name, first);
	bool is_it;

	gy_happens_after(name);
	is_it = gy_address_same(name->address, *(const struct gyre_address *)key);
	gy_happens_before(name);
	return is_it;
}

size_t gy_name_of(struct gyre_system *system, struct gyre_address address, size_t bytes,
		  char *ret_text)
{
	struct gy_names *names = &system->directory->names;
	bool entered = gy_rcu_enter();
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;
	size_t count = 0;

	cds_lfht_lookup(names->by_address, address_hash(address), match_address, &address, &iter);
	node = cds_lfht_iter_get_node(&iter);
	if (node != NULL) {
		const struct gy_name *name = gy_container_of(node, struct gy_name, first);

		gy_happens_after(name);
		count = name->bytes < bytes ? name->bytes : bytes - 1;
		memcpy(ret_text, name->text, count);
		ret_text[count] = 0;
		gy_happens_before(name);
	}
	gy_rcu_leave(entered);
	return count;
}

int gyre_name_register(struct gyre_stack *stack, const char *name)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_name_entry *name_entry;
	struct gy_name *mine;
	struct key key;
	int r = make_key(name, &key);

	if (r == 0) {
		r = gy_name_entry_get(house, &name_entry);
	}
	if (r != 0) {
		return r;
	}
	mine = make_name(gy_house_address(house), &key);
	if (mine == NULL) {
		return -ENOMEM;
	}
	r = publish(names_of(stack), mine, &key, NULL);
	if (r == 0) {
		keep(names_of(stack), name_entry, mine);
	}
	return r;
}

int gyre_name_unregister(struct gyre_stack *stack, const char *name)
{
	struct gy_name_entry *name_entry = gy_name_entry_of(gy_stack_of(stack)->house);
	struct gy_name **link = name_entry == NULL ? NULL : &name_entry->names;
	struct key key;
	struct gy_name *mine;

	if (make_key(name, &key) < 0) {
		return -EINVAL;
	}
	while (link != NULL && *link != NULL && !equal(*link, &key)) {
		link = &(*link)->next;
	}
	if (link == NULL || *link == NULL) {
		return -ENOENT;
	}
	mine = *link;
	*link = mine->next;
	take_back(names_of(stack), mine);
	return 0;
}

/* ---- of an actor that is about to be spawned ---- */

int gy_name_reserve(struct gyre_system *system, const char *text, struct gyre_address address,
		    struct gy_name **ret_name, struct gyre_address *ret_holder)
{
	struct gy_names *names = &system->directory->names;
	struct gyre_address holder = { 0 };
	struct gy_name *name;
	struct key key;
	int r = make_key(text, &key);

	if (r < 0) {
		return r;
	}
	name = make_name(address, &key);
	if (name == NULL) {
		return -ENOMEM;
	}
	r = publish(names, name, &key, &holder);
	if (r == 0) {
		*ret_name = name;
	} else {
		*ret_holder = gy_address_shown(&system->homes.homes[0], holder);
	}
	return r;
}

int gy_name_take(struct gy_house *house, struct gy_name *name)
{
	struct gy_name_entry *name_entry;
	int r = gy_name_entry_get(house, &name_entry);

	if (r == 0) {
		keep(&house->home->options.system->directory->names, name_entry, name);
	} else {
		take_back(&house->home->options.system->directory->names, name);
	}
	return r;
}

/* ---- looking up ---- */

int gyre_name_lookup(const struct gyre_stack *stack, const char *name,
		     struct gyre_address *ret_address)
{
	int r = look_up(names_of(stack), name, ret_address);

	if (r == 0) {
		*ret_address = gy_address_shown(gy_stack_of_const(stack)->home, *ret_address);
	}
	return r;
}

int gyre_system_name_lookup(struct gyre_system *system, const char *name,
			    struct gyre_address *ret_address)
{
	int r = system == NULL ? -EINVAL : look_up(&system->directory->names, name, ret_address);

	if (r == 0) {
		*ret_address = gy_address_shown(&system->homes.homes[0], *ret_address);
	}
	return r;
}
