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
 * Mail that was routed to it just before shares its fate: it is a dead letter. A notice to a group
 * without members is a dead letter with GYRE_DROP_NO_ACTOR, and an ask fails with -ESRCH.
 *
 * Notices of one sender that reach the same member are dispatched in the order of the calls.
 */
#ifndef GYRE_GROUP_H
#define GYRE_GROUP_H

#include <gyre/actor.h>

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
 */
struct gyre_group_options {
	uint32_t count;
	enum gyre_routing routing;
	gyre_key_fn key;
	bool detached;
};

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
 *   -ESHUTDOWN  the system is stopping
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
 * @options: the routing, and the key function where it needs one; @count and @detached are ignored.
 *   NULL for the defaults
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

GYRE_END_DECLS

#endif
