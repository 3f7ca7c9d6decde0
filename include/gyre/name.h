/*
 * Names: a way to find an actor without its address. A name belongs to one actor at a time, and
 * every thread of the system sees it at once.
 *
 * An actor may have several names. It keeps them through restarts and loses them when it stops,
 * before those who watch it are told, so that whoever hears of its end can register its names anew.
 */
#ifndef GYRE_NAME_H
#define GYRE_NAME_H

#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/** GYRE_NAME_BYTES_MAX - the longest name, without its final 0 */
#define GYRE_NAME_BYTES_MAX 255

/**
 * gyre_name_register() - gives the running actor a name
 * @stack: the stack of the running handler
 * @name: 1 to GYRE_NAME_BYTES_MAX bytes of any kind but 0; copied
 *
 * Of several actors that register one name at the same time, exactly one gets it. When this call
 * has returned 0, every lookup finds the actor.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EEXIST  an actor has that name, perhaps the running one
 *   -EINVAL  @name is NULL, empty or too long
 *   -ENOMEM  there is no memory
 *   -ESHUTDOWN  the running actor has stopped, and only closes its channels
 * Ownership: @name stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler. Never waits for another thread.
 * Since: 0.1
 */
GYRE_API int gyre_name_register(struct gyre_stack *stack, const char *name);

/**
 * gyre_name_unregister() - takes a name from the running actor
 * @stack: the stack of the running handler
 * @name: one of its names
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @name is NULL, empty or too long
 *   -ENOENT  the running actor does not have that name
 * Ownership: @name stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler. Never waits for another thread.
 * Since: 0.1
 */
GYRE_API int gyre_name_unregister(struct gyre_stack *stack, const char *name);

/**
 * gyre_name_lookup() - the actor that has a name
 * @stack: the stack of the running handler
 * @name: the name
 * @ret_address: its address
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @ret_address is NULL, or @name is NULL, empty or too long
 *   -ENOENT  no actor has that name
 * Ownership: @name stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler. Takes no lock.
 * Since: 0.1
 */
GYRE_API int gyre_name_lookup(const struct gyre_stack *stack, const char *name,
			      struct gyre_address *ret_address);

/**
 * gyre_system_name_lookup() - the actor that has a name, from outside of any actor
 * @system: where
 * @name: the name
 * @ret_address: its address
 *
 * The first call of a thread registers it as a reader of liburcu's QSBR flavour, offline between
 * calls, until the thread ends. A thread that is such a reader already must be online when it calls
 * this.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @system or @ret_address is NULL, or @name is NULL, empty or too long
 *   -ENOENT  no actor has that name
 * Ownership: @name stays the caller's.
 * Context: any thread, in any phase, between create and destroy of the system. Takes no lock but
 *   for the first call of a thread.
 * Since: 0.1
 */
GYRE_API int gyre_system_name_lookup(struct gyre_system *system, const char *name,
				     struct gyre_address *ret_address);

GYRE_END_DECLS

#endif
