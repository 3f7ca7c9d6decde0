/*
 * A system whose first loop another loop turns; see embedded.c.
 */
#ifndef GY_SYSTEM_EMBEDDED_H
#define GY_SYSTEM_EMBEDDED_H

#include <pthread.h>
#include <stdbool.h>

struct gyre_system;

struct gy_embedding {
	pthread_t owner;      /* the thread that turns; before the start none */
	bool owned;	      /* atomic: there is one, for good */
	bool ended;	      /* atomic; changes under the system's mutex */
	bool resting;	      /* the owner's: not inside a turn */
	bool keeps_pipe_away; /* SIGPIPE would reach the program */
	int watch_signal;     /* to be let through inside a turn; 0 for none */
};

/* Whether the calling thread turns the first loop of this system, now or between its calls. */
bool gy_embedded_is_owner(const struct gyre_system *system);
/* The calling thread becomes the owner, and enters the first loop; then it may be turned. */
int gy_embedded_enter(struct gyre_system *system);
/* Another loop could not be started: takes gy_embedded_enter() back. */
void gy_embedded_leave(struct gyre_system *system);
/* Waits for something to do, and does it. False when the loop has ended. */
bool gy_embedded_wait(struct gyre_system *system);
/* Waits for the end of the loop; the owner by turning it. */
void gy_embedded_join(struct gyre_system *system);

#endif
