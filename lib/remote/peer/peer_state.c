/*
 * Whether other nodes are alive. Every loop that has a link to a peer judges it, by when any loop
 * of this node has heard of it last, and by how long itself has listened since then; who finds that
 * it has changed announces it, once.
 *
 * What follows from the end of a life is in peer_life.c. A life that was declared down stays so: a
 * node that comes with it is told, and takes another one. One that comes with a life that is not
 * known was started anew, or has taken another life; unless its process had been followed by
 * another one that is alive: two have one id then, and only the later one is believed.
 *
 * When no more than a link breaks watches are named again (rounds.c). If it was one to the peer,
 * orders of its loop may have been lost; if it was one of the peer the ends of actors may have
 * been, and all loops name their watches when the next one opens, since by then nothing can be lost
 * with the old one any more.
 */
#include "remote/peer/peer_state.h"

#include <errno.h>
#include <inttypes.h>

#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "remote/id_table.h"
#include "remote/link/link.h"
#include "remote/link/links.h"
#include "remote/node.h"
#include "remote/peer/peer.h"
#include "remote/peer/peer_life.h"

static const char *const state_names[] = {
	[GYRE_NODE_UNKNOWN] = "unknown",	 [GYRE_NODE_UP] = "up",
	[GYRE_NODE_SUSPECT] = "suspect",	 [GYRE_NODE_DOWN] = "down",
	[GYRE_NODE_QUARANTINED] = "quarantined",
};

/* ---- losses ---- */

void gy_peer_link_returned(struct gy_links *links, struct gy_peer *peer)
{
	struct gy_nodes *nodes = links->nodes;

	for (uint32_t i = 0; i < gy_homes_made(nodes->homes); i++) {
		gy_peer_task_request(&nodes->links[i], peer, GY_PEER_TASK_ROUND);
	}
}

/* ---- announcing ---- */

static const uint64_t behind_ns = GYRE_MILLISECONDS(1);

static bool send_event(struct gy_links *links, struct gyre_address watcher,
		       const struct gyre_node_event *event)
{
	struct gyre_mail *mail = gy_mail_get(links->home, &gyre_type_gyre_node_event);

	if (mail != NULL) {
		mail->node.kind = GY_MAIL_EVENT;
		gy_mail_from_nobody(mail);
		mail->ask_id = 0;
		*(struct gyre_node_event *)gyre_payload(mail) = *event;
		(void)gy_send_away(links->home, watcher, mail);
	}
	return mail != NULL;
}

/* Forgets those that have ended. Under the mutex. */
static void forget_ended(struct gy_nodes *nodes)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nodes->watchers_count; i++) {
		struct gyre_address watcher = nodes->watchers[i].address;

		if (gy_house_find(&nodes->homes->homes[watcher.loop], watcher.slot,
				  watcher.cookie) != NULL) {
			nodes->watchers[kept++] = nodes->watchers[i];
		}
	}
	gy_store_relaxed(&nodes->watchers_count, kept);
}

/* Under the mutex: the states of nodes from an id on. The first that there is no memory for, or 0.
 */
static uint32_t send_present(struct gy_links *links, struct gyre_address watcher, uint32_t from)
{
	for (uint32_t id = from; id <= UINT16_MAX; id++) {
		const struct gy_peer *peer = gy_peer_find(links->nodes, (uint16_t)id);

		if (peer == NULL) {
			id |= links->nodes->peers.pages[id / GY_PEER_PAGE] == NULL
				      ? GY_PEER_PAGE - 1
				      : 0; /* to the next page */
		} else if (peer->state != GYRE_NODE_UNKNOWN &&
			   !send_event(
				   links, watcher,
				   &(struct gyre_node_event){ .incarnation = peer->incarnation,
							      .node = peer->id,
							      .state = (uint16_t)peer->state })) {
			return id;
		}
	}
	return 0;
}

/* Under the mutex. False while memory is lacking still. */
static bool catch_up(struct gy_links *links, struct gy_node_watcher *watcher)
{
	if (watcher->own != 0 &&
	    send_event(links, watcher->address,
		       &(struct gyre_node_event){ .incarnation = watcher->own,
						  .node = links->nodes->options.id,
						  .state = GYRE_NODE_QUARANTINED })) {
		watcher->own = 0;
	}
	if (watcher->own == 0 && watcher->behind != 0) {
		watcher->behind = send_present(links, watcher->address, watcher->behind);
	}
	return watcher->own == 0 && watcher->behind == 0;
}

/* Under the mutex. */
static void catch_up_later(struct gy_links *links)
{
	if (!gy_timer_is_started(&links->behind)) {
		gy_timer_start(&links->home->loop.wheel, &links->behind, behind_ns);
	}
}

static void catch_up_all(struct gy_timer *timer)
{
	struct gy_links *links = gy_container_of(timer, struct gy_links, behind);
	struct gy_nodes *nodes = links->nodes;

	(void)pthread_mutex_lock(&nodes->mutex);
	forget_ended(nodes);
	for (uint32_t i = 0; i < nodes->watchers_count; i++) {
		if (!catch_up(links, &nodes->watchers[i])) {
			catch_up_later(links);
		}
	}
	(void)pthread_mutex_unlock(&nodes->mutex);
}

void gy_states_init(struct gy_links *links)
{
	gy_timer_init(&links->behind, catch_up_all);
}

/* Under the mutex: it is told of that node when there is memory, and of those with higher ids once
 * more. */
static void fall_behind(struct gy_links *links, struct gy_node_watcher *watcher,
			const struct gyre_node_event *event)
{
	if (event->node == links->nodes->options.id) {
		watcher->own = event->incarnation;
	} else if (watcher->behind == 0 || event->node < watcher->behind) {
		watcher->behind = event->node;
	}
	catch_up_later(links);
}

/* Under the mutex. */
static void announce(struct gy_links *links, const struct gyre_node_event *event)
{
	struct gy_nodes *nodes = links->nodes;

	gy_home_publish(links->home, &gyre_type_gyre_node_event, event);
	forget_ended(nodes);
	for (uint32_t i = 0; i < nodes->watchers_count; i++) {
		struct gy_node_watcher *watcher = &nodes->watchers[i];

		if (watcher->behind != 0 || watcher->own != 0 ||
		    !send_event(links, watcher->address, event)) {
			fall_behind(links, watcher, event);
		}
	}
}

/* Under the mutex. */
static void set_state(struct gy_links *links, struct gy_peer *peer, enum gyre_node_state state)
{
	const struct gyre_node_event event = { .incarnation = peer->incarnation,
					       .node = peer->id,
					       .state = (uint16_t)state };

	gy_store_relaxed(&peer->state, state);
	gy_log(links->nodes->log, state == GYRE_NODE_UP ? GYRE_LOG_INFO : GYRE_LOG_WARNING,
	       "node %u: node %u is %s", links->nodes->options.id, peer->id, state_names[state]);
	if (state == GYRE_NODE_DOWN && links->nodes->peer_lost != NULL) {
		links->nodes->peer_lost(links->home->options.system, peer->id);
	}
	announce(links, &event);
	if (state == GYRE_NODE_DOWN) {
		gy_lives_end(peer);
	}
}

void gy_nodes_announce_own(struct gy_links *links, uint64_t incarnation, enum gyre_node_state state)
{
	announce(links, &(struct gyre_node_event){ .incarnation = incarnation,
						   .node = links->nodes->options.id,
						   .state = (uint16_t)state });
}

bool gy_peer_is_down(const struct gy_peer *peer)
{
	return gy_load_relaxed(&peer->state) == GYRE_NODE_DOWN;
}

bool gy_peer_is_alive(const struct gy_peer *peer)
{
	uint32_t state = gy_load_relaxed(&peer->state);

	return state == GYRE_NODE_UP || state == GYRE_NODE_SUSPECT;
}

bool gy_peer_enter_life(struct gy_nodes *nodes, uint16_t id, uint32_t life)
{
	const struct gy_peer *peer;

	(void)pthread_mutex_lock(&nodes->mutex);
	peer = gy_peer_find(nodes, id);
	if (peer != NULL && gy_peer_is_alive(peer) && gy_life_of(peer->incarnation) == life) {
		return true;
	}
	(void)pthread_mutex_unlock(&nodes->mutex);
	return false;
}

void gy_peer_leave_life(struct gy_nodes *nodes)
{
	(void)pthread_mutex_unlock(&nodes->mutex);
}

/* ---- judging ---- */

static uint32_t process_of(uint64_t incarnation)
{
	return (uint32_t)(incarnation >> 32);
}

/* Whether another life of that process has come before. */
static bool was_here(const struct gy_lives *lives, uint64_t incarnation)
{
	uint32_t kept = lives->count < GY_LIVES_KEPT ? lives->count : GY_LIVES_KEPT;

	for (uint32_t i = 0; i < kept; i++) {
		uint32_t code = gy_life_code(lives->count - i);

		if (process_of(lives->incarnations[code]) == process_of(incarnation)) {
			return true;
		}
	}
	return false;
}

/* Under the mutex. */
static enum gy_hello_verdict judge(const struct gy_peer *peer, uint64_t incarnation,
				   uint32_t *ret_number)
{
	*ret_number = gy_lives_find(&peer->lives, gy_life_of(incarnation));
	if (*ret_number != 0) {
		return gy_lives_is_over(&peer->lives, *ret_number) ? GY_HELLO_OVER
								   : GY_HELLO_WELCOME;
	}
	return gy_peer_is_alive(peer) && process_of(peer->incarnation) != process_of(incarnation) &&
			       was_here(&peer->lives, incarnation)
		       ? GY_HELLO_REPLACED
		       : GY_HELLO_WELCOME;
}

/* Under the mutex. */
static void begin_life(struct gy_links *links, struct gy_peer *peer, uint64_t incarnation)
{
	if (gy_peer_is_alive(peer)) {
		if (process_of(peer->incarnation) != process_of(incarnation)) {
			gy_log(links->nodes->log, GYRE_LOG_WARNING,
			       "node %u: another process comes as node %u: that was started anew, "
			       "or two have the same id",
			       links->nodes->options.id, peer->id);
		}
		set_state(links, peer, GYRE_NODE_DOWN);
	}
	gy_lives_begin(peer, incarnation);
}

enum gy_hello_verdict gy_peer_hello(struct gy_links *links, struct gy_peer *peer,
				    uint64_t incarnation, uint32_t *ret_life)
{
	struct gy_nodes *nodes = links->nodes;
	enum gy_hello_verdict coming;
	uint32_t number;

	(void)pthread_mutex_lock(&nodes->mutex);
	coming = judge(peer, incarnation, &number);
	if (coming == GY_HELLO_WELCOME) {
		gy_store_relaxed(&peer->heard_ns, links->home->loop.now_ns);
		if (number == 0) {
			begin_life(links, peer, incarnation);
		}
		if (peer->state != GYRE_NODE_UP) {
			set_state(links, peer, GYRE_NODE_UP);
		}
		*ret_life = peer->lives.count;
	} else if (coming == GY_HELLO_OVER) {
		peer->lives.accused = gy_life_of(incarnation);
	}
	(void)pthread_mutex_unlock(&nodes->mutex);
	return coming;
}

static void change(struct gy_links *links, struct gy_peer *peer, enum gyre_node_state from,
		   enum gyre_node_state to)
{
	struct gy_nodes *nodes = links->nodes;

	(void)pthread_mutex_lock(&nodes->mutex);
	if (peer->state == from) {
		set_state(links, peer, to);
	}
	(void)pthread_mutex_unlock(&nodes->mutex);
}

/* A refusal is suspicion, and no more: it may be about to start again. */
void gy_peer_dial_failed(struct gy_links *links, struct gy_peer *peer)
{
	if (gy_load_relaxed(&peer->links) == 0 && gy_load_relaxed(&peer->state) == GYRE_NODE_UP) {
		change(links, peer, GYRE_NODE_UP, GYRE_NODE_SUSPECT);
	}
}

void gy_peer_heard(struct gy_links *links, struct gy_peer *peer)
{
	uint64_t now_ns = links->home->loop.now_ns;
	uint64_t heard_ns = gy_load_relaxed(&peer->heard_ns);

	/* Not each time: the line is shared by all loops. */
	if (now_ns > heard_ns && now_ns - heard_ns > links->nodes->options.heartbeat_ns / 8) {
		gy_store_relaxed(&peer->heard_ns, now_ns);
	}
	if (gy_unlikely(gy_load_relaxed(&peer->state) == GYRE_NODE_SUSPECT)) {
		change(links, peer, GYRE_NODE_SUSPECT, GYRE_NODE_UP);
	}
}

void gy_peer_judge(struct gy_links *links, struct gy_peer *peer, uint64_t silence_ns)
{
	const struct gyre_node_options *options = &links->nodes->options;

	if (gy_load_relaxed(&peer->state) == GYRE_NODE_UP && silence_ns > options->suspect_ns) {
		change(links, peer, GYRE_NODE_UP, GYRE_NODE_SUSPECT);
	}
	if (gy_load_relaxed(&peer->state) == GYRE_NODE_SUSPECT && silence_ns > options->down_ns) {
		change(links, peer, GYRE_NODE_SUSPECT, GYRE_NODE_DOWN);
	}
}

/* ---- what users see ---- */

/* Under the mutex. 1 if it is one already. */
static int add_watcher(struct gy_nodes *nodes, struct gyre_address watcher)
{
	uint32_t count;
	struct gy_node_watcher *grown;

	forget_ended(nodes);
	count = nodes->watchers_count;
	for (uint32_t i = 0; i < count; i++) {
		if (gy_address_same(nodes->watchers[i].address, watcher)) {
			return 1;
		}
	}
	grown = (struct gy_node_watcher *)gy_memory_resize(nodes->watchers, count * sizeof(*grown),
							   (count + 1) * sizeof(*grown));
	if (grown == NULL) {
		return -ENOMEM;
	}
	grown[count] = (struct gy_node_watcher){ .address = watcher, .behind = 1 };
	nodes->watchers = grown;
	gy_store_relaxed(&nodes->watchers_count, count + 1);
	return 0;
}

/* Under the mutex: the last one, which has just been added. */
static void catch_up_present(struct gy_links *links)
{
	struct gy_nodes *nodes = links->nodes;

	if (!catch_up(links, &nodes->watchers[nodes->watchers_count - 1])) {
		catch_up_later(links);
	}
}

/* Links that were closed since nobody used them: from now on it matters whether the peer lives. */
static void examine_unlinked(struct gy_links *links)
{
	struct gy_nodes *nodes = links->nodes;
	uint16_t id = gy_peer_next_known(nodes, 0);

	for (; id != 0; id = gy_peer_next_known(nodes, id)) {
		gy_link_examine(links, gy_peer_find(nodes, id));
	}
}

int gyre_node_watch(struct gyre_stack *stack)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_links *links = gy_links_of(s->house->home);
	struct gyre_address self = gy_house_address(s->house);
	int r;

	if (links == NULL) {
		return -EINVAL;
	}
	(void)pthread_mutex_lock(&links->nodes->mutex);
	r = add_watcher(links->nodes, self);
	if (r == 0) {
		catch_up_present(gy_links_of(s->home));
	}
	(void)pthread_mutex_unlock(&links->nodes->mutex);
	if (r == 0) {
		examine_unlinked(gy_links_of(s->home));
	}
	return r < 0 ? r : 0;
}
