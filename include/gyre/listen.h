/*
 * Listening: a system accepts connections on every one of its loops, and each connection stays
 * where it was accepted; of Unix sockets on one loop, from where the connections go to all.
 */
#ifndef GYRE_LISTEN_H
#define GYRE_LISTEN_H

#include <gyre/actor.h>
#include <gyre/channel.h>
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
 * enum gyre_listen_step - what has happened where a system listens
 * @GYRE_LISTEN_BOUND: a loop begins to accept; once for each socket, and when one goes to another
 *   loop because loops were added or retire
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
 * @step: what has happened
 * @reason: a negative errno, or 0: why the channel is gone, or -ENOBUFS or -EAGAIN for a connection
 *   that a limit of number or of rate refused
 * @address: that is listened on, for GYRE_LISTEN_BOUND; of the peer, for GYRE_LISTEN_ACCEPTED and
 *   GYRE_LISTEN_REFUSED; else of 0 bytes
 */
struct gyre_listen_event {
	enum gyre_listen_step step;
	int reason;
	struct gyre_socket_address address;
};

/**
 * gyre_listen_fn - hears what becomes of listening
 * @stack: to notify, to spawn and to make mail; nothing can be awaited
 * @event: what has happened; valid during the call
 * @channel: the channel, from GYRE_LISTEN_REGISTERED on; else NULL
 * @arg: @report_arg of struct gyre_acceptor_options
 *
 * Runs in phase 2, on the loop where it has happened; it is not re-entered on one loop, but runs on
 * several at once. For GYRE_LISTEN_ACCEPTED a negative errno refuses the connection; else what it
 * returns is not looked at. The last call for a connection is that with GYRE_LISTEN_CLOSED if there
 * was a channel, else that with GYRE_LISTEN_ACCEPTED or GYRE_LISTEN_REFUSED.
 */
typedef int (*gyre_listen_fn)(struct gyre_stack *stack, const struct gyre_listen_event *event,
			      struct gyre_channel *channel, void *arg);

/**
 * struct gyre_acceptor_options - where a system listens, and what it does with connections
 * @bind: "tcp://HOST:PORT" or "unix:PATH", see gyre/socket_address.h; HOST may be a name; port 0 is
 *   any free one; "tcp://[::]:7000" is every address of the machine, IPv4 and IPv6
 *   Or "fd:NAME" or "fd:NUMBER": sockets that listen already, by the name that a supervisor such as
 *   systemd has given them, at most one a loop, or by their number; they stay open in the process.
 *   What is set of them is @allow_delay of @channel, and its @keep_alive_ns, the sizes of its
 *   buffers and @backlog where these are not 0; @mode, and what is 0, is as it was given. Over TCP
 *   connections that wait there already have what was set before
 * @init_channel: gives each connection its handlers
 * @init_arg: for @init_channel
 * @channel: how each channel behaves
 * @backlog: connections that may wait to be accepted, by loop, 1 to 2^20; 0 for 4096
 * @listeners: how many loops listen; 0 for all where the kernel lets sockets share an address,
 *   which it does for TCP, and else one; more than can be are as many as can, and more when loops
 *   are added. Connections stay on the loop that has accepted them if all listen, and else go to
 *   all loops in turn
 * @mode: the permissions of the file of a Unix socket, as for chmod(2), up to 0777; 0 for what the
 *   process's mask leaves
 * @connections_max: how many connections there may be at a time; 0 for no limit
 * @loop_connections_max: how many a loop may have of them; 0 for no limit; the connection that was
 *   on its way to a loop that retires may be one too many for another
 * @accept_rate: how many may come in a second, spread evenly but for a tenth of them; 0 for no
 *   limit, else at most 10^9
 * @wait_ns: how long to try, up to 6e10, while somebody else listens there, as a process that was
 *   killed does until the kernel has taken it down; 0 for once
 * @refuse: close connections that are over a limit; by default they wait until there is room
 * @report: hears of each step, and may refuse connections; may be NULL
 * @report_arg: for @report
 * @ret_port: where the bound port goes, for port 0; may be NULL
 * @ret_address: where the bound address goes; may be NULL
 *
 * The file of a Unix socket is removed when the listening ends. One that is found in its place is
 * replaced if it is a socket's and nobody listens there.
 */
struct gyre_acceptor_options {
	const char *bind;
	gyre_init_channel_fn init_channel;
	void *init_arg;
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

/**
 * gyre_system_listen() - accepts connections for all loops of a system
 * @system: the system, started or not
 * @options: where, and what for; not needed after the call, except for @init_arg and
 *   @report_arg
 * @ret_acceptor: the acceptor of the first loop, whose stop ends all listening; may be NULL
 *
 * The sockets listen when the call returns; connections are served as soon as the system runs. When
 * @ret_acceptor has been stopped, as by gyre_stop(), no loop listens any more; connections that are
 * open stay. A failure is explained by one line in the log, with its cause and remedy, and no loop
 * listens then.
 *
 * An actor that is to listen has the call made by gyre_offload(), and ends it by gyre_stop() of
 * @ret_acceptor, which is no child of it.
 *
 * Loops that are added later get connections like the others: they listen too, as far as @listeners
 * allows, and else connections go to them too. The sockets of a loop that retires go to other loops
 * with all that waits there.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL      an argument or @bind or @init_channel is NULL, or @bind cannot be understood, or
 *                @backlog, @mode, @accept_rate, @wait_ns or a number of @channel is out of bounds
 *   -EADDRINUSE  somebody listens there, still after @wait_ns
 *   -EADDRNOTAVAIL  the machine has no such address
 *   -EACCES      the port is for privileged processes, or the folder of a path may not be written
 *   -EMFILE      too many descriptors are open
 *   -ENAMETOOLONG  the path or the host's name is too long
 *   -EBADF       the number of a socket is none
 *   -ENOBUFS     more sockets were given than there are loops
 *   -ENOENT      the folder of a path is not there, or no socket of that name was given
 *   -ENOTSOCK    the number is not that of a socket
 *   -ENOMEM      there is no memory
 *   -ENXIO       the host's name is not known
 *   others       what the kernel refused a socket with
 * Ownership: @options stays the caller's; so does what @init_arg and @report_arg point to, as long
 *   as the system.
 * Context: any thread, setup or later, but not one of the loops: it may block to look up a name,
 *   and for @wait_ns.
 * Since: 0.1
 */
GYRE_API int gyre_system_listen(struct gyre_system *system,
				const struct gyre_acceptor_options *options,
				struct gyre_address *ret_acceptor);

GYRE_END_DECLS

#endif
