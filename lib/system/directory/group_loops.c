/*
 * Members that are made later. A group that was made with one member a loop remembers how its
 * members are made, and gets one on each loop that comes; so does one that grows, see
 * group_keeper.c. A member that has a parent is made where that lives, as all children are: so a
 * parent that stops knows of it.
 */
#include <errno.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/tail.h"
#include "actor/stack/stack.h"
#include "actor/steal_actor.h"
#include "base/memory/memory.h"
#include "system/directory/group_keeper.h"
#include "system/directory/groups.h"
#include "system/system.h"

int gy_group_set_recipe(struct gy_group *group, const struct gy_spawn_order *order)
{
	const struct gyre_mail *argument = order->argument;
	struct gy_group_recipe *recipe = (struct gy_group_recipe *)gy_memory_get(sizeof(*recipe));

	if (recipe == NULL) {
		return -ENOMEM;
	}
	recipe->class = order->class;
	recipe->parent = order->child_of;
	recipe->counted = order->counted;
	if (argument != NULL) {
		recipe->argument = gy_mail_copy(NULL, argument);
		if (recipe->argument == NULL) {
			gy_memory_put(recipe);
			return -ENOMEM;
		}
	}
	group->recipe = recipe;
	return 0;
}

void gy_group_free_recipe(struct gy_group *group)
{
	if (group->recipe != NULL) {
		gyre_mail_destroy(NULL, group->recipe->argument);
		gy_memory_put(group->recipe);
		group->recipe = NULL;
	}
}

static bool has_one_on(const struct gy_group *group, uint32_t loop)
{
	const struct gy_members *table = group->members;

	for (uint32_t i = 0; table != NULL && i < table->count; i++) {
		const struct gy_member *member = &table->member[i];

		if (member->spawned && member->address.loop == loop &&
		    gy_load_relaxed(&member->gone) == 0) {
			return true;
		}
	}
	return false;
}

static int copy_argument(struct gy_home *home, const struct gy_group_recipe *recipe,
			 struct gyre_mail **ret_copy)
{
	const struct gyre_mail *argument = recipe->argument;

	*ret_copy = NULL;
	if (argument == NULL) {
		return 0;
	}
	*ret_copy = gy_mail_copy(home, argument);
	return *ret_copy == NULL ? -ENOMEM : 0;
}

/* @parent is NULL for none. Under the mutex. */
static int add_one(struct gy_groups *groups, struct gy_group *group, struct gy_house *parent,
		   uint32_t loop)
{
	const struct gy_group_recipe *recipe = group->recipe;
	struct gy_home *home = parent == NULL ? NULL : parent->home;
	struct gy_spawn_order order = {
		.class = recipe->class,
		.parent = parent,
		.child_of = recipe->parent,
		.group = group->address,
		.counted = recipe->counted,
	};
	struct gyre_address member;
	int r = copy_argument(home, recipe, &order.argument);

	if (r == 0) {
		r = parent == NULL
			    ? gy_spawn_from_outside(&groups->homes->homes[loop], &order, &member)
			    : gy_spawn(home, &order, (uint16_t)loop, &member);
	}
	if (r < 0) {
		return r;
	}
	r = gy_group_add(groups, group, &member, 1, true);
	if (r < 0) {
		gy_group_stop_made(groups->homes->homes[loop].options.system, home, member);
	}
	return r;
}

/* Logs that a member could not be made or added; the others do its work. */
static void log_lack(const struct gy_groups *groups, const char *name, uint32_t loop, int error)
{
	gy_log(groups->homes->log, GYRE_LOG_WARNING,
	       "loop %u: a group of actors %s has no member there: %s", (unsigned)loop, name,
	       strerrordesc_np(-error));
}

static void add_or_log(struct gy_groups *groups, struct gy_group *group, struct gy_house *parent,
		       uint32_t loop)
{
	const char *name = group->recipe->class->name;
	int r = loop >= gy_loops_count(groups->homes->loops) || has_one_on(group, loop)
			? 0
			: add_one(groups, group, parent, loop);

	if (r < 0 && r != -ESHUTDOWN) {
		log_lack(groups, name, loop, r);
	}
}

/* ---- by the parent ---- */

struct order {
	struct gy_task task;
	struct gyre_system *system;
	struct gyre_address group;
	struct gy_origin parent;
	uint32_t loop;
};

/* One that grows gets a member on whatever loop; 0, or a negative errno. */
static int add_ordered(struct gy_groups *groups, struct gy_group *group, struct gy_house *parent,
		       uint32_t loop)
{
	gy_assert(group->keeper->ordered > 0);
	group->keeper->ordered--;
	if (parent == NULL || group->keeper->poisoned) {
		return -ESHUTDOWN;
	}
	loop %= gy_loops_count(groups->homes->loops);
	return add_one(groups, group, parent, loop);
}

static void spawn_child(struct gy_loop *loop, struct gy_task *task)
{
	struct order *order = gy_container_of(task, struct order, task);
	struct gy_groups *groups = gy_groups_of(order->system);
	struct gy_house *parent =
		gy_house_find_occupied(gy_home_of(loop), order->parent.slot, order->parent.cookie);
	struct gy_group *group;
	int r = 0;

	if (parent != NULL && gy_house_is_away(parent)) {
		gy_house_defer_task(gy_home_of(loop), parent, task);
		return;
	}
	(void)pthread_mutex_lock(&groups->mutex);
	group = gy_group_find(groups, order->group);
	if (group != NULL && group->keeper != NULL) {
		r = add_ordered(groups, group, parent, order->loop);
	} else if (group != NULL && parent != NULL) {
		add_or_log(groups, group, parent, order->loop);
	}
	if (r < 0 && r != -ESHUTDOWN) {
		log_lack(groups, group->recipe->class->name, order->loop, r);
	}
	if (r == -ESHUTDOWN) { /* when its last member went, this one was still expected */
		gy_group_end_if_empty(groups, group);
	}
	(void)pthread_mutex_unlock(&groups->mutex);
	gy_loop_node_put(loop, &task->node);
}

static int order_child(struct gyre_system *system, struct gy_group *group, uint32_t loop)
{
	struct gy_node *node = gy_node_get_from_heap(sizeof(struct order));
	struct order *order;

	if (node == NULL) {
		return -ENOMEM;
	}
	order = gy_container_of(node, struct order, task.node);
	order->task.run = spawn_child;
	order->system = system;
	order->group = group->address;
	order->parent = group->recipe->parent;
	order->loop = loop;
	gy_loop_post_task(&system->homes.homes[order->parent.loop].loop, &order->task);
	return 0;
}

static int add_on(struct gyre_system *system, struct gy_group *group, uint32_t loop)
{
	int r;

	if (group->recipe->parent.cookie == 0) {
		return add_one(gy_groups_of(system), group, NULL, loop);
	}
	r = order_child(system, group, loop);
	group->keeper->ordered += r == 0;
	return r;
}

int gy_group_add_spawned(struct gyre_system *system, struct gy_group *group)
{
	return add_on(system, group,
		      gy_add_relaxed(&system->next_loop[false], 1) %
			      gy_loops_count(system->homes.loops));
}

/* ---- all groups ---- */

typedef void (*group_fn)(struct gyre_system *system, struct gy_group *group, uint32_t from,
			 uint32_t to);

static void for_each(struct gyre_system *system, group_fn call, uint32_t from, uint32_t to)
{
	struct gy_groups *groups = gy_groups_of(system);

	(void)pthread_mutex_lock(&groups->mutex);
	for (uint32_t i = 0; i < GY_GROUP_CHUNKS && groups->chunks[i] != NULL; i++) {
		for (uint32_t j = 0; j < GY_GROUPS_A_CHUNK; j++) {
			if (groups->chunks[i]->groups[j] != NULL) {
				call(system, groups->chunks[i]->groups[j], from, to);
			}
		}
	}
	(void)pthread_mutex_unlock(&groups->mutex);
}

static void grow(struct gyre_system *system, struct gy_group *group, uint32_t from, uint32_t to)
{
	if (group->recipe == NULL || group->keeper != NULL) {
		return;
	}
	for (uint32_t loop = from; loop < to; loop++) {
		if (group->recipe->parent.cookie != 0) {
			int r = order_child(system, group, loop);

			if (r < 0) {
				log_lack(gy_groups_of(system), group->recipe->class->name, loop, r);
			}
		} else {
			add_or_log(gy_groups_of(system), group, NULL, loop);
		}
	}
}

/* A group that grows does not end with its loops: the first one, which stays, gets a member. */
static void shrink(struct gyre_system *system, struct gy_group *group, uint32_t from, uint32_t to)
{
	bool stays = group->keeper == NULL || group->keeper->poisoned;

	for (uint32_t loop = 0; loop < from && !stays; loop++) {
		stays = has_one_on(group, loop);
	}
	if (!stays) {
		int r = add_on(system, group, 0);

		if (r < 0) {
			log_lack(gy_groups_of(system), group->recipe->class->name, 0, r);
		}
	}
	gy_group_remove_from(gy_groups_of(system), group, from, to);
}

void gy_groups_grow(struct gyre_system *system, uint32_t from, uint32_t to)
{
	for_each(system, grow, from, to);
}

void gy_groups_shrink(struct gyre_system *system, uint32_t from)
{
	for_each(system, shrink, from, system->options.loops_max);
}
