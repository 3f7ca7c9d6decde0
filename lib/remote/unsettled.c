/*
 * Asks and answers that have been sent over a link, and that the peer has not said to have taken:
 * if the connection ends, they may be lost with it. Who asked is told then, for it would wait in
 * vain: the actors here whose asks those were at once, those of the peer whose answers they were
 * when there is a link again.
 *
 * A peer says how many bytes it has taken. What is a frame by itself is known by where it ends
 * among such frames, a large one by how many of them came before its last fragment. Fragments that
 * go in between only make an item stay longer.
 */
#include <errno.h>

#include "actor/afar.h"
#include "base/memory.h"
#include "remote/remote.h"

enum { SIZE_FIRST = 64 };

static struct gy_unsettled_item *at(const struct gy_unsettled *unsettled, uint32_t index)
{
	return &unsettled->items[(unsettled->first + index) & (unsettled->size - 1)];
}

static GY_COLD int grow(struct gy_unsettled *unsettled)
{
	uint32_t size = unsettled->size == 0 ? SIZE_FIRST : unsettled->size * 2;
	struct gy_unsettled_item *items =
		(struct gy_unsettled_item *)gy_memory_get_raw(size * sizeof(*items));

	if (items == NULL) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < unsettled->count; i++) {
		items[i] = *at(unsettled, i);
	}
	gy_memory_put(unsettled->items);
	unsettled->items = items;
	unsettled->size = size;
	unsettled->first = 0;
	return 0;
}

int gy_unsettled_reserve(struct gy_association *link)
{
	struct gy_unsettled *unsettled = &link->unsettled;

	return gy_likely(unsettled->count < unsettled->size) ? 0 : grow(unsettled);
}

static struct gy_unsettled_item item_of(const struct gy_frame *frame)
{
	bool ask = frame->kind == GY_WIRE_ASK || frame->kind == GY_WIRE_LOOKUP;

	return (struct gy_unsettled_item){
		.ask_id = frame->ask_id,
		.slot = ask ? frame->from_slot : frame->to_slot,
		.cookie = ask ? frame->from_cookie : frame->to_cookie,
		.loop = ask ? frame->from_loop : frame->to_loop,
		.ask = ask,
	};
}

void gy_unsettled_add(struct gy_association *link, const struct gy_frame *frame)
{
	struct gy_unsettled *unsettled = &link->unsettled;
	struct gy_unsettled_item *item = at(unsettled, unsettled->count++);

	*item = item_of(frame);
	item->end = link->queued_bytes - link->parcel_bytes;
}

void gy_unsettled_settle(struct gy_association *link)
{
	struct gy_unsettled *unsettled = &link->unsettled;

	while (unsettled->count > 0 &&
	       unsettled->items[unsettled->first].end + link->fragment_bytes <=
		       link->credited_bytes) {
		unsettled->first = (unsettled->first + 1) & (unsettled->size - 1);
		unsettled->count--;
	}
}

/* ---- losses ---- */

static int fail_ask(const struct gy_association *link, struct gyre_address asker, uint64_t ask_id)
{
	struct gy_home *home = link->links->home;
	struct gyre_mail *mail = gy_unanswered_make(home, ask_id, -ECONNRESET);

	if (mail != NULL) {
		asker.node = home->node;
		mail->from.node = link->peer->id;
		(void)gy_send_away(home, asker, mail);
	}
	return mail == NULL ? -ENOMEM : 0;
}

static int lose(struct gy_association *link, const struct gy_unsettled_item *item)
{
	struct gyre_address asker = { .slot = item->slot,
				      .cookie = item->cookie,
				      .loop = item->loop,
				      .node = link->peer->id,
				      .life = gy_life_of(link->theirs.incarnation) };

	if (item->ask) {
		return fail_ask(link, asker, item->ask_id);
	}
	return gy_neighbour_is_alive(link->peer)
		       ? gy_outgoing_owe(link, asker, item->ask_id, -ECONNRESET)
		       : 0;
}

int gy_unsettled_lose(struct gy_association *link, const struct gy_frame *frame)
{
	const struct gy_unsettled_item item = item_of(frame);

	return gy_unsettled_is(frame) ? lose(link, &item) : 0;
}

int gy_unsettled_reset(struct gy_association *link)
{
	struct gy_unsettled *unsettled = &link->unsettled;
	int r;

	if (unsettled->ending) {
		return -ENOMEM; /* who is told has the link dial: not yet */
	}
	unsettled->ending = true;
	while (unsettled->count > 0 && lose(link, at(unsettled, 0)) == 0) {
		unsettled->first = (unsettled->first + 1) & (unsettled->size - 1);
		unsettled->count--;
	}
	r = unsettled->count > 0 ? -ENOMEM : gy_streams_reset(link);
	unsettled->ending = false;
	if (r < 0) {
		return r;
	}
	gy_memory_put(unsettled->items);
	*unsettled = (struct gy_unsettled){ 0 };
	return 0;
}
