/*
 * The shutdown of a system, in phases that actors can hold.
 *
 *	static int mount(struct gyre_stack *stack)
 *	{
 *		return gyre_shutdown_hold(stack, GYRE_SHUTDOWN_FINISH);
 *	}
 *
 *	static int event(struct gyre_stack *stack)
 *	{
 *		const struct gyre_stopping *stopping = gyre_message(stack, gyre_stopping);
 *
 *		if (stopping != NULL && has_nothing_to_do(gyre_state(stack))) {
 *			return gyre_shutdown_release(stack, GYRE_SHUTDOWN_FINISH);
 *		}
 *		...
 *	}
 *
 * A stop of the system goes through four phases, on all loops together. A phase ends when what it
 * is named for is done, and all actors that hold it have let go of it; then the next one begins.
 * All phases together have one budget, drain_timeout_ns of the options. At its end, and when a
 * second signal ends gyre_system_run(), nobody is waited for any more.
 *
 * The log tells which actor has held a phase longest: as a warning if the budget ran out meanwhile.
 */
#ifndef GYRE_SHUTDOWN_H
#define GYRE_SHUTDOWN_H

#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * enum gyre_shutdown_phase - the phases of a shutdown, in their order
 * @GYRE_SHUTDOWN_INTAKE: nothing new is taken in: listening sockets close, connections go on
 * @GYRE_SHUTDOWN_FINISH: what was begun is finished. gyre closes nothing by itself, and work off
 *   the loops is still done
 * @GYRE_SHUTDOWN_CLOSE: channels, links to other nodes among them, send what is queued and close;
 *   work off the loops is refused
 * @GYRE_SHUTDOWN_LAST_WORDS: all channels are closed, and all actors are there still. When it ends
 *   they stop, children before parents
 */
enum gyre_shutdown_phase {
	GYRE_SHUTDOWN_INTAKE = 1,
	GYRE_SHUTDOWN_FINISH = 2,
	GYRE_SHUTDOWN_CLOSE = 3,
	GYRE_SHUTDOWN_LAST_WORDS = 4,
};

/**
 * struct gyre_stopping - the event that a phase has begun which the actor holds
 * @phase: the phase
 * @deadline_ns: when the budget of all phases is over, by the clock of gyre_now()
 */
struct gyre_stopping {
	enum gyre_shutdown_phase phase;
	uint64_t deadline_ns;
};
GYRE_OWN_MESSAGE_(gyre_stopping, 0x2f);

/**
 * gyre_shutdown_hold() - has the running actor hold a phase of the shutdown
 * @stack: the stack of the running handler
 * @phase: the phase; an actor may hold several
 *
 * When the phase begins, the actor gets the event gyre_stopping. The phase does not end before the
 * actor calls gyre_shutdown_release(), restarts or stops, or the budget is over; an event that
 * still waits then does not come any more. Holding a phase twice is holding it once. An actor that
 * holds one is not stolen. A loop that retires stops its actors all the same: holding is for the
 * end of the system.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  there is no such phase
 *   -ENOMEM  there is no memory
 *   -ESHUTDOWN  the phase has begun, or is over
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_shutdown_hold(struct gyre_stack *stack, enum gyre_shutdown_phase phase);

/**
 * gyre_shutdown_release() - lets go of a phase that the running actor holds
 * @stack: the stack of the running handler
 * @phase: the phase, under way or still to come
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  there is no such phase
 *   -ENOENT  the actor does not hold it, or its time is over
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_shutdown_release(struct gyre_stack *stack, enum gyre_shutdown_phase phase);

GYRE_END_DECLS

#endif
