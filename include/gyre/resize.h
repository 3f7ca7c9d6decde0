/*
 * Resizing: loops are added to a running system, and retired from it.
 */
#ifndef GYRE_RESIZE_H
#define GYRE_RESIZE_H

#include <gyre/system.h>

GYRE_BEGIN_DECLS

/**
 * gyre_system_resize() - changes how many loops a system has
 * @system: the system
 * @loops: how many it is to have, 1 to @loops_max of its options
 *
 * Before the start this sets how many loops there will be. Afterwards it returns when the loops
 * that were added run, or the threads of those that retire have ended. Two calls do not overlap:
 * the second waits for the first.
 *
 * A loop that is added is like the others: it is pinned to the next CPU; actors are placed on it;
 * groups that were spawned with one member a loop get one there; listeners of gyre_system_listen()
 * listen there too; it steals actors and is stolen from.
 *
 * The loops with the highest numbers retire. First, nothing new is placed there, their actors leave
 * all groups, and their listening sockets go to other loops with the whole backlog: no connection
 * is refused or lost. Connections are still served; those that are open when half of
 * drain_timeout_ns is over are drained, as by gyre_system_stop(), and closed at once at its end.
 * Then the actors of one loop after the other stop, those explicitly placed there too, children
 * before parents. Each handles the messages that were accepted for it before the call, and may go
 * on with those it has begun, as by gyre_stop_gracefully(); actors that are left after another
 * drain_timeout_ns are stopped at once. Later messages find nobody: a notice is a dead letter, an
 * ask fails with -ESRCH. Addresses of actors on a loop that has retired stay stale when that loop
 * is added again. A handler that does not return holds this up: it cannot be taken off its loop.
 * When the system stops meanwhile, loops that have not retired by then stop with it.
 *
 * The first loop, and with it the program's main actor, never retires. The counters and some memory
 * of a retired loop are kept, for messages that others may still hold; both are used again when the
 * loop is added again.
 *
 * Return: 0, or a negative errno, and then the system has the loops that it had before, except for
 * -ESHUTDOWN.
 * Errors:
 *   -EINVAL    @system is NULL or @loops is 0
 *   -EDEADLK   this is a loop's thread, or the one that turns this system: see gyre/embed.h
 *   -EBUSY     a successor is starting, or has taken over; see gyre/handover.h
 *   -ENOBUFS   @loops is above @loops_max of the options
 *   -ESHUTDOWN  the system is stopping
 *   -ENOMEM    there is no memory, or too little of it may be locked
 *   -EAGAIN    no more threads can be had
 *   others     what the kernel refused a ring with
 * Ownership: nothing changes hands.
 * Context: any thread but a loop's, in any phase, between create and destroy of the system; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_system_resize(struct gyre_system *system, uint32_t loops);

GYRE_END_DECLS

#endif
