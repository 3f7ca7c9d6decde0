/*
 * What the floor above tells all listeners of a system, with homes->placing held.
 */
#ifndef GY_NET_LISTENERS_H
#define GY_NET_LISTENERS_H

#include "actor/house.h"

/* The loops from @from to below @to take part from now on: all listeners listen there. What cannot
 * be had for one is logged. */
void gy_listeners_grow(struct gy_homes *homes, uint32_t from, uint32_t to);
/* Those from @to on retire. Their sockets follow when the loops are told to leave. */
void gy_listeners_shrink(struct gy_homes *homes, uint32_t to);
/* Without the mutex: the process before has left, and all acceptors look for what it was called for
 * and has not taken. */
void gy_listeners_retry(struct gy_homes *homes);

#endif
