/*
 * Listening: a system accepts connections on each of its loops, and a connection stays on the loop
 * that accepted it. For a Unix socket one loop accepts, and hands connections to all loops.
 */
#ifndef GYRE_LISTEN_H
#define GYRE_LISTEN_H

#include <gyre/actor.h>
#include <gyre/channel.h>
#include <gyre/channel_actor.h>
#include <gyre/socket_address.h>

GYRE_BEGIN_DECLS

/**
 * gyre_init_channel_fn - gives a new channel its handlers
 * @channel: the channel, not yet active
 * @arg: @init_arg of struct gyre_acceptor_options
 *
 * Runs in phase 2, on the loop that accepted, once a connection and before any handler; it is not
 * re-entered on one loop, but runs on several at once. A negative errno closes that connection
 * alone. There is no last call before the system has stopped.
 */
typedef int (*gyre_init_channel_fn)(struct gyre_channel *channel, void *arg);

/**
 * enum gyre_listen_step - a step in the life of a listener or of a connection
 * @GYRE_LISTEN_BOUND: a loop begins to accept: once for each socket, and again when a socket goes
 *   to another loop because loops were added or retire
 * @GYRE_LISTEN_ACCEPTED: a connection has come, and may still be refused
 * @GYRE_LISTEN_REFUSED: a connection is closed because of a limit
 * @GYRE_LISTEN_REGISTERED: its channel belongs to an actor, and has its handlers
 * @GYRE_LISTEN_CONNECTED: its channel is about to be active
 * @GYRE_LISTEN_CLOSED: its channel is gone
 */
enum gyre_listen_step {
	GYRE_LISTEN_BOUND,
	GYRE_LISTEN_ACCEPTED,
	GYRE_LISTEN_REFUSED,
	GYRE_LISTEN_REGISTERED,
	GYRE_LISTEN_CONNECTED,
	GYRE_LISTEN_CLOSED,
};

/**
 * struct gyre_listen_event - a report about listening
 * @step: the step
 * @reason: a negative errno, or 0: why the channel is gone; -ENOBUFS or -EAGAIN for a connection
 *   that a limit on the number or the rate refused
 * @address: the address of the listener, for GYRE_LISTEN_BOUND; that of the peer, for
 *   GYRE_LISTEN_ACCEPTED and GYRE_LISTEN_REFUSED; else of 0 bytes
 * @channel: the address of the channel, from GYRE_LISTEN_REGISTERED on, and the same in each report
 *   of that channel, though stale in the last; GYRE_NOBODY if there is no memory for it, and in
 *   reports before, when there is no channel yet
 */
struct gyre_listen_event {
	enum gyre_listen_step step;
	int reason;
	struct gyre_socket_address address;
	struct gyre_address channel;
};

/**
 * gyre_listen_fn - is told of each step of a listener and its connections
 * @stack: to notify, to spawn and to make mail; nothing can be awaited
 * @event: what has happened; valid during the call
 * @channel: the channel, from GYRE_LISTEN_REGISTERED on; else NULL
 * @arg: @report_arg of struct gyre_acceptor_options
 *
 * Runs in phase 2, on the loop of the step; it is not re-entered on one loop, but runs on several
 * at once. For GYRE_LISTEN_ACCEPTED a negative errno refuses the connection; for other steps the
 * result is ignored. The last call for a connection is that with GYRE_LISTEN_CLOSED if there was a
 * channel, else that with GYRE_LISTEN_ACCEPTED or GYRE_LISTEN_REFUSED.
 */
typedef int (*gyre_listen_fn)(struct gyre_stack *stack, const struct gyre_listen_event *event,
			      struct gyre_channel *channel, void *arg);

/**
 * struct gyre_acceptor_options - where a system listens, and how it treats connections
 * @bind: "tcp://HOST:PORT" or "unix:PATH", see gyre/socket_address.h; HOST may be a name, and then
 *   the first of its addresses is bound that the resolver of the C library gives; port 0 is any
 *   free one; "tcp://[::]:7000" is every address of the machine, IPv4 and IPv6. Or "fd:NAME" or
 *   "fd:NUMBER": sockets that listen already, by the name that a supervisor such as systemd has
 *   given them, at most one a loop, or by their number; they stay open in the process. Of their
 *   settings, @allow_delay of @channel is set, and @keep_alive_ns, the sizes of its buffers and
 *   @backlog where these are not 0; all others, and @mode, stay as they are. Over TCP, connections
 *   that wait there already keep the former settings
 * @init_channel: gives each connection its handlers
 * @init_arg: for @init_channel
 * @actor_class: each connection gets an actor of that class, which must outlive the system: see
 *   channel_actor.h; NULL for none
 * @bond: how the ends of connection and actor go together
 * @channel: how each channel behaves
 * @backlog: connections that may wait to be accepted, by loop, 1 to 2^20; 0 for 4096
 * @listeners: how many loops listen; 0 for all loops where the kernel lets sockets share an
 *   address, as it does for TCP, and else for one. A number above that of loops means all, also
 *   those that are added later. Connections stay on the loop that has accepted them if all loops
 *   listen; else they go to all loops in turn
 * @mode: the permissions of the file of a Unix socket, as for chmod(2), up to 0777; 0 for what the
 *   process's mask leaves
 * @connections_max: how many connections there may be at a time; 0 for no limit
 * @loop_connections_max: how many of them a loop may have; 0 for no limit. A connection that was on
 *   its way to a loop that retires may exceed the limit of another
 * @accept_rate: how many may come in a second, at most 10^9, spread evenly but for a tenth of them;
 *   0 for no limit
 * @wait_ns: how long to try, up to 6e10, while another process listens there, such as one that was
 *   killed and that the kernel has not taken down yet; 0 to try once
 * @refuse: close connections that are over a limit; by default they wait until there is room
 * @report: is told of each step, and may refuse connections; may be NULL
 * @report_arg: for @report
 * @ret_port: where the bound port goes, for port 0; may be NULL
 * @ret_address: where the bound address goes; may be NULL
 *
 * The file of a Unix socket is removed when the listening ends. A file that is found in its place
 * is replaced if it is a socket on which nobody listens.
 */
struct gyre_acceptor_options {
	const char *bind;
	gyre_init_channel_fn init_channel;
	void *init_arg;
	const struct gyre_class *actor_class;
	enum gyre_channel_bond bond;
	struct gyre_channel_options channel;
	uint32_t backlog;
	uint32_t listeners;
	uint32_t mode;
	uint32_t connections_max;
	uint32_t loop_connections_max;
	uint32_t accept_rate;
	uint64_t wait_ns;
	bool refuse;
	gyre_listen_fn report;
	void *report_arg;
	uint16_t *ret_port;
	struct gyre_socket_address *ret_address;
};

/** gyre_system_listen_sized() - gyre_system_listen() with the sizes of its structures */
GYRE_API int gyre_system_listen_sized(struct gyre_system *system,
				      const struct gyre_acceptor_options *options,
				      struct gyre_sizes sizes, struct gyre_address *ret_acceptor);

/**
 * gyre_system_listen() - accepts connections for all loops of a system
 * @system: the system, started or not
 * @options: where to listen, and how; not needed after the call, except for @init_arg and
 *   @report_arg
 * @ret_acceptor: the acceptor of the first loop, whose stop ends all listening; may be NULL
 *
 * The sockets listen when the call returns; connections are served as soon as the system runs. When
 * @ret_acceptor has been stopped, as by gyre_stop(), no loop listens any more; connections that are
 * open stay. A failure is explained by one line in the log, with its cause and remedy, and no loop
 * listens then.
 *
 * An actor listens by calling this through gyre_offload(), and ends it by gyre_stop() of
 * @ret_acceptor, which is not its child.
 *
 * Loops that are added later get connections like the others: they listen too, as far as @listeners
 * allows, or connections are handed to them. The sockets of a loop that retires go to other loops,
 * with the connections that wait there.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL      an argument or @bind or @init_channel is NULL, or @bind cannot be understood, or
 *                @backlog, @mode, @accept_rate, @wait_ns, @bond or a number of @channel is out of
 *                bounds; or @actor_class has no name or a field out of its bounds
 *   -EADDRINUSE  another process still listens there after @wait_ns
 *   -EADDRNOTAVAIL  the machine has no such address
 *   -EACCES      the port is for privileged processes, or the folder of a path may not be written
 *   -EMFILE      too many descriptors are open
 *   -ENAMETOOLONG  the path or the host's name is too long
 *   -EBADF       the number is not that of an open descriptor
 *   -ENOBUFS     more sockets were given than there are loops
 *   -ENOENT      the folder of a path is not there, or no socket of that name was given
 *   -ENOTSOCK    the number is not that of a socket
 *   -ENOMEM      there is no memory
 *   -ENXIO       the host's name is not known
 *   others why the kernel refused a socket
 * Ownership: @options stays the caller's; so does what @init_arg and @report_arg point to, as long
 *   as the system.
 * Context: any thread, setup or later, but not one of the loops: it may block to look up a name,
 *   and for @wait_ns.
 * Since: 0.1
 */
static inline int gyre_system_listen(struct gyre_system *system,
				     const struct gyre_acceptor_options *options,
				     struct gyre_address *ret_acceptor)
{
	const struct gyre_sizes sizes = { (uint32_t)sizeof(*options),
					  (uint32_t)sizeof(struct gyre_class), 0, 0 };

	return gyre_system_listen_sized(system, options, sizes, ret_acceptor);
}

GYRE_END_DECLS

#endif
