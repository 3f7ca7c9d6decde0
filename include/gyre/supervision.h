/*
 * Supervision: what an actor does about the failures of its children. A class whose strategy is
 * GYRE_STRATEGY_ESCALATE leaves its failures to the parent; the class of the parent says here what
 * then happens, and to which of its children.
 *
 *	static const struct gyre_class pool_class = {
 *		.name = "pool",
 *		.supervision = { .scope = GYRE_ALL_FOR_ONE, .restarts_max = 5 },
 *	};
 *
 * What no parent settles ends at the root, which stops the system with the error as its result.
 * Only actors of channels end alone: see channel_actor.h.
 */
#ifndef GYRE_SUPERVISION_H
#define GYRE_SUPERVISION_H

#include <gyre/address.h>
#include <gyre/message.h>

GYRE_BEGIN_DECLS

/**
 * enum gyre_scope - whom a decision to restart or to stop is about
 * @GYRE_ONE_FOR_ONE: the child that has failed
 * @GYRE_ALL_FOR_ONE: all children of the parent
 * @GYRE_REST_FOR_ONE: the child that has failed, and all that were spawned after it
 */
enum gyre_scope {
	GYRE_ONE_FOR_ONE,
	GYRE_ALL_FOR_ONE,
	GYRE_REST_FOR_ONE,
};

/**
 * enum gyre_decision - what a parent does about a child that has failed
 * @GYRE_DECISION_RESTART: each child of the scope restarts in its place, with its restart hooks, as
 *   by GYRE_STRATEGY_RESTART; the limits of its own class do not count. A child that still mounts
 *   does not restart
 * @GYRE_DECISION_IGNORE: the child that has failed goes on with its next message
 * @GYRE_DECISION_STOP: each child of the scope stops with that failure
 * @GYRE_DECISION_ESCALATE: the child that has failed stops with that failure, and the parent has
 *   failed with the same error: its own strategy follows
 *
 * A child whose mount or restart hook has failed stops in any case, and RESTART and IGNORE say what
 * becomes of the others.
 */
enum gyre_decision {
	GYRE_DECISION_RESTART,
	GYRE_DECISION_IGNORE,
	GYRE_DECISION_STOP,
	GYRE_DECISION_ESCALATE,
};

/**
 * struct gyre_failure - the failure of a child
 * @child: the child
 * @class_name: the name of its class
 * @path: its path, see gyre_path()
 * @error: the negative errno that it has failed with
 * @ends: its mount or a restart hook has failed, so that it stops whatever is decided
 * @cause_type: the type of the message of gyre_throw_with(); NULL for none
 * @cause: that message; see gyre_failure_cause()
 */
struct gyre_failure {
	struct gyre_address child;
	const char *class_name;
	const char *path;
	int error;
	bool ends;
	const struct gyre_type *cause_type;
	const void *cause;
};

/** gyre_failure_cause_as() - the message of a failure if it has the id of @type, else NULL */
static inline const void *gyre_failure_cause_as(const struct gyre_failure *failure,
						const struct gyre_type *type)
{
	return failure->cause_type != NULL && failure->cause_type->id == type->id ? failure->cause
										  : NULL;
}

/** gyre_failure_cause() - the message of a failure as const struct NAME *, or NULL */
#define gyre_failure_cause(FAILURE, NAME) \
	((const struct NAME *)gyre_failure_cause_as((FAILURE), &gyre_type_##NAME))

/**
 * gyre_decide_fn - decides about the failure of a child
 * @state: the state of the parent
 * @failure: the failure, which is gone after the call
 *
 * Runs in phase 2 or 3 on the parent's loop, between two messages of the parent, also while its
 * handlers are suspended; it is not re-entered, and there is no last call. It must not do anything
 * to actors or channels.
 *
 * Returns what is done.
 */
typedef enum gyre_decision (*gyre_decide_fn)(void *state, const struct gyre_failure *failure);

/**
 * struct gyre_supervision - what a class does about failures of children
 * @scope: whom the decision is about
 * @decision: what is done, where @decide is NULL
 * @decide: decides in each case
 * @restarts_max: decisions to restart within @window_ns; one more is GYRE_DECISION_ESCALATE. 0 for
 *   no limit
 * @window_ns: for how long a restart counts, as restart_window_ns of the class does; 0 for a minute
 * @delay_ns: the pause before the restart, doubled by each that counts, up to 64 times. 0 for none
 * @reserved: 0, for what comes later
 *
 * All zero restarts the child that has failed, without a limit. The limits are those of the parent:
 * its children have them in common. A parent that restarts, and does not keep its children, begins
 * anew: restarts before that do not count any more.
 */
struct gyre_supervision {
	enum gyre_scope scope;
	enum gyre_decision decision;
	gyre_decide_fn decide;
	uint32_t restarts_max;
	uint64_t window_ns;
	uint64_t delay_ns;
	uint64_t reserved[2];
};

GYRE_END_DECLS

#endif
