/*
 * Services: actors that are found by what they do, on all nodes. An actor joins a service, and
 * leaves it by itself when it stops; others find its members, pick one of them, or watch the
 * service and get a listing whenever its members change.
 *
 *	GYRE_SERVICE(prices, 0x500, price_of, watch_price);
 *
 *	r = gyre_service_join(stack, &gyre_service_prices);
 *	r = gyre_service_pick(stack, &gyre_service_prices, GYRE_PICK_NEAR, &address);
 *
 * What a listing promises:
 *
 * - Within a system at once: when gyre_service_join() has returned, every look on every thread
 *   finds the actor; when an actor stops, nobody finds it any more by the time that those who watch
 *   it are told.
 * - Between nodes in the end: all members that live are listed everywhere, once the nodes have
 *   reached each other. A node tells each other node that it has a link with what it has, once, and
 *   from then on what changes; what changes at one time is one message. Nobody asks.
 * - Never a member whose node was declared down: its members leave all listings here before the
 *   gyre_node_event says so, and what that life of the node may still say is not listened to. A
 *   node that is only suspect keeps its members. One that was declared down while it lived takes a
 *   new life, see node.h, and its members come back by themselves, with addresses of that life.
 *
 * A member that ends while its node lives is listed by others until they are told; mail to it is a
 * dead letter and an ask fails, as with any stale address. What one node tells another, it tells in
 * the order in which it happened.
 *
 * A node takes part from its first call of this header on. It then dials each peer that it knows of
 * and keeps that link open, so that it hears when the peer is lost. A node that does not listen has
 * services of its own alone.
 *
 * A system has up to GYRE_SERVICE_MEMBERSHIPS_MAX memberships of its own, all services together; it
 * keeps at most twice as many of each other node, some 250 bytes each and up to some 600 where each
 * is of a service of its own with a long name. A node that tells of more is refused, and so are
 * reports that are not understood.
 *
 * The name "gyre/services" is that of the actor that tells other nodes: a program that registers it
 * keeps its node from taking part.
 */
#ifndef GYRE_SERVICE_H
#define GYRE_SERVICE_H

#include <gyre/stack.h>
#include <gyre/tail.h>

GYRE_BEGIN_DECLS

/** GYRE_SERVICE_NAME_BYTES_MAX - the longest name of a service, without its final 0 */
#define GYRE_SERVICE_NAME_BYTES_MAX 255

/** GYRE_SERVICE_MEMBERSHIPS_MAX - how many memberships the actors of one system have together */
#define GYRE_SERVICE_MEMBERSHIPS_MAX 65536

/** GYRE_SERVICE_MESSAGES_MAX - how many types of messages GYRE_SERVICE() takes */
#define GYRE_SERVICE_MESSAGES_MAX 8

/** GYRE_LISTING_MEMBERS_MAX - how many members a listing has at most; gyre_service_find() has all
 */
#define GYRE_LISTING_MEMBERS_MAX 1000

/**
 * struct gyre_service - the key of a service
 * @name: 1 to GYRE_SERVICE_NAME_BYTES_MAX bytes of any kind but 0
 * @id: a number of the program's own, not 0. Services are the same where name and id are; so shards
 *   of one service may have one id and names that are made at run time
 * @messages_count: how many @messages there are; 0 for any
 * @messages: the types that each member takes
 */
struct gyre_service {
	const char *name;
	uint32_t id;
	uint32_t messages_count;
	const struct gyre_type *const *messages;
};

#define GYRE_SERVICE_1_(A)	&gyre_type_##A
#define GYRE_SERVICE_2_(A, ...) &gyre_type_##A, GYRE_SERVICE_1_(__VA_ARGS__)
#define GYRE_SERVICE_3_(A, ...) &gyre_type_##A, GYRE_SERVICE_2_(__VA_ARGS__)
#define GYRE_SERVICE_4_(A, ...) &gyre_type_##A, GYRE_SERVICE_3_(__VA_ARGS__)
#define GYRE_SERVICE_5_(A, ...) &gyre_type_##A, GYRE_SERVICE_4_(__VA_ARGS__)
#define GYRE_SERVICE_6_(A, ...) &gyre_type_##A, GYRE_SERVICE_5_(__VA_ARGS__)
#define GYRE_SERVICE_7_(A, ...) &gyre_type_##A, GYRE_SERVICE_6_(__VA_ARGS__)
#define GYRE_SERVICE_8_(A, ...) &gyre_type_##A, GYRE_SERVICE_7_(__VA_ARGS__)

#define GYRE_SERVICE_NTH_(A, B, C, D, E, F, G, H, EACH, ...) EACH
#define GYRE_SERVICE_TYPES_(...)                                                              \
	GYRE_SERVICE_NTH_(__VA_ARGS__, GYRE_SERVICE_8_, GYRE_SERVICE_7_, GYRE_SERVICE_6_,     \
			  GYRE_SERVICE_5_, GYRE_SERVICE_4_, GYRE_SERVICE_3_, GYRE_SERVICE_2_, \
			  GYRE_SERVICE_1_, 0)                                                 \
	(__VA_ARGS__)

/**
 * GYRE_SERVICE() - declares gyre_service_NAME, the key of a service
 * @NAME: its name, as an identifier
 * @ID: its id, not 0
 * @...: the messages that its members take, 1 to GYRE_SERVICE_MESSAGES_MAX: tags of structs that
 *   were declared as messages before
 */
#define GYRE_SERVICE(NAME, ID, ...)                                                             \
	GYRE_ASSERT_((ID) != 0, "the id of the service " #NAME " is 0");                        \
	static const struct gyre_type *const gyre_service_messages_##NAME[] = {                 \
		GYRE_SERVICE_TYPES_(__VA_ARGS__)                                                \
	};                                                                                      \
	static const struct gyre_service gyre_service_##NAME __attribute__((                    \
		unused)) = { #NAME, (uint32_t)(ID),                                             \
			     (uint32_t)(sizeof(gyre_service_messages_##NAME) / sizeof(void *)), \
			     gyre_service_messages_##NAME }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* C++ has no arrays without a length */
/**
 * struct gyre_listing - the event that the members of a service have changed
 * @version: grows with each listing of one watch
 * @tag: what gyre_service_watch() was given
 * @service_id: the id of the service
 * @total: how many members there are
 * @count: how many of them stand in @members, at most GYRE_LISTING_MEMBERS_MAX
 * @reserved: 0
 * @members: those of the own node first
 */
struct gyre_listing {
	uint64_t version;
	uint64_t tag;
	uint32_t service_id;
	uint32_t total;
	uint32_t count;
	uint32_t reserved;
	struct gyre_address members[];
};
#pragma GCC diagnostic pop
GYRE_OWN_MESSAGE_TAIL_(gyre_listing, 0x76, members, count);

/**
 * enum gyre_pick - which of the members of a service is picked
 * @GYRE_PICK_ROUND_ROBIN: one after the other, for all who ask in this system together
 * @GYRE_PICK_RANDOM: any
 * @GYRE_PICK_NEAR: one of the own loop if there is any, else one of the own node, else any; one
 *   after the other, though those behind members that are farther off come more often. Outside of
 *   loops no loop is the own one
 * @GYRE_PICK_OWN_NODE: may be added to the first two: those of other nodes only where the own one
 *   has none
 */
enum gyre_pick {
	GYRE_PICK_ROUND_ROBIN = 0,
	GYRE_PICK_RANDOM = 1,
	GYRE_PICK_NEAR = 2,
	GYRE_PICK_OWN_NODE = 16,
};

/**
 * gyre_service_join() - makes the running actor a member of a service
 * @stack: the stack of the running handler
 * @service: which, such as &gyre_service_NAME
 *
 * Joining twice is joining once. The actor stays a member through restarts, until it leaves or
 * stops.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL    @service is NULL, its id is 0, its name is missing, empty or too long, or one of its
 *              messages is missing
 *   -EMSGSIZE  the name is too long for the message_bytes_max of the node
 *   -ENOBUFS   there are GYRE_SERVICE_MEMBERSHIPS_MAX in this system
 *   -ENOMEM    there is no memory
 *   -EPROTO    the actor has no handler, of asks or of notices, for one of the messages
 *   -ESHUTDOWN  the running actor has stopped, and only closes its channels
 * Ownership: the name is copied; @service stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler. Takes a mutex that is held shortly.
 * Since: 0.1
 */
GYRE_API int gyre_service_join(struct gyre_stack *stack, const struct gyre_service *service);

/**
 * gyre_service_leave() - ends the membership of the running actor
 * @stack: the stack of the running handler
 * @service: as gyre_service_join() was given it
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  as gyre_service_join()
 *   -ENOENT  the actor is no member
 * Ownership: @service stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler. Takes a mutex that is held shortly.
 * Since: 0.1
 */
GYRE_API int gyre_service_leave(struct gyre_stack *stack, const struct gyre_service *service);

/**
 * gyre_service_find() - the members of a service, as far as they are known here
 * @stack: the stack of the running handler
 * @service: which
 * @members_max: how many addresses @members has room for
 * @members: gets the addresses, those of the own node first; may be NULL when @members_max is 0
 * @ret_count: the number of members, which may be larger than @members_max
 *
 * A service that nobody has joined has none.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  as gyre_service_join(), or @ret_count is NULL, or @members is and @members_max is not
 *            0
 * Ownership: values.
 * Context: loop thread, phases 2 and 3, inside a handler. Takes no lock, except that calls of
 *   this header in a node take a mutex until the node takes part.
 * Since: 0.1
 */
GYRE_API int gyre_service_find(const struct gyre_stack *stack, const struct gyre_service *service,
			       uint32_t members_max, struct gyre_address *members,
			       uint32_t *ret_count);

/**
 * gyre_service_pick() - one member of a service
 * @stack: the stack of the running handler
 * @service: which
 * @how: of enum gyre_pick
 * @ret_address: its address
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  as gyre_service_join(), or @ret_address is NULL, or @how is none of enum gyre_pick
 *   -ENOENT  it has no members that are known here
 * Ownership: values.
 * Context: loop thread, phases 2 and 3, inside a handler. Takes no lock, except that calls of
 *   this header in a node take a mutex until the node takes part.
 * Since: 0.1
 */
GYRE_API int gyre_service_pick(const struct gyre_stack *stack, const struct gyre_service *service,
			       uint32_t how, struct gyre_address *ret_address);

/**
 * gyre_service_watch() - has listings of a service come to the running actor
 * @stack: the stack of the running handler
 * @service: which; it need not have members
 * @tag: a number of the program's own, which its listings have
 *
 * The actor gets a struct gyre_listing of the present members, and another whenever they have
 * changed, until it stops; a restart does not interrupt that. One listing of a watch waits in the
 * mailbox at most: changes that come meanwhile are in the next one, so that the last listing is
 * always of the present members, however slow the actor is. While there is no memory for a listing
 * it is tried again. Watching again changes the tag.
 *
 * A listing is whole, not what was added and removed: it costs 16 bytes a member for each change,
 * and nothing has to be kept of what a watcher was told.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  as gyre_service_join()
 *   -ENOMEM  there is no memory
 *   -ESHUTDOWN  the running actor has stopped, and only closes its channels
 * Ownership: the name is copied; @service stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler. Takes a mutex that is held shortly.
 * Since: 0.1
 */
GYRE_API int gyre_service_watch(struct gyre_stack *stack, const struct gyre_service *service,
				uint64_t tag);

/**
 * gyre_service_unwatch() - ends a watch of a service
 * @stack: the stack of the running handler
 * @service: as gyre_service_watch() was given it
 *
 * No listing of it comes any more, even if one was already waiting.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  as gyre_service_join()
 *   -ENOENT  there is no such watch
 * Ownership: @service stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler. Takes a mutex that is held shortly.
 * Since: 0.1
 */
GYRE_API int gyre_service_unwatch(struct gyre_stack *stack, const struct gyre_service *service);

/**
 * gyre_system_service_find() - gyre_service_find() from outside of any actor
 * @system: where
 * @service: which
 * @members_max: how many addresses @members has room for
 * @members: gets the addresses, those of the own node first; may be NULL when @members_max is 0
 * @ret_count: the number of members, which may be larger than @members_max
 *
 * As for gyre_system_name_lookup() the first call of a thread registers it with liburcu.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  as gyre_service_find(), or @system is NULL
 * Ownership: values.
 * Context: any thread, in any phase, between create and destroy of the system. Takes no lock but
 *   for the first call of a thread, and until the node takes part.
 * Since: 0.1
 */
GYRE_API int gyre_system_service_find(struct gyre_system *system,
				      const struct gyre_service *service, uint32_t members_max,
				      struct gyre_address *members, uint32_t *ret_count);

/**
 * gyre_system_service_pick() - gyre_service_pick() from outside of any actor
 * @system: where
 * @service: which
 * @how: of enum gyre_pick
 * @ret_address: its address
 *
 * As for gyre_system_name_lookup() the first call of a thread registers it with liburcu.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  as gyre_service_pick(), or @system is NULL
 *   -ENOENT  it has no members that are known here
 * Ownership: values.
 * Context: any thread, in any phase, between create and destroy of the system. Takes no lock but
 *   for the first call of a thread, and until the node takes part.
 * Since: 0.1
 */
GYRE_API int gyre_system_service_pick(struct gyre_system *system,
				      const struct gyre_service *service, uint32_t how,
				      struct gyre_address *ret_address);

GYRE_END_DECLS

#endif
