/*
 * Dropping the oldest: the first in a lane behind what is urgent. Ends of actors that are watched
 * and poison stand in these lanes too, and stay.
 */
#include "actor/mail/overflow.h"

#include <errno.h>

#include "actor/class_info.h"
#include "actor/house_extra.h"
#include "actor/mail/mailbox.h"
#include "actor/mail/send.h"

static bool may_be_dropped(const struct gyre_mail *mail)
{
	return mail->node.kind != GY_MAIL_EVENT && mail->type != &gy_type_poison;
}

/* What stands before the first that may be dropped, or NULL if none may. */
static struct gy_node *find(const struct gy_house *house, enum gy_lane lane)
{
	struct gy_node *last = house->lanes[lane];
	struct gy_node *before = last;

	if (last != NULL && house->class_info->class->urgent != NULL) {
		struct gy_node *urgent = gy_urgent_last(house, lane);

		if (urgent == last) {
			return NULL;
		}
		before = urgent == NULL ? last : urgent;
	}
	while (before != NULL && !may_be_dropped(gy_mail_of(before->next))) {
		before = before->next == last ? NULL : before->next;
	}
	return before;
}

static struct gyre_mail *unlink_behind(struct gy_house *house, enum gy_lane lane,
				       struct gy_node *before)
{
	struct gy_node *node = before->next;

	before->next = node->next;
	if (node == before) {
		house->lanes[lane] = NULL;
		house->pending &= (uint8_t) ~(1U << lane);
	} else if (node == house->lanes[lane]) {
		house->lanes[lane] = before;
	}
	return gy_mail_of(node);
}

bool gy_overflow_drop_oldest(struct gy_house *house, enum gy_lane lane)
{
	struct gy_node *before = find(house, lane);

	if (before == NULL) {
		lane = lane == GY_LANE_ASK ? GY_LANE_NOTICE : GY_LANE_ASK;
		before = find(house, lane);
	}
	if (before == NULL) {
		return false;
	}
	gy_drop(house->home, unlink_behind(house, lane, before), gy_house_address(house),
		GYRE_DROP_MAILBOX_FULL, -ENOBUFS);
	return true;
}
