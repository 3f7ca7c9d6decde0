/*
 * Which way mail for another node goes. It leaves by the link that its loop has dialled to that
 * node, so that what one actor sends to another arrives in order; a stolen actor's mail leaves by
 * the loop that the actor is of, in a relay. Where no link is open mail waits for it (outgoing.c).
 * A loop that dials nobody, as that of a pinned actor, has no links: its mail leaves by loop 0.
 */
#include "remote/message/route.h"

#include <errno.h>

#include "actor/life/watch.h"
#include "actor/stack/stack.h"
#include "remote/message/encode.h"
#include "remote/message/forward.h"
#include "remote/message/mail_loss.h"
#include "remote/message/outgoing.h"
#include "remote/message/unlinked.h"
#include "remote/peer/one_way.h"
#include "remote/peer/peer_life.h"
#include "remote/peer/rounds.h"

/* ---- relays ---- */

/* Mail for another node, on its way to the loop that sends it; it is counted as sent already. */
struct relay {
	struct gyre_address to;
	struct gyre_mail *mail;
	bool forwarded;
};
static const struct gyre_type type_relay = { .name = "relay to a node",
					     .id = 0x4a,
					     .bytes = sizeof(struct relay) };

/* False without memory: then the mail stays the caller's. */
static bool try_relay(struct gy_home *home, uint16_t loop, struct relay what)
{
	struct gyre_mail *relay = gy_mail_get(home, &type_relay);

	if (relay != NULL) {
		*(struct relay *)gyre_payload(relay) = what;
		relay->node.kind = GY_MAIL_REMOTE;
		gy_loop_send(&home->loop, loop, &relay->node);
	}
	return relay != NULL;
}

static int relay_to(struct gy_home *home, uint16_t loop, struct relay what)
{
	return try_relay(home, loop, what) ? 0 : gy_mail_loss(home, what.to, what.mail, -ENOMEM);
}

int gy_route_by_loop(struct gy_home *home, uint16_t loop, struct gyre_address to,
		     struct gyre_mail *mail)
{
	return relay_to(home, loop, (struct relay){ .to = to, .mail = mail });
}

void gy_forward_by_loop(struct gy_home *home, uint16_t loop, struct gyre_address to,
			struct gyre_mail *mail)
{
	(void)relay_to(home, loop, (struct relay){ .to = to, .mail = mail, .forwarded = true });
}

struct gyre_mail *gy_relay_create(struct gyre_address to, struct gyre_mail *mail)
{
	struct gyre_mail *relay = gy_mail_get_outside(&type_relay);

	if (relay != NULL) {
		*(struct relay *)gyre_payload(relay) = (struct relay){ .to = to, .mail = mail };
		relay->node.kind = GY_MAIL_REMOTE;
	}
	return relay;
}

/* ---- links ---- */

/* Whether the life in an address is known to be over. */
static bool is_over(const struct gy_links *links, struct gyre_address to)
{
	const struct gy_peer *peer = to.life == 0 ? NULL : gy_peer_find(links->nodes, to.node);
	uint32_t number = peer == NULL ? 0 : gy_lives_find(&peer->lives, to.life);

	return number != 0 && gy_lives_is_over(&peer->lives, number);
}

/* Nothing that this loop has said to that node before can come behind what leaves by loop 0 then,
 * if what waits for memory leaves first. */
static bool leaves_by_first_loop(const struct gy_links *links, const struct gy_link *link)
{
	return link == NULL && !gy_links_may_dial(links) && links->home->loop.index != 0 &&
	       !links->draining;
}

bool gy_route_by_first_loop(struct gy_links *links, struct gyre_address to, struct gyre_mail *mail)
{
	return try_relay(links->home, 0, (struct relay){ .to = to, .mail = mail });
}

static int send_by_first_loop(struct gy_links *links, struct gyre_address to,
			      struct gyre_mail *mail)
{
	const struct gy_peer *peer = gy_peer_find(links->nodes, to.node);

	if ((peer == NULL || gy_unlinked_leave(links, peer)) &&
	    gy_route_by_first_loop(links, to, mail)) {
		return 0;
	}
	if (peer == NULL || !gy_unlinked_may_wait(mail)) {
		return gy_mail_loss(links->home, to, mail, -ENOMEM);
	}
	gy_unlinked_keep(links, to, mail);
	return 0;
}

/* The link to a node that is down, for mail that may find it in its next life. */
static struct gy_link *find_for_unmet(const struct gy_links *links, struct gyre_address to)
{
	struct gy_link *link = (struct gy_link *)gy_id_table_find(&links->dialled, to.node);

	return link != NULL && gy_outgoing_is_unmet(link->peer, to.life) ? link : NULL;
}

static int route_by_link(struct gy_links *links, struct gyre_address to, struct gyre_mail *mail)
{
	struct gy_link *link = (struct gy_link *)gy_id_table_find(&links->dialled, to.node);
	int error;

	if (gy_unlikely(mail->type == &gy_type_watch) && !gy_rounds_mark(links, to, mail)) {
		return gy_mail_loss(links->home, to, mail, -EHOSTUNREACH);
	}
	if (gy_likely(link != NULL && link->stage == GY_LINK_STAGE_OPEN)) {
		if (gy_unlikely(to.slot > gy_slot_mask)) {
			to = gy_lives_shown(links->nodes, to); /* where an ask came from */
		}
		if (gy_unlikely(gy_link_is_stale(link, to))) {
			return gy_mail_loss_stale(links->home, to, mail);
		}
		links->recent = link;
		return gy_outgoing_send(link, to, mail);
	}
	to = gy_lives_shown(links->nodes, to);
	if (is_over(links, to)) {
		return gy_mail_loss_stale(links->home, to, mail);
	}
	if (leaves_by_first_loop(links, link)) {
		return send_by_first_loop(links, to, mail);
	}
	link = gy_link_get(links, to.node, &error);
	if (link == NULL && error == -EHOSTDOWN) {
		link = find_for_unmet(links, to);
	} else if (link == NULL && error == -EHOSTUNREACH && mail->node.kind != GY_MAIL_NOTICE &&
		   mail->node.kind != GY_MAIL_ASK) {
		gy_peer_answer_lost(links, to.node, error);
	} else if (link == NULL && error == -ENOMEM && gy_unlinked_may_wait(mail)) {
		gy_unlinked_keep(links, to, mail);
		return 0;
	}
	return link == NULL ? gy_mail_loss(links->home, to, mail, error)
			    : gy_outgoing_wait(link, to, mail);
}

static __attribute__((noinline)) int route_slow(struct gy_home *home, struct gyre_address to,
						struct gyre_mail *mail)
{
	if (gy_unlikely(home->here == GY_LOOP_NONE && mail->from.cookie != 0 &&
			mail->from.loop != home->loop.index)) {
		return gy_route_by_loop(home, mail->from.loop, to,
					mail); /* it leaves by its own loop */
	}
	return route_by_link(gy_links_of(home), to, mail);
}

/* By the link that mail went over last, if it takes this one as it is. */
static __attribute__((noinline)) int route_by_head(struct gy_home *home, struct gy_link *link,
						   struct gyre_address to, struct gyre_mail *mail)
{
	struct gy_sent_head *head;
	uint32_t index;

	if (gy_unlikely(link->direct_end == NULL)) {
		return route_slow(home, to, mail); /* the first of a phase, above all */
	}
	index = gy_head_index(&link->heads, to, mail);
	head = &link->heads.sent[index];
	link->last_index = index;
	if (gy_likely(gy_encode_is_repeat(link, head, to, mail))) {
		return gy_encode_repeat(link, head, mail);
	}
	return gy_encode_first(link, index, to, mail) ? 0 : route_slow(home, to, mail);
}

static int route(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	struct gy_link *link = gy_links_of(home)->recent;
	struct gy_sent_head *head;

	gy_count(&home->counters.sent, 1);
	if (gy_unlikely(link == NULL || home->here == GY_LOOP_NONE)) {
		return route_slow(home, to, mail);
	}
	/* Mostly it is the head of the mail before. */
	head = &link->heads.sent[link->last_index];
	return gy_encode_is_repeat(link, head, to, mail) ? gy_encode_repeat(link, head, mail)
							 : route_by_head(home, link, to, mail);
}

int gy_route_counted(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	return route_by_link(gy_links_of(home), to, mail);
}

/* ---- what homes call ---- */

static struct gyre_address shown(const struct gy_home *home, struct gyre_address address)
{
	return gy_lives_shown(gy_links_of(home)->nodes, address);
}

static void relay_arrived(struct gy_home *home, struct gyre_mail *mail)
{
	struct relay relay = *(const struct relay *)gyre_payload(mail);
	struct gy_links *links = gy_links_of(home);

	gy_mail_put(home, mail);
	if (relay.forwarded) {
		gy_forward_counted(home, relay.to, relay.mail);
	} else if (relay.mail->type == &gy_type_round_over) {
		gy_rounds_relay(links, relay.to, relay.mail);
	} else if (links->one_ways > 0 && gy_one_way_refuses(links, relay.to, relay.mail)) {
		(void)gy_mail_loss(home, relay.to, relay.mail, -EADDRNOTAVAIL);
	} else {
		(void)route_by_link(links, relay.to, relay.mail);
	}
}

/* Links are channels, which end by themselves; nothing is to wait for them any more. */
static void drain(struct gy_home *home)
{
	gy_links_drain(gy_links_of(home));
}

static void resume(struct gy_home *home)
{
	gy_links_resume(gy_links_of(home));
}

const struct gy_remote_ops gy_remote_ops = {
	.route = route,
	.forward = gy_forward,
	.arrived = relay_arrived,
	.leave = gy_links_leave,
	.drain = drain,
	.resume = resume,
	.shown = shown,
	.hold_watcher = gy_watcher_hold,
	.release_watcher = gy_watcher_release,
};
