/*
 * The five lanes of a mailbox, and the house's way into the loop's queues. A lane is a ring of mail
 * with one pointer, to its last; so appending and taking all are both O(1) with eight bytes a lane.
 */
#include "actor/house.h"

void gy_house_channels_ready(struct gy_house *house)
{
	house->pending |= GY_PENDING_CHANNELS;
	gy_house_wake(house, GY_PENDING_CHANNELS);
}

void gy_house_put_back(struct gy_house *house, enum gy_lane lane, struct gy_node *first,
		       struct gy_node *last)
{
	struct gy_node *newest = house->lanes[lane];

	if (newest == NULL) {
		last->next = first;
		house->lanes[lane] = last;
		house->pending |= (uint8_t)(1U << lane);
	} else {
		last->next = newest->next;
		newest->next = first;
	}
}

/* ---- bounds ---- */

static void tell_mark(struct gy_house *house, bool high)
{
	struct gyre_mail *mail = gy_mail_get(house->home, &gyre_type_gyre_mailbox_mark);

	if (mail == NULL) {
		return; /* the next crossing tells it */
	}
	house->above_mark = high;
	mail->node.kind = GY_MAIL_EVENT;
	mail->from.cookie = 0;
	*(struct gyre_mailbox_mark *)gyre_payload(mail) =
		(struct gyre_mailbox_mark){ .waiting = house->waiting, .high = high };
	gy_count(&house->home->counters.sent, 1);
	gy_house_put(house, mail, GY_LANE_EVENT);
}

bool gy_house_admit(struct gy_house *house, struct gyre_mail *mail, enum gy_lane lane)
{
	const struct gyre_class *class = house->class;

	if (lane != GY_LANE_ASK && lane != GY_LANE_NOTICE) {
		return true;
	}
	if (house->waiting >= house->limit) {
		gy_drop(house->home, mail, gy_house_address(house), GYRE_DROP_MAILBOX_FULL,
			-ENOBUFS);
		return false;
	}
	house->waiting++;
	if (class->mailbox_high != 0 && house->waiting >= class->mailbox_high &&
	    !house->above_mark) {
		tell_mark(house, true);
	}
	return true;
}

void gy_house_count_down(struct gy_house *house, uint32_t handled)
{
	house->waiting -= handled < house->waiting ? handled : house->waiting;
	if (house->above_mark && house->waiting <= house->class->mailbox_low) {
		tell_mark(house, false);
	}
}
