/*
 * Urgent mail stands in the lane of its kind, before all that is not urgent. Where it ends is
 * remembered, so that the next finds its place in O(1): once for the lane, and once for what a run
 * of the house has taken out of the lane and may put back. The marks end with their mail, which is
 * told to gy_urgent_leaves(): a house whose class has urgent mail counts what waits, as one with a
 * limit, and so each mail that leaves.
 *
 * What an actor puts first for itself stands before urgent mail too.
 */
#include "actor/mail/urgent.h"

#include "actor/class_info.h"
#include "actor/house_extra.h"
#include "actor/mail/mailbox.h"

static uint32_t index_of(enum gy_lane lane)
{
	gy_assert(lane == GY_LANE_ASK || lane == GY_LANE_NOTICE);
	return lane == GY_LANE_NOTICE;
}

static bool is_urgent(const struct gy_house *house, const struct gyre_mail *mail)
{
	gyre_filter_fn filter = house->class_info->class->urgent;

	return filter != NULL && mail->type != &gy_type_poison &&
	       mail->node.kind != GY_MAIL_EVENT && filter(mail->type, mail->payload);
}

/* Links @first to @last behind @before, which stands in the ring; NULL: at its front. */
static void insert(struct gy_node **ring, struct gy_node *before, struct gy_node *first,
		   struct gy_node *last)
{
	if (*ring == NULL) {
		last->next = first;
		*ring = last;
		return;
	}
	if (before == NULL) {
		before = *ring;
	} else if (before == *ring) {
		*ring = last;
	}
	last->next = before->next;
	before->next = first;
}

bool gy_urgent_put(struct gy_house *house, struct gyre_mail *mail, enum gy_lane lane)
{
	uint32_t i = index_of(lane);
	struct gy_urgent *urgent = &house->extra->urgent;

	if (!is_urgent(house, mail)) {
		return false;
	}
	insert(&house->lanes[lane], urgent->last[i], &mail->node, &mail->node);
	urgent->last[i] = &mail->node;
	house->pending |= (uint8_t)(1U << lane);
	gy_house_wake(house, 1U << lane);
	return true;
}

struct gy_node *gy_urgent_last(const struct gy_house *house, enum gy_lane lane)
{
	return house->extra->urgent.last[index_of(lane)];
}

void gy_urgent_take(struct gy_house *house, enum gy_lane lane)
{
	struct gy_urgent *urgent = &house->extra->urgent;
	uint32_t i = index_of(lane);

	gy_assert(urgent->taken[i] == NULL);
	urgent->taken[i] = urgent->last[i];
	urgent->last[i] = NULL;
}

void gy_urgent_put_back(struct gy_house *house, enum gy_lane lane, struct gy_node *first,
			struct gy_node *last)
{
	struct gy_urgent *urgent = &house->extra->urgent;
	struct gy_node **ring = &house->lanes[lane];
	uint32_t i = index_of(lane);
	struct gy_node *newer = urgent->last[i];
	struct gy_node *older = urgent->taken[i];

	if (older == NULL) {
		insert(ring, newer, first, last);
		return;
	}
	if (older != last) {
		insert(ring, newer, older->next, last);
	}
	insert(ring, NULL, first, older);
	urgent->taken[i] = NULL;
	urgent->last[i] = newer == NULL ? older : newer;
}

void gy_urgent_leaves(struct gy_house *house, const struct gy_node *node, enum gy_lane lane)
{
	struct gy_urgent *urgent = &house->extra->urgent;
	uint32_t i = index_of(lane);

	if (urgent->taken[i] == node) {
		urgent->taken[i] = NULL;
	} else if (urgent->last[i] == node) {
		urgent->last[i] = NULL;
	}
}

static void sort_lane(struct gy_house *house, enum gy_lane lane)
{
	struct gy_node *last = NULL;
	struct gy_node *node =
		house->lanes[lane] == NULL ? NULL : gy_house_take_lane(house, lane, &last);

	while (node != NULL) {
		struct gy_node *next = node->next;

		if (!gy_urgent_put(house, gy_mail_of(node), lane)) {
			gy_house_put(house->home, house, gy_mail_of(node), lane);
		}
		node = next;
	}
}

void gy_urgent_sort(struct gy_house *house)
{
	sort_lane(house, GY_LANE_ASK);
	sort_lane(house, GY_LANE_NOTICE);
}
