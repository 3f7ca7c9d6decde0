/*
 * Lists of the addresses of members, for readers without a lock. A join appends where there is
 * room, behind what readers may read. What leaves is left out of a copy; where there is no memory
 * for one its cookie becomes 0 in place, and the next copy leaves it out.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/happens.h"
#include "base/memory.h"
#include "system/directory/services.h"

enum { CAPACITY_FIRST = 4 };

static struct gy_service_list *make(uint32_t capacity)
{
	struct gy_service_list *list = (struct gy_service_list *)gy_memory_get(
		sizeof(struct gy_service_list) + capacity * sizeof(struct gyre_address));

	if (list != NULL) {
		list->capacity = capacity;
	}
	return list;
}

static void replace(struct gy_rcu *rcu, struct gy_service_list **list, struct gy_service_list *by)
{
	struct gy_service_list *before = *list;

	gy_assert(by == NULL || (by != before && by->count <= by->capacity));
	gy_store_release(list, by);
	if (before != NULL) {
		gy_rcu_retire(rcu, &before->item);
	}
}

/* Copies what stays; readers do not see @to yet. */
static void copy(const struct gy_service_list *from, struct gy_service_list *to,
		 gy_service_leaves_fn leaves, const void *arg)
{
	for (uint32_t i = 0; i < from->count; i++) {
		struct gyre_address address = from->addresses[i];

		if (address.cookie != 0 && (leaves == NULL || !leaves(address, arg))) {
			gy_assert(to->count < to->capacity);
			to->addresses[to->count++] = address;
		}
	}
}

int gy_service_list_add(struct gy_rcu *rcu, struct gy_service_list **list,
			struct gyre_address address)
{
	struct gy_service_list *before = *list;
	struct gy_service_list *grown;

	if (before != NULL && before->count < before->capacity) {
		before->addresses[before->count] = address;
		gy_store_release(&before->count, before->count + 1);
		return 0;
	}
	grown = make(before == NULL ? CAPACITY_FIRST : 2 * before->capacity);
	if (grown == NULL) {
		return -ENOMEM;
	}
	if (before != NULL) {
		copy(before, grown, NULL, NULL);
	}
	grown->addresses[grown->count++] = address;
	replace(rcu, list, grown);
	return 0;
}

static uint32_t count_staying(const struct gy_service_list *list, gy_service_leaves_fn leaves,
			      const void *arg)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		count += list->addresses[i].cookie != 0 && !leaves(list->addresses[i], arg);
	}
	return count;
}

static void leave_in_place(struct gy_service_list *list, gy_service_leaves_fn leaves,
			   const void *arg)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->addresses[i].cookie != 0 && leaves(list->addresses[i], arg)) {
			gy_store_relaxed(&list->addresses[i].cookie, 0);
		}
	}
}

void gy_service_list_filter(struct gy_rcu *rcu, struct gy_service_list **list,
			    gy_service_leaves_fn leaves, const void *arg)
{
	struct gy_service_list *before = *list;
	struct gy_service_list *after;
	uint32_t count;

	if (before == NULL) {
		return;
	}
	count = count_staying(before, leaves, arg);
	if (count == 0) {
		replace(rcu, list, NULL);
		return;
	}
	after = make(count < CAPACITY_FIRST ? CAPACITY_FIRST : count);
	if (after == NULL) {
		leave_in_place(before, leaves, arg);
		return;
	}
	copy(before, after, leaves, arg);
	replace(rcu, list, after);
}
