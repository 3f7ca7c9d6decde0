/*
 * The net floor's share of a system: its sockets that can be handed over, those that came from a
 * predecessor, and how many actors of sockets are on their way. The homes point to it as
 * homes->net.
 */
#ifndef GY_NET_NET_STATE_H
#define GY_NET_NET_STATE_H

#include <stdint.h>

#include "base/list.h"

struct gy_homes;

struct gy_net {
	/* Under homes->placing: */
	struct gy_list socket_registry; /* of gy_socket_entry */
	uint32_t registry_serial;	/* of the entry that was added last */
	int registry_taker; /* descriptor by which another process gets the sockets, or -1 */
	struct gy_list passed_sockets; /* of a process that this one succeeds */

	/* Until then, by the machine's clock, addresses may be held by a process that was killed;
	 * 0: by none. Atomic, set before the start. */
	uint64_t bound_until_ns;
	uint32_t pending_opens; /* actors of sockets that are to be mounted; atomic */
	int pending_open_error; /* of the first that could not be; atomic */
	void (*opened)(struct gy_homes *homes); /* called when @pending_opens falls; may be NULL */
	/* Called by threads before they open something: see gy_pending_open_may_begin(). */
	void (*await_start)(struct gy_homes *homes);
};

static inline void gy_net_init(struct gy_net *net)
{
	*net = (struct gy_net){ .registry_taker = -1 };
	gy_list_init(&net->socket_registry);
	gy_list_init(&net->passed_sockets);
}

#endif
