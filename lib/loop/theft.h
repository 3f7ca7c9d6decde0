/*
 * The jobs that a loop lets others take: a ring with one producer, its owner, and many consumers,
 * the owner among them. A consumer reads the slot at @head and then moves @head on; if another was
 * faster that fails, and what it has read counts for nothing.
 *
 *                     push          take          count
 *   push              one thread    any           any
 *   take              any           any           any
 */
#ifndef GY_LOOP_THEFT_H
#define GY_LOOP_THEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/macros.h"

struct gy_job;

enum { GY_THEFT_SLOTS = 256 };

struct gy_theft {
	uint64_t head GY_ALIGNED_LINE; /* of the next to be taken */
	uint64_t tail GY_ALIGNED_LINE; /* of the next to be put; the owner's */
	struct gy_job *slots[GY_THEFT_SLOTS];
};

static inline uint32_t gy_theft_count(const struct gy_theft *theft)
{
	uint64_t head = gy_load_relaxed(&theft->head);
	uint64_t tail = gy_load_relaxed(&theft->tail);

	return tail > head ? (uint32_t)(tail - head) : 0;
}

/* False when it is full. */
static inline bool gy_theft_push(struct gy_theft *theft, struct gy_job *job)
{
	uint64_t tail = theft->tail;

	if (tail - gy_load_acquire(&theft->head) == GY_THEFT_SLOTS) {
		return false;
	}
	gy_store_relaxed(&theft->slots[tail % GY_THEFT_SLOTS], job);
	gy_store_release(&theft->tail, tail + 1);
	return true;
}

/* The oldest, or NULL: there is none, or another was faster. */
static inline struct gy_job *gy_theft_take(struct gy_theft *theft)
{
	uint64_t head = gy_load_acquire(&theft->head);
	struct gy_job *job;

	if (head == gy_load_acquire(&theft->tail)) {
		return NULL;
	}
	job = gy_load_relaxed(&theft->slots[head % GY_THEFT_SLOTS]);
	return gy_compare_exchange(&theft->head, &head, head + 1) ? job : NULL;
}

#endif
