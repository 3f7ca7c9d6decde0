/*
 * Datagrams: UDP, and Unix sockets of datagrams. A datagram channel has a pipeline like any other.
 * Each @read is one datagram, whose buffer has its sender as its peer; gyre_context_write() sends a
 * buffer as one datagram to its peer. So a handler that writes what it read answers the sender.
 *
 * Differences from a stream:
 *
 * - Empty buffers are delivered and sent: they are empty datagrams.
 * - gyre_context_write() can also fail with -EDESTADDRREQ, if the channel is not connected and the
 *   buffer has no peer, and with -EMSGSIZE, over GYRE_DATAGRAM_BYTES_MAX. Over the hard cap it
 *   fails with -ENOBUFS, which loses that datagram only: the channel stays open. For the marks and
 *   the cap each datagram counts with 64 bytes more than it has.
 * - A datagram that cannot be sent, or that the net reports as lost, is an exception
 *   (-ECONNREFUSED, -EMSGSIZE, -ENETUNREACH, -EPERM and the like). Neither that nor any other
 *   exception closes the channel.
 * - There is no half-close: gyre_context_shutdown() ends writing and tells nobody, and
 *   @allow_half_close is only for last words in a drain. @no_linger, @allow_delay, @handshake_ns,
 *   @keep_alive_ns and the sizes of the kernel's buffers in struct gyre_channel_options mean
 *   nothing; struct gyre_datagram_options has sizes of its own.
 * - Parts of files cannot be sent.
 * - gyre_context_close() sends what is queued and closes, without waiting for anybody.
 *
 * Datagrams for a Unix socket wait until that socket has room, and those written behind them wait
 * too. A peer that makes no room for linger_ns of the system, while datagrams for others wait or
 * the channel is not writable, loses those queued for it: each is an exception -ETIMEDOUT. A
 * channel that is connected has only one peer, and waits for it as long as it takes.
 *
 * Datagrams of one size that are written behind each other for one peer leave by one call (GSO).
 * Datagrams that the kernel has received as one (GRO) are delivered one by one, without a copy. The
 * order of writes is kept, except that over UDP a datagram which finds the socket's send buffer
 * full, or a batch that a path refuses, may be passed by later ones.
 */
#ifndef GYRE_DATAGRAM_H
#define GYRE_DATAGRAM_H

#include <gyre/channel_actor.h>
#include <gyre/listen.h>
#include <gyre/socket_address.h>

GYRE_BEGIN_DECLS

/** GYRE_DATAGRAM_BYTES_MAX - the longest datagram that can be written */
#define GYRE_DATAGRAM_BYTES_MAX 65507

/**
 * struct gyre_multicast - a group of receivers
 * @group: the address of the group, such as "224.0.0.251" or "ff02::fb"
 * @interface: the interface by which it is joined, such as "eth0"; NULL for the one that the
 *   machine's routes lead to
 */
struct gyre_multicast {
	const char *group;
	const char *interface;
};

/**
 * enum gyre_datagram_step - a step in the life of a socket for datagrams
 * @GYRE_DATAGRAM_BOUND: its channel is about to become active: once for each socket, and again when
 *   a socket goes to another loop because its own retires
 * @GYRE_DATAGRAM_CLOSED: its channel is gone, or never became active because @init_channel failed
 *   or its handlers refused an order
 */
enum gyre_datagram_step {
	GYRE_DATAGRAM_BOUND,
	GYRE_DATAGRAM_CLOSED,
};

/**
 * struct gyre_datagram_event - a report about a socket for datagrams
 * @step: the step
 * @reason: a negative errno, or 0: why the channel is gone, as gyre_channel_reason() says
 * @address: the address that the socket is bound to
 * @channel: the address of the channel, the same in each report of it, though stale in the last;
 *   GYRE_NOBODY if there is no memory for it
 */
struct gyre_datagram_event {
	enum gyre_datagram_step step;
	int reason;
	struct gyre_socket_address address;
	struct gyre_address channel;
};

/**
 * gyre_datagram_fn - is told of each step of sockets for datagrams
 * @stack: to notify, to spawn and to make mail; nothing can be awaited
 * @event: what has happened; valid during the call
 * @channel: the channel
 * @arg: @report_arg of struct gyre_datagram_options
 *
 * Runs in phase 2, on the channel's loop; it is not re-entered on one loop, but runs on several at
 * once. The last call for a channel is that with GYRE_DATAGRAM_CLOSED, whether GYRE_DATAGRAM_BOUND
 * came before or not.
 */
typedef void (*gyre_datagram_fn)(struct gyre_stack *stack, const struct gyre_datagram_event *event,
				 struct gyre_channel *channel, void *arg);

/**
 * struct gyre_datagram_options - how sockets for datagrams are opened and used
 * @bind: "udp://HOST:PORT" or "unix+dgram:PATH"; port 0 is any free one; NULL for any free port, or
 *   for the kernel's choice when @connect is given. "udp://[::]:7000" is every address, and IPv4
 *   senders then have mapped addresses, such as [::ffff:127.0.0.1]. Or "fd:NAME" or "fd:NUMBER":
 *   sockets that are bound already, as in struct gyre_acceptor_options, without @connect and
 *   without @groups, which the channel can join; of their settings those are set that are not 0 or
 *   false here
 * @connect: the only peer, as text of the same form; NULL for a channel that is open to all
 * @init_channel: gives each channel its handlers
 * @init_arg: for @init_channel
 * @actor_class: each channel gets an actor of that class, which must outlive the system: see
 *   channel_actor.h; NULL for none
 * @bond: how the ends of channel and actor go together
 * @channel: how each channel behaves
 * @one_loop: open a single channel, on the loop of @place; by default each loop has one, and the
 *   kernel gives each sender to one of them. There is always a single channel for a Unix socket,
 *   with @connect, without @bind, and with @groups, whose datagrams would come to each channel
 * @reuse_port: let other sockets have the address too, as programs that join one group do
 * @broadcast: allow sending to broadcast addresses
 * @no_gro: have the kernel deliver each datagram singly
 * @no_gso: send each datagram singly
 * @receive_buffer_bytes: the most that the kernel keeps of datagrams that were not received, up to
 *   2^31 - 1 and to net.core.rmem_max; 0 for the default of the machine
 * @send_buffer_bytes: likewise for datagrams that have not left, with net.core.wmem_max
 * @groups: the groups that are joined from the beginning
 * @groups_count: how many groups; 0 for none
 * @multicast_interface: the interface by which datagrams to groups leave; NULL for the one that the
 *   routes lead to
 * @multicast_hops: how many routers these may pass, 1 to 255; 0 for 1, which stays in the own net
 * @no_multicast_loop: do not deliver these on this machine
 * @place: the loop of a single channel; by default the first one. For gyre_datagram_open() the
 *   default is the loop of the running actor, whose child the channel's actor is unless @place
 *   detaches it; only there it may name that actor, which leaves the name when its socket goes to
 *   another loop. Not GYRE_PLACE_PINNED
 * @report: is told of each step; may be NULL
 * @report_arg: for @report
 * @ret_port: gets the port that was bound, for port 0; may be NULL
 * @ret_address: gets the address that was bound; may be NULL
 */
struct gyre_datagram_options {
	const char *bind;
	const char *connect;
	gyre_init_channel_fn init_channel;
	void *init_arg;
	const struct gyre_class *actor_class;
	enum gyre_channel_bond bond;
	struct gyre_channel_options channel;
	bool one_loop;
	bool reuse_port;
	bool broadcast;
	bool no_gro;
	bool no_gso;
	uint32_t receive_buffer_bytes;
	uint32_t send_buffer_bytes;
	const struct gyre_multicast *groups;
	uint32_t groups_count;
	const char *multicast_interface;
	uint32_t multicast_hops;
	bool no_multicast_loop;
	struct gyre_spawn_options place;
	gyre_datagram_fn report;
	void *report_arg;
	uint16_t *ret_port;
	struct gyre_socket_address *ret_address;
};

/** gyre_system_datagram_open_sized() - gyre_system_datagram_open() with the sizes of its structures
 */
GYRE_API int gyre_system_datagram_open_sized(struct gyre_system *system,
					     const struct gyre_datagram_options *options,
					     struct gyre_sizes sizes,
					     struct gyre_address *ret_actor);

/**
 * gyre_system_datagram_open() - opens a socket for datagrams on each loop of a system, or on one
 * @system: the system, started or not
 * @options: how they are opened and used; not needed after the call, except for @init_arg and
 *   @report_arg
 * @ret_actor: the actor of the first loop's channel, whose stop closes all of them; may be NULL
 *
 * The sockets are bound when the call returns; channels become active as soon as the system runs.
 * Before that their handlers get the orders to bind and to connect, and may choose other addresses:
 * see gyre_bind_fn. An actor stops when its channel is closed; if the channel was never active, the
 * actor stops with its reason. A failure is explained by one line in the log, with its cause and
 * remedy, and nothing is left open then.
 *
 * Sockets of a process that this one succeeds are taken over with all datagrams that wait in them:
 * see gyre/handover.h.
 *
 * Loops that are added later get no channel. When a loop retires, its socket goes to another loop,
 * with all datagrams that wait in it. A new channel is made for it there, with @init_channel; the
 * old channel closes when its handlers have got the datagrams that were received before, and all
 * output is sent.
 *
 * The first datagram channel of a loop takes datagram_buffer_count buffers of datagram_buffer_bytes
 * of the system. Parts of them that no datagram ever filled cost no memory.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL      an argument or @init_channel is NULL, an address cannot be understood or is not of
 *                datagrams, @bind and @connect are of different kinds, a group is none or of
 *                another kind, @place has no such loop or a name, or a number or @bond is out of
 *                its bounds; or @actor_class has no name or a field out of its bounds
 *   -EADDRINUSE  the address is taken
 *   -EADDRNOTAVAIL  the machine has no such address
 *   -EACCES      the port is for privileged processes
 *   -EMFILE      too many descriptors are open
 *   -ENODEV      there is no such interface
 *   -ENOBUFS     more sockets of the name in @bind were given than there are loops
 *   -ENOENT      no socket of the name in @bind was given to this process
 *   -ENOMEM      there is no memory
 *   -ENXIO       the host's name is not known
 *   others       what the kernel refused a socket with
 * Ownership: @options stays the caller's; so does what @init_arg and @report_arg point to, as long
 *   as the system.
 * Context: any thread, setup or later, but not one of the loops: it may block to look up a name.
 * Since: 0.1
 */
static inline int gyre_system_datagram_open(struct gyre_system *system,
					    const struct gyre_datagram_options *options,
					    struct gyre_address *ret_actor)
{
	const struct gyre_sizes sizes = { (uint32_t)sizeof(*options),
					  (uint32_t)sizeof(struct gyre_class), 0, 0 };

	return gyre_system_datagram_open_sized(system, options, sizes, ret_actor);
}

/** gyre_datagram_open_sized() - gyre_datagram_open() with the sizes of its structures */
GYRE_API int gyre_datagram_open_sized(struct gyre_stack *stack,
				      const struct gyre_datagram_options *options,
				      struct gyre_sizes sizes, struct gyre_address *ret_actor);

/**
 * gyre_datagram_open() - opens one socket for datagrams, as a child of the running actor
 * @stack: the stack of the running handler
 * @options: how it is opened and used; not needed after the call, except for @init_arg and
 *   @report_arg. There is a single channel, and addresses must not be names
 * @ret_actor: the actor of the channel, whose stop closes it, or with -EEXIST the one that has the
 *   name
 *
 * The socket is bound when the call returns, and the channel active soon after. The actor stops
 * when its channel is closed. The rest is as for gyre_system_datagram_open(), except that nothing
 * is logged, and that the socket is not handed over: see gyre/handover.h.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EEXIST      another actor has the name in @place
 *   -EINVAL      an argument or @init_channel is NULL, an address cannot be understood or is not of
 *                datagrams, @bind and @connect are of different kinds, a group is none or of
 *                another kind, @place has no such loop or a name that is empty or too long, or a
 *                number or @bond is out of its bounds; or @actor_class has no name or a field out
 *                of its bounds
 *   -ENOENT      an address has a name, which would have to be looked up, or nobody has bound the
 *                Unix path of @connect
 *   -ENOBUFS     the loop has as many actors as it can have
 *   -ESHUTDOWN   the system or the running actor is stopping, or its loop retires and stops its
 *                actors
 *   others       as gyre_system_datagram_open()
 * Ownership: @options stays the caller's; so does what @init_arg and @report_arg point to, for as
 *   long as the actor lives.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_datagram_open(struct gyre_stack *stack,
				     const struct gyre_datagram_options *options,
				     struct gyre_address *ret_actor)
{
	const struct gyre_sizes sizes = { (uint32_t)sizeof(*options),
					  (uint32_t)sizeof(struct gyre_class), 0, 0 };

	return gyre_datagram_open_sized(stack, options, sizes, ret_actor);
}

/**
 * gyre_multicast_join() - lets a channel receive the datagrams of a group
 * @channel: a channel of gyre_system_datagram_open(), of UDP
 * @multicast: the group
 *
 * A channel gets datagrams that are sent to its port, at its address or at groups it has joined. It
 * may join before it is active, and stays in the group if its handlers then bind it elsewhere.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL      an argument is NULL, @channel is none of UDP, or @group is no address of a group
 *   -EADDRINUSE  it has joined that group already
 *   -ENOBUFS     it has joined as many as net.ipv4.igmp_max_memberships lets it
 *   -ENODEV      there is no such interface, or no route that leads to one
 *   -ENOMEM      there is no memory
 *   others       what the kernel refused it with
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_multicast_join(struct gyre_channel *channel,
				 const struct gyre_multicast *multicast);

/**
 * gyre_multicast_leave() - ends the membership of a channel in a group
 * @channel: a channel of gyre_system_datagram_open(), of UDP
 * @multicast: the group, with the interface by which it was joined
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL         an argument is NULL, @channel is none of UDP, or @group is no group's address
 *   -EADDRNOTAVAIL  it has not joined that group
 *   -ENODEV         there is no such interface
 *   -ENOMEM         there is no memory
 *   others          what the kernel refused it with
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_multicast_leave(struct gyre_channel *channel,
				  const struct gyre_multicast *multicast);

GYRE_END_DECLS

#endif
