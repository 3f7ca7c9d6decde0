/*
 * Behaviours: the handlers of an actor, tables that lead each type of message to a handler of its
 * own, and the stash for messages whose time has not come. Behaviours can be swapped, which makes
 * state machines: one behaviour for each state.
 *
 *	static const struct gyre_route closed_asks[] = {
 *		GYRE_ROUTE(open_door, open_it),
 *		GYRE_ROUTE(walk_through, wait_outside),	... which calls gyre_stash()
 *		GYRE_ROUTE_END,
 *	};
 *	static const struct gyre_behaviour closed = { .ask_routes = closed_asks };
 */
#ifndef GYRE_BEHAVIOUR_H
#define GYRE_BEHAVIOUR_H

#include <gyre/message.h>

GYRE_BEGIN_DECLS

/** GYRE_UNSTASH_ALL - as a count: all that is stashed */
#define GYRE_UNSTASH_ALL UINT32_MAX

/**
 * gyre_handler_fn - handles one message of an actor
 * @stack: the message, its sender, the actor's state, and the frame that outlives a suspension
 *
 * Runs in phase 3 for a state actor, in phase 2 for a channels actor and for every mount. It is
 * re-entered only for another message while this one is suspended, never from within. The last call
 * for a message is the one that does not return the result of gyre_suspend().
 *
 * Returns 0 when the message is done; the result of gyre_suspend() to wait for promises; or a
 * negative errno when the message has failed. An asker gets that errno as the answer; a failed
 * notice or event is dealt with by the strategy of the class.
 */
typedef int (*gyre_handler_fn)(struct gyre_stack *stack);

/**
 * struct gyre_route - where messages of one type go
 * @id: the id of the type; 0 in the last route of a table, which takes all other types
 * @reserved: 0, for what comes later
 * @handler: the handler of those messages; NULL in the last route if there is none for other types
 */
struct gyre_route {
	uint32_t id;
	uint32_t reserved;
	gyre_handler_fn handler;
};

/** GYRE_ROUTE() - messages of type NAME go to HANDLER; searched in order, so put the frequent first
 */
#define GYRE_ROUTE(NAME, HANDLER)           \
	{                                   \
		GYRE_ID(NAME), 0, (HANDLER) \
	}
/** GYRE_ROUTE_OTHERS() - ends a table: all other messages go to HANDLER */
#define GYRE_ROUTE_OTHERS(HANDLER) \
	{                          \
		0, 0, (HANDLER)    \
	}
/** GYRE_ROUTE_END - ends a table that has nothing for other messages */
#define GYRE_ROUTE_END     \
	{                  \
		0, 0, NULL \
	}

/**
 * struct gyre_behaviour - the handlers of an actor
 * @notice: for messages that need no answer
 * @ask: for messages that must be answered
 * @event: for events of the system, such as struct gyre_timeout
 * @notice_batch: for notices that @batch_notices of the class has chosen; see batch.h
 * @ask_batch: for asks that @batch_asks of the class has chosen
 * @notice_routes: used where @notice is NULL: a handler for each type, ended by GYRE_ROUTE_OTHERS()
 *   or GYRE_ROUTE_END. A notice without a handler becomes a dead letter
 * @ask_routes: likewise for @ask; an ask without a handler is answered with -ENOSYS
 * @event_routes: likewise for @event; an event without a handler becomes a dead letter
 * @reserved: NULL, for what comes later
 */
struct gyre_behaviour {
	gyre_handler_fn notice;
	gyre_handler_fn ask;
	gyre_handler_fn event;
	gyre_handler_fn notice_batch;
	gyre_handler_fn ask_batch;
	const struct gyre_route *notice_routes;
	const struct gyre_route *ask_routes;
	const struct gyre_route *event_routes;
	const void *reserved[2];
};

/** GYRE_NESTED_MAX - how many behaviours gyre_become_nested() can put on top of each other */
#define GYRE_NESTED_MAX 16

/**
 * gyre_become() - swaps the behaviour of the running actor
 * @stack: the stack of the running handler
 * @behaviour: the new one, which must outlive the actor
 *
 * In force from the next message on. Messages that are suspended go on with the handler they began
 * with.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @behaviour is NULL
 * Ownership: @behaviour stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_become(struct gyre_stack *stack, const struct gyre_behaviour *behaviour);

/**
 * gyre_become_nested() - gyre_become() with a way back: keeps the present behaviour underneath
 * @stack: the stack of the running handler
 * @behaviour: the new one, which must outlive the actor
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @behaviour is NULL
 *   -ENOBUFS  GYRE_NESTED_MAX are kept underneath already
 *   -ENOMEM  there is no memory
 * Ownership: @behaviour stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_become_nested(struct gyre_stack *stack, const struct gyre_behaviour *behaviour);

/**
 * gyre_unbecome() - goes back to the behaviour underneath
 * @stack: the stack of the running handler
 *
 * That is the behaviour which the latest gyre_become_nested() has kept; if there is none, that of
 * the class.
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API void gyre_unbecome(struct gyre_stack *stack);

/**
 * gyre_stash() - keeps the message of the running handler for later
 * @stack: the stack of a notice, or of an ask that is not answered yet
 *
 * The stack shows no message from then on, and its end answers nobody. A stashed ask is dispatched
 * again as if it had just come, unless its time-out has passed by then. When the actor restarts,
 * stashed messages go back to its mailbox; when it stops, they become dead letters.
 *
 * Return: 0, to be returned by the handler, or a negative errno.
 * Errors:
 *   -EINVAL  there is no such message: it is an event, a batch, was taken, moved out or answered
 *   -ENOBUFS  as many as @stash_max of the class are stashed
 *   -ENOMEM  there is no memory
 * Ownership: the message is the runtime's when 0 is returned, and else stays with the stack.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_stash(struct gyre_stack *stack);

/**
 * gyre_unstash() - puts stashed messages back to the front of the mailbox
 * @stack: the stack of the running handler
 * @count_max: how many at most, the oldest first; GYRE_UNSTASH_ALL for all
 *
 * They keep the order in which they were stashed, asks and notices each before all others that
 * wait, and are dispatched after this handler. The limit of the mailbox does not apply.
 *
 * Return: how many went back.
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API uint32_t gyre_unstash(struct gyre_stack *stack, uint32_t count_max);

/**
 * gyre_stashed() - how many messages the running actor has stashed
 * @stack: the stack of the running handler
 *
 * Return: the number.
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API uint32_t gyre_stashed(const struct gyre_stack *stack);

GYRE_END_DECLS

#endif
