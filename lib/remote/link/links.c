/*
 * What is done to all links of a loop: they begin and end with it, leave it when it retires, and
 * are cut when a life of their peer, or of this node, is over.
 */
#include "remote/link/links.h"

#include <errno.h>

#include "base/memory/memory.h"
#include "remote/link/link.h"
#include "remote/link/link_beat.h"
#include "remote/link/link_flush.h"
#include "remote/message/encoder.h"
#include "remote/message/fragments.h"
#include "remote/message/outgoing.h"
#include "remote/message/unlinked.h"
#include "remote/node.h"
#include "remote/peer/peer_life.h"
#include "remote/peer/peer_state.h"
#include "remote/peer/rounds.h"

void gy_links_init(struct gy_links *links, struct gy_nodes *nodes, struct gy_home *home)
{
	*links = (struct gy_links){ .nodes = nodes, .home = home };
	gy_links_init_life(links);
	links->random = links->incarnation + home->loop.index;
	gy_list_init(&links->all);
	gy_links_init_beat(links);
	gy_states_init(links);
	gy_unlinked_init(links);
	gy_walks_init(links);
	home->loop.own_links = links;
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
		gy_link_clear(link, GY_LINK_FLAG_PINNED); /* what was watched there has ended */
		gy_outgoing_drop_waiting(link, -EHOSTDOWN, GY_WAITING_OVER);
	}
}

static bool is_past_hello(const struct gy_link *link)
{
	return link->ctx != NULL && link->stage >= GY_LINK_STAGE_AWAITS_HELLO &&
	       link->stage <= GY_LINK_STAGE_LEAVING;
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
			gy_link_assign(link, GY_LINK_FLAG_REDIAL_AT_ONCE, link->dialled);
			gy_link_abort(link, -ECONNABORTED);
		}
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
		if (link->dialled && link->stage == GY_LINK_STAGE_OPEN) {
			gy_link_set_stage(link, GY_LINK_STAGE_LEAVING);
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
	gy_unlinked_drop(links);
	gy_walks_drain(links);
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

		gy_link_clear(link, GY_LINK_FLAG_HAS_CLIENT);
		gy_link_clear(link, GY_LINK_FLAG_PINNED);
		gy_link_clear(link, GY_LINK_FLAG_PEER_UNSURE);
	}
}

void gy_links_fini(struct gy_links *links)
{
	while (!gy_list_empty(&links->all)) {
		struct gy_link *link = gy_container_of(links->all.next, struct gy_link, item);

		gy_list_remove(&link->item);
		gy_fragments_fini(link);
		gy_heads_reset(&link->heads);
		gy_memory_put(link->in_flight.items);
		gy_memory_put(link);
	}
	gy_walks_fini(links);
	gy_id_table_fini(&links->dialled);
	gy_frame_pages_fini(&links->frame_pages);
	gy_encoder_fini(&links->encoder);
}
