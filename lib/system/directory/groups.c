/*
 * The groups of a system, by number, and the life of one.
 */
#include "system/directory/groups.h"

#include <errno.h>

#include "actor/log_of.h"
#include "base/atomic.h"
#include "base/memory/memory.h"
#include "base/sized.h"
#include "system/directory/directory.h"
#include "system/directory/group_keeper.h"
#include "system/system.h"

struct gy_groups *gy_groups_of(struct gyre_system *system)
{
	return &system->directory->groups;
}

static struct gy_group **place_of(const struct gy_groups *groups, uint32_t number)
{
	struct gy_group_chunk *chunk =
		number / GY_GROUPS_A_CHUNK >= GY_GROUP_CHUNKS
			? NULL
			: gy_load_acquire(&groups->chunks[number / GY_GROUPS_A_CHUNK]);

	return chunk == NULL ? NULL : &chunk->groups[number % GY_GROUPS_A_CHUNK];
}

void gy_groups_init(struct gy_groups *groups, const struct gy_homes *homes, struct gy_rcu *rcu)
{
	*groups = (struct gy_groups){ .homes = homes, .rcu = rcu };
	/* A cookie that differs from run to run makes addresses of an earlier run stale. */
	groups->cookie = (uint32_t)(gy_clock_machine_ns() >> 10);
	(void)pthread_mutex_init(&groups->mutex, NULL);
}

void gy_groups_fini(struct gy_groups *groups)
{
	gy_group_keepers_fini(groups);
	for (uint32_t i = 0; i < GY_GROUP_CHUNKS && groups->chunks[i] != NULL; i++) {
		for (uint32_t j = 0; j < GY_GROUPS_A_CHUNK; j++) {
			struct gy_group *group = groups->chunks[i]->groups[j];

			if (group != NULL) {
				gy_group_free_recipe(group);
				gy_memory_put(group->members);
				gy_memory_put(group);
			}
		}
		gy_memory_put(groups->chunks[i]);
	}
	(void)pthread_mutex_destroy(&groups->mutex);
}

bool gy_group_options_are_valid(const struct gyre_group_options *options)
{
	return options->count <= GYRE_GROUP_MEMBERS_MAX &&
	       (unsigned)options->routing <= GYRE_ROUTING_LESS_LOADED &&
	       (options->routing != GYRE_ROUTING_BY_KEY || options->key != NULL) &&
	       gy_group_bounds_are_valid(options);
}

static int find_number(struct gy_groups *groups, uint32_t *ret_number)
{
	uint32_t number = groups->hint;

	for (; number < GY_GROUP_CHUNKS * GY_GROUPS_A_CHUNK; number++) {
		uint32_t chunk = number / GY_GROUPS_A_CHUNK;

		if (groups->chunks[chunk] == NULL) {
			struct gy_group_chunk *made =
				(struct gy_group_chunk *)gy_memory_get(sizeof(*made));

			if (made == NULL) {
				return -ENOMEM;
			}
			gy_store_release(&groups->chunks[chunk], made);
		}
		if (*place_of(groups, number) == NULL) {
			*ret_number = number;
			return 0;
		}
	}
	return -ENOBUFS;
}

int gy_group_make(struct gy_groups *groups, const struct gyre_group_options *options, bool spawned,
		  struct gy_group **ret_group)
{
	size_t cursors = groups->homes->loops->max + 1;
	struct gy_group *group;
	uint32_t number;
	int r = find_number(groups, &number);

	if (r < 0) {
		return r;
	}
	group = (struct gy_group *)gy_memory_get(sizeof(*group) +
						 cursors * sizeof(struct gy_cursor));
	if (group == NULL) {
		return -ENOMEM;
	}
	gy_assert(number < GY_GROUP_CHUNKS * GY_GROUPS_A_CHUNK);
	groups->hint = number;
	groups->cookie += groups->cookie == UINT32_MAX ? 2 : 1;
	group->address = (struct gyre_address){ .slot = number,
						.cookie = groups->cookie,
						.loop = GY_GROUP_LOOP,
						.node = groups->homes->node };
	group->routing = options->routing;
	group->key = options->key;
	group->spawned = spawned;
	for (uint32_t i = 0; i < cursors; i++) {
		group->cursors[i].count = i; /* not all loops begin with the first member */
	}
	*ret_group = group;
	return 0;
}

void gy_group_publish(struct gy_groups *groups, struct gy_group *group)
{
	gy_assert(group->address.loop == GY_GROUP_LOOP && group->address.cookie != 0);
	gy_store_release(place_of(groups, group->address.slot), group);
}

struct gy_group *gy_group_find(const struct gy_groups *groups, struct gyre_address address)
{
	struct gy_group **place =
		address.loop == GY_GROUP_LOOP && gy_is_of_node(groups->homes->node, address)
			? place_of(groups, address.slot)
			: NULL;
	struct gy_group *group = place == NULL ? NULL : gy_load_acquire(place);

	return group != NULL && group->address.cookie == address.cookie ? group : NULL;
}

void gy_group_end(struct gy_groups *groups, struct gy_group *group)
{
	uint32_t number = group->address.slot;

	gy_assert(number < GY_GROUP_CHUNKS * GY_GROUPS_A_CHUNK);
	gy_group_keeper_wake(group);
	if (*place_of(groups, number) == group) {
		gy_store_release(place_of(groups, number), NULL);
	}
	groups->hint = number < groups->hint ? number : groups->hint;
	gy_group_free_recipe(group);
	if (group->members != NULL) {
		gy_rcu_retire(groups->rcu, &group->members->item);
	}
	gy_rcu_retire(groups->rcu, &group->item);
}

static int create_group(struct gyre_system *system, const struct gyre_group_options *options,
			struct gyre_address *ret_address)
{
	const struct gyre_group_options defaults = { 0 };
	struct gy_groups *groups;
	struct gy_group *group;
	int r;

	options = options == NULL ? &defaults : options;
	if (system == NULL || ret_address == NULL || !gy_group_options_are_valid(options)) {
		return -EINVAL;
	}
	groups = gy_groups_of(system);
	(void)pthread_mutex_lock(&groups->mutex);
	r = gy_group_make(groups, options, false, &group);
	if (r == 0) {
		*ret_address = gy_address_shown(&groups->homes->homes[0], group->address);
		gy_group_publish(groups, group);
	}
	(void)pthread_mutex_unlock(&groups->mutex);
	return r;
}

int gyre_system_group_create_sized(struct gyre_system *system,
				   const struct gyre_group_options *options, size_t options_bytes,
				   struct gyre_address *ret_address)
{
	struct gyre_group_options whole;
	int r = GY_SIZED_READ(gyre_group_options, &whole, options, options_bytes,
			      gy_log_of_system(system));

	return r < 0 ? r : create_group(system, options == NULL ? NULL : &whole, ret_address);
}

/* Copies the first @max addresses of those that have not gone; returns how many those are. */
static uint32_t copy_members(const struct gy_home *home, const struct gy_members *members,
			     uint32_t max, struct gyre_address *ret_addresses)
{
	uint32_t count = 0;

	gy_assert(members == NULL || members->count <= GYRE_GROUP_MEMBERS_MAX);
	for (uint32_t i = 0; members != NULL && i < members->count; i++) {
		if (gy_load_relaxed(&members->member[i].gone) != 0) {
			continue;
		}
		if (count < max) {
			ret_addresses[count] = gy_address_shown(home, members->member[i].address);
		}
		count++;
	}
	return count;
}

/* With the mutex held, if it succeeds: the group, which may be gone. */
static int find_locked(struct gyre_system *system, struct gyre_address address,
		       const struct gy_group **ret_group)
{
	struct gy_groups *groups;

	if (system == NULL || address.loop != GY_GROUP_LOOP) {
		return -EINVAL;
	}
	groups = gy_groups_of(system);
	if (!gy_is_of_node(groups->homes->node, address)) {
		return -EINVAL;
	}
	(void)pthread_mutex_lock(&groups->mutex);
	*ret_group = gy_group_find(groups, address);
	if (*ret_group == NULL) {
		(void)pthread_mutex_unlock(&groups->mutex);
		return -ESRCH;
	}
	return 0;
}

int gyre_system_group_members(struct gyre_system *system, struct gyre_address address,
			      uint32_t members_max, struct gyre_address *members,
			      uint32_t *ret_count)
{
	const struct gy_group *group;
	int r;

	if (ret_count == NULL || (members == NULL && members_max > 0)) {
		return -EINVAL;
	}
	r = find_locked(system, address, &group);
	if (r < 0) {
		return r;
	}
	*ret_count = copy_members(&system->homes.homes[0], group->members, members_max, members);
	(void)pthread_mutex_unlock(&gy_groups_of(system)->mutex);
	return 0;
}

int gyre_system_group_size(struct gyre_system *system, struct gyre_address address,
			   uint32_t *ret_count)
{
	return gyre_system_group_members(system, address, 0, NULL, ret_count);
}
