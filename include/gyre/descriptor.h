/*
 * Waiting for descriptors that other libraries own, so that a handler can await libpq, libcurl,
 * hiredis, or anything else that gives a descriptor and says what it waits for.
 *
 *	frame->database = PQconnectStart(conninfo);
 *	frame->wants = PGRES_POLLING_WRITING;
 *	while (frame->wants != PGRES_POLLING_OK && frame->wants != PGRES_POLLING_FAILED) {
 *		events = frame->wants == PGRES_POLLING_READING ? POLLIN : POLLOUT;
 *		GYRE_AWAIT(stack, gyre_descriptor_wait(stack, PQsocket(frame->database), events,
 *						       GYRE_SECONDS(10), &frame->ready));
 *		if (gyre_future_failed(&frame->ready))
 *			break;
 *		frame->wants = PQconnectPoll(frame->database);
 *	}
 *
 * apps/examples/channels/postgres.c goes on from there; the page of files and descriptors says how
 * libcurl and hiredis fit. gyre neither reads nor closes such a descriptor. Readiness is
 * level-triggered, as by poll(2). A descriptor must stay open while a wait or a watch for it is
 * under way: the kernel would go on with what was open there. An actor that waits for a descriptor
 * is not stolen by other loops meanwhile.
 */
#ifndef GYRE_DESCRIPTOR_H
#define GYRE_DESCRIPTOR_H

#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_descriptor_ready - the answer to gyre_descriptor_wait(), and the event of a watch
 * @fd: the descriptor
 * @events: POLLIN, POLLOUT and so on, as of poll(2); POLLERR and POLLHUP come unasked
 * @error: of the last event of a watch that has ended by itself: a negative errno; else 0
 */
struct gyre_descriptor_ready {
	int fd;
	uint32_t events;
	int error;
};
GYRE_OWN_MESSAGE_(gyre_descriptor_ready, 0x61);

/**
 * gyre_descriptor_wait() - waits until a descriptor is ready
 * @stack: the stack of the running handler
 * @fd: the descriptor
 * @events: POLLIN, POLLOUT, POLLPRI or POLLRDHUP, together
 * @timeout_ns: until the wait fails with -ETIMEDOUT; 0 as for gyre_ask(), GYRE_FOREVER for none
 * @ret_future: the future, in the stack's frame or the actor's state
 *
 * The answer is a struct gyre_descriptor_ready. Several may wait for one descriptor. The end of the
 * stack does not end the wait, whose answer is then dropped and counted as late; the actor's end
 * does.
 *
 * Return: 0, or a negative errno, which the future shows too.
 * Errors:
 *   -EINVAL  @fd is negative, @events is 0 or has other bits, or @ret_future is NULL
 *   -ENOMEM  there is no memory
 *   -ETIMEDOUT  @timeout_ns is 0, and the asker of the running message has no time left
 * Later, by gyre_future_error():
 *   -EBADF   @fd is not open
 *   -EINVAL  @fd is of a kind that is always ready for POLLIN and POLLOUT, as a file on a disk, and
 *            @events has neither
 *   -ETIMEDOUT  it was not ready in time
 *   others   what the kernel refused with
 * Ownership: @fd stays the caller's, and must stay open until the future has completed.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_descriptor_wait(struct gyre_stack *stack, int fd, uint32_t events,
				  uint64_t timeout_ns, struct gyre_future *ret_future);

/**
 * gyre_descriptor_watch() - has an event come whenever a descriptor is ready
 * @stack: the stack of the running handler
 * @fd: the descriptor
 * @events: as for gyre_descriptor_wait()
 *
 * The running actor gets a struct gyre_descriptor_ready as an event. The next one comes when that
 * has been handled and the descriptor is still ready, or is so again: so no more than one waits in
 * the mailbox. A watch ends with gyre_descriptor_unwatch(), with its actor, and by an event that
 * has an @error.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @fd is negative, or @events is 0 or has other bits
 *   -EEXIST  the actor watches @fd
 *   -ENOMEM  there is no memory
 * Ownership: @fd stays the caller's, and must stay open until the watch has ended.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_descriptor_watch(struct gyre_stack *stack, int fd, uint32_t events);

/**
 * gyre_descriptor_unwatch() - ends a watch
 * @stack: the stack of the running handler
 * @fd: the descriptor, which may be closed after the call
 *
 * An event that waits in the mailbox may still come.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -ENOENT  the actor does not watch @fd
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_descriptor_unwatch(struct gyre_stack *stack, int fd);

GYRE_END_DECLS

#endif
