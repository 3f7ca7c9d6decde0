/*
 * The end of a single loop, whose system goes on; see loop_retire.c.
 */
#ifndef GY_SYSTEM_LOOP_RETIRE_H
#define GY_SYSTEM_LOOP_RETIRE_H

#include <stdbool.h>
#include <stdint.h>

struct gy_worker;

/* The stages of a loop that retires; see loop_retire.c. */
enum gy_loop_retire_stage {
	GY_LOOP_RETIRE_NOT,
	GY_LOOP_RETIRE_CHANNELS, /* the sockets that listen go, connections end */
	GY_LOOP_RETIRE_ACTORS,	 /* actors end */
};

/* A part of the worker, for its own thread. */
struct gy_loop_retiring {
	enum gy_loop_retire_stage stage;
	uint64_t drain_ns; /* when the connections that are left are drained */
	uint64_t leave_ns; /* until then links to other nodes have a way of their own; 0: not yet */
	uint64_t end_ns;   /* when what is left of the stage is ended at once */
	uint32_t ordered;  /* actors that were told to stop last */
	uint64_t stopped;  /* how many had stopped before that */
	uint32_t agents;   /* that were there then, and not told yet */
	bool last;	   /* nobody else is left, and they are told */
	bool again;	   /* some could not be told yet */
	bool drained;
	bool hard;     /* those that are left have been ended at once */
	uint32_t done; /* atomic: the stage that is done; enum gy_loop_retire_stage */
	uint32_t end;  /* atomic: the thread is to end */
};

/* ---- on the worker's thread ---- */

/* The connections and actors of the loop are to end. */
void gy_loop_retire_begin(struct gy_worker *worker);
/* No more is to come of what was sent before: its actors stop when they have handled that. */
void gy_loop_retire_actors(struct gy_worker *worker);
/* After each turn. False when the thread is to end. */
bool gy_loop_retire_step(struct gy_worker *worker);

#endif
