/*
 * Waiting: spinning, parking, and the duties to RCU and to the pools that come with them.
 */
#ifndef GY_LOOP_PARK_H
#define GY_LOOP_PARK_H

#include "loop/loop.h"
#include "loop/steal.h"

/* Returns whether a turn would run something that is there already. */
static inline bool gy_loop_can_run(const struct gy_loop *loop)
{
	return !gy_queue_empty(&loop->state) || !gy_queue_empty(&loop->channels) ||
	       !gy_fifo_empty(&loop->mounting) || !gy_fifo_empty(&loop->later) ||
	       !gy_fifo_empty(&loop->ending) || !gy_inbox_empty(&loop->inbox) || loop->stopping ||
	       gy_steal_is_possible(loop);
}

/* Waits until something can run or the clock is at @until_ns (UINT64_MAX: no limit), and reads the
 * clock. */
void gy_loop_park(struct gy_loop *loop, uint64_t until_ns);
/* Tells RCU that this loop holds no reference to anything it protects. */
void gy_loop_quiescent(void);
/* Now and then returns unused memory of the pools to the heap. */
void gy_loop_trim_pools(struct gy_loop *loop);

#endif
