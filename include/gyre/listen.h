/*
 * Listening: a system accepts connections on every one of its loops, and each connection stays
 * where it was accepted.
 */
#ifndef GYRE_LISTEN_H
#define GYRE_LISTEN_H

#include <gyre/actor.h>
#include <gyre/channel.h>

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
 * struct gyre_acceptor_options - where a system listens, and what it does with connections
 * @bind: "tcp://HOST:PORT"; HOST is a name or an address, in brackets for IPv6; port 0 is any free
 *   one; "tcp://[::]:7000" is every address of the machine, IPv4 and IPv6
 * @init_channel: gives each connection its handlers
 * @init_arg: for @init_channel
 * @channel: how each channel behaves
 * @backlog: connections that may wait to be accepted, by loop, 1 to 2^20; 0 for 4096
 * @ret_port: where the bound port goes, for port 0; may be NULL
 */
struct gyre_acceptor_options {
	const char *bind;
	gyre_init_channel_fn init_channel;
	void *init_arg;
	struct gyre_channel_options channel;
	uint32_t backlog;
	uint16_t *ret_port;
};

/**
 * gyre_listen() - accepts connections on every loop of a system
 * @system: the system, started or not
 * @options: where, and what for; not needed after the call, except for @init_arg
 * @ret_acceptor: the acceptor of the first loop, whose stop ends listening on all; may be NULL
 *
 * All loops listen, by sockets of their own, when the call returns; connections are served as soon
 * as the system runs. Loops that are added later listen too. When @ret_acceptor has been stopped,
 * as by gyre_stop(), no loop listens any more; connections that are open stay. A failure is
 * explained by one line in the log, with its cause and remedy, and no loop listens then.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL      an argument or @bind or @init_channel is NULL, or @bind cannot be understood
 *   -EADDRINUSE  somebody listens there
 *   -EADDRNOTAVAIL  the machine has no such address
 *   -EACCES      the port is for privileged processes
 *   -EMFILE      too many descriptors are open
 *   -ENOMEM      there is no memory
 *   -ENXIO       the host's name is not known
 *   others       what the kernel refused a socket with
 * Ownership: @options stays the caller's; so does what @init_arg points to, as long as the system.
 * Context: any thread, setup or later, but not one of the loops: it may block to look up a name.
 * Since: 0.1
 */
GYRE_API int gyre_listen(struct gyre_system *system, const struct gyre_acceptor_options *options,
			 struct gyre_address *ret_acceptor);

GYRE_END_DECLS

#endif
