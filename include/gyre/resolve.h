/*
 * Looking up names of hosts without blocking. gyre_connect() does it by itself; this is for
 * programs that need the addresses, for example for datagrams.
 */
#ifndef GYRE_RESOLVE_H
#define GYRE_RESOLVE_H

#include <gyre/actor.h>
#include <gyre/socket_address.h>
#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/** GYRE_RESOLVED_MAX - the largest number of addresses in an answer */
#define GYRE_RESOLVED_MAX 16

/** GYRE_RESOLVES_MAX - how many lookups of a loop may be under way */
#define GYRE_RESOLVES_MAX 256

/**
 * struct gyre_resolved - the answer to gyre_resolve()
 * @count: of @addresses, 1 to GYRE_RESOLVED_MAX
 * @addresses: the addresses, with the port and the type of the question, in the order in which they
 *   should be tried: the best first, as RFC 6724 says, and IPv6 and IPv4 in turn
 */
struct gyre_resolved {
	uint32_t count;
	struct gyre_socket_address addresses[GYRE_RESOLVED_MAX];
};
GYRE_OWN_MESSAGE_(gyre_resolved, 0x50);

/**
 * struct gyre_resolve_options - how names are looked up
 * @name_servers: the name servers, as "ADDRESS:PORT,..." without spaces, 1 to 1023 bytes, for
 *   example "127.0.0.1:53,[::1]:53". The port, and the brackets with it, may be left out for port
 *   53; scopes are not allowed. NULL for the servers of the machine
 * @family: of the addresses that are wanted: AF_INET or AF_INET6; 0 for both
 */
struct gyre_resolve_options {
	const char *name_servers;
	int family;
};

/** gyre_resolve_sized() - gyre_resolve() with the size of @options */
GYRE_API int gyre_resolve_sized(struct gyre_stack *stack, const char *text,
				const struct gyre_resolve_options *options, size_t options_bytes,
				uint64_t timeout_ns, struct gyre_future *ret_future);

/**
 * gyre_resolve() - looks up the addresses of a host
 * @stack: the running stack, which will own the promise
 * @text: "tcp://HOST:PORT" or "udp://HOST:PORT", see gyre/socket_address.h; an address, and
 *   "unix:PATH" too, is answered as it is
 * @options: how to look it up; NULL for the defaults; neither this nor @text is needed after the
 *   call
 * @timeout_ns: how long the answer may take; 0 as for gyre_ask(), GYRE_FOREVER for as long as it
 *   takes to hear that no name server answers
 * @ret_future: where the answer will be, a struct gyre_resolved; in the frame of @stack, or the
 *   state of its actor
 *
 * If no server has answered for both families after a quarter of a second, the addresses of one are
 * enough. Names of the machine itself, such as those of /etc/hosts, are known without a name
 * server. Nothing is cached. The future always completes, with an answer or an error: -ENXIO (the
 * name is not known, or has no address of that family), -EAGAIN (no name server answers usefully),
 * -ENOBUFS (GYRE_RESOLVES_MAX are under way on this loop), -ETIMEDOUT, -ESHUTDOWN, -ENOMEM or
 * -EMFILE. It never completes inside this call, unless that fails.
 *
 * When the asking actor ends, its lookups are given up. When only @stack ends, they go on, and
 * their answers are dropped.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @text or @ret_future is NULL, @text cannot be understood or is an address of another
 *            family than @family, @family is none, or @name_servers is not a list of addresses
 *   -ENAMETOOLONG  the path or the host's name is too long, or @name_servers is
 *   -ENODEV  the machine has no interface with the scope's name in @text
 *   -ENOMEM  there is no memory
 *   -ESHUTDOWN  the system is stopping
 *   -ETIMEDOUT  @timeout_ns is 0, and the asker of the running message has no time left
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_resolve(struct gyre_stack *stack, const char *text,
			       const struct gyre_resolve_options *options, uint64_t timeout_ns,
			       struct gyre_future *ret_future)
{
	return gyre_resolve_sized(stack, text, options, sizeof(*options), timeout_ns, ret_future);
}

GYRE_END_DECLS

#endif
