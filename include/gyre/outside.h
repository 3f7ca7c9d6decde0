/*
 * Asks from threads that run no loop: threads of a library, of another runtime, or main().
 *
 *	struct gyre_mail *answer;
 *	int r = gyre_system_ask(system, shop, gyre_system_new(system, price_of, .item = 7),
 *				GYRE_SECONDS(1), &answer);
 *
 *	if (r == 0) {
 *		cents = gyre_mail_answer_to(answer, price_of)->cents;
 *		gyre_mail_destroy(NULL, answer);
 *	}
 *
 * An actor of gyre on the receiver's loop carries the ask, and the receiver sees that actor as the
 * sender. So everything is as between actors: time-outs, the end of the receiver, counters. The
 * asks of one thread to one receiver are dispatched in the order of the calls, also those that a
 * group routes to one member by their key. A thread that asks leaves nothing behind: it may end
 * whenever it likes. For notices from such threads see actor.h.
 */
#ifndef GYRE_OUTSIDE_H
#define GYRE_OUTSIDE_H

#include <gyre/actor.h>
#include <gyre/request.h>

GYRE_BEGIN_DECLS

/**
 * gyre_answered_fn - hears how an ask from outside has ended
 * @answer: the answer, for gyre_mail_get() or gyre_mail_move(), valid during the call; NULL for
 *   none
 * @error: 0 when there is an answer, else a negative errno as of gyre_system_ask()
 * @arg: what was given with the ask
 *
 * Runs on the loop of the asked actor, in phase 2, also while that loop stops; if the system ends
 * before it took up the ask, on the thread that waits for the end; see also gyre_system_ask_all().
 * It must not block, since it holds up that loop. It runs exactly once for each ask, which is the
 * last call for its @arg; it is not re-entered on one thread but runs on several at once. It may
 * call those of gyre's functions that any thread may call, but for gyre_system_ask().
 */
typedef void (*gyre_answered_fn)(struct gyre_mail *answer, int error, void *arg);

/**
 * gyre_system_ask() - asks from outside of any actor, and waits for the answer
 * @system: where
 * @to: the receiver, or a group that chooses one; a stale address is allowed
 * @mail: the question, made by gyre_system_new()
 * @timeout_ns: how long the answer may take; 0 for the system's default, GYRE_FOREVER for no limit
 * @ret_answer: the answer, for gyre_mail_get(); NULL when it is of no interest
 *
 * A system that was not started yet answers once it is. An answer that comes after the time-out is
 * dropped and counted.
 *
 * Return: 0, or a negative errno: one of those below, or the one that the receiver's handler failed
 *   with.
 * Errors:
 *   -EDEADLK  the calling thread is that of a loop, which must not wait: see gyre_ask(); or it is
 *            the one that turns this system: see gyre/embed.h
 *   -EINVAL  @system is NULL, or @to names no loop of it, nor of another node; or it is a group
 *            that sends to all its members
 *   -ENOBUFS  the receiver's mailbox holds its limit
 *   -ENOMEM  there is no memory, or @mail is NULL
 *   -ENOMSG  the receiver did not answer
 *   -ENOSYS  the receiver takes no asks
 *   -EPROTO  the receiver answered with another type than the question declares
 *   -ESHUTDOWN  the receiver or the system stopped, or the system is stopping
 *   -ESRCH   there is no such actor
 *   -ETIMEDOUT  no answer came in time
 * Ownership: @mail is taken, whatever is returned. @ret_answer is the caller's, to be freed with
 *   gyre_mail_destroy() and NULL for the stack, also after the system is destroyed.
 * Context: any thread but a loop's, between create and destroy of the system; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_system_ask(struct gyre_system *system, struct gyre_address to,
			     struct gyre_mail *mail, uint64_t timeout_ns,
			     struct gyre_mail **ret_answer);

/**
 * gyre_system_ask_callback() - asks from outside of any actor, and goes on
 * @system: where
 * @to: the receiver, or a group that chooses one; a stale address is allowed
 * @mail: the question, made by gyre_system_new()
 * @timeout_ns: how long the answer may take; 0 for the system's default, GYRE_FOREVER for no limit
 * @callback: hears of the answer or the error
 * @arg: for @callback
 *
 * @callback does not run before the system has been started, not even for a time-out.
 *
 * Return: 0, and then @callback runs exactly once; or a negative errno, and then it never does.
 * Errors:
 *   -EINVAL  @system or @callback is NULL, or @to names no loop of the system, nor of another node.
 *            A group that sends to all its members gives @callback this error
 *   -ENOMEM  there is no memory, or @mail is NULL
 *   -ESHUTDOWN  the system is stopping
 * Ownership: @mail is taken, whatever is returned. @arg stays the caller's.
 * Context: any thread, in any phase, between create and destroy of the system. Never blocks on a
 *   loop; wakes the receiver's loop if it is parked.
 * Since: 0.1
 */
GYRE_API int gyre_system_ask_callback(struct gyre_system *system, struct gyre_address to,
				      struct gyre_mail *mail, uint64_t timeout_ns,
				      gyre_answered_fn callback, void *arg);

/**
 * gyre_system_ask_all() - asks each member of a group from outside of any actor, and goes on
 * @system: where
 * @group: the address of a group of this node, whatever its routing
 * @mail: the question, made by gyre_system_new(), of which each member gets a copy; one that owns
 *   something needs a function that copies it, see gyre_copy_fn
 * @timeout_ns: how long each answer may take; 0 for the system's default, GYRE_FOREVER for no limit
 * @callback: hears of each answer or error, as that of gyre_system_ask_callback(); for a member
 *   that could not be asked, as for lack of memory, on the calling thread
 * @arg: for @callback
 *
 * As gyre_ask_all() of an actor. Calls of @callback for several members may run at once, on their
 * loops, also before this returns; which of them is the last, the program counts.
 *
 * Return: how many members there are, 0 to GYRE_GROUP_MEMBERS_MAX, and then @callback runs exactly
 *   once for each; or a negative errno, and then it never does.
 * Errors:
 *   -EINVAL  @system or @callback is NULL, @group is not the address of a group of this node, or
 *            @mail cannot be copied
 *   -ENOMEM  there is no memory for the copies, or @mail is NULL
 *   -ESRCH   the group has ended
 * Ownership: @mail is taken, whatever is returned. @arg stays the caller's.
 * Context: any thread, in any phase, between create and destroy of the system. Never blocks on a
 *   loop; takes a mutex that is held shortly.
 * Since: 0.1
 */
GYRE_API int gyre_system_ask_all(struct gyre_system *system, struct gyre_address group,
				 struct gyre_mail *mail, uint64_t timeout_ns,
				 gyre_answered_fn callback, void *arg);

/**
 * gyre_mail_message() - the payload of a mail that the caller has
 * @mail: an answer of gyre_system_ask() or to a callback, or a mail that was taken: see move.h. Or
 *   NULL
 * @type: the type it must have
 *
 * Mostly called through gyre_mail_get().
 *
 * Return: the payload, or NULL when @mail is NULL, of another type, or its payload was moved out.
 * Errors:
 *   NULL  there is none of that type
 * Ownership: stays with the mail.
 * Context: any thread that owns the mail.
 * Since: 0.1
 */
GYRE_API const void *gyre_mail_message(const struct gyre_mail *mail, const struct gyre_type *type);

/** gyre_mail_get() - that payload as const struct NAME *, or NULL: gyre_mail_get(mail,
 * price)->cents
 */
#define gyre_mail_get(MAIL, NAME) \
	((const struct NAME *)gyre_mail_message((MAIL), &gyre_type_##NAME))

/** gyre_mail_answer_to() - that payload as the answer to a request NAME, typed, or NULL */
#define gyre_mail_answer_to(MAIL, NAME)                                             \
	GYRE_IF_ANSWERED_(NAME, (const GYRE_ANSWER_TYPE_(NAME) *)gyre_mail_message( \
					(MAIL), gyre_type_##NAME.answer))

/**
 * gyre_mail_message_move() - moves the payload out of a mail that the caller has, to keep it
 * @mail: the mail, as for gyre_mail_message(), or NULL
 * @type: the type it must have
 * @ret_payload: room for a payload of that type
 *
 * Mostly called through gyre_mail_move().
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EMSGSIZE  it has a tail: see tail.h
 *   -ENOENT  there is no message of that type
 * Ownership: what the payload owns is the caller's; the empty mail stays to be freed as before.
 * Context: any thread that owns the mail.
 * Since: 0.1
 */
GYRE_API int gyre_mail_message_move(struct gyre_mail *mail, const struct gyre_type *type,
				    void *ret_payload);

/** gyre_mail_move() - moves that payload to where a struct NAME * points; 0 or an errno */
#define gyre_mail_move(MAIL, NAME, VALUE) \
	gyre_mail_message_move((MAIL), &gyre_type_##NAME, GYRE_POINTER_(NAME, VALUE))

/** gyre_mail_move_answer_to() - moves the answer to a NAME to where VALUE points; 0 or an errno */
#define gyre_mail_move_answer_to(MAIL, NAME, VALUE)                                     \
	GYRE_IF_ANSWERED_(NAME, gyre_mail_message_move((MAIL), gyre_type_##NAME.answer, \
						       GYRE_ANSWER_TO_WRITE_(NAME, VALUE)))

GYRE_END_DECLS

#endif
