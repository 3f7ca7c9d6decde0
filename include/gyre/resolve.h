/*
 * Looking up names of hosts without blocking: what gyre_connect() does before it connects, for
 * those who want the addresses themselves, as for datagrams.
 */
#ifndef GYRE_RESOLVE_H
#define GYRE_RESOLVE_H

#include <gyre/actor.h>
#include <gyre/socket_address.h>
#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/** GYRE_RESOLVED_MAX - how many addresses a lookup brings at most */
#define GYRE_RESOLVED_MAX 16

/** GYRE_RESOLVES_MAX - how many lookups of one loop may be under way */
#define GYRE_RESOLVES_MAX 256

/**
 * struct gyre_resolved - the answer to gyre_resolve()
 * @count: of @addresses, 1 to GYRE_RESOLVED_MAX
 * @addresses: with the port and the type of the question, in the order in which they should be
 *   tried: the best first, as RFC 6724 says, and IPv6 and IPv4 by turns
 */
struct gyre_resolved {
	uint32_t count;
	struct gyre_socket_address addresses[GYRE_RESOLVED_MAX];
};
GYRE_OWN_MESSAGE_(gyre_resolved, 0x50);

/**
 * struct gyre_resolve_options - whom to ask for names
 * @name_servers: "ADDRESS:PORT,..." to ask, without spaces, as "127.0.0.1:53,[::1]:53"; the port
 *   is 53 where it is left out, and the brackets with it; no scopes; NULL for those of
 *   the machine; 1 to 1023 bytes
 * @family: of the addresses that are wanted: AF_INET or AF_INET6; 0 for both
 */
struct gyre_resolve_options {
	const char *name_servers;
	int family;
};

/**
 * gyre_resolve() - looks up the addresses of a host
 * @stack: the running stack, which will own the promise
 * @text: "tcp://HOST:PORT" or "udp://HOST:PORT", see gyre/socket_address.h; what is an address
 *   already, and also "unix:PATH", is answered as it is
 * @options: whom to ask; NULL for the defaults; not needed after the call, nor is @text
 * @timeout_ns: how long the answer may take; 0 for the system's default, GYRE_FOREVER for as long
 *   as it takes to hear that no name server answers
 * @ret_future: where the answer will be, a struct gyre_resolved; in the frame of @stack
 *
 * When no server has answered about both families after a quarter of a second, the addresses of one
 * are enough. The machine's own names, as of /etc/hosts, are known without a name server. Nothing
 * is kept for the next lookup. The future always completes, with an answer or an error: -ENXIO (the
 * name is not known, or has no address of that family), -EAGAIN (no name server answers usefully),
 * -ENOBUFS (GYRE_RESOLVES_MAX are under way on this loop), -ETIMEDOUT, -ESHUTDOWN, -ENOMEM or
 * -EMFILE. It never completes inside this call, unless that fails.
 *
 * When the asking actor ends, its lookups are given up. When only @stack ends they go on to their
 * ends, and what they bring is dropped.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -EINVAL  @text or @ret_future is NULL, @text cannot be understood or is an address of another
 *            family than @family, @family is none, or @name_servers is not a list of addresses
 *   -ENAMETOOLONG  the path or the host's name is too long, or @name_servers is
 *   -ENODEV  the machine has no interface with the scope's name in @text
 *   -ENOMEM  there is no memory
 *   -ESHUTDOWN  the system is stopping
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_resolve(struct gyre_stack *stack, const char *text,
			  const struct gyre_resolve_options *options, uint64_t timeout_ns,
			  struct gyre_future *ret_future);

GYRE_END_DECLS

#endif
