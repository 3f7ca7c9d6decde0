/*
 * The threads that turn loops; see threads.c.
 */
#ifndef GY_SYSTEM_THREADS_H
#define GY_SYSTEM_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "actor/home.h"
#include "system/loop_retire.h"
#include "system/machine/memory_guard.h"
#include "system/resize.h"

struct gyre_system;

/* No loop turns before all that start with it can. Each has a gate of its own, for the next start
 * may begin before a thread has seen that its gate is open. */
enum gy_gate { GY_GATE_CLOSED, GY_GATE_OPEN, GY_GATE_ABANDONED };

struct gy_worker {
	struct gyre_system *system;
	struct gy_home *home;
	pthread_t thread;
	enum gy_gate gate; /* under the mutex of the system */
	bool started;
	bool draining;
	bool aborted;
	bool arrived; /* at the end of the present stage */
	bool stopped; /* its actors have been told to stop */
	uint32_t stage;
	struct gy_loop_retiring retiring;
	bool closing;		  /* its channels have been told to close */
	uint64_t deadline_ns;	  /* of the drain */
	struct gy_timer deadline; /* of the drain, or of the present stage of retiring */
	struct gy_visit visit;
	int error; /* of its start */
	struct gy_guarded guarded;
};

/* The signals that stop a system. */
void gy_system_signals(sigset_t *ret_signals);
void gy_system_join(struct gyre_system *system);
/* An actor of a socket has been mounted, or could not be. Any thread. */
void gy_system_opened(struct gy_homes *homes);
/* Waits while the system is being started, unless on the thread of a loop. */
void gy_system_await_start(struct gy_homes *homes);
/* Starts the threads of the loops from @from to before @to, without those that do not live, and
 * waits until all can turn; on failure none of them does. */
int gy_threads_start(struct gyre_system *system, uint32_t from, uint32_t to);
/* On the thread that turns a loop: before its first turn, one turn, and after its last one. A turn
 * returns whether there is another. */
int gy_worker_enter(struct gy_worker *worker);
bool gy_worker_turn(struct gy_worker *worker);
void gy_worker_leave(struct gy_worker *worker);
/* Takes what came in after the loops had ended: it can have come only from outside. Any thread. */
void gy_system_take_late(struct gy_home *home);
/* Runs what tasks do that came after their loop had ended, when no other thread posts any more. */
void gy_system_run_late(struct gyre_system *system);

#endif
