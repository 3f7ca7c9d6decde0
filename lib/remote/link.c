/*
 * A link over its life: it outlives its connection, and is looked at now and then by a beat of its
 * loop, as long as the loop has any link.
 *
 * Links of a loop are kept until the system ends; accepted ones end with their connections.
 */
#include "remote/link.h"

#include <errno.h>

#include <gyre/tls.h>

#include "base/memory.h"
#include "base/random.h"
#include "channel/channel.h"
#include "remote/fragments.h"
#include "remote/frame_page.h"
#include "remote/id_table.h"
#include "remote/in_flight.h"
#include "remote/incoming.h"
#include "remote/link_dial.h"
#include "remote/link_flush.h"
#include "remote/link_handshake.h"
#include "remote/links.h"
#include "remote/node.h"
#include "remote/one_way.h"
#include "remote/outgoing.h"
#include "remote/peer.h"
#include "remote/peer_life.h"
#include "remote/peer_state.h"
#include "remote/secret.h"
#include "remote/wire.h"

enum { BEATS = 4, /* in a heartbeat */ JITTER_PERCENT = 10 };

static const uint64_t full_log_pause_ns = GYRE_SECONDS(60);

/* ---- the pipeline ---- */

static void active(struct gyre_handler_context *ctx)
{
	struct gy_link *link = (struct gy_link *)gyre_context_arg(ctx);
	uint64_t now_ns = link->links->home->loop.now_ns;

	link->ctx = ctx;
	link->opened_ns = now_ns;
	link->heard_ns = now_ns;
	link->said_ns = now_ns;
	gy_links_start_beat(link->links);
	gy_link_handshake_begin(link);
}

static void read_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	gy_incoming_read((struct gy_link *)gyre_context_arg(ctx), data);
}

static void writability(struct gyre_handler_context *ctx, bool writable)
{
	if (writable) {
		gy_link_flush((struct gy_link *)gyre_context_arg(ctx));
	}
}

static void inactive(struct gyre_handler_context *ctx)
{
	gy_link_lost((struct gy_link *)gyre_context_arg(ctx),
		     gyre_channel_reason(gyre_context_channel(ctx)));
}

/* The last call: an accepted link ends with its connection. */
static void removed(struct gyre_handler_context *ctx)
{
	struct gy_link *link = (struct gy_link *)gyre_context_arg(ctx);

	link->ctx = NULL;
	if (!link->dialled) {
		if (link->stranger) {
			link->links->strangers--;
			gy_count(&link->links->refused, 1);
		}
		gy_list_remove(&link->item);
		gy_memory_put(link);
	}
}

static const struct gyre_handler link_handler = {
	.name = "gyre-link",
	.removed = removed,
	.active = active,
	.read = read_bytes,
	.writability = writability,
	.inactive = inactive,
};

/* ---- life ---- */

void gy_links_start_beat(struct gy_links *links)
{
	const struct gyre_node_options *options = &links->nodes->options;
	uint64_t heart_ns = options->heartbeat_ns / BEATS;
	uint64_t period_ns = heart_ns < options->greeting_ns ? heart_ns : options->greeting_ns;
	uint64_t jitter_ns = period_ns / JITTER_PERCENT;

	if (gy_timer_is_started(&links->beat) || links->draining) {
		return;
	}
	links->expected_ns = links->home->loop.now_ns + period_ns;
	gy_timer_start(&links->home->loop.wheel, &links->beat,
		       period_ns - gy_random_next(&links->random) % jitter_ns);
}

static struct gy_link *make(struct gy_links *links, struct gy_peer *peer, bool dialled)
{
	struct gy_link *link = (struct gy_link *)gy_memory_get(sizeof(*link));

	if (link == NULL) {
		return NULL;
	}
	link->links = links;
	link->peer = peer;
	link->dialled = dialled;
	link->stage = GY_LINK_PAUSED;
	gy_list_init(&link->fragments);
	gy_list_init(&link->partial_messages);
	gy_link_init_redial(link);
	gy_list_append(&links->all, &link->item);
	gy_links_start_beat(links);
	return link;
}

/* Encrypts the connection first, where the node has a secret or certificates: the link need not
 * know. */
static int add_handlers(struct gyre_channel *channel, struct gy_link *link)
{
	struct gyre_tls_options tls = { .context = gy_secrets_tls(link),
					.mutual = true,
					.any_name = true };
	int r = 0;

	if (tls.context != NULL) {
		r = gyre_pipeline_add_last(
			channel, link->dialled ? gyre_tls_client() : gyre_tls_server(), &tls);
	}
	return r < 0 ? r : gyre_pipeline_add_last(channel, &link_handler, link);
}

/* Not each time, lest who connects again and again fills the log. */
static void log_full(struct gy_links *links)
{
	uint64_t now_ns = links->home->loop.now_ns;

	if (links->full_logged_ns == 0 || now_ns - links->full_logged_ns > full_log_pause_ns) {
		links->full_logged_ns = now_ns;
		gy_log(links->nodes->log, GYRE_LOG_WARNING,
		       "node %u: connections are closed at once, since %u have not proved yet what "
		       "they are (greetings_max)",
		       links->nodes->options.id, links->strangers);
	}
}

int gy_link_accept(struct gyre_channel *channel, void *arg)
{
	struct gy_links *links = gy_links_of(channel->channels->home);
	struct gy_link *link;
	int r;

	(void)arg;
	if (links->strangers >= links->nodes->options.greetings_max) {
		gy_count(&links->refused, 1);
		log_full(links);
		return -ENOBUFS;
	}
	link = make(links, NULL, false);
	r = link == NULL ? -ENOMEM : add_handlers(channel, link);
	if (r == 0) {
		link->stranger = true;
		links->strangers++;
	} else if (link != NULL) {
		gy_list_remove(&link->item);
		gy_memory_put(link);
	}
	return r;
}

void gy_link_open(struct gy_link *link)
{
	struct gy_links *links = link->links;

	gy_peer_task_run(links, link->peer);
	if (gy_lives_is_over(&link->peer->lives, link->life)) {
		gy_link_abort(link, -EHOSTDOWN); /* it has ended meanwhile */
		return;
	}
	link->stage = GY_LINK_OPEN;
	link->opened = true;
	link->greeted = true;
	link->life_mark = gy_life_code(link->life) << GY_LIFE_SHIFT;
	link->window_bytes = link->theirs.window_bytes;
	link->queued_bytes_max = links->nodes->options.link_bytes_max;
	link->message_bytes_max = links->nodes->options.message_bytes_max;
	if (link->theirs.message_bytes_max < link->message_bytes_max) {
		link->message_bytes_max = link->theirs.message_bytes_max;
	}
	link->used_ns = links->home->loop.now_ns;
	(void)gy_add_relaxed(&link->peer->links, 1);
	links->strangers -= link->stranger;
	link->stranger = false;
	if (link->dialled) {
		(void)gy_add_relaxed(&link->peer->ways, 1);
		gy_peer_reached(links, link->peer);
		link->unacknowledged = false; /* the peer is done with the last one */
		gy_outgoing_send_waiting(link);
	} else if (link->again) {
		gy_peer_link_returned(links, link->peer);
	}
}

static struct gy_link *get_dialled(struct gy_links *links, struct gy_peer *peer)
{
	struct gy_link *link = (struct gy_link *)gy_id_table_find(&links->dialled, peer->id);

	if (link == NULL) {
		link = make(links, peer, true);
		if (link != NULL && gy_id_table_set(&links->dialled, peer->id, link) < 0) {
			gy_list_remove(&link->item);
			gy_memory_put(link);
			link = NULL;
		}
	}
	return link;
}

/* A link has broken, or nodes are watched: what has become of a peer that has none left? Without
 * memory that is not asked. */
static void worry(struct gy_links *links, struct gy_peer *peer)
{
	struct gy_link *link = get_dialled(links, peer);

	if (link != NULL) {
		link->peer_unsure = true;
		link->used_ns = links->home->loop.now_ns;
		(void)gy_link_dial(link); /* which may have no address */
		gy_links_start_beat(links);
	}
}

static void was_open(struct gy_link *link)
{
	struct gy_links *links = link->links;
	bool last = gy_fetch_add(&link->peer->links, UINT32_MAX) == 1;

	link->opened = false;
	if (link->dialled) {
		(void)gy_fetch_add(&link->peer->ways, UINT32_MAX);
	}
	if (links->draining) {
		return;
	}
	if (last && gy_peer_is_unreached(link->peer)) {
		gy_peer_left(links, link->peer);
	}
	if (link->dialled && !link->bye) {
		gy_peer_link_broke(links, link->peer);
	}
	if (last && (!link->bye || gy_load_relaxed(&links->nodes->watchers_count) > 0)) {
		worry(links, link->peer);
	}
}

void gy_link_lost(struct gy_link *link, int reason)
{
	link->unacknowledged = link->unacknowledged || link->queued_bytes != link->credited_bytes;
	gy_link_handshake_failed(link, NULL, 0);
	if (link->dialled && !link->greeted && link->links->nodes->secrets_count > 1) {
		link->secret ^= 1; /* perhaps the peer has the other one alone */
	}
	link->stage = link->dialled ? GY_LINK_PAUSED : GY_LINK_ENDED;
	if (link->peer != NULL) {
		gy_log(link->links->nodes->log, GYRE_LOG_INFO,
		       "node %u: a link %s node %u has ended: %s", link->links->nodes->options.id,
		       link->dialled ? "to" : "from", link->peer->id,
		       reason == 0 ? "in good order" : strerror(-reason));
		gy_outgoing_reset(link);
	}
	gy_incoming_reset(link);
	gy_one_way_forget(link);
	link->life = 0;
	link->ctx = NULL;
	if (link->opened) {
		was_open(link);
	}
	if (gy_link_is_last(link)) {
		gy_outgoing_drop_waiting(link, -ESHUTDOWN, GY_WAITING_ALL);
	}
}

void gy_link_abort(struct gy_link *link, int reason)
{
	if (link->ctx != NULL) {
		link->stage = GY_LINK_ENDED;
		gyre_channel_abort(gyre_context_channel(link->ctx), reason);
	}
}

/* ---- silence ---- */

static uint64_t lesser(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* Its connection, or the attempts to have one, say how the peer is. */
static bool is_judge(const struct gy_link *link)
{
	return link->peer != NULL && (link->ctx != NULL || link->dialling || link->peer_unsure ||
				      gy_timer_is_started(&link->redial));
}

/* For how long the peer has said nothing, to any loop, while this one listened; in another
 * @unheard_ns it did not. */
static uint64_t silence_of(struct gy_link *link, uint64_t unheard_ns)
{
	uint64_t now_ns = link->links->home->loop.now_ns;
	uint64_t heard_ns = gy_load_relaxed(&link->peer->heard_ns);
	uint64_t silence_ns = now_ns > heard_ns ? now_ns - heard_ns : 0;

	if (link->judged_ns != heard_ns) {
		link->judged_ns = heard_ns;
		link->excused_ns = 0;
	}
	link->excused_ns = lesser(gy_time_add(link->excused_ns, unheard_ns), silence_ns);
	return silence_ns - link->excused_ns;
}

/* Nobody listened as long as there was nothing to say: what was not heard then means nothing. */
static void begin_to_listen(struct gy_link *link)
{
	if (!is_judge(link) && gy_load_relaxed(&link->peer->state) == GYRE_NODE_UP) {
		(void)silence_of(link, UINT64_MAX);
	}
}

/* ---- dialling ---- */

int gy_link_init_channel(struct gyre_channel *channel, void *arg)
{
	return add_handlers(channel, (struct gy_link *)arg);
}

struct gy_link *gy_link_get(struct gy_links *links, uint16_t node, int *ret_error)
{
	struct gy_link *link = (struct gy_link *)gy_id_table_find(&links->dialled, node);
	struct gy_peer *peer;
	int r = 0;

	peer = link != NULL ? link->peer : gy_peer_find(links->nodes, node);
	if (links->draining || peer == NULL) {
		*ret_error = links->draining ? -ESHUTDOWN : -EHOSTUNREACH;
		return NULL;
	}
	link = get_dialled(links, peer);
	if (link != NULL) {
		begin_to_listen(link);
	}
	r = link == NULL ? -ENOMEM : gy_link_dial(link);
	if (r == -ENOMEM && link != NULL) {
		gy_link_ensure_dialled(link); /* after a pause */
		r = 0;
	}
	if (r == 0 && gy_peer_is_down(peer)) {
		r = -EHOSTDOWN; /* the dial that is under way may find it up again */
	}
	*ret_error = r;
	return r == 0 ? link : NULL;
}

/* ---- the beat ---- */

static bool is_idle(const struct gy_link *link, uint64_t now_ns)
{
	const struct gy_nodes *nodes = link->links->nodes;

	return link->dialled && link->stage == GY_LINK_OPEN && !link->pinned &&
	       now_ns - link->used_ns > nodes->options.idle_ns &&
	       link->queued_bytes == link->credited_bytes &&
	       gy_load_relaxed(&nodes->watchers_count) == 0;
}

/* It has said nothing for nearly a heartbeat. */
static void show_life(struct gy_link *link)
{
	if (link->consumed_bytes > link->told_bytes) {
		gy_incoming_credit(link);
	} else {
		gy_link_send_control(link, GY_WIRE_PING, "", 0);
	}
}

static void look_at_connection(struct gy_link *link, uint64_t now_ns, uint64_t late_ns)
{
	const struct gyre_node_options *options = &link->links->nodes->options;

	link->heard_ns += lesser(late_ns, now_ns - link->heard_ns);
	if (!gy_link_can_send(link)) {
		if (now_ns - link->opened_ns > options->greeting_ns) {
			gy_link_abort(link, -ETIMEDOUT);
		}
		return;
	}
	if (now_ns - link->heard_ns > options->down_ns) {
		gy_link_abort(link, -ETIMEDOUT);
	} else if (now_ns - link->said_ns >=
		   options->heartbeat_ns - options->heartbeat_ns / BEATS) {
		show_life(link);
	}
}

/* Its connection has ended, and memory was lacking to say so to all who wait. */
static bool is_unsettled(const struct gy_link *link)
{
	return link->ctx == NULL && (link->in_flight.count > 0 || link->fragments_count > 0);
}

static void look(struct gy_link *link, uint64_t late_ns)
{
	const struct gyre_node_options *options = &link->links->nodes->options;
	uint64_t now_ns = link->links->home->loop.now_ns;

	if (link->ctx != NULL) {
		look_at_connection(link, now_ns, late_ns);
	}
	if (is_unsettled(link)) {
		(void)gy_in_flight_reset(link);
	}
	if (link->one_way && link->dialled) {
		gy_one_way_check(link);
	}
	if (link->waiting != NULL && now_ns - link->away_ns > options->away_ns) {
		gy_peer_wait_expired(link);
		gy_outgoing_drop_waiting(link, -EHOSTUNREACH,
					 gy_peer_is_alive(link->peer) ? GY_WAITING_BUT_EVENTS
								      : GY_WAITING_ALL);
	}
	if (is_judge(link)) {
		gy_peer_judge(link->links, link->peer, silence_of(link, late_ns));
		link->peer_unsure = link->peer_unsure && gy_load_relaxed(&link->peer->links) == 0 &&
				    gy_peer_is_alive(link->peer);
	}
	if (gy_frame_page_is_idle(&link->frame_page)) {
		gy_frame_page_drop(link, &link->frame_page);
	}
	if (is_idle(link, now_ns)) {
		gy_link_close_idle(link);
	}
}

/*
 * For how long this loop has not listened, since it was stuck or had no processor: a peer may have
 * spoken then. Only that time is excused, or a loop that is late again and again would never find
 * that a peer is down.
 */
static uint64_t lateness(const struct gy_links *links)
{
	uint64_t now_ns = links->home->loop.now_ns;
	uint64_t late_ns = now_ns > links->expected_ns ? now_ns - links->expected_ns : 0;

	return late_ns > links->nodes->options.heartbeat_ns ? late_ns : 0;
}

static void beat(struct gy_timer *timer)
{
	struct gy_links *links = gy_container_of(timer, struct gy_links, beat);
	uint64_t late_ns = lateness(links);
	struct gy_list *item = links->all.next;
	bool any = false;

	while (item != &links->all) {
		struct gy_link *link = gy_container_of(item, struct gy_link, item);

		item = item->next;
		any = any || link->ctx != NULL || is_judge(link) || link->waiting != NULL ||
		      is_unsettled(link);
		look(link, late_ns);
	}
	if (any) {
		gy_links_start_beat(links);
	}
}

static bool is_past_hello(const struct gy_link *link)
{
	return link->ctx != NULL && link->stage >= GY_LINK_AWAITS_HELLO &&
	       link->stage <= GY_LINK_LEAVING;
}

void gy_links_cut(struct gy_links *links, const struct gy_peer *peer)
{
	struct gy_list *item = links->all.next;

	while (item != &links->all) {
		struct gy_link *link = gy_container_of(item, struct gy_link, item);

		item = item->next;
		if (link->peer != peer) {
			continue;
		}
		if (link->life != 0 && gy_lives_is_over(&peer->lives, link->life)) {
			gy_link_abort(link, -EHOSTDOWN);
		}
		link->pinned = false; /* what was watched there has ended */
		gy_outgoing_drop_waiting(link, -EHOSTDOWN, GY_WAITING_OVER);
	}
}

void gy_links_end_former(struct gy_links *links)
{
	struct gy_list *item = links->all.next;

	while (item != &links->all) {
		struct gy_link *link = gy_container_of(item, struct gy_link, item);

		item = item->next;
		gy_outgoing_drop_waiting(link, -ECONNRESET, GY_WAITING_ASKS);
		if (is_past_hello(link) && link->mine.incarnation != 0 &&
		    link->mine.incarnation != links->incarnation) {
			link->new_life = link->dialled;
			gy_link_abort(link, -ECONNABORTED);
		}
	}
}

/* ---- of a loop ---- */

void gy_links_init(struct gy_links *links, struct gy_nodes *nodes, struct gy_home *home)
{
	*links = (struct gy_links){ .nodes = nodes, .home = home };
	gy_links_init_life(links);
	links->random = links->incarnation + home->loop.index;
	gy_list_init(&links->all);
	gy_timer_init(&links->beat, beat);
	gy_states_init(links);
	home->loop.own_links = links;
}

void gy_link_leave(struct gy_link *link)
{
	if (!link->bye && link->out == NULL && link->fragments_count == 0) {
		link->bye = true;
		gy_link_send_control(link, GY_WIRE_BYE, "",
				     0); /* so the peer says what it has taken */
	}
	if (link->bye && link->queued_bytes == link->credited_bytes) {
		link->stage = GY_LINK_ENDED;
		gyre_context_close(link->ctx);
	}
}

bool gy_links_leave(struct gy_home *home)
{
	struct gy_links *links = gy_links_of(home);
	struct gy_list *item = links->all.next;
	bool left = true;

	links->recent = NULL;
	while (item != &links->all) {
		struct gy_link *link = gy_container_of(item, struct gy_link, item);

		item = item->next;
		if (link->dialled && link->stage == GY_LINK_OPEN) {
			link->stage = GY_LINK_LEAVING;
			gy_link_flush(link);
		}
		left = left && (!link->dialled || link->ctx == NULL);
	}
	return left;
}

void gy_links_drain(struct gy_links *links)
{
	struct gy_list *item = links->all.next;

	links->draining = true;
	gy_timer_stop(&links->home->loop.wheel, &links->beat);
	for (; item != &links->all; item = item->next) {
		struct gy_link *link = gy_container_of(item, struct gy_link, item);

		gy_timer_stop(&links->home->loop.wheel, &link->redial);
		gy_outgoing_drop_waiting(link, -ESHUTDOWN, GY_WAITING_ALL);
	}
}

/* Clients that were to dial, and actors that watched, have ended with the loop. */
void gy_links_resume(struct gy_links *links)
{
	struct gy_list *item = links->all.next;

	links->draining = false;
	for (; item != &links->all; item = item->next) {
		struct gy_link *link = gy_container_of(item, struct gy_link, item);

		link->dialling = false;
		link->pinned = false;
		link->peer_unsure = false;
	}
}

void gy_links_fini(struct gy_links *links)
{
	while (!gy_list_empty(&links->all)) {
		struct gy_link *link = gy_container_of(links->all.next, struct gy_link, item);

		gy_list_remove(&link->item);
		gy_fragments_fini(link);
		gy_memory_put(link->in_flight.items);
		gy_memory_put(link);
	}
	gy_id_table_fini(&links->dialled);
	gy_frame_pages_fini(&links->frame_pages);
}
