/*
 * Asks and answers that have been sent over a link, and that the peer has not said to have taken:
 * if the connection ends, they may be lost with it. Who asked is told then, for it would wait in
 * vain: the actors here whose asks those were at once, those of the peer whose answers they were
 * when there is a link again.
 *
 * A peer says how many bytes it has taken. Fragments leave only when no whole frame waits, so where
 * a frame ends among all bytes is known when it is queued: behind the frames that were queued and
 * the fragments that had left by then. A large message ends with its last fragment.
 */
#include "remote/link/in_flight.h"

#include <errno.h>

#include "actor/life/node_loss.h"
#include "actor/mail/send.h"
#include "base/memory/memory.h"
#include "remote/link/link.h"
#include "remote/message/fragments.h"
#include "remote/message/outgoing.h"
#include "remote/peer/peer_life.h"
#include "remote/peer/peer_state.h"
#include "remote/wire.h"

enum { SIZE_FIRST = 64 };

static struct gy_in_flight_item *at(const struct gy_in_flight *in_flight, uint32_t index)
{
	return &in_flight->items[(in_flight->first + index) & (in_flight->size - 1)];
}

static GY_COLD int grow(struct gy_in_flight *in_flight)
{
	uint32_t size = in_flight->size == 0 ? SIZE_FIRST : in_flight->size * 2;
	struct gy_in_flight_item *items =
		(struct gy_in_flight_item *)gy_memory_get_raw(size * sizeof(*items));

	if (items == NULL) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < in_flight->count; i++) {
		items[i] = *at(in_flight, i);
	}
	gy_memory_put(in_flight->items);
	in_flight->items = items;
	in_flight->size = size;
	in_flight->first = 0;
	return 0;
}

int gy_in_flight_reserve(struct gy_link *link)
{
	struct gy_in_flight *in_flight = &link->in_flight;

	return gy_likely(in_flight->count < in_flight->size) ? 0 : grow(in_flight);
}

static struct gy_in_flight_item item_of(const struct gy_frame *frame)
{
	bool ask = frame->kind == GY_WIRE_ASK || frame->kind == GY_WIRE_LOOKUP;

	return (struct gy_in_flight_item){
		.ask_id = frame->ask_id,
		.slot = ask ? frame->from_slot : frame->to_slot,
		.cookie = ask ? frame->from_cookie : frame->to_cookie,
		.loop = ask ? frame->from_loop : frame->to_loop,
		.ask = ask,
	};
}

void gy_in_flight_add(struct gy_link *link, const struct gy_frame *frame)
{
	struct gy_in_flight_item item = item_of(frame);

	item.end = link->queued_bytes - link->parcel_bytes + link->fragment_bytes;
	gy_in_flight_put(&link->in_flight, item);
}

/* They end in the order in which they stand, so that few of them need to be looked at. */
void gy_in_flight_acknowledge(struct gy_link *link)
{
	struct gy_in_flight *in_flight = &link->in_flight;
	uint32_t arrived = 0;
	uint32_t unknown = in_flight->count;

	while (unknown > 0) {
		uint32_t half = unknown / 2;

		if (at(in_flight, arrived + half)->end <= link->credited_bytes) {
			arrived += half + 1;
			unknown -= half + 1;
		} else {
			unknown = half;
		}
	}
	in_flight->first = (in_flight->first + arrived) & (in_flight->size - 1);
	in_flight->count -= arrived;
}

/* ---- losses ---- */

static int fail_ask(const struct gy_link *link, struct gyre_address asker, uint64_t ask_id)
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

static int lose(struct gy_link *link, const struct gy_in_flight_item *item)
{
	struct gyre_address asker = { .slot = item->slot,
				      .cookie = item->cookie,
				      .loop = item->loop,
				      .node = link->peer->id,
				      .life = gy_life_of(link->theirs.incarnation) };

	if (item->ask) {
		return fail_ask(link, asker, item->ask_id);
	}
	return gy_peer_is_alive(link->peer)
		       ? gy_outgoing_fail_answer(link, asker, item->ask_id, -ECONNRESET)
		       : 0;
}

int gy_in_flight_fail(struct gy_link *link, const struct gy_frame *frame)
{
	const struct gy_in_flight_item item = item_of(frame);

	return gy_in_flight_is_tracked(frame) ? lose(link, &item) : 0;
}

int gy_in_flight_reset(struct gy_link *link)
{
	struct gy_in_flight *in_flight = &link->in_flight;
	int r;

	if (in_flight->ending) {
		return -ENOMEM; /* who is told has the link dial: not yet */
	}
	in_flight->ending = true;
	while (in_flight->count > 0 && lose(link, at(in_flight, 0)) == 0) {
		in_flight->first = (in_flight->first + 1) & (in_flight->size - 1);
		in_flight->count--;
	}
	r = in_flight->count > 0 ? -ENOMEM : gy_fragments_reset(link);
	in_flight->ending = false;
	if (r < 0) {
		return r;
	}
	gy_memory_put(in_flight->items);
	*in_flight = (struct gy_in_flight){ 0 };
	return 0;
}

void gy_in_flight_check(const struct gy_link *link)
{
	const struct gy_in_flight *in_flight = &link->in_flight;
	uint64_t end = 0;

	gy_assert((in_flight->size & (in_flight->size - 1)) == 0);
	gy_assert(in_flight->count <= in_flight->size);
	gy_assert(in_flight->first < in_flight->size || in_flight->size == 0);
	gy_assert((in_flight->items == NULL) == (in_flight->size == 0));
	for (uint32_t i = 0; i < in_flight->count; i++) {
		gy_assert(at(in_flight, i)->end >= end);
		end = at(in_flight, i)->end;
	}
	gy_assert(!gy_link_can_send(link) ||
		  end <= link->queued_bytes - link->parcel_bytes + link->fragment_bytes);
}
