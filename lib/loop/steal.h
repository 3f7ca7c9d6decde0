/*
 * Stealing: a loop with more ready state jobs than it keeps for itself lets others take the rest.
 *
 * A loop without idle peers pays nothing. Jobs are published only when a peer is seen to be idle,
 * and the owner takes them back at its next turn if no thief has come. A thief takes one job at a
 * time, and hesitates the longer the less there is: until its idle turns in a row, times the jobs
 * that are ready there, reach steal_aggression.
 *
 * The number of published jobs and the parked flags are a pair, like inbox and flag in park.c: a
 * publisher adds to the number and then looks at the flags; a loop sets its flag and then looks at
 * the number. So no loop sleeps while jobs wait to be stolen.
 */
#ifndef GY_LOOP_STEAL_H
#define GY_LOOP_STEAL_H

#include "loop/loop.h"

/* Returns whether this loop might take jobs, or take some back; sequentially consistent. */
static inline bool gy_steal_is_possible(const struct gy_loop *loop)
{
	return loop->peers != NULL && gy_unlikely(gy_load_full(&loop->peers->published) > 0) &&
	       (loop->index < gy_loops_count(loop->peers) ||
		gy_steal_ring_count(&loop->steal_ring) > 0);
}

/* Publishes the jobs beyond those that the loop keeps, if a peer is idle. In phase 3. */
void gy_loop_publish(struct gy_loop *loop);
/* Takes back the jobs that no thief has taken. */
void gy_loop_unpublish(struct gy_loop *loop);
/* For an idle loop: takes one job of another and runs it. Returns whether it has. */
bool gy_loop_steal(struct gy_loop *loop);

#endif
