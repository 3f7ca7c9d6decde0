/*
 * The events of links. A dialled link that does not come to be open is told of when its dial has
 * ended, an accepted one when its connection has: so each connection, and each dial without one,
 * makes one event of its failure, or two of its life.
 */
#include "remote/link/link_event.h"

#include <stdio.h>

#include <gyre/channel.h>
#include <gyre/socket_address.h>

#include "remote/link/link.h"

_Static_assert(sizeof(((struct gy_link *)NULL)->address) ==
		       sizeof(((struct gyre_link_event *)NULL)->address),
	       "the text of a link fits");

void gy_link_set_address(struct gy_link *link, const char *text)
{
	struct gyre_socket_address address;

	link->address[0] = '\0';
	if (text != NULL) {
		(void)snprintf(link->address, sizeof(link->address), "%s", text);
	} else if (gyre_channel_peer_address(gyre_context_channel(link->ctx), &address) < 0 ||
		   gyre_socket_address_format(&address, sizeof(link->address), link->address) < 0) {
		link->address[0] = '\0'; /* the peer has gone already */
	}
}

void gy_link_publish(struct gy_link *link, enum gyre_link_step step, int reason)
{
	struct gy_home *home = link->links->home;
	struct gyre_link_event event = { .step = step,
					 .reason = reason,
					 .loop = home->loop.index,
					 .node = link->peer == NULL ? 0 : link->peer->id,
					 .dialled = link->dialled };

	gy_assert(reason <= 0);
	(void)snprintf(event.address, sizeof(event.address), "%s", link->address);
	gy_home_publish(home, &gyre_type_gyre_link_event, &event);
}

void gy_link_publish_end(struct gy_link *link, int reason)
{
	if (gy_link_has(link, GY_LINK_FLAG_COUNTED_OPEN)) {
		bool broken = reason < 0 ||
			      !(gy_link_has(link, GY_LINK_FLAG_CLOSING) || link->links->draining);

		gy_link_publish(link, broken ? GYRE_LINK_BROKEN : GYRE_LINK_CLOSED, reason);
	} else if (!link->dialled) {
		gy_link_publish(link, GYRE_LINK_FAILED, reason);
	}
}
