/*
 * Signals as events: an actor says which signals of the process it wants to hear of.
 *
 *	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGHUP, &frame->watching));
 *
 * From then on @event of its behaviour gets a gyre_signal each time. A signal goes to every actor
 * that watches it, and has no other effect; SIGINT and SIGTERM stop the system only while nobody
 * watches them.
 *
 * A signal can be watched only if every thread of the process blocks it, because the kernel gives
 * it to any thread that does not. The loops and the other threads of gyre block all signals, and
 * the thread in gyre_system_run() or gyre_main() blocks the watched ones while they are watched.
 * Other threads must block them themselves: they inherit what pthread_sigmask() sets before
 * gyre_system_create(). So must a thread that calls gyre_system_start() and gyre_system_wait()
 * instead.
 */
#ifndef GYRE_SIGNAL_H
#define GYRE_SIGNAL_H

#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_signal - the event that a signal has come
 * @signo: the signal
 * @code: its origin, si_code of sigaction(2): SI_USER for kill(2)
 * @pid: the process that sent it; 0 if none did
 * @value: the value from sigqueue(3); 0 otherwise
 * @count: how many came together, at least 1; the other fields tell of the last. The kernel itself
 *   merges several standard signals that wait into one
 */
struct gyre_signal {
	int signo;
	int code;
	int64_t pid;
	uint64_t value;
	uint32_t count;
};
GYRE_OWN_MESSAGE_(gyre_signal, 0x44);

/**
 * gyre_signal_watch() - tells the running actor of a signal
 * @stack: the running stack, which will own the promise
 * @signo: the signal
 * @ret_future: completes when the signal is caught, without an answer to be read; in the frame of
 *   @stack
 *
 * A signal that comes before the future has completed may still have its former effect. Of two
 * systems in one process that watch the same signal, each gets some of them. Watching twice is
 * watching once. A watch ends with its actor, and when the last has ended, the signal is let
 * through again.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -EBUSY  the process has a handler for it, which would never run
 *   -EINVAL  there is no such signal, or it cannot be watched: SIGKILL, SIGSTOP, and those that
 *     tell of a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS); or @ret_future is NULL
 *   -ENOMEM  there is no memory
 *   -ESHUTDOWN  the system is stopping. The future alone may show this too where there was no
 *     memory for the actor that catches signals: call again
 *   -ESRCH  the system has begun to stop since the call, or as for -ESHUTDOWN; the future alone
 *     shows this
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_signal_watch(struct gyre_stack *stack, int signo, struct gyre_future *ret_future);

/**
 * gyre_signal_unwatch() - ends a watch of the running actor
 * @stack: the stack of the running handler
 * @signo: the signal; one that is not watched is allowed
 *
 * Events that are already on their way still come.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  it cannot be watched
 *   -ENOMEM  there is no memory
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_signal_unwatch(struct gyre_stack *stack, int signo);

GYRE_END_DECLS

#endif
