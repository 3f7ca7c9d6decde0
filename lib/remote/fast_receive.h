/*
 * The usual message, and what all ways in share; see fast_receive.c.
 */
#ifndef GY_REMOTE_FAST_RECEIVE_H
#define GY_REMOTE_FAST_RECEIVE_H

#include "actor/send.h"
#include "remote/link.h"

/* The type that the head of a message names, if it is nothing but bytes and the same here. */
const struct gyre_type *gy_fast_receive_type(struct gy_links *links, const unsigned char *head);
/* Takes a whole frame that is a usual message; false for any other. */
bool gy_fast_receive(struct gy_link *link, const unsigned char *bytes);

/* A notice has come in full. */
static inline void gy_repeat_remember(struct gy_link *link, const unsigned char *head)
{
	link->last_received.any = true;
	link->last_received.type = NULL;
	memcpy(link->last_received.head, head, sizeof(link->last_received.head));
}

/* The slot of a sender as it stands in mail here. */
static inline uint32_t gy_incoming_slot(const struct gy_link *link, uint32_t slot)
{
	return (slot & gy_slot_mask) | link->life_mark;
}
/* The time that an ask has which came with that much left; 0 for no bound. */
uint32_t gy_incoming_patience(uint16_t encoded);
/* As gy_send(), for an address that need not be anybody's. */
static inline void gy_incoming_deliver(struct gy_home *home, struct gyre_address to,
				       struct gyre_mail *mail, enum gy_lane lane)
{
	struct gy_house *house =
		gy_likely(gy_is_here(home, to)) ? gy_house_find(home, to.slot, to.cookie) : NULL;

	if (gy_likely(house != NULL && gy_house_is_occupied(house) && house->limit == 0)) {
		gy_count(&home->counters.sent, 1);
		if (lane == GY_LANE_ASK) {
			gy_mail_set_deadline(mail, home->loop.now_ns);
		}
		gy_house_put(home, house, mail, lane);
	} else {
		(void)gy_send_away(home, to, mail);
	}
}

#endif
