/*
 * How a node learns of others: engines, the list in the options among them; see membership.c.
 */
#ifndef GY_REMOTE_MEMBERSHIP_H
#define GY_REMOTE_MEMBERSHIP_H

#include <gyre/node.h>

struct gy_nodes;
struct gyre_system;

/* An engine that tells of nodes. */
struct gy_node_engine {
	const struct gyre_membership *membership; /* NULL for none */
	void *engine;
};

int gy_membership_start(struct gy_nodes *nodes, struct gyre_system *system);
void gy_membership_stop(struct gy_nodes *nodes);

#endif
