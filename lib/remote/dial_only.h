/*
 * A node that does not listen; see dial_only.c.
 */
#ifndef GY_REMOTE_DIAL_ONLY_H
#define GY_REMOTE_DIAL_ONLY_H

struct gy_nodes;

/* What the loops of the node do with mail for others. Its options are there. */
void gy_remote_ops_for(struct gy_nodes *nodes);

#endif
