/*
 * Intrusive lists for one thread. gy_list is a doubly linked ring with a head, for what is taken
 * out of its middle. gy_fifo is singly linked with two ends, for queues.
 */
#ifndef GY_BASE_LIST_H
#define GY_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"

struct gy_list {
	struct gy_list *next;
	struct gy_list *previous;
};

static inline void gy_list_init(struct gy_list *list)
{
	list->next = list;
	list->previous = list;
}

static inline bool gy_list_empty(const struct gy_list *list)
{
	return list->next == list;
}

static inline void gy_list_append(struct gy_list *list, struct gy_list *item)
{
	item->next = list;
	item->previous = list->previous;
	list->previous->next = item;
	list->previous = item;
}

/* Leaves @item as a list of itself, so that removing it again is harmless. */
static inline void gy_list_remove(struct gy_list *item)
{
	item->next->previous = item->previous;
	item->previous->next = item->next;
	gy_list_init(item);
}

/* Takes @item out of its list and appends it to @to. */
static inline void gy_list_move(struct gy_list *to, struct gy_list *item)
{
	item->next->previous = item->previous;
	item->previous->next = item->next;
	gy_list_append(to, item);
}

/* Asserts that the links of a list agree in both directions; returns how many items it has. */
static inline uint32_t gy_list_check(const struct gy_list *list)
{
	const struct gy_list *item = list;
	uint32_t count = 0;

	do {
		gy_assert(item->next->previous == item);
		item = item->next;
		count++;
	} while (item != list);
	return count - 1;
}

/* Moves all of @from to the end of @to. */
static inline void gy_list_splice(struct gy_list *to, struct gy_list *from)
{
	if (gy_list_empty(from)) {
		return;
	}
	from->next->previous = to->previous;
	to->previous->next = from->next;
	from->previous->next = to;
	to->previous = from->previous;
	gy_list_init(from);
}

struct gy_fifo_item {
	struct gy_fifo_item *next;
};

struct gy_fifo {
	struct gy_fifo_item *first;
	struct gy_fifo_item *last; /* undefined while @first is NULL */
};

static inline bool gy_fifo_empty(const struct gy_fifo *fifo)
{
	return fifo->first == NULL;
}

static inline uint32_t gy_fifo_count(const struct gy_fifo *fifo)
{
	uint32_t count = 0;

	for (const struct gy_fifo_item *item = fifo->first; item != NULL; item = item->next) {
		count++;
	}
	return count;
}

static inline void gy_fifo_push(struct gy_fifo *fifo, struct gy_fifo_item *item)
{
	item->next = NULL;
	if (fifo->first == NULL) {
		fifo->first = item;
	} else {
		fifo->last->next = item;
	}
	fifo->last = item;
}

static inline struct gy_fifo_item *gy_fifo_pop(struct gy_fifo *fifo)
{
	struct gy_fifo_item *item = fifo->first;

	if (item != NULL) {
		fifo->first = item->next;
	}
	return item;
}

/* Takes out the item behind @before, or the first one for NULL. */
static inline void gy_fifo_remove_after(struct gy_fifo *fifo, struct gy_fifo_item *before)
{
	struct gy_fifo_item **link = before == NULL ? &fifo->first : &before->next;

	if (*link == fifo->last) {
		fifo->last = before;
	}
	*link = (*link)->next;
}

#endif
