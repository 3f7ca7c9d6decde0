/*
 * The beat of the links of a loop: a timer that runs as long as the loop has any link, four times
 * in a heartbeat. It ends connections whose peers are silent, says that this side is alive, closes
 * what is idle, gives up mail that has waited for too long, and judges whether peers are alive.
 */
#include "remote/link/link_beat.h"

#include <errno.h>

#include "base/random.h"
#include "remote/link/link.h"
#include "remote/link/link_dial.h"
#include "remote/link/link_flush.h"
#include "remote/message/outgoing.h"
#include "remote/message/receive.h"
#include "remote/node.h"
#include "remote/peer/one_way.h"
#include "remote/peer/peer_state.h"

enum { BEATS = 4, /* in a heartbeat */ JITTER_PERCENT = 10 };

/* ---- silence ---- */

/* Whether the connection of a link, or the attempts to have one, show how its peer is. */
static bool is_judge(const struct gy_link *link)
{
	return link->peer != NULL &&
	       (link->ctx != NULL || gy_link_has(link, GY_LINK_FLAG_HAS_CLIENT) ||
		gy_link_has(link, GY_LINK_FLAG_PEER_UNSURE) || gy_timer_is_started(&link->redial));
}

/*
 * For how long the peer has said nothing, to any loop, while this loop listened; for another
 * @unheard_ns it did not.
 */
static uint64_t silence_of(struct gy_link *link, uint64_t unheard_ns)
{
	uint64_t now_ns = link->links->home->loop.now_ns;
	uint64_t heard_ns = gy_load_relaxed(&link->peer->heard_ns);
	uint64_t silence_ns = now_ns > heard_ns ? now_ns - heard_ns : 0;

	if (link->judged_ns != heard_ns) {
		link->judged_ns = heard_ns;
		link->excused_ns = 0;
	}
	link->excused_ns = gy_lesser(gy_time_add(link->excused_ns, unheard_ns), silence_ns);
	return silence_ns - link->excused_ns;
}

void gy_link_excuse_silence(struct gy_link *link)
{
	uint64_t now_ns = link->links->home->loop.now_ns;

	if (!is_judge(link) && gy_peer_is_alive(link->peer)) {
		(void)silence_of(link, now_ns - link->judge_ns);
		link->judge_ns = now_ns;
	}
}

/* ---- what is done at a beat ---- */

static bool is_idle(const struct gy_link *link, uint64_t now_ns)
{
	const struct gy_nodes *nodes = link->links->nodes;

	return link->dialled && link->stage == GY_LINK_STAGE_OPEN &&
	       !gy_link_has(link, GY_LINK_FLAG_PINNED) &&
	       now_ns - link->used_ns > nodes->options.idle_ns &&
	       link->queued_bytes == link->credited_bytes &&
	       gy_load_relaxed(&nodes->watchers_count) == 0;
}

/* This side has sent nothing for nearly a heartbeat. */
static void show_life(struct gy_link *link)
{
	if (link->consumed_bytes > link->announced_bytes) {
		gy_receive_send_credit(link);
	} else {
		gy_link_send_control(link, GY_WIRE_PING, "", 0);
	}
}

static void check_connection(struct gy_link *link, uint64_t now_ns, uint64_t late_ns)
{
	const struct gyre_node_options *options = &link->links->nodes->options;

	if (link->stage == GY_LINK_STAGE_ENDED) {
		return; /* the channel bounds how long that takes */
	}
	link->heard_ns += gy_lesser(late_ns, now_ns - link->heard_ns);
	if (!gy_link_can_send(link)) {
		if (now_ns - link->opened_ns > options->greeting_ns) {
			gy_link_abort(link, -ETIMEDOUT);
		}
		return;
	}
	if (now_ns - link->heard_ns > options->down_ns) {
		gy_link_abort(link, -ETIMEDOUT);
	} else if (now_ns - link->sent_ns >=
		   options->heartbeat_ns - options->heartbeat_ns / BEATS) {
		show_life(link);
	}
}

/* Its connection has ended, and memory was lacking to tell all who wait for what was lost. */
static bool has_untold_losses(const struct gy_link *link)
{
	return link->ctx == NULL && (link->in_flight.count > 0 || link->fragments_count > 0);
}

static void check_link(struct gy_link *link, uint64_t late_ns)
{
	const struct gyre_node_options *options = &link->links->nodes->options;
	uint64_t now_ns = link->links->home->loop.now_ns;

	if (link->ctx != NULL) {
		check_connection(link, now_ns, late_ns);
	}
	if (has_untold_losses(link)) {
		(void)gy_in_flight_reset(link);
	}
	if (gy_link_has(link, GY_LINK_FLAG_ONE_WAY) && link->dialled) {
		gy_one_way_check(link);
	}
	if (link->waiting != NULL && now_ns - link->waiting_since_ns > options->away_ns) {
		gy_peer_wait_expired(link);
		gy_outgoing_drop_waiting(link, -EHOSTUNREACH,
					 gy_peer_is_alive(link->peer) ? GY_WAITING_BUT_EVENTS
								      : GY_WAITING_ALL);
	}
	if (is_judge(link)) {
		link->judge_ns = now_ns;
		gy_peer_judge(link->links, link->peer, silence_of(link, late_ns));
		if (gy_load_relaxed(&link->peer->links) > 0 || !gy_peer_is_alive(link->peer)) {
			gy_link_clear(link, GY_LINK_FLAG_PEER_UNSURE);
		}
	}
	if (gy_frame_page_is_idle(&link->frame_page)) {
		gy_frame_page_drop(link, &link->frame_page);
	}
	if (is_idle(link, now_ns)) {
		gy_link_say_close(link);
		gy_link_close(link);
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
		      has_untold_losses(link);
		check_link(link, late_ns);
	}
	if (any) {
		gy_links_start_beat(links);
	}
}

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

void gy_links_init_beat(struct gy_links *links)
{
	gy_timer_init(&links->beat, beat);
}
