/*
 * Actors: the class that a user writes, with its handlers; how an actor is spawned, and how it
 * ends.
 *
 * All handlers and hooks of an actor have one form. They get a stack, through which they reach the
 * message, the state of the actor and the rest of gyre, and they return the result of
 * gyre_return(), gyre_reply(), gyre_throw() or gyre_suspend(). One handler of an actor runs at a
 * time.
 */
#ifndef GYRE_ACTOR_H
#define GYRE_ACTOR_H

#include <gyre/address.h>
#include <gyre/behaviour.h>
#include <gyre/message.h>
#include <gyre/supervision.h>

GYRE_BEGIN_DECLS

/**
 * gyre_clean_fn - gets the state of an actor that has stopped
 * @state: the actor's state, which is freed after the call
 *
 * Runs once, in phase 2 or 3, when nothing else of the actor will run; it is the last call and
 * never re-entered.
 */
typedef void (*gyre_clean_fn)(void *state);

/**
 * gyre_frame_clean_fn - frees what the frame of a suspended handler owns
 * @frame: the frame, as the handler left it when it suspended
 * @state: the actor's state, which is cleaned later
 *
 * Runs in phase 2 or 3, for each handler that is suspended when its actor stops: it will not be
 * resumed, and the call is the last for its frame. It is not re-entered, and must not do anything
 * to actors or channels. A handler that returns frees by itself.
 *
 * The call comes when the actor stops, while its children may still live. It comes later in an
 * actor that has had a channel, a file or a wait for a descriptor: when the last of them has closed
 * and all children have gone. So the frame may own what these use, such as the descriptor that is
 * waited for.
 */
typedef void (*gyre_frame_clean_fn)(void *frame, void *state);

/**
 * gyre_filter_fn - chooses messages of an actor
 * @type: of the message
 * @message: its payload
 *
 * Runs just before the message's handler would, in the same phase, and for @urgent of the class
 * when the message arrives, in any phase; it is not re-entered, and there is no last call. It may
 * be called more than once for a message. It only looks at the message, and must not do anything to
 * actors or channels.
 *
 * Returns whether the field of the class that holds the filter applies to the message.
 */
typedef bool (*gyre_filter_fn)(const struct gyre_type *type, const void *message);

/**
 * enum gyre_strategy - the fate of an actor whose handler of a notice or an event has failed
 * @GYRE_STRATEGY_RESTART: its restart hooks run; address, state and mailboxes stay. Just before
 *   them, and so after the delay, its timers and its receive time-out stop, the behaviour is the
 *   class's again, and stashed messages go back to the front of the mailbox. Its children stop, and
 *   the hooks wait for that, unless the class keeps them. Suspended handlers stay, with their
 *   outstanding asks and sleeps, and so does a barrier that waits. The actor stops with that
 *   failure if there is no memory for the record of its restarts
 * @GYRE_STRATEGY_IGNORE: it goes on with the next message
 * @GYRE_STRATEGY_STOP: it stops, as by gyre_stop()
 * @GYRE_STRATEGY_SHUT_DOWN: the system stops, as by gyre_system_stop()
 * @GYRE_STRATEGY_ESCALATE: the parent decides, by the supervision of its class; see supervision.h.
 *   Until it has, the actor handles nothing. The parent hears of a failed mount and of a failed
 *   restart hook too. Without memory to tell it the actor stops. Where there is no parent, the
 *   system stops, with the error as its result
 *
 * A failed ask is for the asker to deal with: the actor goes on. A failed mount stops the actor,
 * and so does a failed restart hook. A failure while the actor stops changes nothing.
 */
enum gyre_strategy {
	GYRE_STRATEGY_RESTART,
	GYRE_STRATEGY_IGNORE,
	GYRE_STRATEGY_STOP,
	GYRE_STRATEGY_SHUT_DOWN,
	GYRE_STRATEGY_ESCALATE,
};

/**
 * enum gyre_overflow - what becomes of an ask or a notice for which a mailbox has no room
 * @GYRE_OVERFLOW_REFUSE: it is refused with -ENOBUFS, which the sender hears at once where it lives
 *   on the same loop
 * @GYRE_OVERFLOW_DROP_NEWEST: likewise, but the sender of a notice hears nothing
 * @GYRE_OVERFLOW_DROP_OLDEST: the oldest one of its kind that waits makes room for it, or the
 *   oldest of the other kind; never an urgent one. Where none can be dropped, as in a run of the
 *   actor, which has taken all that waited: as for GYRE_OVERFLOW_DROP_NEWEST
 *
 * What is dropped is a dead letter for GYRE_DROP_MAILBOX_FULL, and an ask fails with -ENOBUFS.
 */
enum gyre_overflow {
	GYRE_OVERFLOW_REFUSE,
	GYRE_OVERFLOW_DROP_NEWEST,
	GYRE_OVERFLOW_DROP_OLDEST,
};

/**
 * struct gyre_mailbox_mark - the event that waiting messages have crossed a mark of the class
 * @waiting: asks and notices that wait
 * @high: true when there are now @mailbox_high of them, false when there are @mailbox_low again
 */
struct gyre_mailbox_mark {
	uint32_t waiting;
	bool high;
};
GYRE_OWN_MESSAGE_(gyre_mailbox_mark, 0x07);

/**
 * struct gyre_class - the kind of an actor, which must outlive all actors of the class
 * @name: for logs
 * @state_bytes: of each actor's state, zeroed at first, at most 16 MiB
 * @frame_bytes: of each message's frame, zeroed at first, at most 8 KiB
 * @behaviour: the first behaviour
 * @mount: the first call, whose message is the argument of gyre_spawn(); a failure stops the actor.
 *   While the mount waits, only the answers to its asks are dispatched: an actor that asks itself
 *   there waits until the time-out
 * @clean: the last call
 * @frame_clean: gets the frame of each handler that is suspended when the actor stops; NULL where
 *   frames own nothing
 * @barrier: chooses asks and notices that run alone: from the dispatch of one until its stack ends,
 *   no other ask or notice of the actor is dispatched. NULL for none
 * @batch_notices: chooses notices that arrive together, if the behaviour has @notice_batch; NULL
 *   for none. A message that @barrier chooses is never part of a batch
 * @batch_asks: likewise for asks and @ask_batch
 * @urgent: chooses asks and notices that are dispatched before the others of their kind that wait,
 *   among themselves in their order. It is called as they arrive. NULL for none
 * @stash_max: messages that may be stashed at once; one more is refused. 0 for 1024
 * @batch_max: messages in one batch, up to 1024; 0 for 64
 * @mailbox_limit: asks and notices that may wait to be handled; 0 for no limit. A handler that
 *   suspends has begun with its message, which does not count any more: only @barrier, or the actor
 *   itself, bounds how many of them wait at once
 * @overflow: what becomes of one more
 * @mailbox_high: how many waiting asks and notices raise the event struct gyre_mailbox_mark, at
 *   most @mailbox_limit; 0 for never
 * @mailbox_low: how few of them raise it again, below @mailbox_high
 * @strategy: the consequence of a failed notice or event
 * @before_restart: the first of a restart's three calls, after the timers have been stopped and the
 *   behaviour is the class's again; each may be NULL or wait for answers, and if one fails the
 *   actor stops. While one waits, asks, notices and events wait too; a handler that was suspended
 *   before the failure can be resumed by its answers then, and between that call and the next
 * @restart: the second, to bring the state in order
 * @after_restart: the third
 * @restarts_max: restarts within any @restart_window_ns; one more stops the actor. 0 for no limit
 * @restart_window_ns: for how long a restart counts; 0 for a minute. Where more than nine count at
 *   a time, some may count for up to a quarter longer
 * @restart_delay_ns: the pause between a failure and its restart, doubled by each restart that
 *   counts, up to 64 times; mail waits meanwhile, answers included. 0 for none
 * @keep_children: a restart leaves the children alone
 * @supervision: what is done about failures of children whose class says GYRE_STRATEGY_ESCALATE
 */
struct gyre_class {
	const char *name;
	size_t state_bytes;
	size_t frame_bytes;
	struct gyre_behaviour behaviour;
	gyre_handler_fn mount;
	gyre_clean_fn clean;
	gyre_frame_clean_fn frame_clean;
	gyre_filter_fn barrier;
	gyre_filter_fn batch_notices;
	gyre_filter_fn batch_asks;
	gyre_filter_fn urgent;
	uint32_t stash_max;
	uint32_t batch_max;
	uint32_t mailbox_limit;
	enum gyre_overflow overflow;
	uint32_t mailbox_high;
	uint32_t mailbox_low;
	enum gyre_strategy strategy;
	gyre_handler_fn before_restart;
	gyre_handler_fn restart;
	gyre_handler_fn after_restart;
	uint32_t restarts_max;
	uint64_t restart_window_ns;
	uint64_t restart_delay_ns;
	bool keep_children;
	struct gyre_supervision supervision;
};

/**
 * enum gyre_place - the loop that a new actor lives on
 * @GYRE_PLACE_HERE: the loop of the spawning actor; outside of actors the same as
 *   GYRE_PLACE_ROUND_ROBIN
 * @GYRE_PLACE_LOOP: the loop that the options name
 * @GYRE_PLACE_ROUND_ROBIN: one loop after the other
 * @GYRE_PLACE_PINNED: a loop of its own, one of loops_pinned in the options of the system, until
 *   the actor ends; for actors alone, not for sockets and groups. -ENOBUFS if none is free
 */
enum gyre_place {
	GYRE_PLACE_HERE,
	GYRE_PLACE_LOOP,
	GYRE_PLACE_ROUND_ROBIN,
	GYRE_PLACE_PINNED,
};

/**
 * struct gyre_spawn_options - how an actor is spawned; all zero is the default
 * @place: how the loop is chosen
 * @loop: the index of the loop for GYRE_PLACE_LOOP, below the number of loops
 * @detached: not a child of the spawning actor, so that it may outlive it
 * @name: its first name, as by gyre_name_register(); NULL for none. It is found by that name as
 *   soon as the call has returned. Copied
 * @reserved: 0, for what comes later
 */
struct gyre_spawn_options {
	enum gyre_place place;
	uint32_t loop;
	bool detached;
	const char *name;
	uint64_t reserved[2];
};

/** gyre_spawn_sized() - gyre_spawn() with the size of @actor_class */
GYRE_API int gyre_spawn_sized(struct gyre_stack *stack, const struct gyre_class *actor_class,
			      size_t actor_class_bytes, struct gyre_mail *argument,
			      const struct gyre_spawn_options *options,
			      struct gyre_address *ret_address);

/**
 * gyre_spawn() - makes an actor
 * @stack: the stack of the running handler
 * @actor_class: the class of the actor
 * @argument: the message of its mount hook, or GYRE_NO_ARGUMENT
 * @options: where it goes; NULL for the defaults
 * @ret_address: its address, good for sending at once; with -EEXIST that of the actor which has the
 *   name
 *
 * Of several that spawn actors of one name at the same time, exactly one succeeds; the others get
 * the address of its actor. That actor may have stopped since.
 *
 * Mail may be sent to the address immediately, from anywhere; asks, notices and events wait until
 * the mount hook has ended, however long it waits for answers. A stop, or the deadline of a
 * graceful stop, ends the actor during that wait, too. The new actor is a child of the running one,
 * unless the options say otherwise: when the parent stops, for whatever reason, all its children
 * are stopped first, on whatever loop, and have been cleaned before the parent is. When the parent
 * restarts, they are stopped before its restart hooks run, unless its class keeps them. A parent
 * that has stopped, and only closes its channels, gets no new ones.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EEXIST   another actor has the name
 *   -EINVAL   @actor_class is NULL, has no name or a field out of its bounds, @ret_address is
 *             NULL, the options name no loop, or the name is empty or too long
 *   -ENOBUFS  the loop has as many actors as it can have (16 million)
 *   -ENOMEM   there is no memory, or @argument is NULL: it could not be made
 *   -ESHUTDOWN  the system is stopping, or the loop of the running actor retires and stops its
 *             actors; or the running actor has stopped, what runs is the end of one of its
 *             channels, and the options do not detach the new actor
 * Ownership: @argument is taken, whatever is returned. @actor_class stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler; also one that is about to stop.
 * Since: 0.1
 */
static inline int gyre_spawn(struct gyre_stack *stack, const struct gyre_class *actor_class,
			     struct gyre_mail *argument, const struct gyre_spawn_options *options,
			     struct gyre_address *ret_address)
{
	return gyre_spawn_sized(stack, actor_class, sizeof(*actor_class), argument, options,
				ret_address);
}

/** gyre_system_spawn_sized() - gyre_system_spawn() with the size of @actor_class */
GYRE_API int gyre_system_spawn_sized(struct gyre_system *system,
				     const struct gyre_class *actor_class, size_t actor_class_bytes,
				     struct gyre_mail *argument,
				     const struct gyre_spawn_options *options,
				     struct gyre_address *ret_address);

/**
 * gyre_system_spawn() - makes an actor from outside of any actor
 * @system: where
 * @actor_class: the class of the actor
 * @argument: the message of its mount hook, made by gyre_system_new(), or GYRE_NO_ARGUMENT
 * @options: where it goes; NULL for the defaults
 * @ret_address: its address, good for sending at once; with -EEXIST that of the actor which has the
 *   name
 *
 * A thread that names an actor becomes a reader of liburcu's QSBR flavour, as by
 * gyre_system_name_lookup().
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EEXIST   another actor has the name
 *   -EINVAL   @system, @actor_class or @ret_address is NULL, the class has no name or a field
 *             out of its bounds, the options name no loop, or the name is empty or too long
 *   -ENOBUFS  the loop has as many actors as it can have (16 million)
 *   -ENOMEM   there is no memory, or @argument is NULL: it could not be made
 *   -ESHUTDOWN  the system is stopping
 * Ownership: @argument is taken, whatever is returned. @actor_class stays the caller's.
 * Context: any thread, in any phase, between create and destroy of the system.
 * Since: 0.1
 */
static inline int gyre_system_spawn(struct gyre_system *system,
				    const struct gyre_class *actor_class,
				    struct gyre_mail *argument,
				    const struct gyre_spawn_options *options,
				    struct gyre_address *ret_address)
{
	return gyre_system_spawn_sized(system, actor_class, sizeof(*actor_class), argument, options,
				       ret_address);
}

/**
 * gyre_parent() - the actor that spawned the running one as its child
 * @stack: the stack of the running handler
 *
 * Return: the address; GYRE_NOBODY for an actor that is detached or was spawned from outside.
 * Ownership: a value.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_address gyre_parent(const struct gyre_stack *stack);

/** GYRE_PATH_TEXT_MAX - bytes that the path of any actor needs, with its final 0 */
#define GYRE_PATH_TEXT_MAX 512

/**
 * gyre_path() - writes the place of the running actor in the tree of families, for people
 * @stack: the stack of the running handler
 * @bytes: how many bytes @ret_text has, at least GYRE_PATH_TEXT_MAX for any actor
 * @ret_text: the path, with its final 0, as "/user/chat/room-3"
 *
 * An actor stands below its parent, and one without a parent below "/user" or, if gyre has made it
 * for itself, "/system". Its own part of the path is the first of its names, else that of its class
 * with the number of the actor among the children of its parent. The part of an actor that has had
 * children does not change any more. Of a path that is too long the upper part is left out:
 * "/user/.../room-3".
 *
 * A path is no address: two actors may have had the same one after the other. Logs and snapshots
 * show paths, and escape what is not printable in names, which stand in @ret_text as they are.
 *
 * Return: the length of the text, or a negative errno.
 * Errors:
 *   -EINVAL    @ret_text is NULL
 *   -EMSGSIZE  @bytes are too few
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_path(const struct gyre_stack *stack, size_t bytes, char *ret_text);

/**
 * gyre_notify() - sends a notice and goes on
 * @stack: the stack of the running handler
 * @to: the receiver; a stale address is allowed
 * @mail: the notice, made by gyre_new() or taken by gyre_take()
 *
 * Notices of one sender to one receiver are dispatched in the order of the calls; nothing is
 * promised between senders. 0 means accepted for delivery, not handled.
 *
 * Return: 0, or a negative errno, and then @mail is with the dead letters.
 * Errors:
 *   -EAGAIN  @to is of another node, and the link to it is full
 *   -EINVAL  @mail is GYRE_NO_ARGUMENT; or @to is a group to all of which @mail is to go though it
 *            cannot be copied
 *   -ENOBUFS  the receiver's mailbox holds its limit (known at once only on the same loop)
 *   -ENOMEM  @mail is NULL: gyre_new() had no memory; or there is none for its copies
 *   -ESRCH   the receiver has stopped (known at once only on the same loop), or is a group without
 *            members
 *   others   @to is of another node, and the encoder of the type refuses the message: see encode.h
 * Ownership: @mail is taken, whatever is returned.
 * Context: loop thread, phases 2 and 3, inside a handler. Never blocks on a loop.
 * Since: 0.1
 */
GYRE_API int gyre_notify(struct gyre_stack *stack, struct gyre_address to, struct gyre_mail *mail);

/**
 * gyre_notify_self_first() - puts a notice before all others that wait for the running actor
 * @stack: the stack of the running handler
 * @mail: the notice
 *
 * Made for a message that must come before those of users, such as an authentication after a
 * connect. The limit of the mailbox does not apply.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -ENOMEM  @mail is NULL: gyre_new() had no memory
 *   -ESRCH   the running actor has stopped, and only closes its channels
 * Ownership: @mail is taken, whatever is returned.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_notify_self_first(struct gyre_stack *stack, struct gyre_mail *mail);

/**
 * gyre_system_notify() - sends a notice from outside of any actor
 * @system: where
 * @to: the receiver; a stale address is allowed
 * @mail: the notice, made by gyre_system_new()
 *
 * Notices of one thread to one receiver are dispatched in the order of the calls. The receiver sees
 * GYRE_NOBODY as the sender. 0 means accepted for delivery, not handled.
 *
 * Return: 0, or a negative errno; with -ESHUTDOWN and -ESRCH @mail is with the dead letters.
 * Errors:
 *   -EINVAL  @system is NULL, or @to names no loop of it, nor of another node while the system is
 *            one itself, or is a group to all of which @mail is to go though it cannot be copied
 *   -ENOMEM  @mail is NULL: gyre_system_new() had no memory; or there is none for its copies
 *   -ESHUTDOWN  the actors of the system have stopped
 *   -ESRCH   @to is a group without members
 * Ownership: @mail is taken, whatever is returned.
 * Context: any thread, in any phase, between create and destroy of the system. Never blocks on a
 *   loop; wakes the receiver's loop if it is parked. On a thread that runs no loop, the call waits
 *   up to 40 ms while the system is short of memory: see gyre/overload.h.
 * Since: 0.1
 */
GYRE_API int gyre_system_notify(struct gyre_system *system, struct gyre_address to,
				struct gyre_mail *mail);

/**
 * gyre_stop() - stops an actor after the message it is handling
 * @stack: the stack of the running handler
 * @actor: the actor, also the running one itself; a stale address is allowed
 *
 * The messages in its mailboxes become dead letters, waiting asks fail with -ESHUTDOWN, its
 * suspended messages end, and its timers stop. Its address is stale from then on. Its children are
 * stopped and the channels it owns are closed before its state is cleaned.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -ENOMEM  there is no memory, which only a stop of an actor of another loop needs
 *   -ESRCH   it has stopped already (known at once only on the same loop)
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_stop(struct gyre_stack *stack, struct gyre_address actor);

/**
 * gyre_poison() - stops an actor when it has handled the notices that wait for it now
 * @stack: the stack of the running handler
 * @actor: the actor; a stale address is allowed
 *
 * A poison notice keeps its place among the notices. When it is dispatched, the actor stops as by
 * gyre_stop(): asks that wait or are suspended fail with -ESHUTDOWN.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -ENOMEM  there is no memory
 *   -ESRCH   it has stopped already (known at once only on the same loop)
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_poison(struct gyre_stack *stack, struct gyre_address actor);

GYRE_END_DECLS

#endif
