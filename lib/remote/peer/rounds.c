/*
 * A watch on an actor of another node is a record here, with the watcher, and one there. Orders to
 * watch and to forget go over the link of the watcher's loop, and are lost if it breaks before they
 * are taken. So after that the loop begins a round: it names all that its actors watch there, by
 * the order to watch, which is sent again for each, and then says that the round is over. The peer
 * forgets each watcher of that loop, in this life of its node, that was not named in the round.
 *
 * Rounds of a loop with a peer are numbered, and each order to watch says in which round it was
 * sent. When the peer hears that a round is over, a watch with an older number is one that was
 * given up, and whose order to forget was lost: all that the loop's actors watch have been named
 * before. This holds since
 *
 * - orders of one loop, and the end of its round, go over one link after the other, and all links
 *   of that loop are taken in order (link_order.c). What the peer's loop hands on to others stays
 *   in order too: the order to sweep is posted after all mail of the link was flushed;
 * - orders to watch and to forget never leave in fragments, which would let them overtake each
 *   other (encode.c). The end of a round may, behind a large message: then it comes later;
 * - the end of a round leaves only by the connection that has all the round: it is not kept for the
 *   next one, and each break begins another round.
 *
 * A sweep may come late, as it takes only what is older than its round. So much for the cases:
 *
 * - There is no next link, as the peer has no address: those who watch there hear that, and the
 *   peer does not. So another round begins with the link that comes some day.
 * - The link breaks during a round: that one has no end. The next has a higher number, and names
 *   all watches from the first on.
 * - A watch begins, or is given up, during a round: its orders have the number of the round, and
 *   go over the same link. One that was named and is then given up is forgotten by its order.
 * - The actor ends while it is named: its record has become the event of the end. The order finds
 *   nobody, the peer says so, and the watcher takes the first of the two events.
 * - The peer has another life: it has no records, and the watches there have ended here. This node
 *   has: the peer forgets all of the former one, and a sweep is of one life.
 * - Both watch each other: rounds of the two directions have nothing in common.
 * - Memory: here a step is taken again in a moment; if an order is lost for want of memory, another
 *   round begins. The peer ends the link if it cannot take an order. A watch that waits there for
 *   the memory of its record can be forgotten and swept as any.
 * - The loop retires during a round, or comes back: what was named by the one way could come behind
 *   an end by the other, so the round begins anew, and all of it goes the new way.
 * - A loop that dials nobody sends by loop 0, and so does its rounds, one for each connection of
 *   that: the end of its round is dropped if it comes to loop 0 when that has another one. If the
 *   last link of a loop breaks while that retires, the peer may read an order from it after the end
 *   of such a round. A watcher that comes back so is forgotten with the next one.
 *
 * A peer may have only so many watches here. One more is refused: its watcher hears of its end with
 * -EDQUOT, and sends an order to forget it as for one that it gives up. So the refusal may cross a
 * round, in which the watch is named once more and perhaps taken. Watches whose orders to forget
 * were lost count until the round is over; those of a former life of the peer do not.
 *
 * A loop that has never watched anybody at a peer takes no step for it, and says no end of a round:
 * whatever life the peer has, it has no watcher of that loop.
 *
 * Both the naming and the sweep are walks in steps, a tick apart, and the naming waits while the
 * link is half full, so that 100,000 watches hold up neither loop nor link. The rounds of a loop
 * with all its peers take turns at a step a tick, and so do its sweeps, beside them. There are no
 * steps where a house was away: it is visited in one go when it is back. Nor does a round that goes
 * by loop 0 see how full the link there is; its steps alone bound it.
 */
#include "remote/peer/rounds.h"

#include <errno.h>

#include <gyre/encode.h>

#include "actor/life/watch.h"
#include "actor/mail/mail_pool.h"
#include "remote/link/link.h"
#include "remote/link/link_dial.h"
#include "remote/link/links.h"
#include "remote/message/outgoing.h"
#include "remote/message/route.h"
#include "remote/node.h"
#include "remote/peer/peer.h"
#include "remote/peer/peer_life.h"
#include "remote/peer/peer_state.h"

const struct gyre_type gy_type_round_over = { .name = "end of a round of watches",
					      .id = 0x1d,
					      .bytes = sizeof(struct gy_round_over) };

static const uint64_t pause_ns = GYRE_MILLISECONDS(1);

/* ---- rounds ---- */

static struct gy_link *link_of(const struct gy_peer_task *peer_task)
{
	return (struct gy_link *)gy_id_table_find(&peer_task->links->dialled, peer_task->peer->id);
}

enum way {
	WAY_WAIT, /* what opens the link goes on */
	WAY_RETRY,
	WAY_OPEN,
	WAY_RELAYED, /* by loop 0 */
	WAY_NONE,    /* no order has gone by the link; or each watch is to hear why it cannot */
};

/* By which way the loop's orders leave now. */
static enum way way_of(const struct gy_peer_task *peer_task)
{
	struct gy_link *link = link_of(peer_task);
	uint32_t first_way = gy_load_acquire(&peer_task->peer->first_way);
	int r;

	if (link != NULL && link->stage == GY_LINK_STAGE_OPEN) {
		return WAY_OPEN;
	}
	if (!gy_links_may_dial(peer_task->links)) {
		return first_way != 0 && first_way == peer_task->rounds.way ? WAY_RELAYED
									    : WAY_WAIT;
	}
	if (link == NULL || (!gy_link_has(link, GY_LINK_FLAG_PINNED) &&
			     !gy_link_has(link, GY_LINK_FLAG_UNACKNOWLEDGED))) {
		return WAY_NONE;
	}
	r = gy_link_dial(link);
	return r == 0 ? WAY_WAIT : r == -ENOMEM ? WAY_RETRY : WAY_NONE;
}

static bool has_room(const struct gy_link *link)
{
	return link->queued_bytes - link->credited_bytes < link->queued_bytes_max / 2;
}

/* False without memory. */
static bool say_over(struct gy_peer_task *peer_task, enum way way)
{
	struct gy_home *home = peer_task->links->home;
	const struct gyre_address to = { .node = peer_task->peer->id };
	struct gyre_mail *mail = gy_mail_get(home, &gy_type_round_over);

	if (mail == NULL) {
		return false;
	}
	mail->node.kind = GY_MAIL_EVENT;
	mail->from = (struct gy_origin){ .loop = home->loop.index, .node = home->node };
	mail->ask_id = 0;
	*(struct gy_round_over *)gyre_payload(mail) = (struct gy_round_over){
		.number = peer_task->rounds.number,
		.way = peer_task->rounds.way,
	};
	gy_count(&home->counters.sent, 1);
	(void)(way == WAY_OPEN ? gy_outgoing_send(link_of(peer_task), to, mail)
			       : gy_route_by_loop(home, 0, to, mail));
	return true;
}

/* All houses at home have been visited. Whether the round is over, or waits for others. */
static bool end(struct gy_peer_task *peer_task, enum way way)
{
	struct gy_rounds *rounds = &peer_task->rounds;

	if (rounds->walk.away > 0) {
		return true; /* back() goes on */
	}
	if (way == WAY_OPEN && link_of(peer_task)->stage != GY_LINK_STAGE_OPEN) {
		return true; /* a step has broken it, and another round begins */
	}
	if (rounds->walk.again) {
		rounds->walk.again = false;
		rounds->walk.slot = 0;
		return false;
	}
	if (way != WAY_NONE && !say_over(peer_task, way)) {
		return false;
	}
	rounds->due = false;
	rounds->anew = rounds->anew || way == WAY_NONE;
	return true;
}

/* Until then no round takes a step. */
static void wait_a_tick(struct gy_links *links)
{
	if (!gy_timer_is_started(&links->rounds_more)) {
		gy_timer_start(&links->home->loop.wheel, &links->rounds_more, pause_ns);
	}
}

static void go_on_later(struct gy_peer_task *peer_task)
{
	if (gy_list_empty(&peer_task->rounds.turn)) {
		gy_list_append(&peer_task->links->rounds_due, &peer_task->rounds.turn);
	}
	wait_a_tick(peer_task->links);
}

/* Houses that are away are visited in any case, so those of the last round still are awaited. */
static void begin(struct gy_peer_task *peer_task)
{
	struct gy_rounds *rounds = &peer_task->rounds;

	rounds->number++;
	rounds->anew = false;
	rounds->due = true;
	rounds->way = gy_load_acquire(&peer_task->peer->first_way);
	rounds->walk.slot = 0;
	rounds->walk.place = (struct gy_watch_place){ 0 };
	rounds->walk.again = false;
}

/* What has left by one way may come behind the end of the round, if that leaves by another. */
static void keep_way(struct gy_peer_task *peer_task, enum way way)
{
	struct gy_rounds *rounds = &peer_task->rounds;
	bool relayed = way == WAY_RELAYED;

	if ((relayed || way == WAY_OPEN) && rounds->relayed != relayed) {
		begin(peer_task);
		rounds->relayed = relayed;
	}
}

/* Takes a step of the round. */
static void go_on(struct gy_peer_task *peer_task)
{
	struct gy_links *links = peer_task->links;
	struct gy_rounds *rounds = &peer_task->rounds;
	enum way way;

	if (links->draining) {
		return;
	}
	if (rounds->anew) {
		begin(peer_task);
	}
	if (!gy_load_relaxed(&rounds->used)) {
		rounds->due = false;
		return;
	}
	way = rounds->due ? way_of(peer_task) : WAY_WAIT;
	keep_way(peer_task, way);
	if (way == WAY_WAIT) {
		return;
	}
	if (way == WAY_RETRY || (way == WAY_OPEN && !has_room(link_of(peer_task)))) {
		go_on_later(peer_task);
		return;
	}
	wait_a_tick(links);
	if (!gy_watch_walk_step(links->home, &rounds->walk) || rounds->anew ||
	    !end(peer_task, way)) {
		go_on_later(peer_task);
	}
}

/* Now, or behind others: the links to many peers break together, and are back together. */
static void go_on_in_turn(struct gy_peer_task *peer_task)
{
	if (gy_timer_is_started(&peer_task->links->rounds_more)) {
		go_on_later(peer_task);
	} else {
		go_on(peer_task);
	}
}

static void rounds_more(struct gy_timer *timer)
{
	struct gy_links *links = gy_container_of(timer, struct gy_links, rounds_more);

	/* Until one of them takes a step, and starts the timer. */
	while (!gy_list_empty(&links->rounds_due) && !gy_timer_is_started(timer)) {
		struct gy_list *turn = links->rounds_due.next;

		gy_list_remove(turn);
		go_on(gy_container_of(turn, struct gy_peer_task, rounds.turn));
	}
}

static void back(struct gy_watch_walk *walk)
{
	go_on_in_turn(gy_container_of(walk, struct gy_peer_task, rounds.walk));
}

void gy_rounds_init(struct gy_peer_task *peer_task)
{
	peer_task->rounds.walk.node = peer_task->peer->id;
	peer_task->rounds.walk.back = back;
	gy_list_init(&peer_task->rounds.turn);
}

void gy_rounds_begin(struct gy_peer_task *peer_task)
{
	peer_task->rounds.anew = true;
	go_on_in_turn(peer_task);
}

void gy_rounds_begin_later(struct gy_links *links, uint16_t node, uint16_t loop)
{
	struct gy_peer *peer = gy_peer_find(links->nodes, node);

	if (peer == NULL) {
		return;
	}
	gy_store_relaxed(&peer->peer_tasks[loop].rounds.used, true);
	if (loop == links->home->loop.index) {
		peer->peer_tasks[loop].rounds.anew = true;
		go_on_later(&peer->peer_tasks[loop]);
	} else {
		gy_peer_task_request(&links->nodes->links[loop], peer, GY_PEER_TASK_ROUND);
	}
}

static struct gy_peer_task *task_of(const struct gy_link *link)
{
	return &link->peer->peer_tasks[link->links->home->loop.index];
}

/* Loops that dial nobody begin a round for each connection of loop 0. */
void gy_rounds_link_opened(struct gy_link *link)
{
	struct gy_links *links = link->links;
	struct gy_nodes *nodes = links->nodes;

	gy_assert(link->dialled && link->dials != 0);
	if (links->home->loop.index == 0) {
		gy_store_release(&link->peer->first_way, (uint32_t)link->dials);
		for (uint32_t i = gy_loops_count(links->home->loop.peers);
		     i < gy_homes_made(nodes->homes); i++) {
			gy_peer_task_request(&nodes->links[i], link->peer, GY_PEER_TASK_ROUND);
		}
	}
	go_on_in_turn(task_of(link));
}

/* The task finds those that have no next link: a loop that retires, and watches that are to hear
 * that the peer has no address any more. */
void gy_rounds_link_ended(struct gy_link *link, bool lost)
{
	if (link->links->home->loop.index == 0) {
		gy_store_release(&link->peer->first_way, 0);
	}
	if (lost && gy_peer_is_alive(link->peer)) {
		task_of(link)->rounds.anew = true; /* not now: a step may have broken the link */
		gy_peer_task_request(link->links, link->peer, GY_PEER_TASK_ROUND);
	}
}

bool gy_rounds_mark(struct gy_links *links, struct gyre_address to, struct gyre_mail *order)
{
	const struct gy_peer *peer = gy_peer_find(links->nodes, to.node);
	uint16_t loop = links->home->loop.index;

	if (peer != NULL && order->from.loop == loop) {
		gy_watch_set_round(order, peer->peer_tasks[loop].rounds.number);
		gy_store_relaxed(&peer->peer_tasks[loop].rounds.used, true);
	}
	return peer != NULL;
}

void gy_rounds_relay(struct gy_links *links, struct gyre_address to, struct gyre_mail *mail)
{
	const struct gy_round_over *over = (const struct gy_round_over *)gyre_payload(mail);
	struct gy_link *link = (struct gy_link *)gy_id_table_find(&links->dialled, to.node);

	if (link != NULL && link->stage == GY_LINK_STAGE_OPEN &&
	    (uint32_t)link->dials == over->way) {
		(void)gy_outgoing_send(link, to, mail);
	} else {
		gy_count(&links->home->counters.handled, 1);
		gy_mail_put(links->home, mail);
	}
}

/* ---- how many there are ---- */

/* By life: the watches of one that is over do not count against the next. */
static uint32_t *count_of(struct gy_nodes *nodes, struct gy_origin watcher)
{
	struct gy_peer *peer = gy_peer_find(nodes, watcher.node);

	return &peer->lives.watchers[watcher.slot >> GY_LIFE_SHIFT];
}

bool gy_watcher_hold(struct gy_home *home, struct gy_origin watcher)
{
	struct gy_nodes *nodes = gy_links_of(home)->nodes;
	uint32_t *count = count_of(nodes, watcher);
	uint32_t max = nodes->options.watches_max;

	uint32_t present = gy_load_relaxed(count);

	while (present < max) {
		if (gy_compare_exchange(count, &present, present + 1)) {
			return true;
		}
	}
	(void)gy_log_limited(nodes->log, &nodes->watches_refused, home->loop.now_ns,
			     GYRE_LOG_WARNING,
			     "node %u: actors of node %u have %u watches here, as many as they may "
			     "(watches_max): more are refused with -EDQUOT; let them give up those "
			     "that they do not need, or raise watches_max",
			     nodes->options.id, watcher.node, max);
	return false;
}

void gy_watcher_release(struct gy_home *home, struct gy_origin watcher)
{
	uint32_t before = gy_fetch_add(count_of(gy_links_of(home)->nodes, watcher), UINT32_MAX);

	gy_assert(before > 0);
	(void)before;
}

/* ---- sweeps ---- */

/* One of each loop of a peer, on each loop here. */
struct sweep {
	struct gy_task task; /* first: its node is what was allocated */
	struct gy_list item; /* among those of some loops */
	struct gy_list due;  /* in links->sweeps_due, until it is done */
	struct gy_links *links;
	const struct gy_peer *peer;
	struct gy_watch_walk walk;
	bool done; /* but for houses that are away */
};

static void sweep_free(struct sweep *sweep)
{
	gy_list_remove(&sweep->due);
	gy_list_remove(&sweep->item);
	gy_loop_node_put(&sweep->links->home->loop, &sweep->task.node);
}

/* It has visited all but the houses that are away: orders that wait for these have pointers to its
 * walk. */
static void sweep_end(struct sweep *sweep)
{
	sweep->done = true;
	gy_list_remove(&sweep->due);
	if (sweep->walk.away == 0) {
		sweep_free(sweep);
	}
}

/* Takes a step of the sweep whose turn it is: one in a tick, however many a peer asks for. */
static void sweep_on(struct gy_links *links)
{
	struct sweep *sweep = gy_container_of(links->sweeps_due.next, struct sweep, due);

	if (gy_watch_walk_step(links->home, &sweep->walk)) {
		sweep_end(sweep);
	}
	gy_timer_start(&links->home->loop.wheel, &links->sweeps_more, pause_ns);
}

static void sweeps_more(struct gy_timer *timer)
{
	struct gy_links *links = gy_container_of(timer, struct gy_links, sweeps_more);

	if (!gy_list_empty(&links->sweeps_due)) {
		sweep_on(links);
	}
}

/* A visit that sweeps takes no memory, so no house is to be visited again. */
static void sweep_back(struct gy_watch_walk *walk)
{
	struct sweep *sweep = gy_container_of(walk, struct sweep, walk);

	if (sweep->done) {
		sweep_free(sweep);
	}
}

static struct gy_list *sweeps_like(const struct sweep *sweep)
{
	return &sweep->links->sweeps[sweep->walk.loop % GY_SWEEP_LISTS];
}

static struct sweep *find_same(const struct sweep *sweep)
{
	const struct gy_list *list = sweeps_like(sweep);

	for (struct gy_list *item = list->next; item != list; item = item->next) {
		struct sweep *other = gy_container_of(item, struct sweep, item);

		if (other->peer == sweep->peer && other->walk.loop == sweep->walk.loop &&
		    other->walk.life == sweep->walk.life) {
			return other;
		}
	}
	return NULL;
}

/* Whether there can be any watcher: one that has come is counted, unless its order waits for a
 * house that is away. */
static bool may_find(const struct sweep *sweep)
{
	return gy_load_relaxed(&sweep->peer->lives.watchers[sweep->walk.life >> GY_LIFE_SHIFT]) >
		       0 ||
	       sweep->links->home->orders_kept != NULL;
}

/* One that begins again waits for its turn again, so that it does not keep others from theirs. */
static void sweep_begin(struct gy_loop *loop, struct gy_task *task)
{
	struct sweep *sweep = gy_container_of(task, struct sweep, task);
	struct gy_links *links = sweep->links;
	struct sweep *same;

	if (links->draining || !may_find(sweep)) {
		gy_loop_node_put(loop, &task->node);
		return;
	}
	same = find_same(sweep);
	if (same == NULL) {
		gy_list_append(sweeps_like(sweep), &sweep->item);
	} else {
		same->walk.round = sweep->walk.round;
		same->walk.slot = 0;
		same->walk.place = (struct gy_watch_place){ 0 };
		same->done = false;
		gy_list_remove(&same->due);
		gy_loop_node_put(loop, &task->node);
		sweep = same;
	}
	gy_list_append(&links->sweeps_due, &sweep->due);
	if (!gy_timer_is_started(&links->sweeps_more)) {
		sweep_on(links);
	}
}

static struct gy_node *make_sweep(const struct gy_link *link, uint16_t loop, uint32_t round,
				  struct gy_links *links)
{
	struct gy_node *node = gy_node_get_from_heap(sizeof(struct sweep));
	struct sweep *sweep;

	if (node == NULL) {
		return NULL;
	}
	sweep = gy_container_of(node, struct sweep, task.node);
	sweep->task.run = sweep_begin;
	sweep->task.embedded = false;
	sweep->links = links;
	sweep->peer = link->peer;
	sweep->walk = (struct gy_watch_walk){ .sweeps = true,
					      .node = link->peer->id,
					      .loop = loop,
					      .life = link->life_mark,
					      .round = round,
					      .back = sweep_back };
	sweep->done = false;
	gy_list_init(&sweep->due);
	return node;
}

int gy_sweeps_begin(struct gy_link *link, const struct gy_frame *frame)
{
	struct gy_nodes *nodes = link->links->nodes;
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	uint32_t round = gyre_decode_u32(&in);

	if (in.error != 0 || in.left > 0 || frame->from_loop >= GY_LINK_ORDERS_MAX ||
	    (frame->from_loop != link->theirs.loop && link->theirs.loop != 0)) {
		return -EPROTO;
	}
	gy_loop_flush(&link->links->home->loop); /* before it goes what has come by the link */
	for (uint32_t i = 0; i < gy_homes_made(nodes->homes); i++) {
		struct gy_links *links = &nodes->links[i];
		struct gy_node *node = make_sweep(link, frame->from_loop, round, links);

		if (node == NULL) {
			return -ENOMEM;
		}
		gy_loop_post_task(&links->home->loop, gy_container_of(node, struct gy_task, node));
	}
	return 0;
}

/* ---- the walks of a loop ---- */

void gy_walks_init(struct gy_links *links)
{
	gy_list_init(&links->rounds_due);
	gy_timer_init(&links->rounds_more, rounds_more);
	for (uint32_t i = 0; i < GY_SWEEP_LISTS; i++) {
		gy_list_init(&links->sweeps[i]);
	}
	gy_list_init(&links->sweeps_due);
	gy_timer_init(&links->sweeps_more, sweeps_more);
}

void gy_walks_drain(struct gy_links *links)
{
	struct gy_list *due = &links->sweeps_due;

	gy_timer_stop(&links->home->loop.wheel, &links->rounds_more);
	while (!gy_list_empty(&links->rounds_due)) {
		gy_list_remove(links->rounds_due.next);
	}
	gy_timer_stop(&links->home->loop.wheel, &links->sweeps_more);
	while (!gy_list_empty(due)) {
		sweep_end(gy_container_of(due->next, struct sweep, due));
	}
}

void gy_walks_fini(struct gy_links *links)
{
	gy_timer_stop(&links->home->loop.wheel, &links->rounds_more);
	gy_timer_stop(&links->home->loop.wheel, &links->sweeps_more);
	for (uint32_t i = 0; i < GY_SWEEP_LISTS; i++) {
		struct gy_list *list = &links->sweeps[i];

		while (!gy_list_empty(list)) {
			sweep_free(gy_container_of(list->next, struct sweep, item));
		}
	}
}
