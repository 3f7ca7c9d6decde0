/*
 * Overload: the behaviour of a system when memory gets scarce, and how an actor can help.
 *
 * A system that has something to do looks at its memory every 100 ms, every 10 ms from half of the
 * limit on, and more often while memory is taken fast. When more than 90 % of the limit are used,
 * or less than 100 MiB are free (an eighth of a limit under 800 MiB), it is busy, until less than
 * 80 % are used:
 *
 * - Threads that run no loop wait in gyre_system_notify() until that is over, each up to 40 ms.
 * - No connection is accepted: connections wait in the backlog.
 * - Channels that read by themselves stop reading. They still write and close.
 * - Links between nodes are made and read as ever, or others would find that the node is down; what
 *   they hold is bounded, see link_bytes_max and greetings_max of struct gyre_node_options.
 * - Memory that pools and the heap keep for later goes back to the system.
 *
 * Nothing that was taken is dropped because of it. Messages between actors go on as ever; an actor
 * that can put work off asks whether it should.
 *
 * What the program itself holds counts too: a program whose own data stays above 80 % of the limit
 * stays busy, and serves nobody. After 10 seconds a warning in the log says so. Bound what is kept
 * well below the limit, or raise that.
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
 * A system is never busy from its stop on.
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
