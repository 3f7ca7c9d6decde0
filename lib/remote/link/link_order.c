/*
 * How nothing older arrives after something newer when a link broke and there is another one. Each
 * loop of a peer has one connection to this node at a time, but the next one may be accepted by
 * another loop than the last, while that still has bytes to read, or mail in its outboxes.
 *
 * So an accepted link goes through the gate of the peer's loop. It claims the gate, and then sends
 * an order to the loop that served the link before: that ends what it still has, hands over all
 * mail that came by it, and sends the order back. Only then the link is let in, and its dialler
 * hears of it. Whatever it brings stands behind the rest in every inbox. When several links claim a
 * gate the last one gets it. A connection that was dialled before the newest has been given up by
 * who dialled it, and does not claim.
 */
#include "remote/link/link_order.h"

#include <errno.h>

#include "base/memory/memory.h"
#include "remote/link/link.h"
#include "remote/link/link_handshake.h"
#include "remote/link/links.h"
#include "remote/node.h"
#include "remote/peer/peer.h"
#include "remote/wire.h"

/* There and back. */
struct order {
	struct gy_task task;	/* first: its node is what was allocated */
	struct gy_links *older; /* of the loop that served the last one */
	struct gy_links *newer;
	const struct gy_peer *peer;
	uint64_t claim;
	uint16_t loop; /* of the peer */
};

/* Under the mutex; NULL without memory. */
static struct gy_link_order *get(struct gy_peer *peer, uint16_t loop)
{
	if (loop >= peer->link_orders_count) {
		struct gy_link_order *grown = (struct gy_link_order *)gy_memory_resize(
			peer->link_orders, peer->link_orders_count * sizeof(*grown),
			(loop + 1) * sizeof(*grown));

		if (grown == NULL) {
			return NULL;
		}
		for (uint32_t i = peer->link_orders_count; i <= loop; i++) {
			grown[i] = (struct gy_link_order){ 0 };
		}
		peer->link_orders = grown;
		peer->link_orders_count = loop + 1U;
	}
	return &peer->link_orders[loop];
}

/* Under the mutex. Which loop has to let go, which may be this one; or a negative errno. */
static int claim(struct gy_link *link)
{
	const struct gy_hello *theirs = &link->theirs;
	uint32_t here = link->links->home->loop.index + 1U;
	struct gy_link_order *link_order = get(link->peer, theirs->loop);

	if (link_order == NULL) {
		return -ENOMEM;
	}
	gy_link_assign(link, GY_LINK_FLAG_SUCCESSOR,
		       link_order->incarnation == theirs->incarnation);
	if (gy_link_has(link, GY_LINK_FLAG_SUCCESSOR) && theirs->dial != 0 &&
	    theirs->dial <= link_order->dial) {
		return -ECONNABORTED;
	}
	link_order->incarnation = theirs->incarnation;
	link_order->dial = theirs->dial;
	link->claim = ++link_order->claim;
	if (link_order->host == 0) {
		link_order->host = here;
	}
	return (int)link_order->host - 1;
}

/* Ends older links of that loop of the peer. Mail that came by them has then been handed over. */
static void end_older(struct gy_links *links, const struct order *order)
{
	struct gy_list *item = links->all.next;

	while (item != &links->all) {
		struct gy_link *link = gy_container_of(item, struct gy_link, item);

		item = item->next;
		if (link->claim != 0 && link->claim < order->claim && link->peer == order->peer &&
		    link->theirs.loop == order->loop && link->stage != GY_LINK_STAGE_ENDED) {
			gy_link_abort(link, -ECONNABORTED);
		}
	}
	gy_loop_flush(&links->home->loop);
}

static void let_in(struct gy_link *link)
{
	struct gy_nodes *nodes = link->links->nodes;
	struct gy_link_order *link_order;
	bool mine;

	(void)pthread_mutex_lock(&nodes->mutex);
	link_order = &link->peer->link_orders[link->theirs.loop];
	mine = link_order->claim == link->claim;
	if (mine) {
		link_order->host = link->links->home->loop.index + 1U;
	}
	(void)pthread_mutex_unlock(&nodes->mutex);
	if (mine) {
		gy_link_handshake_admit(link);
	} else {
		gy_link_abort(link, -ECONNABORTED);
	}
}

/* The order is back. The link may have ended meanwhile. */
static void came_back(struct gy_loop *loop, struct gy_task *task)
{
	const struct order *order = gy_container_of(task, struct order, task);
	struct gy_list *item = order->newer->all.next;

	while (item != &order->newer->all) {
		struct gy_link *link = gy_container_of(item, struct gy_link, item);

		item = item->next;
		if (link->stage == GY_LINK_STAGE_AWAITS_ORDER && link->peer == order->peer &&
		    link->theirs.loop == order->loop && link->claim == order->claim) {
			let_in(link);
			break;
		}
	}
	gy_loop_node_put(loop, &task->node);
}

static void carry_out(struct gy_loop *loop, struct gy_task *task)
{
	struct order *order = gy_container_of(task, struct order, task);

	(void)loop;
	end_older(order->older, order);
	task->run = came_back;
	gy_loop_post_task(&order->newer->home->loop, task);
}

static void send_order(const struct order *order)
{
	struct gy_node *node = gy_node_get_from_heap(sizeof(*order));
	struct order *sent;

	if (node == NULL) {
		return; /* the greeting ends by its time-out */
	}
	sent = gy_container_of(node, struct order, task.node);
	sent->older = order->older;
	sent->newer = order->newer;
	sent->peer = order->peer;
	sent->claim = order->claim;
	sent->loop = order->loop;
	sent->task.run = carry_out;
	gy_loop_post_task(&order->older->home->loop, &sent->task);
}

void gy_link_order_enter(struct gy_link *link)
{
	struct gy_links *links = link->links;
	struct gy_nodes *nodes = links->nodes;
	struct order order = { .newer = links, .peer = link->peer, .loop = link->theirs.loop };
	int host;

	gy_link_set_stage(link, GY_LINK_STAGE_AWAITS_ORDER);
	(void)pthread_mutex_lock(&nodes->mutex);
	host = claim(link);
	(void)pthread_mutex_unlock(&nodes->mutex);
	if (host < 0) {
		gy_link_abort(link, host);
		return;
	}
	order.older = &nodes->links[host];
	order.claim = link->claim;
	if (order.older == links) {
		end_older(links, &order);
		let_in(link);
	} else {
		send_order(&order);
	}
}
