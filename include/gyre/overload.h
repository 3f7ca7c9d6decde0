/*
 * Overload: what a system does when memory gets scarce, and how an actor can help.
 *
 * While it has something to do a system looks at its memory every 100 ms, and from half of the
 * limit on every 10 ms. When more than 90 % of the limit are used, or less than 100 MiB are free
 * (an eighth of a limit under 800 MiB), it is busy, until less than 80 % are used:
 *
 * - Threads that are no loops wait in gyre_system_notify() until that is over, each up to 40 ms.
 * - Nothing is accepted. Connections wait in the backlog.
 * - Channels with automatic reading do not read. They go on to write and to close.
 * - Memory that pools and the heap keep for later goes back to the system.
 *
 * Nothing that was taken is dropped for it. What actors send each other goes on as ever; those that
 * can put work off may ask whether they should.
 *
 * The limit is the tightest that a cgroup (version 2) of the process has, which counts page cache
 * only as far as it cannot be dropped; where there is none, the machine's memory, against what is
 * resident of the process. The option memory_limit_bytes sets one of resident memory besides, or
 * switches all this off.
 */
#ifndef GYRE_OVERLOAD_H
#define GYRE_OVERLOAD_H

#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * gyre_system_busy() - whether a system is short of memory
 * @system: the system
 *
 * It is not from its stop on.
 *
 * Return: whether it is busy; false when @system is NULL.
 * Ownership: nothing changes hands.
 * Context: any thread, in any phase; signal handler.
 * Since: 0.1
 */
GYRE_API bool gyre_system_busy(const struct gyre_system *system);

/**
 * gyre_busy() - whether the system of the running actor is short of memory
 * @stack: the stack of the running handler
 *
 * Return: whether it is busy.
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API bool gyre_busy(const struct gyre_stack *stack);

GYRE_END_DECLS

#endif
