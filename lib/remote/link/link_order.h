/*
 * Who may open a link: one connection at a time from each loop of a peer; see link_order.c.
 */
#ifndef GY_REMOTE_LINK_LINK_ORDER_H
#define GY_REMOTE_LINK_LINK_ORDER_H

#include <stdint.h>

struct gy_link;

enum { GY_LINK_ORDERS_MAX = 4096 };

/* By which connections of one loop of a peer come in, one at a time; see link_order.c. */
struct gy_link_order {
	uint64_t incarnation; /* of the peer */
	uint64_t dial;	      /* the newest that has come */
	uint64_t claim;	      /* of it; they count up */
	uint32_t host;	      /* the loop that serves the one that was let in, + 1; 0 for none */
};

/* An accepted link wants to open: gy_link_handshake_admit() follows, now or later, or its end. */
void gy_link_order_enter(struct gy_link *link);

#endif
