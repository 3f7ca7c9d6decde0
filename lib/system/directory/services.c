/*
 * The registry of services: how they come and go, and how actors of this node join and leave.
 */
#include "system/directory/services.h"

#include <errno.h>
#include <string.h>

#include "actor/behaviour.h"
#include "actor/stack/stack.h"
#include "base/atomic.h"
#include "base/happens.h"
#include "base/memory/memory.h"
#include "base/random.h"
#include "remote/node.h"
#include "system/directory/directory.h"
#include "system/system.h"

enum { MEMBER_BUCKETS_FIRST = 64 };

/* ---- services ---- */

int gy_service_key_make(const struct gy_services *services, const struct gyre_service *service,
			struct gy_service_key *ret_key)
{
	size_t bytes = service == NULL || service->name == NULL
			       ? 0
			       : strnlen(service->name, GYRE_SERVICE_NAME_BYTES_MAX + 1);

	if (bytes == 0 || bytes > GYRE_SERVICE_NAME_BYTES_MAX || service->id == 0) {
		return -EINVAL;
	}
	*ret_key = gy_service_key_of(services, service->name, (uint32_t)bytes, service->id);
	return 0;
}

struct gy_service_key gy_service_key_of(const struct gy_services *services, const char *name,
					uint32_t bytes, uint32_t id)
{
	return (struct gy_service_key){ name, id, bytes,
					gy_growing_table_hash(&services->table, name, bytes, id) };
}

static bool equal(const struct gy_service *service, const struct gy_service_key *key)
{
	return service->id == key->id && service->bytes == key->bytes &&
	       memcmp(service->name, key->name, key->bytes) == 0;
}

static int match(struct cds_lfht_node *node, const void *key)
{
	const struct gy_service *service = gy_container_of(node, struct gy_service, node);
	bool is_it;

	gy_happens_after(service);
	is_it = equal(service, (const struct gy_service_key *)key);
	gy_happens_before(service);
	return is_it;
}

struct gy_service *gy_service_find(const struct gy_services *services,
				   const struct gy_service_key *key)
{
	struct cds_lfht_node *node = gy_growing_table_find(&services->table, key->hash, match, key);

	return node == NULL ? NULL : gy_container_of(node, struct gy_service, node);
}

struct gy_service *gy_service_get(struct gy_services *services, const struct gy_service_key *key)
{
	bool entered = gy_rcu_enter();
	struct gy_service *service = gy_service_find(services, key);

	if (service == NULL) {
		service =
			(struct gy_service *)gy_memory_get(sizeof(struct gy_service) + key->bytes);
		if (service != NULL) {
			gy_list_init(&service->watches);
			service->id = key->id;
			service->bytes = key->bytes;
			gy_random_seed(&service->seed, sizeof(service->seed));
			memcpy(service->name, key->name, key->bytes);
			gy_happens_before(service);
			gy_growing_table_add(&services->table, key->hash, &service->node);
		}
	}
	if (service != NULL) {
		service->references++;
		gy_assert(service->bytes > 0 && service->references > 0);
	}
	gy_rcu_leave(entered);
	return service;
}

void gy_service_put(struct gy_services *services, struct gy_service *service)
{
	bool entered;

	gy_assert(service->references > 0);
	if (--service->references > 0) {
		return;
	}
	gy_assert(service->own == NULL && service->foreign == NULL);
	entered = gy_rcu_enter();
	gy_growing_table_remove(&services->table, &service->node);
	gy_happens_before(service);
	gy_rcu_retire(services->rcu, &service->item);
	gy_rcu_leave(entered);
}

void gy_service_changed(struct gy_service *service)
{
	gy_store_release(&service->version, service->version + 1);
	for (struct gy_list *at = service->watches.next; at != &service->watches; at = at->next) {
		gy_service_watch_post(gy_container_of(at, struct gy_service_watch, watcher));
	}
}

/* ---- members ---- */

static unsigned long member_hash(const struct gy_services *services, unsigned long service_hash,
				 struct gyre_address address)
{
	const uint64_t words[] = { gy_origin_key(gy_origin_of(address)), address.node };

	return gy_growing_table_hash(&services->table, words, sizeof(words), service_hash);
}

static struct gy_service_member **bucket_of(const struct gy_services *services, unsigned long hash)
{
	return &services->buckets[hash & (services->size - 1)];
}

struct gy_service_member *gy_service_member_find(const struct gy_services *services,
						 const struct gy_service_key *key,
						 struct gyre_address address)
{
	unsigned long hash = member_hash(services, key->hash, address);
	struct gy_service_member *member = services->size == 0 ? NULL : *bucket_of(services, hash);

	while (member != NULL &&
	       (member->hash != hash || !gy_address_same(member->address, address) ||
		!equal(member->service, key))) {
		member = member->next;
	}
	return member;
}

/* One that cannot grow gets slower. -ENOMEM only where there are no buckets at all. */
static int grow(struct gy_services *services)
{
	uint32_t size = services->size == 0 ? MEMBER_BUCKETS_FIRST : 2 * services->size;
	struct gy_service_member **before = services->buckets;
	uint32_t before_size = services->size;
	struct gy_service_member **grown;

	if (services->count < services->size) {
		return 0;
	}
	grown = (struct gy_service_member **)gy_memory_get(size * sizeof(*grown));
	if (grown == NULL) {
		return services->size == 0 ? -ENOMEM : 0;
	}
	services->buckets = grown;
	services->size = size;
	for (uint32_t i = 0; i < before_size; i++) {
		while (before[i] != NULL) {
			struct gy_service_member *member = before[i];
			struct gy_service_member **to = bucket_of(services, member->hash);

			before[i] = member->next;
			member->next = *to;
			*to = member;
		}
	}
	gy_memory_put(before);
	return 0;
}

static void show(struct gy_services *services, struct gy_service_member *member)
{
	struct gy_service_member **bucket = bucket_of(services, member->hash);

	member->next = *bucket;
	*bucket = member;
	services->count++;
}

void gy_service_member_hide(struct gy_services *services, struct gy_service_member *member)
{
	struct gy_service_member **link = bucket_of(services, member->hash);

	gy_assert(services->count > 0);
	while (*link != member) {
		link = &(*link)->next;
	}
	*link = member->next;
	services->count--;
	gy_service_list_remove(services->rcu, member);
}

int gy_service_member_add(struct gy_services *services, const struct gy_service_key *key,
			  struct gyre_address address, bool own,
			  struct gy_service_member **ret_member)
{
	struct gy_service_member *member =
		(struct gy_service_member *)gy_memory_get(sizeof(*member));
	struct gy_service *service =
		member == NULL || grow(services) < 0 ? NULL : gy_service_get(services, key);

	if (service == NULL) {
		gy_memory_put(member);
		return -ENOMEM;
	}
	member->service = service;
	member->address = address;
	member->list = own ? &service->own : &service->foreign;
	if (gy_service_list_add(services->rcu, member) < 0) {
		gy_service_put(services, service);
		gy_memory_put(member);
		return -ENOMEM;
	}
	member->hash = member_hash(services, key->hash, address);
	gy_list_init(&member->mine);
	gy_list_init(&member->change);
	show(services, member);
	gy_service_changed(service);
	*ret_member = member;
	return 0;
}

void gy_service_member_free(struct gy_services *services, struct gy_service_member *member)
{
	gy_list_remove(&member->mine);
	gy_list_remove(&member->change);
	gy_service_put(services, member->service);
	gy_memory_put(member);
}

/* ---- life ---- */

int gy_services_init(struct gy_services *services, struct gy_rcu *rcu)
{
	services->rcu = rcu;
	gy_list_init(&services->changes);
	gy_list_init(&services->gone);
	gy_list_init(&services->nodes);
	gy_list_init(&services->watches);
	(void)pthread_mutex_init(&services->mutex, NULL);
	return gy_growing_table_init(&services->table, rcu);
}

/* ---- of an actor ---- */

/* The last version: other nodes are to be told of the member. */
static void note_change(struct gy_services *services, struct gy_service_member *member)
{
	member->version = services->changed + 1;
	gy_store_release(&services->changed, member->version);
	gy_list_remove(&member->change);
	gy_list_append(&services->changes, &member->change);
}

static void leave(struct gy_services *services, struct gy_service_member *member)
{
	gy_assert(!member->has_left);
	gy_service_member_hide(services, member);
	gy_service_changed(member->service);
	gy_assert(services->own_count > 0);
	services->own_count--;
	note_change(services, member);
	if (!services->is_told) {
		services->forgotten = member->version;
		gy_service_member_free(services, member);
		return;
	}
	member->has_left = true;
	gy_list_remove(&member->mine);
	gy_list_append(&services->gone, &member->mine);
	if (++services->gone_count > GYRE_SERVICE_MEMBERSHIPS_MAX) {
		/* Who does not know of all of them is told everything anew. */
		gy_services_forget(services, services->changed);
	}
}

static bool takes(const struct gyre_behaviour *behaviour, uint32_t id)
{
	return behaviour->notice != NULL || behaviour->ask != NULL ||
	       gy_route_find(behaviour->notice_routes, id) != NULL ||
	       gy_route_find(behaviour->ask_routes, id) != NULL;
}

static int check_messages(const struct gy_house *house, const struct gyre_service *service)
{
	if (service->messages_count > 0 && service->messages == NULL) {
		return -EINVAL;
	}
	for (uint32_t i = 0; i < service->messages_count; i++) {
		if (service->messages[i] == NULL) {
			return -EINVAL;
		}
		if (!takes(house->behaviour, service->messages[i]->id)) {
			return -EPROTO;
		}
	}
	return 0;
}

/* Other nodes must be able to hear of it. */
static int check_bytes(const struct gyre_system *system, const struct gy_service_key *key)
{
	const struct gy_nodes *nodes = system->homes.nodes;

	return nodes != NULL && gy_service_report_bytes(key->bytes) >
					nodes->options.message_bytes_max
		       ? -EMSGSIZE
		       : 0;
}

/* Under the mutex. */
static int join(struct gy_services *services, const struct gy_service_key *key,
		struct gyre_address self, struct gy_directory_entry *entry)
{
	struct gy_service_member *member = gy_service_member_find(services, key, self);
	int r;

	gy_assert(entry != NULL);
	if (member != NULL) {
		return 0;
	}
	if (services->own_count >= GYRE_SERVICE_MEMBERSHIPS_MAX) {
		return -ENOBUFS;
	}
	r = gy_service_member_add(services, key, self, true, &member);
	if (r == 0) {
		services->own_count++;
		note_change(services, member);
		if (entry->services.next == NULL) {
			gy_list_init(&entry->services);
		}
		gy_list_append(&entry->services, &member->mine);
	}
	return r;
}

int gyre_service_join(struct gyre_stack *stack, const struct gyre_service *service)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gyre_system *system = house->home->options.system;
	struct gy_services *services = &system->directory->services;
	struct gy_directory_entry *entry = NULL;
	struct gy_service_key key;
	int r = gy_service_key_make(services, service, &key);

	if (r == 0) {
		r = check_messages(house, service);
	}
	if (r == 0) {
		r = check_bytes(system, &key);
	}
	if (r == 0) {
		r = gy_directory_entry_get(house, &entry);
	}
	if (r == 0) {
		r = gy_services_take_part(system);
	}
	if (r < 0) {
		return r;
	}
	(void)pthread_mutex_lock(&services->mutex);
	r = join(services, &key, gy_house_address(house), entry);
	(void)pthread_mutex_unlock(&services->mutex);
	if (r == 0) {
		gy_services_tell(system, gy_stack_of(stack)->home);
	}
	return r;
}

int gyre_service_leave(struct gyre_stack *stack, const struct gyre_service *service)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gyre_system *system = house->home->options.system;
	struct gy_services *services = &system->directory->services;
	struct gy_service_member *member;
	struct gy_service_key key;

	if (gy_service_key_make(services, service, &key) < 0) {
		return -EINVAL;
	}
	(void)pthread_mutex_lock(&services->mutex);
	member = gy_service_member_find(services, &key, gy_house_address(house));
	if (member != NULL) {
		leave(services, member);
	}
	(void)pthread_mutex_unlock(&services->mutex);
	if (member == NULL) {
		return -ENOENT;
	}
	gy_services_tell(system, gy_stack_of(stack)->home);
	return 0;
}

static void leave_all(struct gy_services *services, struct gy_list *mine)
{
	(void)pthread_mutex_lock(&services->mutex);
	while (!gy_list_empty(mine)) {
		leave(services, gy_container_of(mine->next, struct gy_service_member, mine));
	}
	(void)pthread_mutex_unlock(&services->mutex);
}

void gy_services_withdraw(struct gy_services *services, struct gy_directory_entry *entry)
{
	if (entry->services.next != NULL) {
		leave_all(services, &entry->services);
	}
	gy_service_watches_withdraw(services, entry->listings);
}

/* ---- the end ---- */

void gy_services_empty(struct gy_services *services)
{
	if (services->table.table == NULL) {
		return;
	}
	gy_services_forget(services, services->changed);
	while (!gy_list_empty(&services->nodes)) {
		struct gy_service_node *node =
			gy_container_of(services->nodes.next, struct gy_service_node, item);

		gy_service_node_empty(services, node);
		gy_list_remove(&node->item);
		gy_memory_put(node);
	}
	gy_service_watches_free(services);
}

void gy_services_fini(struct gy_services *services)
{
	if (services->table.table != NULL) {
		gy_assert(services->count == 0);
	}
	gy_memory_put(services->buckets);
	services->buckets = NULL;
	gy_growing_table_fini(&services->table);
	(void)pthread_mutex_destroy(&services->mutex);
}
