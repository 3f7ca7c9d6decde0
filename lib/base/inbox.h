/*
 * A queue with many producers and one consumer, after D. Vyukov, that takes and gives whole chains.
 *
 * A producer swaps its chain into @tail, then links it behind what it found there. Between the two
 * steps the queue is broken; the consumer then gets what stands before the break and comes back in
 * its next turn. It never spins for a producer that may have been preempted.
 *
 *                     push          take          empty
 *   push              any           any           any
 *   take              any           one thread    any
 *
 * push:  any thread, any number at once. take: the consumer only. empty: the consumer only.
 */
#ifndef GY_BASE_INBOX_H
#define GY_BASE_INBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/chain.h"
#include "base/macros.h"

struct gy_inbox {
	struct gy_node *tail GY_ALIGNED_LINE;  /* producers swap here */
	struct gy_node stub;		       /* what an empty queue ends in */
	struct gy_node *first GY_ALIGNED_LINE; /* the consumer's: what it took and has not read */
	struct gy_node *last;
};

static inline void gy_inbox_init(struct gy_inbox *inbox)
{
	*inbox = (struct gy_inbox){ 0 };
	inbox->tail = &inbox->stub;
}

/* Hands over @first to @last, linked by next; @last->next is NULL. A full fence. */
static inline void gy_inbox_push(struct gy_inbox *inbox, struct gy_node *first,
				 struct gy_node *last)
{
	struct gy_node *before = gy_exchange_full(&inbox->tail, last);

	gy_store_release(&before->next, first);
}

/* Sequentially consistent with gy_inbox_push(), as parking needs it. */
static inline bool gy_inbox_empty(const struct gy_inbox *inbox)
{
	return inbox->first == NULL && gy_load_full(&inbox->tail) == &inbox->stub;
}

/*
 * The next node in order, or NULL when there is none, or none whose place is linked yet. The node
 * is the caller's at once.
 */
static inline struct gy_node *gy_inbox_take(struct gy_inbox *inbox)
{
	struct gy_node *node = inbox->first;
	struct gy_node *next;

	if (node == NULL) {
		if (gy_load_acquire(&inbox->tail) == &inbox->stub) {
			return NULL;
		}
		node = gy_load_acquire(&inbox->stub.next);
		if (node == NULL) {
			return NULL;
		}
		inbox->stub.next = NULL;
		inbox->last = gy_exchange_full(&inbox->tail, &inbox->stub);
		inbox->first = node;
	}
	if (node == inbox->last) {
		inbox->first = NULL;
		return node;
	}
	next = gy_load_acquire(&node->next);
	if (gy_unlikely(next == NULL)) {
		return NULL;
	}
	inbox->first = next;
	gy_node_fetch_ahead(node);
	return node;
}

#endif
