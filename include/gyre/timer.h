/*
 * Timers of an actor. Each has a key that the actor chooses; starting a key that runs replaces its
 * timer. A timer speaks to the event handler of the actor, as struct gyre_timeout, or sends a mail
 * that it was given to whomever. A timer that was stopped or replaced never speaks again, even if
 * its event was already waiting.
 */
#ifndef GYRE_TIMER_H
#define GYRE_TIMER_H

#include <gyre/actor.h>
#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_timeout - the event of a timer
 * @key: which timer
 * @expirations: periods that have passed since the last event; more than 1 if the actor was slow
 */
struct gyre_timeout {
	uint64_t key;
	uint64_t expirations;
};
GYRE_OWN_MESSAGE_(gyre_timeout, 0x01);

/**
 * struct gyre_timer_options - when a timer fires; all zero fires once, at once
 * @delay_ns: from now to the first time
 * @date_ns: the first time as a date, in nanoseconds of the Unix epoch; 0 to use @delay_ns. The
 *   date is converted when the timer starts: later changes of the wall clock do not move it
 * @period_ns: from each time to the next; 0 for once. Deadlines are absolute: there is no drift
 */
struct gyre_timer_options {
	uint64_t delay_ns;
	uint64_t date_ns;
	uint64_t period_ns;
};

/** gyre_timer_start_sized() - gyre_timer_start() with the size of @options */
GYRE_API int gyre_timer_start_sized(struct gyre_stack *stack, uint64_t key,
				    const struct gyre_timer_options *options, size_t options_bytes);

/**
 * gyre_timer_start() - starts or restarts a timer of the running actor
 * @stack: the stack of the running handler
 * @key: names the timer within the actor
 * @options: when the timer fires; never early, and on an idle loop at most a timer tick late
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @options is NULL
 *   -ENOMEM  there is no memory; a timer of that key has been stopped then
 * Ownership: @options stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_timer_start(struct gyre_stack *stack, uint64_t key,
				   const struct gyre_timer_options *options)
{
	return gyre_timer_start_sized(stack, key, options, sizeof(*options));
}

/** gyre_send_after_sized() - gyre_send_after() with the size of @options */
GYRE_API int gyre_send_after_sized(struct gyre_stack *stack, uint64_t key, struct gyre_address to,
				   struct gyre_mail *mail, const struct gyre_timer_options *options,
				   size_t options_bytes);

/**
 * gyre_send_after() - sends a notice after a time or at a date, once or in periods
 * @stack: the stack of the running handler
 * @key: names the timer within the actor: its keys are those of gyre_timer_start()
 * @to: the receiver, of whatever loop or node; a stale address is allowed
 * @mail: the notice, made by gyre_new()
 * @options: when it is sent; never early. With a period a copy is sent each time, so @mail must be
 *   such that it can be copied; periods that the loop has missed are not made up for
 *
 * The running actor is the sender. gyre_timer_stop() calls the notice off. It ends with the actor,
 * and with its restart: a notice that was to be sent once is a dead letter then.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @options is NULL, or it has a period and @mail cannot be copied
 *   -ENOMEM  there is no memory, or @mail is NULL; a timer of that key has been stopped then
 * Ownership: @mail is taken, whatever is returned. @options stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_send_after(struct gyre_stack *stack, uint64_t key, struct gyre_address to,
				  struct gyre_mail *mail, const struct gyre_timer_options *options)
{
	return gyre_send_after_sized(stack, key, to, mail, options, sizeof(*options));
}

/** gyre_system_send_after_sized() - gyre_system_send_after() with the size of @options */
GYRE_API int gyre_system_send_after_sized(struct gyre_system *system, uint64_t key,
					  struct gyre_address to, struct gyre_mail *mail,
					  const struct gyre_timer_options *options,
					  size_t options_bytes);

/**
 * gyre_system_send_after() - the same from outside of any actor
 * @system: where
 * @key: names the timer within the system, for all threads; one that runs is replaced
 * @to: the receiver; a stale address is allowed
 * @mail: the notice, made by gyre_system_new()
 * @options: as for gyre_send_after(); a delay counts from this call on
 *
 * An actor of gyre on the first loop has the timer, and is the sender. The calls of one thread are
 * obeyed in their order. In a system that was not started yet nothing is sent before it is.
 *
 * Return: 0, or a negative errno. Where that actor finds no memory, the notice is lost with a line
 *   in the log.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @system or @options is NULL, @to names no loop of the system, nor of another node, or
 *            there is a period and @mail cannot be copied
 *   -ENOMEM  there is no memory, or @mail is NULL
 *   -ESHUTDOWN  the system is stopping
 * Ownership: @mail is taken, whatever is returned. @options stays the caller's.
 * Context: any thread, in any phase, between create and destroy of the system. Never blocks on a
 *   loop; wakes the first loop if it is parked.
 * Since: 0.1
 */
static inline int gyre_system_send_after(struct gyre_system *system, uint64_t key,
					 struct gyre_address to, struct gyre_mail *mail,
					 const struct gyre_timer_options *options)
{
	return gyre_system_send_after_sized(system, key, to, mail, options, sizeof(*options));
}

/**
 * gyre_system_timer_stop() - calls off what gyre_system_send_after() was to send
 * @system: where
 * @key: names the timer within the system
 *
 * Nothing is sent once the first loop has heard of it, which the call does not wait for; so a
 * notice whose time has come may be under way. A key that no timer has means nothing.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @system is NULL
 *   -ENOMEM  there is no memory
 *   -ESHUTDOWN  the system is stopping
 * Ownership: nothing changes hands.
 * Context: any thread, in any phase, between create and destroy of the system. Never blocks on a
 *   loop; wakes the first loop if it is parked.
 * Since: 0.1
 */
GYRE_API int gyre_system_timer_stop(struct gyre_system *system, uint64_t key);

/**
 * gyre_sleep_until() - a future that completes at a date
 * @stack: the running stack, which will own the promise
 * @date_ns: the date, in nanoseconds of the Unix epoch; one that has passed completes at once. It
 *   is converted in the call: later changes of the wall clock do not move it
 * @ret_future: completes without an error; in the frame of @stack, or the state of its actor
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -EINVAL  @ret_future is NULL
 *   -ENOMEM  there is no memory
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_sleep_until(struct gyre_stack *stack, uint64_t date_ns,
			      struct gyre_future *ret_future);

/**
 * gyre_timer_stop() - stops a timer of the running actor
 * @stack: the stack of the running handler
 * @key: names the timer within the actor
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -ENOENT  no timer of that key runs
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_timer_stop(struct gyre_stack *stack, uint64_t key);

/**
 * struct gyre_receive_timeout - the event that an actor has been idle for a while
 * @idle_ns: for how long, at least the time given to gyre_receive_timeout_start()
 */
struct gyre_receive_timeout {
	uint64_t idle_ns;
};
GYRE_OWN_MESSAGE_(gyre_receive_timeout, 0x0c);

/**
 * gyre_receive_timeout_start() - tells the running actor when it is idle
 * @stack: the stack of the running handler
 * @timeout_ns: how long no ask, notice or answer was dispatched, at least 1; first counted from
 *   this call on, or from the last of the messages that the same run of the actor dispatches
 *
 * The event comes again after each such time. Events do not count as activity. A second call
 * replaces the first; a restart ends it.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @timeout_ns is 0
 *   -ENOMEM  there is no memory
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_receive_timeout_start(struct gyre_stack *stack, uint64_t timeout_ns);

/**
 * gyre_receive_timeout_stop() - ends the receive time-out of the running actor
 * @stack: the stack of the running handler
 *
 * An event that is already waiting does not come any more.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -ENOENT  there is none
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_receive_timeout_stop(struct gyre_stack *stack);

GYRE_END_DECLS

#endif
