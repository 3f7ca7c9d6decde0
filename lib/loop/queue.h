/*
 * Jobs, which a loop schedules, and the queue in which they wait: two FIFOs, high first. The
 * priority of a job is fixed while it is in the queue. A normal job that was passed over by
 * `starvation_limit` high ones goes next.
 */
#ifndef GY_LOOP_QUEUE_H
#define GY_LOOP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/list.h"

struct gy_job {
	struct gy_fifo_item link;
};

struct gy_queue {
	struct gy_fifo high;
	struct gy_fifo normal;
	uint32_t passed; /* high ones taken while a normal one waited */
	uint32_t starvation_limit;
	uint32_t count;
};

static inline void gy_queue_push(struct gy_queue *queue, struct gy_job *job, bool high)
{
	gy_fifo_push(high ? &queue->high : &queue->normal, &job->link);
	queue->count++;
}

static inline struct gy_job *gy_queue_pop(struct gy_queue *queue)
{
	struct gy_fifo *from = &queue->high;

	if (queue->count == 0) {
		return NULL;
	}
	queue->count--;
	if (!gy_fifo_empty(&queue->normal)) {
		if (gy_fifo_empty(&queue->high) || queue->passed >= queue->starvation_limit) {
			from = &queue->normal;
			queue->passed = 0;
		} else {
			queue->passed++;
		}
	}
	return (struct gy_job *)gy_fifo_pop(from);
}

/* Asserts that the count is that of both FIFOs. */
static inline void gy_queue_check(const struct gy_queue *queue)
{
	gy_assert(queue->count == gy_fifo_count(&queue->high) + gy_fifo_count(&queue->normal));
	gy_assert(queue->passed <= queue->starvation_limit);
}

static inline bool gy_queue_empty(const struct gy_queue *queue)
{
	return queue->count == 0;
}

#endif
