/*
 * A node that does not listen; see dial_only.c.
 */
#ifndef GY_REMOTE_PEER_DIAL_ONLY_H
#define GY_REMOTE_PEER_DIAL_ONLY_H

struct gy_nodes;

/* Sets what the loops of a node do with mail for other nodes; its options are resolved. */
void gy_remote_ops_for(struct gy_nodes *nodes);

#endif
