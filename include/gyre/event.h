/*
 * The event stream of a system: actors subscribe to types of messages, and get what others publish
 * without being known to them.
 *
 * What is published under a key comes to the subscriptions to that type with the same key, and to
 * those without a key; what is published without a key comes only to the latter. Each subscription
 * gets a copy, which the actor's handler of events sees like any other event. An actor keeps its
 * subscriptions through restarts and loses them when it stops. The stream is that of one system:
 * other nodes have their own.
 *
 * The copies that one publisher sends to one actor are dispatched in the order of the calls.
 *
 * A subscriber that is slow keeps nobody waiting. Of each subscription a number of events may wait
 * in the mailbox; those that come while it is reached are missed, and so are those for whose copy
 * there is no memory. The actor gets a struct gyre_events_missed before the next event of the
 * publisher that is first to find room again, or as soon as none of the subscription waits any
 * more; so with one publisher it stands where the gap is. Without memory for it, it comes with a
 * later event.
 *
 * gyre itself publishes struct gyre_dead_letter, struct gyre_failed, struct gyre_stalled, struct
 * gyre_overload, struct gyre_listening, struct gyre_link_event and struct gyre_node_event, each
 * without a key. Where nobody has subscribed to such an event it is not made. Where there is no
 * memory for it nobody hears of it; the counters and the log are what is complete.
 */
#ifndef GYRE_EVENT_H
#define GYRE_EVENT_H

#include <gyre/counters.h>
#include <gyre/socket_address.h>
#include <gyre/stack.h>

#ifndef __cplusplus
#include <string.h>
#else
#include <cstring>
#endif

GYRE_BEGIN_DECLS

/** GYRE_EVENT_KEY_BYTES_MAX - the longest key, in bytes */
#define GYRE_EVENT_KEY_BYTES_MAX 65535

/** GYRE_EVENTS_WAITING - how many events of a subscription may wait if nothing is said */
#define GYRE_EVENTS_WAITING 1024

/** GYRE_EVENTS_WAITING_MAX - how many may be asked for */
#define GYRE_EVENTS_WAITING_MAX (1 << 30)

/**
 * struct gyre_event_key - what events of one type are told apart by
 * @bytes: of any kind; NULL when there are none
 * @count: how many, up to GYRE_EVENT_KEY_BYTES_MAX; 0 for no key
 */
struct gyre_event_key {
	const void *bytes;
	uint32_t count;
};

/**
 * gyre_event_key_of() - a key of a text
 * @text: the text, without whose final 0 it is the key; NULL or empty for no key
 *
 * Return: the key, which points to @text.
 * Ownership: nothing changes hands.
 * Context: anywhere.
 * Since: 0.1
 */
static inline struct gyre_event_key gyre_event_key_of(const char *text)
{
	struct gyre_event_key key = { text, text == NULL ? 0 : (uint32_t)strlen(text) };

	return key;
}

/**
 * struct gyre_subscribe_options - how a subscription is; all zero is the default
 * @waiting_max: how many of its events may wait in the mailbox, up to GYRE_EVENTS_WAITING_MAX; 0
 *   for GYRE_EVENTS_WAITING
 * @reserved: 0
 * @tag: a number of the program's own, by which struct gyre_events_missed names the subscription
 */
struct gyre_subscribe_options {
	uint32_t waiting_max;
	uint32_t reserved;
	uint64_t tag;
};

/**
 * struct gyre_events_missed - the event that a subscription has missed some
 * @count: how many, since it was told last
 * @tag: of the subscription
 * @type_id: the id of the type that it is to
 */
struct gyre_events_missed {
	uint64_t count;
	uint64_t tag;
	uint32_t type_id;
};
GYRE_OWN_MESSAGE_(gyre_events_missed, 0x62);

/** GYRE_EVENT_NAME_BYTES - how long names in events may be, with their final 0; longer are cut */
#define GYRE_EVENT_NAME_BYTES 48

/**
 * struct gyre_dead_letter - the event that a message was lost
 * @from: who sent it, or nobody
 * @to: where it was sent
 * @type_id: the id of its type, of the program or of gyre
 * @reason: why it was lost
 * @type_name: the name of its type, or what stands for it
 *
 * Published for each message that the option dead_letter of the system is told of, but not for
 * events that were published themselves, and not while the system takes down its actors.
 */
struct gyre_dead_letter {
	struct gyre_address from;
	struct gyre_address to;
	uint32_t type_id;
	enum gyre_drop reason;
	char type_name[GYRE_EVENT_NAME_BYTES];
};
GYRE_OWN_MESSAGE_(gyre_dead_letter, 0x63);

/**
 * struct gyre_failed - the event that an actor has failed
 * @actor: its address, which is stale if that was its end
 * @reason: the negative errno of the failure
 * @class_name: of the actor
 *
 * Published when a failure is the actor's own affair, before what comes of it by the strategy of
 * its class: so not for an ask that fails, of which the asker hears.
 */
struct gyre_failed {
	struct gyre_address actor;
	int reason;
	char class_name[GYRE_EVENT_NAME_BYTES];
};
GYRE_OWN_MESSAGE_(gyre_failed, 0x64);

/**
 * struct gyre_stalled - the event that a handler keeps a loop busy for too long
 * @lasted_ns: for how long it has, when it was looked at; see the option stall_ns
 * @loop: which loop
 * @class_name: of the actor, or empty if that is not known
 * @message: the name of the type of the message, likewise
 */
struct gyre_stalled {
	uint64_t lasted_ns;
	uint32_t loop;
	char class_name[GYRE_EVENT_NAME_BYTES];
	char message[GYRE_EVENT_NAME_BYTES];
};
GYRE_OWN_MESSAGE_(gyre_stalled, 0x65);

/**
 * struct gyre_overload - the event that memory is scarce, or no longer
 * @busy: what gyre_busy() returns from now on
 */
struct gyre_overload {
	bool busy;
};
GYRE_OWN_MESSAGE_(gyre_overload, 0x66);

/** GYRE_LISTENING_NO_LOOP - the loop of a struct gyre_listening of which no loop had a socket yet
 */
#define GYRE_LISTENING_NO_LOOP UINT32_MAX

/**
 * enum gyre_listening_step - what has become of listening
 * @GYRE_LISTENING_BEGUN: a loop has a socket that listens
 * @GYRE_LISTENING_ENDED: it has not any more: the socket is closed, or goes to another loop, which
 *   is told of by a GYRE_LISTENING_BEGUN, or to another process
 * @GYRE_LISTENING_FAILED: it could not: the call has failed, or a loop did not get its socket
 */
enum gyre_listening_step {
	GYRE_LISTENING_BEGUN,
	GYRE_LISTENING_ENDED,
	GYRE_LISTENING_FAILED,
};

/**
 * struct gyre_listening - the event that a socket listens, or no longer
 * @step: which of these
 * @reason: the negative errno of a failure, or that has ended it; 0 in good order
 * @loop: which loop; GYRE_LISTENING_NO_LOOP when a call has failed before any had a socket
 * @address: where, as gyre_socket_address_format() writes it, with the port that the kernel has
 *   chosen; for a call that has failed as it was given, and empty if it was not
 *
 * Published for each socket of an acceptor and of datagrams. A datagram socket that is connected
 * with a peer does not listen.
 */
struct gyre_listening {
	enum gyre_listening_step step;
	int reason;
	uint32_t loop;
	char address[GYRE_SOCKET_ADDRESS_TEXT_MAX];
};
GYRE_OWN_MESSAGE_(gyre_listening, 0x67);

/**
 * enum gyre_link_step - what has become of a link to another node
 * @GYRE_LINK_OPENED: messages go over it
 * @GYRE_LINK_CLOSED: it was open and has ended in good order: it was idle, its loop retires, or
 *   this system stops
 * @GYRE_LINK_BROKEN: it was open and has been lost, with what was on its way
 * @GYRE_LINK_FAILED: it did not come to be open: nobody answers there, or one side refuses the
 *   other, for which the log of the side that refuses has the reason
 */
enum gyre_link_step {
	GYRE_LINK_OPENED,
	GYRE_LINK_CLOSED,
	GYRE_LINK_BROKEN,
	GYRE_LINK_FAILED,
};

/**
 * struct gyre_link_event - the event of a link whose state has changed
 * @step: what has become of it
 * @reason: the negative errno that has ended its connection, or of the dial; 0 when it was closed
 *   with none
 * @loop: of this node, which has the link
 * @node: the other node; 0 while an accepted link has not said which
 * @dialled: this side has dialled
 * @address: of the other side: as it was dialled, or for an accepted link as
 *   gyre_socket_address_format() writes it; empty if it has gone before that was known
 *
 * A node has a link for each direction and loop that sends, so links come and go while the node
 * stays up: see struct gyre_node_event for that.
 */
struct gyre_link_event {
	enum gyre_link_step step;
	int reason;
	uint32_t loop;
	uint16_t node;
	bool dialled;
	char address[GYRE_SOCKET_ADDRESS_TEXT_MAX];
};
GYRE_OWN_MESSAGE_(gyre_link_event, 0x68);

/** gyre_subscribe_sized() - gyre_subscribe() with the size of @options */
GYRE_API int gyre_subscribe_sized(struct gyre_stack *stack, const struct gyre_type *type,
				  struct gyre_event_key key,
				  const struct gyre_subscribe_options *options,
				  size_t options_bytes);

/**
 * gyre_subscribe() - has events of a type come to the running actor
 * @stack: the stack of the running handler
 * @type: as &gyre_type_NAME
 * @key: only those that are published under it; gyre_event_key_of(NULL) for all of the type
 * @options: how many may wait, and its tag; NULL for the defaults
 *
 * What is published after this has returned comes to the actor, from whatever thread. Subscribing
 * again to the same changes the options of the subscription that there is. Subscriptions to one
 * type with a key and without are two, and an event may come by each.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG   the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @type is NULL, the key is too long or has no bytes, or the options are out of their
 *            bounds
 *   -ENOMEM  there is no memory
 *   -ESHUTDOWN  the running actor has stopped, and only closes its channels
 * Ownership: the key is copied; @type stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler. Takes a mutex that is held shortly.
 * Since: 0.1
 */
static inline int gyre_subscribe(struct gyre_stack *stack, const struct gyre_type *type,
				 struct gyre_event_key key,
				 const struct gyre_subscribe_options *options)
{
	return gyre_subscribe_sized(stack, type, key, options, sizeof(*options));
}

/**
 * gyre_unsubscribe() - ends a subscription of the running actor
 * @stack: the stack of the running handler
 * @type: as gyre_subscribe() was given it
 * @key: likewise
 *
 * No event of the subscription comes any more, even if one was already waiting.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @type is NULL, or the key is too long or has no bytes
 *   -ENOENT  there is no such subscription
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler. Takes a mutex that is held shortly.
 * Since: 0.1
 */
GYRE_API int gyre_unsubscribe(struct gyre_stack *stack, const struct gyre_type *type,
			      struct gyre_event_key key);

/**
 * gyre_publish() - sends a copy of a message to each actor that has subscribed to it
 * @stack: the stack of the running handler
 * @mail: the message, of a type of the program; one that owns something needs a function that
 *   copies it, see gyre_copy_fn
 * @key: under which it is published; gyre_event_key_of(NULL) for none
 *
 * The running actor gets it too if it has subscribed. The time it takes is proportional to the
 * number of subscriptions; no lock is taken. Where nobody has subscribed nothing is sent.
 *
 * Return: how many subscriptions it was sent to, at most INT_MAX; those that miss it do not count.
 *   Or a negative errno.
 * Errors:
 *   -EINVAL  the message cannot be copied or is one of gyre's own, or the key is too long or has
 *            no bytes
 *   -ENOMEM  @mail is NULL: it could not be made
 * Ownership: @mail is taken, whatever is returned. The key stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_publish(struct gyre_stack *stack, struct gyre_mail *mail,
			  struct gyre_event_key key);

/**
 * gyre_system_publish() - gyre_publish() from outside of any actor
 * @system: where
 * @mail: the message, made by gyre_system_new(), as for gyre_publish()
 * @key: under which it is published; gyre_event_key_of(NULL) for none
 *
 * Like gyre_system_notify() it waits a moment while memory is short; see gyre/overload.h. As for
 * gyre_system_name_lookup() the first call of a thread registers it with liburcu.
 *
 * Return: how many subscriptions it was sent to, at most INT_MAX, or a negative errno.
 * Errors:
 *   -EINVAL  @system is NULL, the message cannot be copied or is one of gyre's own, or the key is
 *            too long or has no bytes
 *   -ENOMEM  @mail is NULL: it could not be made
 * Ownership: @mail is taken, whatever is returned. The key stays the caller's.
 * Context: any thread, in any phase, between create and destroy of the system.
 * Since: 0.1
 */
GYRE_API int gyre_system_publish(struct gyre_system *system, struct gyre_mail *mail,
				 struct gyre_event_key key);

GYRE_END_DECLS

#endif
