/*
 * What this node knows of another one. All loops share it: fields that are not said to be atomic
 * are read and written under the mutex of the node.
 */
#ifndef GY_REMOTE_PEER_PEER_H
#define GY_REMOTE_PEER_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include <gyre/node.h>

#include "remote/link/link_order.h"
#include "remote/peer/peer_life.h"

struct gy_nodes;

struct gy_peer {
	struct gy_nodes *nodes;
	uint16_t id;
	char *address;	      /* NULL: it has come, and cannot be dialled */
	bool learnt;	      /* the address is where it came from, and nobody told of it */
	bool left;	      /* it was told of as that: an address is told of, or there is none */
	uint64_t incarnation; /* atomic; written under the mutex */
	struct gy_lives lives;
	struct gy_peer_task *peer_tasks; /* by loop */
	uint32_t state;			 /* atomic: enum gyre_node_state; written under the mutex */
	uint64_t heard_ns;		 /* atomic */
	uint32_t links;			 /* atomic: open */
	uint64_t sent;			 /* atomic, as the next two */
	uint64_t received;
	uint64_t lost;
	struct gy_link_order *link_orders; /* by loop of the peer */
	uint32_t link_orders_count;
	uint32_t ways; /* atomic: of @links, those that were dialled here */
	/* Atomic: which of its connections the link of loop 0 has open, counted; or 0. */
	uint32_t first_way;
	/* See one_way.c; written under the mutex: */
	uint64_t unreached_ns; /* atomic: until when it believes that it cannot be dialled; or 0 */
	int unreached_error;
	uint64_t unreached_logged_ns;
	uint64_t one_way_logged_ns;
};

struct gy_peer *gy_peer_find(const struct gy_nodes *nodes, uint16_t id);
/* The peer, made if need be; NULL without memory. Any thread. */
struct gy_peer *gy_peer_get(struct gy_nodes *nodes, uint16_t id);
/* The first peer with a higher id that can be dialled, as far as is known; 0 for none. Any thread.
 */
uint16_t gy_peer_next_known(struct gy_nodes *nodes, uint16_t id);
/* A copy of its address from the heap: -EHOSTUNREACH when it has none, -ENOMEM. */
int gy_peer_address(struct gy_peer *peer, char **ret_address);
/* Adds a peer that somebody has told of, or gives it another address: -EINVAL,
 * -ENAMETOOLONG, -ENOMEM. Any thread. */
int gy_peer_add(struct gy_nodes *nodes, const struct gyre_node_peer *told);
/* All loops have ended: frees all peers. */
void gy_peers_fini(struct gy_nodes *nodes);
/* Gives it the address that it came from, unless somebody has told of one, or that it has left. */
void gy_peer_learn_address(struct gy_peer *peer, const char *address);

#endif
