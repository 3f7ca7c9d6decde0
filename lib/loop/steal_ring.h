/*
 * The jobs that a loop lets others take: a ring with one producer, its owner, and many consumers,
 * the owner among them. A consumer reads the slot at @head and then moves @head on; if another was
 * faster that fails, and what it has read counts for nothing.
 *
 *                     push          take          count
 *   push              one thread    any           any
 *   take              any           any           any
 */
#ifndef GY_LOOP_STEAL_RING_H
#define GY_LOOP_STEAL_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/macros.h"

struct gy_job;

enum { GY_STEAL_RING_SLOTS = 256 };

struct gy_steal_ring {
	uint64_t head GY_ALIGNED_LINE; /* of the next to be taken */
	uint64_t tail GY_ALIGNED_LINE; /* of the next to be put; the owner's */
	struct gy_job *slots[GY_STEAL_RING_SLOTS];
};

static inline uint32_t gy_steal_ring_count(const struct gy_steal_ring *ring)
{
	uint64_t head = gy_load_relaxed(&ring->head);
	uint64_t tail = gy_load_relaxed(&ring->tail);

	return tail > head ? (uint32_t)(tail - head) : 0;
}

/* False when it is full. */
static inline bool gy_steal_ring_push(struct gy_steal_ring *ring, struct gy_job *job)
{
	uint64_t tail = ring->tail;

	if (tail - gy_load_acquire(&ring->head) == GY_STEAL_RING_SLOTS) {
		return false;
	}
	gy_store_relaxed(&ring->slots[tail % GY_STEAL_RING_SLOTS], job);
	gy_store_release(&ring->tail, tail + 1);
	return true;
}

/* The oldest, or NULL: there is none, or another was faster. */
static inline struct gy_job *gy_steal_ring_take(struct gy_steal_ring *ring)
{
	uint64_t head = gy_load_acquire(&ring->head);
	struct gy_job *job;

	if (head == gy_load_acquire(&ring->tail)) {
		return NULL;
	}
	job = gy_load_relaxed(&ring->slots[head % GY_STEAL_RING_SLOTS]);
	return gy_compare_exchange(&ring->head, &head, head + 1) ? job : NULL;
}

#endif
