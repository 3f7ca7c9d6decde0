/*
 * A link over its life: made for a peer that mail is to go to, or of a connection that a peer has
 * dialled; through the stages of its connection; and, if it was dialled, back to none.
 *
 * When its connection breaks, connection_lost() calls, in this order:
 *
 * - gy_outgoing_reset() (message/outgoing.c): forgets all frames, counts those that the peer has
 *   not credited as lost, and has in_flight.c fail the asks and answers among them;
 * - gy_incoming_reset() (message/incoming.c): forgets what has come in part;
 * - closed_after_open(), if the link was open: rounds.c has watches named again by the next one,
 *   and a peer that has no other link is dialled, to learn whether it lives.
 *
 * Later, on this side:
 *
 * - link_dial.c hears from the client of the net floor that its round is over, and dials again,
 *   with pauses (dial_ended());
 * - mail that waits for the link is kept, and link_beat.c drops it once it has waited for away_ns;
 *   if the loop retires, connection_lost() drops it;
 * - link_beat.c fails asks for which there was no memory, and judges the peer (peer_state.c);
 *   peer_life.c ends a life that is over, and actor/life/node_loss.c tells the actors.
 *
 * On the side that accepted, link_order.c lets the next connection in only when nothing of this one
 * can come behind it; peer_state.c has watches named again there too.
 *
 * Memory: dialled links are kept until the system ends. An accepted link is freed when its handler
 * is removed from the pipeline of its connection.
 */
#include "remote/link/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/tls.h>

#include "base/memory/memory.h"
#include "channel/channel.h"
#include "remote/link/link_beat.h"
#include "remote/link/link_dial.h"
#include "remote/link/link_event.h"
#include "remote/link/link_flush.h"
#include "remote/link/link_handshake.h"
#include "remote/link/link_user.h"
#include "remote/message/fragments.h"
#include "remote/message/outgoing.h"
#include "remote/message/receive.h"
#include "remote/message/unlinked.h"
#include "remote/node.h"
#include "remote/peer/peer_life.h"
#include "remote/peer/peer_state.h"
#include "remote/secret.h"

static const uint64_t full_log_pause_ns = GYRE_SECONDS(60);

/* ---- stages ---- */

#define TO(stage) (1U << GY_LINK_STAGE_##stage)

/* A connection can be lost in any stage. A dialled link is open once its peer has proved itself;
 * an accepted one when its order has come back too. */
static const uint32_t may_go[GY_LINK_STAGES] = {
	[GY_LINK_STAGE_UNCONNECTED] = TO(AWAITS_HELLO) | TO(ENDED),
	[GY_LINK_STAGE_AWAITS_HELLO] =
		TO(AWAITS_PROOF) | TO(AWAITS_ORDER) | TO(OPEN) | TO(ENDED) | TO(UNCONNECTED),
	[GY_LINK_STAGE_AWAITS_PROOF] = TO(AWAITS_ORDER) | TO(OPEN) | TO(ENDED) | TO(UNCONNECTED),
	[GY_LINK_STAGE_AWAITS_ORDER] = TO(OPEN) | TO(ENDED),
	[GY_LINK_STAGE_OPEN] = TO(LEAVING) | TO(ENDED) | TO(UNCONNECTED),
	[GY_LINK_STAGE_LEAVING] = TO(ENDED) | TO(UNCONNECTED),
	[GY_LINK_STAGE_ENDED] = TO(UNCONNECTED),
};

static const char *const stage_names[GY_LINK_STAGES] = {
	[GY_LINK_STAGE_UNCONNECTED] = "unconnected",
	[GY_LINK_STAGE_AWAITS_HELLO] = "awaits hello",
	[GY_LINK_STAGE_AWAITS_PROOF] = "awaits proof",
	[GY_LINK_STAGE_AWAITS_ORDER] = "awaits order",
	[GY_LINK_STAGE_OPEN] = "open",
	[GY_LINK_STAGE_LEAVING] = "leaving",
	[GY_LINK_STAGE_ENDED] = "ended",
};

#define BIT(flag) __builtin_ctz(GY_LINK_FLAG_##flag)

static const char *const flag_names[] = {
	[BIT(CONNECTED)] = "connected",
	[BIT(GREETED)] = "greeted",
	[BIT(CLOSING)] = "closing",
	[BIT(SUCCESSOR)] = "successor",
	[BIT(HAS_CLIENT)] = "has client",
	[BIT(STRANGER)] = "stranger",
	[BIT(COUNTED_OPEN)] = "counted open",
	[BIT(FLUSH_QUEUED)] = "flush queued",
	[BIT(PINNED)] = "pinned",
	[BIT(PEER_UNSURE)] = "peer unsure",
	[BIT(REDIAL_AT_ONCE)] = "redial at once",
	[BIT(UNACKNOWLEDGED)] = "unacknowledged",
	[BIT(ONE_WAY)] = "one-way",
	[BIT(FLUSH_SOON)] = "flush soon",
};

_Static_assert(gy_countof(flag_names) == GY_LINK_FLAGS, "each has a name");

bool gy_link_stage_is_allowed(enum gy_link_stage from, enum gy_link_stage to)
{
	return from < GY_LINK_STAGES && (may_go[from] >> to & 1U) != 0;
}

const char *gy_link_stage_name(enum gy_link_stage stage)
{
	return stage < GY_LINK_STAGES ? stage_names[stage] : "no stage";
}

const char *gy_link_describe(const struct gy_link *link, char text[GY_LINK_TEXT_BYTES])
{
	int count =
		snprintf(text, GY_LINK_TEXT_BYTES, "%s, %s", link->dialled ? "dialled" : "accepted",
			 gy_link_stage_name(link->stage));
	const char *separator = ": ";

	for (uint32_t i = 0; i < GY_LINK_FLAGS && count < GY_LINK_TEXT_BYTES; i++) {
		if ((link->flags >> i & 1U) != 0) {
			count += snprintf(text + count, (size_t)(GY_LINK_TEXT_BYTES - count),
					  "%s%s", separator, flag_names[i]);
			separator = ", ";
		}
	}
	return text;
}

void gy_link_set_stage(struct gy_link *link, enum gy_link_stage stage)
{
	const struct gy_nodes *nodes = link->links->nodes;
	char text[GY_LINK_TEXT_BYTES];

	if (link->stage == stage) {
		return;
	}
	gy_assert(gy_link_stage_is_allowed(link->stage, stage));
	gy_assert(stage != GY_LINK_STAGE_AWAITS_ORDER || !link->dialled);
	gy_assert(stage != GY_LINK_STAGE_LEAVING || link->dialled);
	if (gy_log_is_written(nodes->log, GYRE_LOG_DEBUG)) {
		gy_log(nodes->log, GYRE_LOG_DEBUG, "node %u: the link %s node %u (%s) is %s now",
		       nodes->options.id, link->dialled ? "to" : "from",
		       link->peer == NULL ? 0U : link->peer->id, gy_link_describe(link, text),
		       gy_link_stage_name(stage));
	}
	link->stage = stage;
	link->direct_end = NULL;
}

/* ---- the pipeline ---- */

static void active(struct gyre_handler_context *ctx)
{
	struct gy_link *link = (struct gy_link *)gyre_context_arg(ctx);
	uint64_t now_ns = link->links->home->loop.now_ns;

	link->ctx = ctx;
	link->opened_ns = now_ns;
	link->heard_ns = now_ns;
	link->sent_ns = now_ns;
	if (!link->dialled) {
		gy_link_set_address(link, NULL);
	}
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

/*
 * Dials a peer that has no link left, to learn what has become of it: a link has broken, or nodes
 * are watched. A loop that dials nobody leaves that to loop 0, which always takes part: a peer that
 * is not dialled is silent, and would be declared down. Where memory is lacking that is done later.
 */
static void examine_peer(struct gy_links *links, struct gy_peer *peer)
{
	struct gy_link *link;

	if (!gy_links_may_dial(links)) {
		if (links->home->loop.index != 0) {
			gy_peer_task_request(&links->nodes->links[0], peer, GY_PEER_TASK_EXAMINE);
		}
		return;
	}
	link = gy_link_get_dialled(links, peer);
	if (link == NULL) {
		gy_peer_task_examine_later(links, peer);
		return;
	}
	gy_link_set(link, GY_LINK_FLAG_PEER_UNSURE);
	link->used_ns = links->home->loop.now_ns;
	if (gy_link_dial(link) == -ENOMEM) { /* else it may have no address */
		gy_link_ensure_dialled(link);
	}
	gy_links_start_beat(links);
}

void gy_link_examine(struct gy_links *links, struct gy_peer *peer)
{
	struct gy_link *link;

	if (links->draining || !gy_peer_is_alive(peer) || gy_load_relaxed(&peer->links) > 0) {
		return;
	}
	link = gy_links_may_dial(links) ? gy_link_get_dialled(links, peer) : NULL;
	if (link != NULL) {
		gy_link_excuse_silence(link); /* nobody has judged it lately */
	}
	examine_peer(links, peer);
}

/* The link was open. Whoever watches there is told, and the peer examined if it has no other. */
static void closed_after_open(struct gy_link *link)
{
	struct gy_links *links = link->links;
	bool last = gy_fetch_add(&link->peer->links, UINT32_MAX) == 1;

	gy_link_clear(link, GY_LINK_FLAG_COUNTED_OPEN);
	if (link->dialled) {
		(void)gy_fetch_add(&link->peer->ways, UINT32_MAX);
	}
	if (links->draining) {
		return;
	}
	if (last && gy_peer_is_unreached(link->peer)) {
		gy_peer_left(links, link->peer);
	}
	if (link->dialled) {
		gy_rounds_link_ended(link, !gy_link_has(link, GY_LINK_FLAG_CLOSING) ||
						   gy_link_has(link, GY_LINK_FLAG_UNACKNOWLEDGED));
	}
	if (last && (!gy_link_has(link, GY_LINK_FLAG_CLOSING) ||
		     gy_load_relaxed(&links->nodes->watchers_count) > 0)) {
		examine_peer(links, link->peer);
	}
}

/* The connection of a link has ended. What was on its way may be lost with it. */
static void connection_lost(struct gy_link *link, int reason)
{
	if (link->queued_bytes != link->credited_bytes) {
		gy_link_set(link, GY_LINK_FLAG_UNACKNOWLEDGED);
	}
	/* Before the stage changes: this logs a peer that has left without a hello, and returns at
	 * once in every stage but that which awaits one. */
	gy_link_handshake_failed(link, NULL, 0);
	if (link->dialled && !gy_link_has(link, GY_LINK_FLAG_GREETED) &&
	    link->links->nodes->secrets_count > 1) {
		link->secret ^= 1; /* perhaps the peer has the other one alone */
	}
	gy_link_set_stage(link, link->dialled ? GY_LINK_STAGE_UNCONNECTED : GY_LINK_STAGE_ENDED);
	if (link->peer != NULL) {
		gy_log(link->links->nodes->log, GYRE_LOG_INFO,
		       "node %u: a link %s node %u has ended: %s", link->links->nodes->options.id,
		       link->dialled ? "to" : "from", link->peer->id,
		       reason == 0 ? "in good order" : strerror(-reason));
		gy_outgoing_reset(link);
	}
	gy_link_publish_end(link, reason);
	gy_incoming_reset(link);
	gy_one_way_forget(link);
	link->life = 0;
	link->ctx = NULL;
	if (gy_link_has(link, GY_LINK_FLAG_COUNTED_OPEN)) {
		closed_after_open(link);
	}
	/* Also what has come to wait since the drain began, as it found no memory to leave with. */
	if (link->links->draining || gy_link_is_retiring(link)) {
		gy_outgoing_drop_waiting(link, -ESHUTDOWN, GY_WAITING_ALL);
	}
}

static void inactive(struct gyre_handler_context *ctx)
{
	connection_lost((struct gy_link *)gyre_context_arg(ctx),
			gyre_channel_reason(gyre_context_channel(ctx)));
}

/* The last call of the pipeline: an accepted link is freed. */
static void removed(struct gyre_handler_context *ctx)
{
	struct gy_link *link = (struct gy_link *)gyre_context_arg(ctx);

	link->ctx = NULL;
	if (!link->dialled) {
		if (gy_link_has(link, GY_LINK_FLAG_STRANGER)) {
			gy_assert(link->links->strangers > 0);
			link->links->strangers--;
			gy_count(&link->links->refused, 1);
		}
		gy_list_remove(&link->item);
		gy_heads_reset(&link->heads);
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

static struct gy_link *make(struct gy_links *links, struct gy_peer *peer, bool dialled)
{
	struct gy_link *link = (struct gy_link *)gy_memory_get(sizeof(*link));

	if (link == NULL) {
		return NULL;
	}
	link->links = links;
	link->peer = peer;
	link->dialled = dialled;
	link->stage = GY_LINK_STAGE_UNCONNECTED;
	gy_list_init(&link->fragments);
	gy_list_init(&link->partial_messages);
	gy_heads_init(&link->heads);
	gy_link_init_redial(link);
	gy_list_append(&links->all, &link->item);
	gy_links_start_beat(links);
	return link;
}

struct gy_link *gy_link_get_dialled(struct gy_links *links, struct gy_peer *peer)
{
	struct gy_link *link = (struct gy_link *)gy_id_table_find(&links->dialled, peer->id);

	if (link == NULL) {
		link = make(links, peer, true);
		if (link != NULL && gy_id_table_set(&links->dialled, peer->id, link) < 0) {
			gy_list_remove(&link->item);
			gy_memory_put(link);
			link = NULL;
		}
		if (link != NULL) {
			gy_unlinked_adopt(link);
		}
	}
	return link;
}

/* TLS goes first where the node has a secret or certificates: the link need not know. */
static int add_handlers(struct gyre_channel *channel, struct gy_link *link)
{
	struct gyre_tls_options tls = { .context = gy_secrets_tls(link),
					.mutual = true,
					.any_name = true };
	int r = 0;

	gy_channel_exempt(channel);
	if (tls.context != NULL) {
		r = link->dialled ? gyre_tls_client_add(channel, GYRE_LAST, &tls)
				  : gyre_tls_server_add(channel, GYRE_LAST, &tls);
	}
	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &link_handler, link);
}

/* Once a minute at most, lest connections that come again and again fill the log. */
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
	r = gy_link_user_check_accepted(links, channel);
	if (r < 0) {
		gy_count(&links->refused, 1);
		return r;
	}
	if (links->strangers >= links->nodes->options.greetings_max) {
		gy_count(&links->refused, 1);
		log_full(links);
		return -ENOBUFS;
	}
	link = make(links, NULL, false);
	r = link == NULL ? -ENOMEM : add_handlers(channel, link);
	if (r == 0) {
		link->local = channel->kind->type == GY_CHANNEL_UNIX_STREAM;
		gy_link_set(link, GY_LINK_FLAG_STRANGER);
		links->strangers++;
	} else if (link != NULL) {
		gy_list_remove(&link->item);
		gy_memory_put(link);
	}
	return r;
}

int gy_link_init_channel(struct gyre_channel *channel, void *arg)
{
	struct gy_link *link = (struct gy_link *)arg;
	int r = link->local ? gy_link_user_add_handler(channel, link) : 0;

	return r < 0 ? r : add_handlers(channel, link);
}

/*
 * How much may be on its way. A peer credits whole frames, and not before they are a share of its
 * window: the least window that a node may have is not enough for that share and the largest frame.
 * One that says less than any node may is taken at its word.
 */
static uint64_t window_of(uint64_t bytes)
{
	uint64_t enough_bytes =
		bytes / GY_CREDIT_SHARE + GY_WIRE_HEAD_BYTES_MAX + GY_WIRE_BODY_BYTES_MAX;

	return bytes >= GY_WINDOW_BYTES_MIN && bytes < enough_bytes ? enough_bytes : bytes;
}

void gy_link_open(struct gy_link *link)
{
	struct gy_links *links = link->links;

	gy_peer_task_run(links, link->peer);
	if (gy_lives_is_over(&link->peer->lives, link->life)) {
		gy_link_abort(link, -EHOSTDOWN); /* it has ended meanwhile */
		return;
	}
	gy_link_set_stage(link, GY_LINK_STAGE_OPEN);
	gy_link_set(link, GY_LINK_FLAG_COUNTED_OPEN);
	gy_link_set(link, GY_LINK_FLAG_GREETED);
	link->life_mark = gy_life_code(link->life) << GY_LIFE_SHIFT;
	link->window_bytes = window_of(link->theirs.window_bytes);
	link->queued_bytes_max = links->nodes->options.link_bytes_max;
	link->message_bytes_max = links->nodes->options.message_bytes_max;
	if (link->theirs.message_bytes_max < link->message_bytes_max) {
		link->message_bytes_max = link->theirs.message_bytes_max;
	}
	link->used_ns = links->home->loop.now_ns;
	(void)gy_add_relaxed(&link->peer->links, 1);
	if (gy_link_has(link, GY_LINK_FLAG_STRANGER)) {
		gy_link_clear(link, GY_LINK_FLAG_STRANGER);
		links->strangers--;
	}
	if (link->dialled) {
		(void)gy_add_relaxed(&link->peer->ways, 1);
		gy_peer_reached(links, link->peer);
		gy_link_clear(link,
			      GY_LINK_FLAG_UNACKNOWLEDGED); /* the peer is done with the last one */
		gy_outgoing_send_waiting(link);
		gy_rounds_link_opened(link);
	} else if (gy_link_has(link, GY_LINK_FLAG_SUCCESSOR)) {
		gy_peer_link_returned(links, link->peer);
	}
	gy_link_publish(link, GYRE_LINK_OPENED, 0);
}

void gy_link_abort(struct gy_link *link, int reason)
{
	if (link->ctx != NULL) {
		gy_link_set_stage(link, GY_LINK_STAGE_ENDED);
		gyre_channel_abort(gyre_context_channel(link->ctx), reason);
	}
}

void gy_link_say_close(struct gy_link *link)
{
	gy_assert(gy_link_can_send(link));
	gy_link_set(link, GY_LINK_FLAG_CLOSING);
	gy_link_send_control(link, GY_WIRE_CLOSE, "", 0);
}

void gy_link_close(struct gy_link *link)
{
	gy_assert(gy_link_has(link, GY_LINK_FLAG_CLOSING) || link->stage == GY_LINK_STAGE_ENDED);
	gy_link_set_stage(link, GY_LINK_STAGE_ENDED);
	gyre_context_close(link->ctx);
}

void gy_link_leave(struct gy_link *link)
{
	gy_assert(link->stage == GY_LINK_STAGE_LEAVING);
	if (!gy_link_has(link, GY_LINK_FLAG_CLOSING) && link->out == NULL &&
	    link->fragments_count == 0) {
		gy_link_say_close(link); /* so the peer credits all that it has taken */
	}
	if (gy_link_has(link, GY_LINK_FLAG_CLOSING) && link->queued_bytes == link->credited_bytes) {
		gy_link_close(link);
	}
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
	link = gy_link_get_dialled(links, peer);
	if (link != NULL) {
		gy_link_excuse_silence(link);
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

/* ---- checks ---- */

static uint64_t bytes_of_waiting(const struct gy_link *link)
{
	const struct gy_node *last = NULL;
	uint64_t bytes = 0;

	for (const struct gy_node *node = link->waiting; node != NULL; node = node->next) {
		bytes += gy_outgoing_waiting_bytes(node);
		last = node;
	}
	gy_assert(last == NULL || last == link->waiting_last);
	return bytes;
}

static void check_stage(const struct gy_link *link)
{
	bool connected =
		link->stage >= GY_LINK_STAGE_AWAITS_HELLO && link->stage <= GY_LINK_STAGE_LEAVING;

	gy_assert(!connected || link->ctx != NULL);
	gy_assert(link->stage != GY_LINK_STAGE_UNCONNECTED || link->ctx == NULL);
	gy_assert(!link->dialled || link->peer != NULL);
	gy_assert(!gy_link_can_send(link) || (link->peer != NULL && link->life != 0));
	gy_assert(!gy_link_can_send(link) || gy_link_has(link, GY_LINK_FLAG_COUNTED_OPEN));
	gy_assert(!gy_link_has(link, GY_LINK_FLAG_STRANGER) ||
		  !(link->dialled || gy_link_has(link, GY_LINK_FLAG_COUNTED_OPEN)));
	gy_assert(!gy_link_has(link, GY_LINK_FLAG_HAS_CLIENT) || link->dialled);
}

/* Queued bytes have gone to the channel, or are in @out, on the page of frames, or in parcels. */
static void check_sums(const struct gy_link *link)
{
	uint64_t out_bytes = link->out == NULL ? 0 : gyre_buffer_bytes(link->out);
	uint64_t page_bytes = (uint64_t)(link->frame_page.at - link->frame_page.begin);
	uint64_t parcel_bytes = gy_fragments_check(link);

	gy_assert(link->queued_bytes >= link->sent_bytes);
	gy_assert(link->sent_bytes >= link->credited_bytes);
	gy_assert(link->queued_frames >= link->credited_frames);
	gy_assert(link->queued_frames >= link->counted_frames);
	gy_assert(link->consumed_bytes >= link->announced_bytes);
	gy_assert(link->queued_bytes >= link->parcel_bytes);
	gy_assert(link->sent_bytes >= link->fragment_bytes);
	gy_assert(!gy_link_can_send(link) ||
		  link->queued_bytes == link->sent_bytes + out_bytes + page_bytes + parcel_bytes);
	gy_assert(bytes_of_waiting(link) == link->waiting_bytes);
}

void gy_link_check(const struct gy_link *link)
{
	check_stage(link);
	check_sums(link);
	gy_in_flight_check(link);
	gy_incoming_check(link);
	gy_partial_messages_check(link);
}
