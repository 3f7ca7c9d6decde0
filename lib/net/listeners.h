/*
 * What the floor above tells all listeners of a system, with homes->placing held.
 */
#ifndef GY_NET_LISTENERS_H
#define GY_NET_LISTENERS_H

#include "net/passing.h"

/* The loops from @from to below @to take part from now on: all listeners listen there. What cannot
 * be had for one is logged. */
void gy_listeners_grow(struct gy_homes *homes, uint32_t from, uint32_t to);
/* Those from @to on retire. Their sockets follow when the loops are told to leave. */
void gy_listeners_shrink(struct gy_homes *homes, uint32_t to);

/* ---- handing over to another process; without the mutex ---- */

/* How far it has come. */
struct gy_listeners_place {
	uint32_t serial; /* of the last listener that is done */
	uint32_t begun;	 /* that of one that is done in part, or 0 */
	uint32_t number; /* of its next socket */
};

/* Sends the sockets of the next listener by @fd, or that there are no more; does not wait. */
int gy_listeners_pass(struct gy_homes *homes, struct gy_listeners_place *place, int fd);
/* Leaves all sockets to the process that has got them. What was accepted is served on. */
void gy_listeners_hand_over(struct gy_homes *homes);
/* The process before has left: all acceptors look for what it was called for and has not taken. */
void gy_listeners_look(struct gy_homes *homes);
/* Whether all acceptors have ended. */
bool gy_listeners_have_left(struct gy_homes *homes);

#endif
