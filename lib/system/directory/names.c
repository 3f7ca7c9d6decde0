/*
 * Names in a lock-free hash table: of several that register one name at once it lets exactly one
 * in.
 */
#include "system/directory/names.h"

#include <errno.h>
#include <string.h>

#include <gyre/name.h>

#include "actor/stack/stack.h"
#include "base/atomic.h"
#include "base/happens.h"
#include "base/memory/memory.h"
#include "system/directory/directory.h"
#include "system/system.h"

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

static int make_key(const struct gy_names *names, const char *text, struct key *ret_key)
{
	size_t bytes = text == NULL ? 0 : strnlen(text, GYRE_NAME_BYTES_MAX + 1);

	if (bytes == 0 || bytes > GYRE_NAME_BYTES_MAX) {
		return -EINVAL;
	}
	*ret_key =
		(struct key){ text, bytes, gy_growing_table_hash(&names->table, text, bytes, 0) };
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

int gy_names_init(struct gy_names *names, struct gy_rcu *rcu)
{
	int r = gy_growing_table_init(&names->table, rcu);

	return r < 0 ? r : gy_growing_table_init(&names->by_address, rcu);
}

void gy_names_fini(struct gy_names *names)
{
	gy_growing_table_fini(&names->table);
	gy_growing_table_fini(&names->by_address);
}

static void take_back(struct gy_names *names, struct gy_name *name)
{
	gy_growing_table_remove(&names->table, &name->node);
	if (name->is_first) {
		gy_growing_table_remove(&names->by_address, &name->first);
	}
	gy_rcu_retire(names->table.rcu, &name->item);
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
	struct cds_lfht_node *node;
	struct key key;
	bool entered;

	if (ret_address == NULL || make_key(names, text, &key) < 0) {
		return -EINVAL;
	}
	entered = gy_rcu_enter();
	node = gy_growing_table_find(&names->table, key.hash, match, &key);
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
	found = gy_growing_table_add_unique(&names->table, key->hash, match, key, &name->node);
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
	return 0;
}

static unsigned long address_hash(struct gyre_address address)
{
	return (unsigned long)gy_origin_key(gy_origin_of(address));
}

/* The name by which the actor is shown. */
static void show(struct gy_names *names, struct gy_name *name)
{
	bool entered = gy_rcu_enter();

	name->is_first = true;
	gy_happens_before(name);
	gy_growing_table_add(&names->by_address, address_hash(name->address), &name->first);
	gy_rcu_leave(entered);
}

/* The actor has the name, which is in the table by now. */
static void keep(struct gy_names *names, struct gy_directory_entry *directory_entry,
		 struct gy_name *name)
{
	name->next = directory_entry->names;
	directory_entry->names = name;
	if (name->next == NULL) {
		show(names, name);
	}
}

/* The oldest of those that an actor still has; NULL if there is none. */
static struct gy_name *oldest(struct gy_name *newest)
{
	while (newest != NULL && newest->next != NULL) {
		newest = newest->next;
	}
	return newest;
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
	struct cds_lfht_node *node = gy_growing_table_find(
		&names->by_address, address_hash(address), match_address, &address);
	size_t count = 0;

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
	struct gy_directory_entry *directory_entry;
	struct gy_name *mine;
	struct key key;
	int r = make_key(names_of(stack), name, &key);

	if (r == 0) {
		r = gy_directory_entry_get(house, &directory_entry);
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
		keep(names_of(stack), directory_entry, mine);
	}
	return r;
}

int gyre_name_unregister(struct gyre_stack *stack, const char *name)
{
	struct gy_directory_entry *directory_entry =
		gy_directory_entry_of(gy_stack_of(stack)->house);
	struct gy_name **link = directory_entry == NULL ? NULL : &directory_entry->names;
	struct key key;
	struct gy_name *mine;
	struct gy_name *next;

	if (make_key(names_of(stack), name, &key) < 0) {
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
	next = mine->is_first ? oldest(directory_entry->names) : NULL;
	if (next != NULL) {
		show(names_of(stack), next);
	}
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
	int r = make_key(names, text, &key);

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
	struct gy_directory_entry *directory_entry;
	int r = gy_directory_entry_get(house, &directory_entry);

	if (r == 0) {
		keep(&house->home->options.system->directory->names, directory_entry, name);
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
