/*
 * Groups: several actors behind one address. A message to the address of a group goes to one of its
 * members, or to all, according to the routing of the group; gyre_notify(), gyre_ask() and
 * gyre_system_notify() take the address like any other.
 *
 * A spawned group is made with its members, which are children of the spawning actor like others.
 * It ends, and its address is stale, when gyre_stop() is called for it or its last member has gone.
 * A created group is made empty, actors join it, and only gyre_stop() or the end of the system ends
 * it. gyre_stop() ends the group at once and stops the members that were spawned with it;
 * gyre_poison() goes to those members, each of which first handles the notices that wait for it.
 * Members that joined only lose their membership. Groups can neither be watched nor be stopped
 * gracefully.
 *
 * A member leaves all its groups when it stops, before its watchers are told; a restart keeps it.
 * Mail that was routed to it just before shares its fate: it is a dead letter. A member that goes
 * as its group shrinks loses none. A notice to a group without members is a dead letter with
 * GYRE_DROP_NO_ACTOR, and an ask fails with -ESRCH.
 *
 * Notices of one sender that reach the same member are dispatched in the order of the calls.
 *
 * A spawned group can grow and shrink between bounds, by the mail that waits for its members: see
 * struct gyre_group_options.
 *
 * gyre_ask_all() asks each member. The handler waits for all of them by GYRE_AWAIT(), or until
 * enough have answered by GYRE_AWAIT_QUORUM().
 */
#ifndef GYRE_GROUP_H
#define GYRE_GROUP_H

#include <gyre/actor.h>
#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/** GYRE_GROUP_MEMBERS_MAX - how many members a group can have */
#define GYRE_GROUP_MEMBERS_MAX 1024

/**
 * gyre_key_fn - the key of a message for GYRE_ROUTING_BY_KEY
 * @type: of the message
 * @message: its payload
 *
 * Runs where the message is sent: on the sender's loop in phase 2 or 3, inside its handler, or on
 * the thread that sends from outside, and so on several threads at once. For an ask from outside it
 * runs twice: on that thread and on a loop. It is not re-entered on one thread, there is no last
 * call, and it must not call gyre.
 *
 * Returns the key: all messages of one key go to the same member.
 */
typedef uint64_t (*gyre_key_fn)(const struct gyre_type *type, const void *message);

/**
 * enum gyre_routing - which member gets a message
 * @GYRE_ROUTING_ROUND_ROBIN: the next one in turn; each sending loop counts for itself
 * @GYRE_ROUTING_NEAR: a member on the sender's loop, in turn if there are several; without any, and
 *   from outside, the same as GYRE_ROUTING_ROUND_ROBIN
 * @GYRE_ROUTING_RANDOM: a random one
 * @GYRE_ROUTING_ALL: each gets a copy of a notice, including the sender if it is a member; -EINVAL
 *   for a message that owns something and has no function that copies it, and for an ask, which
 *   cannot have several answers
 * @GYRE_ROUTING_BY_KEY: the member that the key leads to. When a member leaves, only its keys move;
 *   when one joins, it takes its share from the others. The time it takes is proportional to the
 *   number of members
 * @GYRE_ROUTING_LESS_LOADED: of two random members, the one with fewer asks and notices in its
 *   mailbox; messages on their way there do not count yet
 */
enum gyre_routing {
	GYRE_ROUTING_ROUND_ROBIN,
	GYRE_ROUTING_NEAR,
	GYRE_ROUTING_RANDOM,
	GYRE_ROUTING_ALL,
	GYRE_ROUTING_BY_KEY,
	GYRE_ROUTING_LESS_LOADED,
};

/**
 * struct gyre_group_options - how a group is made; all zero is the default
 * @count: how many members to spawn, up to GYRE_GROUP_MEMBERS_MAX; 0 for one on each loop
 * @routing: which member gets a message
 * @key: for GYRE_ROUTING_BY_KEY
 * @detached: the members are not children of the spawning actor, so that they may outlive it
 * @shrink_after_ns: for how long little mail must have waited before members go, in nanoseconds; 0
 *   for GYRE_GROUP_SHRINK_AFTER_NS
 * @count_max: how many members it may grow to, up to GYRE_GROUP_MEMBERS_MAX; 0 for a group that
 *   neither grows nor shrinks, and then the other three are 0
 * @count_min: how many it keeps, from 1 to @count_max; 0 for 1
 * @grow_above: it grows when more asks and notices wait than that for each member, up to
 *   GYRE_GROUP_GROW_ABOVE_MAX; 0 for GYRE_GROUP_GROW_ABOVE
 * @reserved: 0
 *
 * A group with @count_max begins with @count members, or with @count_min if that is 0. Its mail is
 * looked at every 5 ms, unless it has @count_min members and little mail: then it wakes no loop,
 * and is looked at as soon as more waits for one of them. When more than the mark waits it gets as
 * many members as bring that down to the mark, but not more than it has. It shrinks by one member
 * at a look when, for the given time, half of the mark would not have been passed with one member
 * fewer. A member that is to go gets no more messages of the group, has first handled all that were
 * sent to it by way of the group, and stops as by gyre_stop_gracefully(): what is suspended may
 * end. A member that ends is replaced where fewer than @count_min are left, unless it was the last.
 * Members that have joined count, but only those that were made with the group or by it are
 * stopped.
 *
 * Growing needs memory and @actor_class for as long as the group lives, and a copy of the argument,
 * as for a @count of 0. The log tells of each change (at the level of information); a snapshot
 * shows how many actors of the class there are.
 */
struct gyre_group_options {
	uint32_t count;
	enum gyre_routing routing;
	gyre_key_fn key;
	bool detached;
	uint64_t shrink_after_ns;
	uint32_t count_max;
	uint32_t count_min;
	uint32_t grow_above;
	uint32_t reserved;
};

/** GYRE_GROUP_GROW_ABOVE - above how many waiting messages a member a group grows if nothing is
 * said
 */
#define GYRE_GROUP_GROW_ABOVE 16

/** GYRE_GROUP_GROW_ABOVE_MAX - the highest mark that may be asked for */
#define GYRE_GROUP_GROW_ABOVE_MAX (1 << 20)

/** GYRE_GROUP_SHRINK_AFTER_NS - for how long little mail must have waited if nothing is said */
#define GYRE_GROUP_SHRINK_AFTER_NS GYRE_SECONDS(1)

/** gyre_group_spawn_sized() - gyre_group_spawn() with the sizes in the program */
GYRE_API int gyre_group_spawn_sized(struct gyre_stack *stack, const struct gyre_class *actor_class,
				    struct gyre_mail *argument,
				    const struct gyre_group_options *options,
				    struct gyre_sizes sizes, struct gyre_address *ret_address);

/**
 * gyre_group_spawn() - makes several actors of a class behind one address
 * @stack: the stack of the running handler
 * @actor_class: what they are
 * @argument: the message of their mount hooks, of which each gets a copy; or
 *   GYRE_NO_ARGUMENT
 * @options: how many, and which of them gets a message; NULL for the defaults
 * @ret_address: the address of the group, good for sending at once
 *
 * A count of 1 makes an actor on the loop of the running one and returns its own address: there is
 * no group then. A count of 0 makes a member on each loop; any other count spreads the members over
 * the loops in turn. Where each loop has a member, loops that are added later get one too, and
 * @actor_class must outlive the group. If a member cannot be made, those made before it are
 * stopped. Where they get one, the group keeps a copy of @argument until it ends; what it owns is
 * copied and given back while all groups are locked, by functions that may call nothing of this
 * header.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL   as for gyre_spawn(); the options are out of their bounds or lack the key function; or
 *             @argument cannot be copied
 *   -ENOBUFS  there are 65536 groups, or a loop has as many actors as it can have
 *   -ENOMEM   there is no memory, or @argument is NULL: it could not be made
 *   -ESHUTDOWN  the system is stopping, or the loop of the running actor retires and stops
 *             its actors
 * Ownership: @argument is taken, whatever is returned. @actor_class stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_group_spawn(struct gyre_stack *stack, const struct gyre_class *actor_class,
				   struct gyre_mail *argument,
				   const struct gyre_group_options *options,
				   struct gyre_address *ret_address)
{
	const struct gyre_sizes sizes = { (uint32_t)sizeof(*options),
					  (uint32_t)sizeof(*actor_class), 0, 0 };

	return gyre_group_spawn_sized(stack, actor_class, argument, options, sizes, ret_address);
}

/** gyre_system_group_spawn_sized() - gyre_system_group_spawn() with the sizes in the program */
GYRE_API int
gyre_system_group_spawn_sized(struct gyre_system *system, const struct gyre_class *actor_class,
			      struct gyre_mail *argument, const struct gyre_group_options *options,
			      struct gyre_sizes sizes, struct gyre_address *ret_address);

/**
 * gyre_system_group_spawn() - gyre_group_spawn() from outside of any actor
 * @system: where
 * @actor_class: what they are
 * @argument: the message of their mount hooks, made by gyre_system_new(), or
 *   GYRE_NO_ARGUMENT
 * @options: how many, and which of them gets a message; NULL for the defaults
 * @ret_address: the address of the group, good for sending at once
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL   as for gyre_system_spawn(); the options are out of their bounds or lack the key
 *             function; or @argument cannot be copied
 *   -ENOBUFS  there are 65536 groups, or a loop has as many actors as it can have
 *   -ENOMEM   there is no memory, or @argument is NULL: it could not be made
 *   -ESHUTDOWN  the system is stopping
 * Ownership: @argument is taken, whatever is returned. @actor_class stays the caller's.
 * Context: any thread, in any phase, between create and destroy of the system.
 * Since: 0.1
 */
static inline int gyre_system_group_spawn(struct gyre_system *system,
					  const struct gyre_class *actor_class,
					  struct gyre_mail *argument,
					  const struct gyre_group_options *options,
					  struct gyre_address *ret_address)
{
	const struct gyre_sizes sizes = { (uint32_t)sizeof(*options),
					  (uint32_t)sizeof(*actor_class), 0, 0 };

	return gyre_system_group_spawn_sized(system, actor_class, argument, options, sizes,
					     ret_address);
}

/** gyre_system_group_create_sized() - gyre_system_group_create() with the size of @options */
GYRE_API int gyre_system_group_create_sized(struct gyre_system *system,
					    const struct gyre_group_options *options,
					    size_t options_bytes, struct gyre_address *ret_address);

/**
 * gyre_system_group_create() - makes an empty group
 * @system: where
 * @options: the routing, and the key function where it needs one; what is said of members is
 *   ignored. NULL for the defaults
 * @ret_address: the address of the group
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL   @system or @ret_address is NULL, or the options are out of their bounds or lack the
 *             key function
 *   -ENOBUFS  there are 65536 groups
 *   -ENOMEM   there is no memory
 * Ownership: gyre_stop() for the address ends it, or the end of the system.
 * Context: any thread, in any phase, between create and destroy of the system.
 * Since: 0.1
 */
static inline int gyre_system_group_create(struct gyre_system *system,
					   const struct gyre_group_options *options,
					   struct gyre_address *ret_address)
{
	return gyre_system_group_create_sized(system, options, sizeof(*options), ret_address);
}

/**
 * gyre_group_join() - makes the running actor a member
 * @stack: the stack of the running handler
 * @group: the address of a group
 *
 * Joining twice is joining once. Messages that are sent to the group after this may come to the
 * actor.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL   @group is not the address of a group
 *   -ENOBUFS  it has GYRE_GROUP_MEMBERS_MAX members
 *   -ENOMEM   there is no memory
 *   -ESHUTDOWN  the running actor has stopped, and only closes its channels
 *   -ESRCH    the group has ended
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_group_join(struct gyre_stack *stack, struct gyre_address group);

/**
 * gyre_group_leave() - ends the membership of the running actor
 * @stack: the stack of the running handler
 * @group: the address of a group
 *
 * Messages that were routed to the actor before still come.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -ENOENT  it is no member of such a group
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_group_leave(struct gyre_stack *stack, struct gyre_address group);

/**
 * gyre_system_group_size() - how many members a group has
 * @system: where; of the running actor gyre_system_of()
 * @group: the address of a group
 * @ret_count: the number, at most GYRE_GROUP_MEMBERS_MAX
 *
 * The number was true at some moment during the call: members come and go on all loops.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @system or @ret_count is NULL, or @group is not the address of a group of this node
 *   -ESRCH   the group has ended
 * Ownership: nothing changes hands.
 * Context: any thread, in any phase, between create and destroy of the system.
 * Since: 0.1
 */
GYRE_API int gyre_system_group_size(struct gyre_system *system, struct gyre_address group,
				    uint32_t *ret_count);

/**
 * gyre_system_group_members() - the members of a group
 * @system: where; of the running actor gyre_system_of()
 * @group: the address of a group
 * @members_max: how many addresses @members has room for
 * @members: gets the addresses, in the order of the members' loops; may be NULL when @members_max
 *   is 0
 * @ret_count: the number of members, which may be larger than @members_max
 *
 * They were the members at some moment during the call: members come and go on all loops.
 *
 * Return: 0, or a negative errno, and then @members is as it was.
 * Errors:
 *   -EINVAL  @system or @ret_count is NULL, @members is NULL and @members_max is not 0, or @group
 *            is not the address of a group of this node
 *   -ESRCH   the group has ended
 * Ownership: values.
 * Context: any thread, in any phase, between create and destroy of the system. Takes a mutex that
 *   is held shortly.
 * Since: 0.1
 */
GYRE_API int gyre_system_group_members(struct gyre_system *system, struct gyre_address group,
				       uint32_t members_max, struct gyre_address *members,
				       uint32_t *ret_count);

/* ---- asking all ---- */

/**
 * struct gyre_asked - one of those that gyre_ask_all() has asked
 * @future: its answer, or its error, as of gyre_ask()
 * @member: who that is
 */
struct gyre_asked {
	struct gyre_future future;
	struct gyre_address member;
};

/**
 * gyre_ask_all() - asks each member of a group
 * @stack: the running stack, which will own the promises
 * @group: the address of a group of this node, whatever its routing
 * @mail: the question, of which each member gets a copy; one that owns something needs a function
 *   that copies it, see gyre_copy_fn
 * @timeout_ns: as for gyre_ask(), of each
 * @asked_max: how many @ret_asked has room for, from 1 to GYRE_GROUP_MEMBERS_MAX
 * @ret_asked: those who were asked, in the order of their loops; in the frame of @stack, or the
 *   state of its actor
 *
 * Each member is asked as by gyre_ask(), also the running actor if it is one; each future tells its
 * own end. A member that ends meanwhile, takes no asks or is too late has an error, and the others
 * their answers. Members that join after the call are not asked.
 *
 * The handler awaits all that were asked by GYRE_AWAIT(), or enough answers by
 * GYRE_AWAIT_QUORUM(). Answers are read by gyre_future_get(&asked->future, NAME), and end with the
 * stack as those of other asks do.
 *
 *	GYRE_AWAIT(stack, frame->count = gyre_ask_all(stack, shops, gyre_new(stack, price_of, 7), 0,
 *						      SHOPS_MAX, frame->asked));
 *
 * Return: how many were asked, 0 when the group has no member, or a negative errno, and then nobody
 *   was.
 * Errors:
 *   -EINVAL  @group is not the address of a group of this node, @mail cannot be copied, @ret_asked
 *            is NULL, or @asked_max is out of its bounds
 *   -ENOBUFS  the group has more members than @asked_max
 *   -ENOMEM  there is no memory for the copies, or @mail is NULL. Where there is none for a promise
 *            the future of that member shows it
 *   -ESRCH   the group has ended
 * Ownership: @mail is taken, whatever is returned.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_ask_all(struct gyre_stack *stack, struct gyre_address group,
			  struct gyre_mail *mail, uint64_t timeout_ns, uint32_t asked_max,
			  struct gyre_asked *ret_asked);

/**
 * gyre_await_quorum() - waits until enough have answered, for GYRE_AWAIT_QUORUM()
 * @stack: the running stack
 * @point: where to resume, not 0; there the handler makes this call again
 * @asked: those who were asked, by this stack
 * @count: how many, up to GYRE_GROUP_MEMBERS_MAX
 * @quorum: how many of them have to answer without an error
 *
 * Return: 0 when so many have answered, or so many have failed that the others are too few, and the
 *   handler goes on at once; else what the handler must return at once.
 * Errors:
 *   -EINVAL  @point is 0, @count is out of its bounds, @asked is NULL and @count is not 0, or a
 *            future of another stack, in the state of the actor, is among them
 * Ownership: the frame and the message stay until the stack ends. @asked is read only inside of the
 *   call.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_await_quorum(struct gyre_stack *stack, uint32_t point,
			       const struct gyre_asked *asked, uint32_t count, uint32_t quorum);

/**
 * gyre_asked_answered() - how many have answered without an error
 * @asked: those who were asked, by the running stack
 * @count: how many they are
 *
 * Return: the number of those whose futures show 0: also of those that were replied to by a message
 *   of another type than the handler looks for.
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler of the stack that owns them.
 * Since: 0.1
 */
GYRE_API uint32_t gyre_asked_answered(const struct gyre_asked *asked, uint32_t count);

/**
 * gyre_asked_cancel() - gives up those who have not answered yet, as gyre_cancel() does
 * @stack: the running stack, which owns their promises
 * @asked: those who were asked
 * @count: how many they are
 *
 * Their futures show -ECANCELED at once. GYRE_AWAIT() then waits for none of them any more.
 *
 * Return: how many were given up, at most GYRE_GROUP_MEMBERS_MAX, or a negative errno.
 * Errors:
 *   -EINVAL  @asked is NULL and @count is not 0, or @count is larger than that
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_asked_cancel(struct gyre_stack *stack, const struct gyre_asked *asked,
			       uint32_t count);

/**
 * GYRE_AWAIT_QUORUM() - waits until enough of those whom gyre_ask_all() has asked have answered
 * @STACK: the running stack
 * @ASKED: an array of struct gyre_asked in the frame
 * @COUNT: how many were asked, which is kept in the frame too
 * @QUORUM: how many have to answer; 1 for the first answer
 *
 * Goes on as soon as so many have answered without an error, or so many have failed that the others
 * are too few: gyre_asked_answered() tells. Answers and errors of all that have completed may be
 * read then. Those who have not answered stay outstanding; gyre_asked_cancel() gives them up, and
 * so does the end of the stack.
 *
 * The arguments are evaluated anew whenever the handler goes on here, so they must not be local
 * variables. Use at most one on a source line, and none inside a switch of the handler.
 */
#define GYRE_AWAIT_QUORUM(STACK, ASKED, COUNT, QUORUM)                                    \
	do {                                                                              \
		__attribute__((fallthrough));                                             \
	case __LINE__: {                                                                  \
		const int gyre_result_ =                                                  \
			gyre_await_quorum((STACK), __LINE__, (ASKED), (COUNT), (QUORUM)); \
                                                                                          \
		if (gyre_result_ != 0) {                                                  \
			return gyre_result_;                                              \
		}                                                                         \
	}                                                                                 \
	} while (0)

GYRE_END_DECLS

#endif
