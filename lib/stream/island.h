/*
 * What stages ask of the actor that runs them.
 */
#ifndef GY_STREAM_ISLAND_H
#define GY_STREAM_ISLAND_H

#include <gyre/timer.h>

#include "stream/graph.h"

/* The argument of an actor of an island: the first one owns the graph. */
struct gy_stream_argument {
	struct gyre_graph *graph; /* owned; NULL where the graph is another actor's */
	struct gy_island *island;
};

extern const struct gyre_class gy_island_class;

/* Calls timeout() of the stage after a time; one timer a stage. -ENOMEM. */
int gy_island_timer(struct gy_stage *stage, uint64_t delay_ns);
void gy_island_timer_stop(struct gy_stage *stage);
uint64_t gy_island_now(const struct gy_stage *stage);
/* Calls work() of the stage in a stack of its own. -ENOMEM. */
int gy_island_work(struct gy_stage *stage);
/* Something has changed from outside of a turn: runs all sinks. Negative: the actor fails. */
int gy_island_turn(struct gy_island *island, struct gyre_stack *stack);
/* The same, in a message of its own. */
void gy_island_turn_later(struct gy_island *island);
/* Something found no memory: has retry() of all stages called soon. */
void gy_island_retry_later(struct gy_island *island);
/* Ports of boundaries learn where the other side is, if they do not know; once all are spawned. */
void gy_island_introduce(struct gy_island *island);
/* The actor cannot go on, in a handler whose failure does not stop it. */
void gy_island_die(struct gy_island *island);
struct gy_island *gy_island_of(const struct gyre_stack *stack);

#endif
