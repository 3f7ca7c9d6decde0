/*
 * Lists of the addresses of members, for readers without a lock. A join appends where there is
 * room, behind what readers may read. Who leaves has a cookie of 0 from then on, in his place; when
 * an eighth have left, or there are few, a copy has only those that stay, so that a leave costs
 * some places however many members there are.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/happens.h"
#include "base/memory/memory.h"
#include "system/directory/services.h"

enum { CAPACITY_FIRST = 4, FEW = 64, LEFT_MAX_PART = 8 };

static struct gy_service_list *make(uint32_t capacity)
{
	struct gy_service_list *list = (struct gy_service_list *)gy_memory_get(
		sizeof(struct gy_service_list) + capacity * sizeof(struct gy_service_place));

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

static void append(struct gy_service_list *list, struct gy_service_member *member)
{
	gy_assert(list->count < list->capacity);
	member->place = list->count;
	list->places[list->count] = (struct gy_service_place){ member->address, member };
	gy_store_release(&list->count, list->count + 1);
}

/* Puts those that stay into a list of that capacity. -ENOMEM, with all as it was. */
static int copy(struct gy_rcu *rcu, struct gy_service_list **list, uint32_t capacity)
{
	const struct gy_service_list *before = *list;
	struct gy_service_list *after = make(capacity);

	if (after == NULL) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; before != NULL && i < before->count; i++) {
		if (before->places[i].member != NULL) {
			append(after, before->places[i].member);
		}
	}
	replace(rcu, list, after);
	return 0;
}

int gy_service_list_add(struct gy_rcu *rcu, struct gy_service_member *member)
{
	const struct gy_service_list *list = *member->list;

	if (list == NULL || list->count == list->capacity) {
		int r = copy(rcu, member->list, list == NULL ? CAPACITY_FIRST : 2 * list->capacity);

		if (r < 0) {
			return r;
		}
	}
	append(*member->list, member);
	return 0;
}

void gy_service_list_remove(struct gy_rcu *rcu, struct gy_service_member *member)
{
	struct gy_service_list *list = *member->list;
	struct gy_service_place *place = &list->places[member->place];
	uint32_t staying;

	gy_assert(member->place < list->count && place->member == member);
	place->member = NULL;
	gy_store_relaxed(&place->address.cookie, 0);
	list->left++;
	staying = list->count - list->left;
	if (staying == 0) {
		replace(rcu, member->list, NULL);
	} else if (staying <= FEW || list->left > staying / LEFT_MAX_PART) {
		(void)copy(rcu, member->list, staying < CAPACITY_FIRST ? CAPACITY_FIRST : staying);
	}
}
