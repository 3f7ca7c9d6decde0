/*
 * Nodes and the chains they travel in.
 *
 * A node is the head of everything that crosses from one loop to another. A chain is built
 * privately and handed over as a whole. Reading a chain that another core wrote costs a cache miss
 * for each node, one after the other, because the address of the next stands in the one before. So
 * while the chain is built, and its nodes are still in the builder's cache, each node is told where
 * the node four places later is (@ahead, in cache lines from itself), and the reader fetches that
 * far ahead.
 */
#ifndef GY_BASE_CHAIN_H
#define GY_BASE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

enum { GY_CHAIN_AHEAD = 4 };

struct gy_node {
	struct gy_node *next;
	int32_t ahead;	    /* distance in cache lines of the node to fetch, 0 for none */
	uint16_t owner;	    /* the loop whose pool it returns to, or as below */
	uint8_t size_class; /* of gy_sizes */
	uint8_t kind;	    /* GY_NODE_RETURNED, or what the floor above knows */
};

/*
 * Loops are few, so there are owners beside them: from GY_NODE_FOREIGN on the pools of threads that
 * turn no loop, and the heap. The bit above all owners says that the node holds something to be
 * released before the node goes back. Returning a node compares its owner anyway, so nodes that
 * hold nothing pay nothing.
 */
enum { GY_NODE_FOREIGN = 0x4000, GY_NODE_FROM_HEAP = 0x7fff, GY_NODE_HOLDS = 0x8000 };
enum { GY_NODE_RETURNED = 0 };
/* The kind of a node that was allocated and not yet sent. */
enum { GY_NODE_NEW = 0xff };
/* No node is larger, its header included. */
enum { GY_NODE_BYTES_MAX = (1 << 24) + 56 };

_Static_assert(offsetof(struct gy_node, kind) == offsetof(struct gy_node, owner) + 3,
	       "compared as one");

/* Where a node belongs: its owner and size class, as one number to compare. */
static inline uint32_t gy_node_origin(uint16_t owner, uint8_t size_class)
{
	const struct gy_node node = { .owner = owner, .size_class = size_class };
	uint32_t origin;

	memcpy(&origin, &node.owner, sizeof(origin));
	return origin;
}

static inline uint32_t gy_node_origin_of(const struct gy_node *node)
{
	uint32_t head;

	memcpy(&head, &node->owner, sizeof(head));
	return head & gy_node_origin(UINT16_MAX, UINT8_MAX);
}

/* The same with the kind: all that tells nodes of one size apart, as one number. */
static inline uint32_t gy_node_head(uint32_t origin, uint8_t kind)
{
	const struct gy_node node = { .kind = kind };
	uint32_t head;

	memcpy(&head, &node.owner, sizeof(head));
	return head | origin;
}

static inline uint32_t gy_node_head_of(const struct gy_node *node)
{
	uint32_t head;

	memcpy(&head, &node->owner, sizeof(head));
	return head;
}

/* Whether a node is from the pool of a loop; any thread may free one that is not. */
static inline bool gy_node_is_of_loop(const struct gy_node *node)
{
	return (node->owner & (GY_NODE_HOLDS - 1)) < GY_NODE_FOREIGN;
}

struct gy_chain {
	struct gy_node *first;
	struct gy_node *last;
	uint32_t count;
	struct gy_node *recent[GY_CHAIN_AHEAD];
};

static inline void gy_chain_append(struct gy_chain *chain, struct gy_node *node)
{
	uint32_t place = chain->count % GY_CHAIN_AHEAD;

	node->next = NULL;
	node->ahead = 0;
	if (chain->count == 0) {
		chain->first = node;
	} else {
		chain->last->next = node;
	}
	if (chain->count >= GY_CHAIN_AHEAD) {
		struct gy_node *back = chain->recent[place];
		intptr_t lines = ((intptr_t)node - (intptr_t)back) / GY_CACHE_LINE;

		back->ahead = lines == (int32_t)lines ? (int32_t)lines : 0;
	}
	chain->recent[place] = node;
	chain->last = node;
	chain->count++;
}

static inline void gy_chain_clear(struct gy_chain *chain)
{
	chain->first = NULL;
	chain->count = 0;
}

/* Prefetches the node that a reader of @node will need soon. */
static inline void gy_node_fetch_ahead(const struct gy_node *node)
{
	gy_prefetch_write((const char *)node + (intptr_t)node->ahead * GY_CACHE_LINE);
}

#endif
