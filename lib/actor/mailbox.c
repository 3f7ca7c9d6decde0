/*
 * The five lanes of a mailbox, and the house's way into the loop's queues. A lane is a ring of mail
 * with one pointer, to its last; so appending and taking all are both O(1) with eight bytes a lane.
 */
#include "actor/house.h"

void gy_house_channels_ready(struct gy_house *house)
{
	house->pending |= GY_PENDING_CHANNELS;
	gy_house_wake(house);
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
