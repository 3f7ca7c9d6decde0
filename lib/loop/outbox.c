/*
 * Nodes between loops. A node for a peer is appended to a private chain; a flush hands the whole
 * chain over with one exchange. A chain is flushed when a phase ends, when it has 64 nodes, and at
 * once when the peer is parked and the node is mail. Nodes that only return home wake nobody.
 */
#include "base/memory/memory.h"
#include "loop/borrowed.h"
#include "loop/foreign_nodes.h"
#include "loop/loop.h"

enum { CHAIN_MAX = 64 };

/*
 * The sender's half of parking: the push before this and the load here are sequentially consistent,
 * as are the parker's store and its last look at the inbox, so one of the two sees the other.
 *
 * The wake of a loop is only prepared, and goes out with the waker's next system call. Until the
 * sleeper is awake its flag names the loop that will wake it: that loop need not wake it again, but
 * no other may rely on it, since it may be in the middle of a long handler. So who finds that
 * another loop was first takes the flag from it.
 */
static bool take_flag(struct gy_loop *target, uint32_t parked, uint32_t next)
{
	while (parked != next && parked != GY_AWAKE && parked < GY_ENDED) {
		if (gy_compare_exchange_full(&target->parked, &parked, next)) {
			return true;
		}
	}
	return false; /* it is awake, or was, and looks at its inbox before it sleeps again */
}

/* Takes the flag of a retired loop, and has its deputy look at the inbox. */
static GY_COLD void call_deputy(struct gy_loop *target)
{
	uint32_t retired = GY_PARKED_RETIRED;

	if (gy_compare_exchange_full(&target->parked, &retired, GY_AWAKE)) {
		gy_loops_call(target->peers);
	}
}

bool gy_loop_wake_peer(struct gy_loop *loop, uint16_t peer)
{
	struct gy_loop *target = loop->peers->loop[peer];
	uint32_t parked = gy_load_full(&target->parked);

	if (gy_unlikely(parked == GY_PARKED_RETIRED)) {
		call_deputy(target);
		return false;
	}
	if (parked == GY_AWAKE || !take_flag(target, parked, GY_PARKED_WAKER + loop->index)) {
		return false;
	}
	gy_count(&loop->counters.wakes_sent, 1);
	gy_ring_wake_from(loop->ring, target->ring);
	return true;
}

static void flush_one(struct gy_loop *loop, uint16_t peer)
{
	struct gy_outbox *outbox = &loop->outboxes[peer];
	struct gy_loop *target = loop->peers->loop[peer];
	bool mail = outbox->mail;

	if (outbox->chain.count == 0) {
		return;
	}
	gy_count(&loop->counters.nodes_sent, outbox->chain.count);
	gy_count(&loop->counters.chains_sent, 1);
	gy_inbox_push(&target->inbox, outbox->chain.first, outbox->chain.last);
	gy_chain_clear(&outbox->chain);
	outbox->mail = false;
	if (mail) {
		(void)gy_loop_wake_peer(loop, peer);
	}
}

static struct gy_outbox *append(struct gy_loop *loop, uint16_t peer, struct gy_node *node)
{
	struct gy_outbox *outbox = &loop->outboxes[peer];

	gy_chain_append(&outbox->chain, node);
	if (!outbox->waiting) {
		outbox->waiting = true;
		loop->flush_list[loop->flush_count++] = peer;
	}
	return outbox;
}

void gy_loop_send(struct gy_loop *loop, uint16_t peer, struct gy_node *node)
{
	struct gy_outbox *outbox = append(loop, peer, node);

	outbox->mail = true;
	if (outbox->chain.count >= CHAIN_MAX ||
	    gy_load_relaxed(&loop->peers->loop[peer]->parked) == GY_PARKED) {
		flush_one(loop, peer);
	}
}

static void return_special(struct gy_loop *loop, struct gy_node *node)
{
	if ((node->owner & GY_NODE_HOLDS) != 0) {
		loop->ops->release(loop, node);
		gy_assert((node->owner & GY_NODE_HOLDS) == 0);
		gy_loop_node_put(loop, node);
	} else if (node->owner == GY_NODE_FROM_HEAP) {
		gy_memory_put(node);
	} else {
		gy_foreign_node_return(loop, node);
	}
}

void gy_loop_return(struct gy_loop *loop, struct gy_node *node)
{
	if (gy_unlikely(node->owner >= GY_NODE_FOREIGN)) {
		return_special(loop, node);
		return;
	}
	gy_node_poison(node);
	node->kind = GY_NODE_RETURNED;
	if (!gy_loop_borrow(loop, node)) {
		gy_loop_return_now(loop, node);
	}
}

void gy_loop_return_now(struct gy_loop *loop, struct gy_node *node)
{
	if (append(loop, node->owner, node)->chain.count >= CHAIN_MAX) {
		flush_one(loop, node->owner);
	}
}

void gy_loop_flush(struct gy_loop *loop)
{
	for (uint32_t i = 0; i < loop->flush_count; i++) {
		uint16_t peer = loop->flush_list[i];

		loop->outboxes[peer].waiting = false;
		flush_one(loop, peer);
	}
	loop->flush_count = 0;
}

static bool is_to_be_flushed(const struct gy_loop *loop, uint16_t peer)
{
	for (uint32_t i = 0; i < loop->flush_count; i++) {
		if (loop->flush_list[i] == peer) {
			return true;
		}
	}
	return false;
}

static void check_chain(const struct gy_chain *chain)
{
	const struct gy_node *node = chain->first;

	for (uint32_t i = 1; i < chain->count; i++) {
		gy_assert(node != chain->last);
		node = node->next;
	}
	gy_assert(chain->count == 0 || (node == chain->last && node->next == NULL));
}

void gy_outboxes_check(const struct gy_loop *loop)
{
	uint32_t waiting = 0;

	for (uint32_t peer = 0; loop->peers != NULL && peer < gy_loops_made(loop->peers); peer++) {
		const struct gy_outbox *outbox = &loop->outboxes[peer];

		check_chain(&outbox->chain);
		gy_assert(outbox->waiting == is_to_be_flushed(loop, (uint16_t)peer));
		gy_assert(outbox->chain.count == 0 || outbox->waiting);
		gy_assert(outbox->chain.count > 0 || !outbox->mail);
		gy_assert(peer != loop->index || outbox->chain.count == 0);
		for (uint32_t i = 0; i < outbox->borrowed_count; i++) {
			gy_assert(outbox->borrowed[i]->owner == peer && peer != loop->index);
		}
		waiting += outbox->waiting;
	}
	gy_assert(waiting == loop->flush_count);
}

void gy_loop_finish(struct gy_loop *loop)
{
	gy_loop_give_back(loop);
	gy_loop_flush(loop);
	gy_foreign_nodes_flush(loop);
	while (gy_ring_has_prepared(loop->ring) && gy_ring_submit(loop->ring) >= 0) {
	}
}

struct gy_node *gy_node_get_from_heap(size_t bytes)
{
	struct gy_node *node = NULL;
	size_t least = gy_sizes_bytes(0);

	if (bytes <= GY_NODE_BYTES_MAX) {
		/* At least as large as a node of a pool: the error of an ask takes the place of the
		 * question. */
		node = (struct gy_node *)gy_memory_get_raw(bytes < least ? least : bytes);
	}
	if (node != NULL) {
		node->ahead = 0;
		node->owner = GY_NODE_FROM_HEAP;
		node->size_class = GY_SIZES_HEAP;
		node->kind = GY_NODE_NEW;
	}
	return node;
}

/* A node from a chain that came home keeps @ahead: its thread sends them in the same order. */
void gy_loop_put(struct gy_loop *loop, struct gy_node *node)
{
	node->next = NULL;
	gy_inbox_push(&loop->inbox, node, node);
}

void gy_loop_call(struct gy_loop *loop)
{
	uint32_t parked = gy_load_full(&loop->parked);

	if (gy_unlikely(parked == GY_PARKED_RETIRED)) {
		call_deputy(loop);
	} else if (gy_unlikely(parked == GY_ENDED)) {
		loop->ops->posted_late(loop);
	} else if (parked != GY_AWAKE && take_flag(loop, parked, GY_AWAKE)) {
		gy_ring_wake(loop->ring);
	}
}

void gy_loop_post(struct gy_loop *loop, struct gy_node *node)
{
	gy_loop_put(loop, node);
	gy_loop_call(loop);
}

void gy_loop_end(struct gy_loop *loop)
{
	gy_store_full(&loop->parked, GY_ENDED);
}

void gy_loop_post_task(struct gy_loop *loop, struct gy_task *task)
{
	task->node.kind = GY_NODE_TASK;
	gy_loop_post(loop, &task->node);
}
