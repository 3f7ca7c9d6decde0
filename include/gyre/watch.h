/*
 * Death watch: an actor that watches another hears of its end exactly once, as an event, even if
 * the other had ended before, and whatever ended it. Restarts of either do not interrupt a watch.
 */
#ifndef GYRE_WATCH_H
#define GYRE_WATCH_H

#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_terminated - the event that a watched actor has ended
 * @actor: the actor; its address is stale
 * @reason: 0 if it was stopped; the negative errno of the failure that stopped it; -ESHUTDOWN if
 *   its system stops; -ESRCH if it had ended before the watch began. For an actor of another node
 *   also -EHOSTDOWN, when that node is lost; -EHOSTUNREACH, when no address of that node is known,
 *   or it was not reached in time (@away_ns of struct gyre_node_options); -EADDRNOTAVAIL, when this
 *   node would not hear of the end; and -EDQUOT, when actors of this node have as many watches on
 *   that node as they may: give some up, or raise @watches_max of its struct gyre_node_options.
 *   After either of the last two the watch has ended, and the actor perhaps has not; see node.h
 */
struct gyre_terminated {
	struct gyre_address actor;
	int reason;
};
GYRE_OWN_MESSAGE_(gyre_terminated, 0x08);

/**
 * gyre_watch() - tells the running actor when another one ends
 * @stack: the stack of the running handler
 * @actor: the other, on whatever loop; a stale address is allowed
 *
 * When the event comes, the children of the other have ended and its state has been cleaned. All
 * its mail to the running actor has been dispatched: the event stays behind mail that waits, for
 * example for a barrier or a restart. Only stashed messages may come back later. Watching twice is
 * watching once.
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
 * gyre_watch_pact() - ends the running actor when another one ends
 * @stack: the stack of the running handler
 * @actor: the other, on whatever loop; a stale address is allowed
 *
 * A watch whose event no handler sees: when it would come, the running actor stops, for the same
 * reason as the other, which is 0 if that was stopped. A watch that there is becomes a pact, and
 * stays one. Restarts of either do not end a pact; gyre_unwatch() does.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   as gyre_watch()
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_watch_pact(struct gyre_stack *stack, struct gyre_address actor);

/**
 * gyre_terminated_cause_as() - the message that a watched actor has failed with
 * @stack: the stack of the event struct gyre_terminated
 * @type: the type it must have
 *
 * Mostly called through gyre_terminated_cause(). From an actor of another node the message comes as
 * any message of its type would, once for each watcher. The reason comes alone if the type does not
 * travel or is not among the types of this node (see node.h), if the message takes more than 65512
 * bytes on the way or more than the connection has room for, or if the connection broke.
 *
 * Return: the payload, or NULL when the actor has not ended with a failure of gyre_throw_with(), or
 *   with a message of another type.
 * Errors:
 *   NULL  there is none of that type
 * Ownership: stays with the event.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API const void *gyre_terminated_cause_as(const struct gyre_stack *stack,
					      const struct gyre_type *type);

/** gyre_terminated_cause() - that message as const struct NAME *, or NULL */
#define gyre_terminated_cause(STACK, NAME) \
	((const struct NAME *)gyre_terminated_cause_as((STACK), &gyre_type_##NAME))

/**
 * gyre_unwatch() - ends a watch
 * @stack: the stack of the running handler
 * @actor: the actor that gyre_watch() was given
 *
 * No event of the watch comes any more, even if one was already waiting.
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
