/*
 * How members come and go. The one place where a group's table is made anew.
 */
#include <errno.h>
#include <string.h>

#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"
#include "base/atomic.h"
#include "base/memory/memory.h"
#include "system/directory/directory.h"
#include "system/directory/group_keeper.h"
#include "system/directory/groups.h"

/* ---- tables ---- */

static struct gy_members *make_table(const struct gy_groups *groups, uint32_t count)
{
	size_t members_bytes = count * sizeof(struct gy_member);
	struct gy_members *table = (struct gy_members *)gy_memory_get(
		sizeof(*table) + members_bytes +
		(groups->homes->loops->max + 1) * sizeof(uint16_t));

	if (table != NULL) {
		table->first = (uint16_t *)(void *)&table->member[count];
	}
	return table;
}

static bool is_member(const struct gy_members *table, uint32_t i, struct gyre_address address)
{
	return gy_load_relaxed(&table->member[i].gone) == 0 &&
	       gy_address_same(table->member[i].address, address);
}

/* Counts the members that have not gone. */
static uint32_t count_of(const struct gy_members *table)
{
	uint32_t count = 0;

	for (uint32_t i = 0; table != NULL && i < table->count; i++) {
		count += gy_load_relaxed(&table->member[i].gone) == 0;
	}
	return count;
}

static void fill(struct gy_member *member, const struct gy_groups *groups,
		 struct gyre_address address, bool spawned)
{
	const struct gy_house *house =
		gy_house_at(&groups->homes->homes[address.loop], address.slot);
	uint64_t id = ((uint64_t)address.cookie << 32 | address.slot) ^ (uint64_t)address.loop
										<< 48;

	*member = (struct gy_member){
		.address = address,
		.hash = gy_table_mix(id),
		.load = &house->waiting,
		.spawned = spawned,
	};
}

/* Puts members into the order of their loops: inserted, since most stand so already. */
static void sort(struct gy_members *table)
{
	for (uint32_t i = 1; i < table->count; i++) {
		struct gy_member member = table->member[i];
		uint32_t j = i;

		for (; j > 0 && table->member[j - 1].address.loop > member.address.loop; j--) {
			table->member[j] = table->member[j - 1];
		}
		table->member[j] = member;
	}
}

static void finish(struct gy_members *table, uint32_t loops)
{
	uint32_t i = 0;

	for (uint32_t loop = 0; loop <= loops; loop++) {
		while (i < table->count && table->member[i].address.loop < loop) {
			i++;
		}
		table->first[loop] = (uint16_t)i;
	}
	gy_assert(i == table->count);
}

/* Copies those that stay. */
static void copy(struct gy_members *table, const struct gy_members *old)
{
	for (uint32_t i = 0; old != NULL && i < old->count; i++) {
		if (gy_load_relaxed(&old->member[i].gone) == 0) {
			table->member[table->count++] = old->member[i];
		}
	}
}

static void replace(struct gy_groups *groups, struct gy_group *group, struct gy_members *table)
{
	struct gy_members *old = group->members;

	if (table != NULL) {
		finish(table, groups->homes->loops->max);
	}
	gy_assert(table == NULL || table != old);
	gy_store_release(&group->members, table);
	if (old != NULL) {
		gy_rcu_retire(groups->rcu, &old->item);
	}
}

int gy_group_add(struct gy_groups *groups, struct gy_group *group,
		 const struct gyre_address *addresses, uint32_t count, bool spawned)
{
	uint32_t before = count_of(group->members);
	struct gy_members *table;

	if (before + count > GYRE_GROUP_MEMBERS_MAX) {
		return -ENOBUFS;
	}
	table = make_table(groups, before + count);
	if (table == NULL) {
		return -ENOMEM;
	}
	copy(table, group->members);
	for (uint32_t i = 0; i < count; i++) {
		fill(&table->member[table->count++], groups, addresses[i], spawned);
	}
	gy_assert(table->count <= before + count);
	sort(table);
	replace(groups, group, table);
	gy_group_keeper_wake(group);
	return 0;
}

/* Whether it was a member; then it is marked as gone. */
static bool mark(struct gy_members *table, struct gyre_address member)
{
	for (uint32_t i = 0; table != NULL && i < table->count; i++) {
		if (is_member(table, i, member)) {
			gy_store_relaxed(&table->member[i].gone, 1);
			return true;
		}
	}
	return false;
}

bool gy_group_end_if_empty(struct gy_groups *groups, struct gy_group *group)
{
	bool is_empty = count_of(group->members) == 0 && group->spawned &&
			(group->keeper == NULL || group->keeper->ordered == 0);

	if (is_empty) {
		gy_group_end(groups, group);
	}
	return is_empty;
}

/* Without those that are marked. */
static void make_anew(struct gy_groups *groups, struct gy_group *group)
{
	uint32_t left = count_of(group->members);
	struct gy_members *table;

	gy_group_keeper_wake(group);
	if (gy_group_end_if_empty(groups, group)) {
		return;
	}
	table = left == 0 ? NULL : make_table(groups, left);
	if (table != NULL) {
		copy(table, group->members);
	}
	if (table != NULL || left == 0) {
		replace(groups, group, table);
	}
	/* Else the mark must do until the next change. */
}

void gy_group_drop(struct gy_groups *groups, struct gy_group *group, struct gyre_address member)
{
	if (mark(group->members, member)) {
		make_anew(groups, group);
	}
}

void gy_group_remove_from(struct gy_groups *groups, struct gy_group *group, uint32_t from,
			  uint32_t to)
{
	struct gy_members *table = group->members;
	bool any = false;

	for (uint32_t i = 0; table != NULL && i < table->count; i++) {
		uint32_t loop = table->member[i].address.loop;

		if (loop >= from && loop < to) {
			gy_store_relaxed(&table->member[i].gone, 1);
			any = true;
		}
	}
	if (any) {
		make_anew(groups, group);
	}
}

void gy_group_remove(struct gy_groups *groups, struct gyre_address group,
		     struct gyre_address member)
{
	struct gy_group *found;

	(void)pthread_mutex_lock(&groups->mutex);
	found = gy_group_find(groups, group);
	if (found != NULL) {
		gy_group_drop(groups, found, member);
	}
	(void)pthread_mutex_unlock(&groups->mutex);
}

/* ---- what a house knows of it ---- */

static struct gy_membership **find_membership(struct gy_directory_entry *directory_entry,
					      struct gyre_address group)
{
	struct gy_membership **link = &directory_entry->memberships;

	while (*link != NULL && !gy_address_same((*link)->group, group)) {
		link = &(*link)->next;
	}
	return link;
}

static int note(struct gy_house *house, struct gyre_address group)
{
	struct gy_membership *membership;
	struct gy_directory_entry *directory_entry;
	int r = gy_directory_entry_get(house, &directory_entry);

	if (r < 0) {
		return r;
	}
	membership = (struct gy_membership *)gy_memory_get(sizeof(*membership));
	if (membership == NULL) {
		return -ENOMEM;
	}
	*membership = (struct gy_membership){ directory_entry->memberships, group };
	directory_entry->memberships = membership;
	return 0;
}

static bool forget(struct gy_directory_entry *directory_entry, struct gyre_address group)
{
	struct gy_membership **link =
		directory_entry == NULL ? NULL : find_membership(directory_entry, group);
	struct gy_membership *membership = link == NULL ? NULL : *link;

	if (membership != NULL) {
		*link = membership->next;
		gy_memory_put(membership);
	}
	return membership != NULL;
}

int gy_group_enlist(struct gy_house *house, struct gyre_address group)
{
	return note(house, group);
}

void gy_group_refuse(struct gy_home *home, struct gyre_address member, struct gyre_address group)
{
	gy_group_remove(gy_groups_of(home->options.system), group, member);
}

void gy_groups_withdraw(struct gy_groups *groups, struct gy_house *house,
			struct gy_membership *first)
{
	while (first != NULL) {
		struct gy_membership *next = first->next;

		gy_group_remove(groups, first->group, gy_house_address(house));
		gy_memory_put(first);
		first = next;
	}
}

/* ---- joining and leaving ---- */

/*
 * An actor that joins in the middle of a run has mail in the hands of the run, so its waiting mail
 * is counted from the end of the run on, as that of one with a limit.
 */
struct order {
	struct gy_later later;
	struct gyre_address actor;
};

static void count_later(struct gy_loop *loop, struct gy_later *later)
{
	struct order *order = gy_container_of(later, struct order, later);
	struct gy_house *house =
		gy_house_find_occupied(gy_home_of(loop), order->actor.slot, order->actor.cookie);

	if (house != NULL) {
		gy_house_start_counting(house);
	}
	gy_memory_put(order);
}

/* 1 when the waiting mail of members is to be counted, 0, or a negative errno. */
static int add_one(struct gy_groups *groups, struct gyre_address address, struct gyre_address me)
{
	struct gy_group *group;
	int r;

	(void)pthread_mutex_lock(&groups->mutex);
	group = gy_group_find(groups, address);
	r = group == NULL ? -ESRCH : gy_group_add(groups, group, &me, 1, false);
	if (r == 0) {
		r = group->routing == GYRE_ROUTING_LESS_LOADED || group->keeper != NULL;
	}
	(void)pthread_mutex_unlock(&groups->mutex);
	return r;
}

/*
 * Groups that have ended are forgotten, else those who join many would remember them all. Under the
 * mutex, for a group that is still being made is not found either, and the mutex is held until it
 * can be.
 */
static void forget_ended(struct gy_groups *groups, struct gy_directory_entry *directory_entry)
{
	struct gy_membership **link = &directory_entry->memberships;

	(void)pthread_mutex_lock(&groups->mutex);
	while (*link != NULL) {
		struct gy_membership *membership = *link;

		if (gy_group_find(groups, membership->group) != NULL) {
			link = &membership->next;
			continue;
		}
		*link = membership->next;
		gy_memory_put(membership);
	}
	(void)pthread_mutex_unlock(&groups->mutex);
}

int gyre_group_join(struct gyre_stack *stack, struct gyre_address group)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_groups *groups = gy_groups_of(house->home->options.system);
	struct gy_directory_entry *directory_entry;
	struct order *order;
	int r = group.loop != GY_GROUP_LOOP ? -EINVAL
					    : gy_directory_entry_get(house, &directory_entry);

	if (r < 0) {
		return r;
	}
	forget_ended(groups, directory_entry);
	if (*find_membership(directory_entry, group) != NULL) {
		return 0;
	}
	order = (struct order *)gy_memory_get(sizeof(*order));
	r = order == NULL ? -ENOMEM : note(house, group);
	if (r == 0) {
		r = add_one(groups, group, gy_house_address(house));
	}
	if (r < 0) {
		(void)forget(directory_entry, group);
	}
	if (r <= 0) {
		gy_memory_put(order);
		return r;
	}
	if (house->home->loop.index != house->self.loop) {
		/* Another loop runs it: its mailbox is not to be touched before it is home. */
		house->extra->count_at_home = true;
		gy_memory_put(order);
		return 0;
	}
	order->actor = gy_house_address(house);
	order->later.run = count_later;
	gy_loop_later(&house->home->loop, &order->later);
	return 0;
}

int gyre_group_leave(struct gyre_stack *stack, struct gyre_address group)
{
	struct gy_house *house = gy_stack_of(stack)->house;

	if (!forget(gy_directory_entry_of(house), group)) {
		return -ENOENT;
	}
	gy_group_remove(gy_groups_of(house->home->options.system), group, gy_house_address(house));
	return 0;
}
