/*
 * Which way mail for another node goes; see route.c.
 */
#ifndef GY_REMOTE_MESSAGE_ROUTE_H
#define GY_REMOTE_MESSAGE_ROUTE_H

#include "actor/house.h"

struct gy_links;

/* The calls of homes into this floor. */
extern const struct gy_remote_ops gy_remote_ops;

/* Mail that another loop of this node has to send goes there in a relay; takes @mail, and returns
 * as gy_mail_loss() does. */
int gy_route_by_loop(struct gy_home *home, uint16_t loop, struct gyre_address to,
		     struct gyre_mail *mail);
/* The same for mail of a loop that dials nobody, by loop 0. False without memory: then @mail stays
 * the caller's. */
bool gy_route_by_first_loop(struct gy_links *links, struct gyre_address to, struct gyre_mail *mail);
/* The same for mail that an actor of that loop has forwarded. */
void gy_forward_by_loop(struct gy_home *home, uint16_t loop, struct gyre_address to,
			struct gyre_mail *mail);
/* Sends mail of this loop that is counted as sent. */
int gy_route_counted(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);
/* The same for mail from the heap: a relay to be posted; NULL without memory, and then @mail stays
 * the caller's. */
struct gyre_mail *gy_relay_create(struct gyre_address to, struct gyre_mail *mail);

#endif
