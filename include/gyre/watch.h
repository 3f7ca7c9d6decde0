/*
 * Death watch: an actor that watches another hears of its end exactly once, as an event: also when
 * the other had ended before, and whatever it ended by. Restarts of either do not interrupt a
 * watch.
 */
#ifndef GYRE_WATCH_H
#define GYRE_WATCH_H

#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_terminated - the event that a watched actor has ended
 * @actor: which; its address is stale
 * @reason: 0 when it was stopped, the negative errno of the failure that it was stopped for,
 *   -ESHUTDOWN when its system stops, -ESRCH when it had ended before the watch began. Of an actor
 *   of another node also -EHOSTDOWN, when that is lost, and -EADDRNOTAVAIL, when this node would
 * not hear of its end: then the watch has ended and the actor perhaps not; see node.h
 */
struct gyre_terminated {
	struct gyre_address actor;
	int reason;
};
GYRE_OWN_MESSAGE_(gyre_terminated, 0x08);

/**
 * gyre_watch() - has the running actor told when another one ends
 * @stack: the stack of the running handler
 * @actor: the other, on whatever loop; a stale address is allowed
 *
 * When the event comes, the children of the other have ended and its state has been cleaned. All
 * its mail that the running actor gets has been dispatched: the event waits behind mail that waits,
 * as behind a barrier or for a restart. What has been stashed may come back later. To watch it
 * twice is to watch it once.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @actor is the running one, or nobody, or a group
 *   -ENOMEM  there is no memory
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_watch(struct gyre_stack *stack, struct gyre_address actor);

/**
 * gyre_unwatch() - ends a watch
 * @stack: the stack of the running handler
 * @actor: what gyre_watch() was given
 *
 * No event of it comes any more, also when it was waiting already.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -ENOENT  it is not watched, or its end has been told
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_unwatch(struct gyre_stack *stack, struct gyre_address actor);

GYRE_END_DECLS

#endif
