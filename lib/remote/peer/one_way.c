/*
 * Links that are one-way. What a node answers goes over links that it dials itself; so a node that
 * can be dialled nowhere, behind a NAT, a firewall, or an address that leads elsewhere, has its
 * asks handled and hears of no answer, and of the end of nothing that it watches.
 *
 * It hears of that over the links that it has dialled. The other node, which has an answer and no
 * link for it, says REACH with the reason over all of those: at once when its dial is refused or an
 * answer is lost because no address is known, and else when mail has waited for away_ns. Only a
 * peer that it hears of meanwhile is told, and only while no loop has a link to it, or a network
 * that is down for a moment would cost asks. It says so again before what it has said is over, if
 * its dials still fail, and takes it back when one does not.
 *
 * Who is told fails the asks of the loop that are not answered yet, and new ones before they leave;
 * when that has lasted for away_ns its watches there end, for the reason that their ends would not
 * be heard. Notices go on. A link forgets it with its connection, or when the time is over for
 * which it was said. All actors of the loop are looked at for it, so a peer that changes its mind
 * all the time has its asks failed no more than once in a heartbeat.
 */
#include "remote/peer/one_way.h"

#include <errno.h>

#include "actor/life/node_loss.h"
#include "actor/life/watch.h"
#include "base/clock.h"
#include "remote/id_table.h"
#include "remote/link/link.h"
#include "remote/link/link_flush.h"
#include "remote/link/links.h"
#include "remote/message/mail_loss.h"
#include "remote/message/outgoing.h"
#include "remote/message/route.h"
#include "remote/node.h"
#include "remote/peer/peer.h"
#include "remote/peer/peer_life.h"
#include "remote/wire.h"

static const uint64_t log_pause_ns = GYRE_SECONDS(60);
static const uint64_t ms_ns = GYRE_MILLISECONDS(1);

/* ---- the side that cannot dial ---- */

/* Twice the time until the next dial, or mail that is given up, says so again. */
static uint64_t hold_of(const struct gy_nodes *nodes)
{
	return 2 * (nodes->options.redial_max_ns + nodes->options.away_ns);
}

/* Under the mutex. Not each time, lest a network that comes and goes fills the log. */
static bool may_log(uint64_t *logged_ns, uint64_t now_ns)
{
	bool due = *logged_ns == 0 || now_ns - *logged_ns > log_pause_ns;

	*logged_ns = due ? now_ns : *logged_ns;
	return due;
}

/* Under the mutex. */
static void log_unreached(const struct gy_links *links, struct gy_peer *peer)
{
	if (may_log(&peer->unreached_logged_ns, links->home->loop.now_ns)) {
		gy_log(links->nodes->log, GYRE_LOG_WARNING,
		       "node %u: node %u has a link to this node, but cannot be dialled at %s: %s; "
		       "it gets no answers and is told so: give it an address that leads to it "
		       "(listen), or this node that address (peers)",
		       links->nodes->options.id, peer->id,
		       peer->address == NULL ? "any address" : peer->address,
		       strerror(-peer->unreached_error));
	}
}

/* On all loops: each has its own links of it. */
static void request_reach(struct gy_peer *peer)
{
	struct gy_nodes *nodes = peer->nodes;

	for (uint32_t i = 0; i < gy_homes_made(nodes->homes); i++) {
		gy_peer_task_request(&nodes->links[i], peer, GY_PEER_TASK_REACH);
	}
}

/* Whether others have to hear of it. Under the mutex. */
static bool set_unreached(const struct gy_links *links, struct gy_peer *peer, int error)
{
	uint64_t now_ns = links->home->loop.now_ns;
	uint64_t hold_ns = hold_of(links->nodes);

	if (peer->unreached_ns > gy_time_add(now_ns, hold_ns / 2)) {
		return false;
	}
	peer->unreached_error = error;
	gy_store_relaxed(&peer->unreached_ns, gy_time_add(now_ns, hold_ns));
	log_unreached(links, peer);
	return true;
}

static void unreached(struct gy_link *link, int error)
{
	struct gy_links *links = link->links;
	struct gy_peer *peer = link->peer;
	bool told;

	if (links->draining || gy_link_is_retiring(link) || gy_load_relaxed(&peer->ways) > 0 ||
	    gy_load_relaxed(&peer->links) == 0 || gy_load_relaxed(&peer->state) != GYRE_NODE_UP) {
		return;
	}
	(void)pthread_mutex_lock(&links->nodes->mutex);
	told = set_unreached(links, peer, error);
	(void)pthread_mutex_unlock(&links->nodes->mutex);
	if (told) {
		request_reach(peer);
	}
}

/* Whether nobody serves at that address, or none that this node may speak to. Other failures may be
 * the network's. */
static bool is_refusal(const struct gy_link *link, int error)
{
	if (gy_link_has(link, GY_LINK_FLAG_CONNECTED)) {
		return link->local && error == -EPERM; /* the user of the other side */
	}
	return error == -ECONNREFUSED ||
	       (link->local && (error == -ENOENT || error == -EACCES || error == -ENOTDIR));
}

/* Who refuses connections is not who dials, and is that at once. */
void gy_peer_unreachable(struct gy_link *link, int error)
{
	link->dial_error = error;
	link->dial_failed_ns = link->links->home->loop.now_ns;
	if (is_refusal(link, error) || gy_peer_is_unreached(link->peer)) {
		unreached(link, error);
	}
}

void gy_peer_answer_lost(struct gy_links *links, uint16_t node, int error)
{
	struct gy_link *link = (struct gy_link *)gy_id_table_find(&links->dialled, node);

	if (link != NULL) {
		unreached(link, error);
	}
}

/* Unless all that time was a pause, which the failures of before have made that long. */
void gy_peer_wait_expired(struct gy_link *link)
{
	if (link->dial_failed_ns >= link->waiting_since_ns) {
		unreached(link, link->dial_error);
	} else if (gy_link_has(link, GY_LINK_FLAG_HAS_CLIENT)) {
		unreached(link, -ETIMEDOUT);
	}
}

void gy_peer_reached(struct gy_links *links, struct gy_peer *peer)
{
	if (!gy_peer_is_unreached(peer)) {
		return;
	}
	(void)pthread_mutex_lock(&links->nodes->mutex);
	gy_store_relaxed(&peer->unreached_ns, 0);
	(void)pthread_mutex_unlock(&links->nodes->mutex);
	gy_log(links->nodes->log, GYRE_LOG_INFO, "node %u: node %u can be dialled now",
	       links->nodes->options.id, peer->id);
	request_reach(peer);
}

void gy_peer_left(struct gy_links *links, struct gy_peer *peer)
{
	(void)pthread_mutex_lock(&links->nodes->mutex);
	gy_store_relaxed(&peer->unreached_ns, 0);
	(void)pthread_mutex_unlock(&links->nodes->mutex);
}

/* The reach that the peer is to be told of now. */
static struct gy_reach reach_of(const struct gy_links *links, const struct gy_peer *peer)
{
	uint64_t now_ns = links->home->loop.now_ns;
	struct gy_reach reach = { 0 };

	(void)pthread_mutex_lock(&links->nodes->mutex);
	if (peer->unreached_ns > now_ns) {
		reach.error = peer->unreached_error;
		reach.left_ms = (uint32_t)((peer->unreached_ns - now_ns) / ms_ns);
		if (peer->address != NULL) {
			(void)snprintf(reach.address, sizeof(reach.address), "%s", peer->address);
		}
	}
	(void)pthread_mutex_unlock(&links->nodes->mutex);
	return reach;
}

void gy_one_way_send_reach(struct gy_link *link)
{
	const struct gy_reach reach = reach_of(link->links, link->peer);
	unsigned char frame[GY_REACH_BYTES_MAX];

	if (reach.error != 0 || gy_link_has(link, GY_LINK_FLAG_ONE_WAY)) {
		gy_link_assign(link, GY_LINK_FLAG_ONE_WAY, reach.error != 0);
		gy_link_send_bytes(link, frame, gy_reach_put(&reach, frame));
	}
}

void gy_links_send_reach(struct gy_links *links, const struct gy_peer *peer)
{
	struct gy_list *item = links->all.next;

	while (item != &links->all) {
		struct gy_link *link = gy_container_of(item, struct gy_link, item);

		item = item->next;
		if (link->peer == peer && !link->dialled && link->stage == GY_LINK_STAGE_OPEN) {
			gy_one_way_send_reach(link);
		}
	}
}

/* ---- the side that cannot be dialled ---- */

static void log_one_way(struct gy_link *link, const struct gy_reach *reach)
{
	const struct gy_nodes *nodes = link->links->nodes;
	uint64_t now_ns = link->links->home->loop.now_ns;

	(void)pthread_mutex_lock(&link->links->nodes->mutex);
	link->back.logged = may_log(&link->peer->one_way_logged_ns, now_ns);
	(void)pthread_mutex_unlock(&link->links->nodes->mutex);
	if (link->back.logged) {
		gy_log(nodes->log, GYRE_LOG_WARNING,
		       "node %u: node %u cannot dial this node at %s: %s; asks, watches and names "
		       "looked up there fail: listen where it can (listen), or give it an address "
		       "that leads here (peers)",
		       nodes->options.id, link->peer->id,
		       reach->address[0] == '\0' ? "any address" : reach->address,
		       strerror(-reach->error));
	}
}

static bool notify_actors(const struct gy_link *link, uint32_t deeds)
{
	struct gy_home *home = link->links->home;
	const struct gy_node_loss loss = { .node = link->peer->id,
					   .deeds = (uint16_t)deeds,
					   .error = -EADDRNOTAVAIL,
					   .asked_until = gy_home_number(home) };

	return gy_home_node_lost(home, &loss);
}

/* For what lacks memory it is done again. */
static void fail_asks(struct gy_link *link)
{
	struct gy_one_way *back = &link->back;
	uint64_t now_ns = link->links->home->loop.now_ns;

	back->due = back->failed_ns != 0 &&
		    now_ns - back->failed_ns < link->links->nodes->options.heartbeat_ns;
	if (!back->due) {
		back->failed_ns = now_ns;
		back->due = !notify_actors(link, GY_NODE_LOSS_FAIL_ASKS);
	}
}

static void begin(struct gy_link *link, const struct gy_reach *reach)
{
	struct gy_links *links = link->links;

	gy_link_set(link, GY_LINK_FLAG_ONE_WAY);
	link->back.since_ns = links->home->loop.now_ns;
	link->back.told = false;
	links->one_ways++;
	links->home->options.remote = &links->nodes->one_way_ops;
	log_one_way(link, reach);
	fail_asks(link);
}

static void end(struct gy_link *link)
{
	struct gy_links *links = link->links;

	gy_assert(links->one_ways > 0);
	gy_link_clear(link, GY_LINK_FLAG_ONE_WAY);
	link->back.due = false;
	if (--links->one_ways == 0) {
		links->home->options.remote = &links->nodes->ops;
	}
}

static void log_end(const struct gy_link *link)
{
	if (link->back.logged) {
		gy_log(link->links->nodes->log, GYRE_LOG_INFO,
		       "node %u: node %u can dial this node now", link->links->nodes->options.id,
		       link->peer->id);
	}
}

int gy_one_way_receive_reach(struct gy_link *link, const struct gy_frame *frame)
{
	uint64_t now_ns = link->links->home->loop.now_ns;
	struct gy_reach reach;

	if (gy_reach_get(frame->body, frame->bytes, &reach) < 0) {
		return -EPROTO;
	}
	link->back.until_ns = gy_time_add(now_ns, reach.left_ms * ms_ns);
	if (reach.error != 0 && !gy_link_has(link, GY_LINK_FLAG_ONE_WAY)) {
		begin(link, &reach);
	} else if (reach.error == 0 && gy_link_has(link, GY_LINK_FLAG_ONE_WAY)) {
		end(link);
		log_end(link);
	}
	return 0;
}

void gy_one_way_check(struct gy_link *link)
{
	uint64_t now_ns = link->links->home->loop.now_ns;
	uint64_t away_ns = link->links->nodes->options.away_ns;

	if (now_ns > link->back.until_ns) {
		end(link);
		return;
	}
	if (link->back.due) {
		fail_asks(link);
	}
	if (!link->back.told && now_ns - link->back.since_ns > away_ns) {
		link->back.told = notify_actors(link, GY_NODE_LOSS_END_WATCHES);
	}
}

void gy_one_way_forget(struct gy_link *link)
{
	if (link->dialled && gy_link_has(link, GY_LINK_FLAG_ONE_WAY)) {
		end(link);
	}
}

bool gy_one_way_refuses(const struct gy_links *links, struct gyre_address to,
			const struct gyre_mail *mail)
{
	const struct gy_link *link =
		(const struct gy_link *)gy_id_table_find(&links->dialled, to.node);

	if (link == NULL || !gy_link_has(link, GY_LINK_FLAG_ONE_WAY)) {
		return false;
	}
	return mail->type == &gy_type_watch ? link->back.told : mail->node.kind == GY_MAIL_ASK;
}

int gy_one_way_route(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	if (!gy_one_way_refuses(gy_links_of(home), to, mail)) {
		return gy_remote_ops.route(home, to, mail);
	}
	gy_count(&home->counters.sent, 1);
	return gy_mail_loss(home, to, mail, -EADDRNOTAVAIL);
}
