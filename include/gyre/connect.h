/*
 * Connecting: an actor that makes connections and keeps them. It makes a channel, whose handlers
 * hear where it is to be connected and may change that: see gyre_connect_fn. Then it looks up the
 * host's name, tries its addresses, IPv6 and IPv4 by turns and each a little after the one before,
 * and gives the channel the first that answers; of many it tries GYRE_RESOLVED_MAX, see resolve.h.
 * A connection that could not be made, or was lost, is tried again after a pause, if that is
 * wanted, with a new channel.
 *
 * A handler awaits the first connection that is open, and gets the address of its channel. What
 * becomes of connections later is told by reports.
 *
 * The actor is stopped by gyre_stop(), at whatever stage it is; its channels then send what is
 * queued and close. It stops by itself when none of its connections is left and none will be made;
 * those who watch it are told the reason.
 */
#ifndef GYRE_CONNECT_H
#define GYRE_CONNECT_H

#include <gyre/actor.h>
#include <gyre/channel.h>
#include <gyre/channel_actor.h>
#include <gyre/listen.h>
#include <gyre/socket_address.h>
#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/** GYRE_CONNECTIONS_MAX - how many connections one actor can have */
#define GYRE_CONNECTIONS_MAX 4096
/** GYRE_RETRIES_UNLIMITED - try for as long as the actor lives */
#define GYRE_RETRIES_UNLIMITED UINT32_MAX

/**
 * enum gyre_connection_step - a step in the life of a connection
 * @GYRE_CONNECTION_OPEN: it is made, and its channel is about to be active; where a handler has
 *   taken it over, the handlers behind are about to be told: see gyre_connect_fn
 * @GYRE_CONNECTION_FAILED: an attempt has failed: no address was found, an address failed, or a
 *   handler refused the connection or ended it before it was open; other attempts may follow
 * @GYRE_CONNECTION_CLOSED: it was open, and its channel is gone
 * @GYRE_CONNECTION_PAUSE: it will be tried again after a pause
 * @GYRE_CONNECTION_GIVEN_UP: it will not be tried again: the last step of this connection
 */
enum gyre_connection_step {
	GYRE_CONNECTION_OPEN,
	GYRE_CONNECTION_FAILED,
	GYRE_CONNECTION_CLOSED,
	GYRE_CONNECTION_PAUSE,
	GYRE_CONNECTION_GIVEN_UP,
};

/**
 * struct gyre_connection - the notice and the report about a connection
 * @step: the step
 * @reason: a negative errno, or 0: why the attempt failed, the channel was closed, or there is a
 *   pause or an end
 * @connection: the number of the connection within its actor, from 0
 * @failures: how many rounds of attempts have failed since it was last open
 * @pause_ns: the pause, for GYRE_CONNECTION_PAUSE
 * @address: the address that was tried, or of the peer; of 0 bytes if there is none
 * @channel: the address of the channel, for GYRE_CONNECTION_OPEN, and the same for
 *   GYRE_CONNECTION_CLOSED, when it is stale; GYRE_NOBODY if there is no memory for it, and for
 *   other steps, which are about attempts and have no channel that is open
 */
struct gyre_connection {
	enum gyre_connection_step step;
	int reason;
	uint32_t connection;
	uint32_t failures;
	uint64_t pause_ns;
	struct gyre_socket_address address;
	struct gyre_address channel;
};
GYRE_OWN_MESSAGE_(gyre_connection, 0x28);

/**
 * struct gyre_connected - the answer to gyre_connect(): a connection is open
 * @channel: the address of its channel; GYRE_NOBODY if there is no memory for it
 * @actor: the actor of the channel, of @actor_class; GYRE_NOBODY without a class
 * @connection: the number of the connection within the actor that connects, from 0
 * @peer: the address of the peer
 */
struct gyre_connected {
	struct gyre_address channel;
	struct gyre_address actor;
	uint32_t connection;
	struct gyre_socket_address peer;
};
GYRE_OWN_MESSAGE_(gyre_connected, 0x2b);

/**
 * gyre_connection_fn - is told of each step of connections
 * @stack: to notify, to spawn and to make mail; nothing can be awaited. It is the channel's own
 *   actor's where @channel is given, which matters with an @actor_class; else that of the actor
 *   that connects
 * @connection: what has happened; valid during the call
 * @channel: the channel, for GYRE_CONNECTION_OPEN and GYRE_CONNECTION_CLOSED; else NULL
 * @arg: @report_arg of struct gyre_connect_options
 *
 * Runs in phase 2, on the actor's loop; it is not re-entered. The last call for a connection is
 * that with GYRE_CONNECTION_GIVEN_UP, or with GYRE_CONNECTION_CLOSED when the actor stops; there is
 * none if the actor stops before the connection was open, as it does, with -ENOMEM, where there is
 * no memory for it on its loop.
 */
typedef void (*gyre_connection_fn)(struct gyre_stack *stack,
				   const struct gyre_connection *connection,
				   struct gyre_channel *channel, void *arg);

/**
 * struct gyre_connect_options - where to connect to, and how; all zero is the default
 * @to: "tcp://HOST:PORT" or "unix:PATH", see gyre/socket_address.h; HOST may be a name
 * @local: the address to connect from, without a name; NULL for any. Addresses of another family
 *   are not tried. The file of a Unix socket is removed with each channel; where one stands already
 *   an attempt fails with -EADDRINUSE
 * @init_channel: gives each channel its handlers, before the first attempt of a round; each round
 *   has a new channel
 * @init_arg: for @init_channel
 * @actor_class: each channel gets an actor of that class, which must outlive the system: see
 *   channel_actor.h; NULL for none. It is a child of the actor that connects
 * @bond: how the ends of channel and actor go together
 * @channel: how each channel behaves
 * @connections: how many to keep, at most GYRE_CONNECTIONS_MAX; 0 for one
 * @connect_timeout_ns: the limit of one round: the lookup, all attempts, the work of handlers
 *   before them and, if a handler has taken the connection over, after them; 0 for 10 s. With 0, a
 *   connect that is awaited while an ask is handled has no longer for all its rounds together than
 *   the asker waits: see gyre_time_left()
 * @retries_max: how many rounds in a row may follow a failed round, or the loss of an open
 *   connection; 0 for none, GYRE_RETRIES_UNLIMITED for no limit. The count begins anew when a
 *   connection was open
 * @retry_min_ns: the pause before the first of these rounds, up to 8.64e13; 0 for 100 ms, or for
 *   @retry_max_ns if that is less
 * @retry_max_ns: the longest pause, at least @retry_min_ns, up to 8.64e13; 0 for 10 s, or for
 *   @retry_min_ns if that is more
 * @retry_percent: the length of a pause in per cent of the one before, 100 to 1000; 0 for 200.
 *   Pauses begin anew after a connection that was open for longer than the pause before it
 * @retry_jitter_percent: how many per cent of a pause may be taken off at random, so that many
 *   clients do not come back at once; at most 100; 0 for 20
 * @name_servers: "ADDRESS:PORT,..." to ask, as in struct gyre_resolve_options; NULL for those of
 *   the machine; 1 to 1023 bytes
 * @report: is told of each step; may be NULL
 * @report_arg: for @report
 * @owner: an actor that gets each step as a notice, from the actor whose stack @report is given;
 *   GYRE_NOBODY for none
 * @place: the loop of the actor, and perhaps its name, as for gyre_spawn(), but not
 *   GYRE_PLACE_PINNED. When its loop retires (see gyre_system_resize()), the actor ends and its
 *   connections are drained
 */
struct gyre_connect_options {
	const char *to;
	const char *local;
	gyre_init_channel_fn init_channel;
	void *init_arg;
	const struct gyre_class *actor_class;
	enum gyre_channel_bond bond;
	struct gyre_channel_options channel;
	uint32_t connections;
	uint64_t connect_timeout_ns;
	uint32_t retries_max;
	uint64_t retry_min_ns;
	uint64_t retry_max_ns;
	uint32_t retry_percent;
	uint32_t retry_jitter_percent;
	const char *name_servers;
	gyre_connection_fn report;
	void *report_arg;
	struct gyre_address owner;
	struct gyre_spawn_options place;
};

/** gyre_connect_sized() - gyre_connect() with the sizes of its structures */
GYRE_API int gyre_connect_sized(struct gyre_stack *stack,
				const struct gyre_connect_options *options, struct gyre_sizes sizes,
				struct gyre_address *ret_socket, struct gyre_future *ret_future);

/**
 * gyre_connect() - makes an actor that connects, and awaits the first connection
 * @stack: the stack of the running handler
 * @options: where to connect to, and how; not needed after the call, except for @init_arg and
 *   @report_arg
 * @ret_socket: the actor that connects, or with -EEXIST the one that has the name; may be NULL
 * @ret_future: the answer, a struct gyre_connected, or the failure; in the frame of @stack, or the
 *   state of its actor. NULL if that is of no interest
 *
 * Nothing has been tried when the call returns. The future completes as soon as one of the
 * connections is open, or when all are given up, or with -ESHUTDOWN when the system, or the loop of
 * the actor that connects, closes its channels: so it lasts as long as @connect_timeout_ns and the
 * retries of @options say. If the waiting stack ends before, however that comes, or gives the
 * future up by gyre_cancel(), the actor is stopped. Afterwards it keeps its connections whether or
 * not the stack that has made it lives.
 *
 * The actor is a child of the running one, unless @place says that it is detached. The reasons of
 * failures are
 * -ECONNREFUSED, -ETIMEDOUT, -ENETUNREACH, -ENOENT (a Unix path), -ENXIO (the name is not known),
 * -EAGAIN (no name server answers usefully), -EMFILE, -ECANCELED (a handler has closed the channel
 * before), -ECONNABORTED (the connection ended before it was open), and others that a handler or a
 * connect may fail with. The reason of a round is that of the attempt that explains most.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EEXIST  another actor has the name in @place
 *   -EINVAL  @options, @to or @init_channel is NULL, an address cannot be understood, a number or
 *            @bond is out of bounds, @name_servers is not a list of addresses, @place has no such
 *            loop or a name that is empty or too long, or @actor_class has no name or a field out
 *            of its bounds
 *   -ENAMETOOLONG  a path or a name is too long, or @name_servers is
 *   -ENODEV  the machine has no interface with a scope's name
 *   -ENOENT  @local is a name
 *   -ENOMEM  there is no memory
 *   -ENOBUFS  the loop has as many actors as it can have
 *   -ESHUTDOWN  the system or the running actor is stopping, or its loop retires and stops its
 *            actors
 *   -ETIMEDOUT  the asker of the running message waits no longer
 * Ownership: @options stays the caller's; so does what @init_arg and @report_arg point to, for as
 *   long as the actor lives.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_connect(struct gyre_stack *stack, const struct gyre_connect_options *options,
			       struct gyre_address *ret_socket, struct gyre_future *ret_future)
{
	const struct gyre_sizes sizes = { (uint32_t)sizeof(*options),
					  (uint32_t)sizeof(struct gyre_class), 0, 0 };

	return gyre_connect_sized(stack, options, sizes, ret_socket, ret_future);
}

/** gyre_system_connect_sized() - gyre_system_connect() with the sizes of its structures */
GYRE_API int gyre_system_connect_sized(struct gyre_system *system,
				       const struct gyre_connect_options *options,
				       struct gyre_sizes sizes, struct gyre_address *ret_socket);

/**
 * gyre_system_connect() - makes an actor that connects, from outside
 * @system: where
 * @options: as for gyre_connect(); without a loop in @place the actors are placed on all loops in
 *   turn
 * @ret_socket: the actor that connects, or with -EEXIST the one that has the name; may be NULL
 *
 * Success and failure are told by reports.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @system is NULL
 *   others   as gyre_connect()
 * Ownership: as for gyre_connect().
 * Context: any thread, setup or later.
 * Since: 0.1
 */
static inline int gyre_system_connect(struct gyre_system *system,
				      const struct gyre_connect_options *options,
				      struct gyre_address *ret_socket)
{
	const struct gyre_sizes sizes = { (uint32_t)sizeof(*options),
					  (uint32_t)sizeof(struct gyre_class), 0, 0 };

	return gyre_system_connect_sized(system, options, sizes, ret_socket);
}

GYRE_END_DECLS

#endif
