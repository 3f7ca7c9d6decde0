/*
 * Borrowed nodes: nodes of a peer that have ended here, and wait for something to carry back.
 *
 * A node returns to the loop whose pool it is from. Where two loops send to each other, each
 * message would cross twice, once with its payload and once empty. So a loop keeps some empty nodes
 * of each peer. What it sends to that peer then goes in one of them: the message is copied, one
 * cache line that this core has at hand, and its own node is free at once. A loop that only
 * receives keeps no more than a few, and returns all others.
 *
 * All nodes that are borrowed go home when the loop has been idle for a while, when it retires, and
 * when the system stops.
 */
#ifndef GY_LOOP_BORROWED_H
#define GY_LOOP_BORROWED_H

#include "loop/loop.h"

/* Nodes of each peer: as many as a chain has, so that one that is answered whole finds as many. */
enum { GY_BORROWED_MAX = 64 };

/* Makes room for borrowed nodes of a peer; false when there is no memory. */
GY_COLD bool gy_outbox_may_borrow(struct gy_outbox *outbox);
/* Keeps a node of another loop that gy_loop_return() has emptied. False if it is to be returned. */
static inline bool gy_loop_borrow(struct gy_loop *loop, struct gy_node *node)
{
	struct gy_outbox *outbox = &loop->outboxes[node->owner];

	if (node->size_class != 0 || outbox->borrowed_count == GY_BORROWED_MAX || !loop->borrows) {
		return false;
	}
	if (gy_unlikely(outbox->borrowed == NULL) && !gy_outbox_may_borrow(outbox)) {
		return false;
	}
	outbox->borrowed[outbox->borrowed_count++] = node;
	return true;
}

/*
 * The node in which what @node holds goes to @peer: a borrowed one, if there is one and it is large
 * enough; then @node is back in its pool. Else @node.
 */
static inline struct gy_node *gy_loop_carry(struct gy_loop *loop, uint16_t peer,
					    struct gy_node *node)
{
	struct gy_outbox *outbox = &loop->outboxes[peer];
	const size_t bytes = gy_sizes_bytes(0);
	struct gy_node *borrowed;

	if (outbox->borrowed_count == 0 || gy_node_origin_of(node) != loop->small_origin) {
		return node;
	}
	borrowed = outbox->borrowed[--outbox->borrowed_count];
	gy_unpoison(borrowed, bytes);
	memcpy(borrowed, node, bytes);
	borrowed->owner = peer;
	gy_loop_node_put(loop, node);
	return borrowed;
}

/* Returns all borrowed nodes, with the next flush. */
void gy_loop_give_back(struct gy_loop *loop);
/* The same; from then on the loop borrows no more. */
void gy_loop_end_borrowing(struct gy_loop *loop);
/* Frees the room for them. */
void gy_borrowed_fini(struct gy_loop *loop);

#endif
