/*
 * Stealing: a loop with more ready state jobs than it keeps for itself lets others take the rest.
 *
 * Nobody pays for it who has nothing to gain. Jobs are published only when a peer is seen to be
 * idle, and are taken back at the next turn of their owner if nobody has come. A thief takes one
 * job at a time, and hesitates the longer the less there is: until its idle turns in a row, times
 * the jobs that are ready there, reach steal_aggression.
 *
 * The number of published jobs in the system and the parked flags are a pair like inbox and flag in
 * park.c: a publisher adds to the one and then looks at the others, a loop sets its flag and then
 * looks at the number. So a loop does not sleep while another waits to be robbed.
 */
#ifndef GY_LOOP_STEAL_H
#define GY_LOOP_STEAL_H

#include "loop/loop.h"

/* Whether there are jobs that this loop might take, or take back; sequentially consistent. */
static inline bool gy_steal_is_possible(const struct gy_loop *loop)
{
	return loop->peers != NULL && gy_unlikely(gy_load_full(&loop->peers->published) > 0);
}

/* Publishes what is more than the loop keeps, if anybody is idle. In phase 3. */
void gy_loop_publish(struct gy_loop *loop);
/* Takes back all that nobody has taken. */
void gy_loop_unpublish(struct gy_loop *loop);
/* For a loop that has nothing to do: takes one job of another, and runs it. Whether it has. */
bool gy_loop_steal(struct gy_loop *loop);

#endif
