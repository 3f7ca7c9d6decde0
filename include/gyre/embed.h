/*
 * A system inside a program that has a main loop already, such as one of libuv, GLib, or a toolkit.
 *
 *	const struct gyre_system_options options = { .loops = 1, .embedded = true };
 *
 *	r = gyre_system_create(&options, &system);
 *	r = gyre_system_start(system);
 *	...
 *	uv_poll_init(loop, &poll, gyre_system_descriptor(system));
 *	uv_poll_start(&poll, UV_READABLE, on_readable);
 *
 *	static void on_readable(uv_poll_t *poll, int status, int events)
 *	{
 *		if (gyre_system_turn(system, 0) == -ESHUTDOWN) {
 *			uv_poll_stop(poll);
 *		}
 *	}
 *
 * The thread that starts the system turns its first loop, and no other may. Between two turns that
 * thread is one outside of the system: it may send, spawn and ask with a callback, see
 * gyre/outside.h, but it must not wait for an actor, which would wait for it. Further loops have
 * threads of their own.
 *
 * Signals stay the program's: gyre_system_stop() begins the end, and the program goes on to turn
 * until gyre_system_turn() returns -ESHUTDOWN, or has gyre_system_wait() do so. SIGPIPE alone is
 * kept from the thread while it turns, where the program does not ignore it. A signal of
 * gyre_signal_watch() is heard where all threads of the program block it.
 */
#ifndef GYRE_EMBED_H
#define GYRE_EMBED_H

#include <gyre/system.h>

GYRE_BEGIN_DECLS

/**
 * gyre_system_turn() - does what there is to do on the first loop of an embedded system
 * @system: an embedded system that was started
 * @timeout_ns: how long to wait for something to do; 0 for not at all, GYRE_FOREVER for no limit. A
 *   signal may end the wait
 *
 * Returns when nothing is left to do for now, or after a millisecond with the descriptor still
 * readable, so that the other loop has its turn. A handler that runs longer holds both up. The
 * clock is looked at after a few runs of actors, each of up to run_budget messages: where handlers
 * take long and much mail waits, a smaller run_budget in the options makes turns shorter.
 *
 * Return: 1 if something was done, 0 if there was nothing to do, or a negative errno.
 * Errors:
 *   -EDEADLK  the thread is in a handler of a system
 *   -EINVAL  @system is NULL, is not embedded, or was not started
 *   -EPERM   another thread has started it
 *   -ESHUTDOWN  the first loop has ended: what is left is gyre_system_wait() or
 *     gyre_system_destroy()
 * Ownership: nothing changes hands.
 * Context: any thread that has started the system, outside of handlers; runs those of its actors.
 * Since: 0.1
 */
GYRE_API int gyre_system_turn(struct gyre_system *system, uint64_t timeout_ns);

/**
 * gyre_system_descriptor() - a descriptor that is readable when there is something to do
 * @system: an embedded system
 *
 * It is readable from the moment when a timer is due, an operation has completed, mail has come
 * from another thread or loop, or the system stops, until gyre_system_turn() has dealt with that;
 * now and then also without a cause. While the system is idle it is not readable. It is for poll(),
 * select(), epoll and all that uses them, for levels or for edges, and must not be read.
 *
 * Return: the descriptor, or a negative errno.
 * Errors:
 *   -EINVAL  @system is NULL or is not embedded
 * Ownership: stays the system's, until gyre_system_destroy().
 * Context: any thread, in any phase, between create and destroy of the system.
 * Since: 0.1
 */
GYRE_API int gyre_system_descriptor(const struct gyre_system *system);

GYRE_END_DECLS

#endif
