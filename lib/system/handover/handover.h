/*
 * What a process has of its predecessor, and for its successor.
 */
#ifndef GY_SYSTEM_HANDOVER_HANDOVER_H
#define GY_SYSTEM_HANDOVER_HANDOVER_H

#include "net/socket_file.h"
#include "system/system.h"

/* From the heap; of the thread that creates and destroys, and while loops turn of the actor. */
struct gy_succession {
	int listen_fd;	    /* where the successor comes; -1 for closed, or the actor's */
	int predecessor_fd; /* that is to be told when we run, and then to leave; or -1 */
	bool told;
	bool over; /* a successor runs, and this process ends for it */
	struct gy_socket_file file;
};

/* ---- successor.c ---- */

/* Takes what a predecessor has, if there is one. Setup; waits for it. */
int gy_succession_begin(struct gyre_system *system);
void gy_succession_end(struct gyre_system *system);
/* Before the end of what has not started: what a predecessor that has gone has left is ours. */
void gy_succession_give_up(struct gyre_system *system);

/* On the first loop: whether the system stops for its successor. */
static inline bool gy_succession_is_over(const struct gyre_system *system)
{
	return system->succession != NULL && system->succession->over;
}

/* ---- handover.c ---- */

/* Spawns the actor that tells the predecessor and waits for the successor. */
int gy_handover_spawn(struct gyre_system *system);

#endif
