/*
 * The five lanes of a mailbox, and the house's way into the loop's queues. A lane is a ring of mail
 * with one pointer, to its last; so appending and taking all are both O(1) with eight bytes a lane.
 *
 * A house may have a limit for the asks and notices that wait; by default it has none, and they are
 * not counted. For one more the class says what becomes of it, see enum gyre_overflow. Poison, and
 * mail that is put first, are counted and never refused; replies, exceptions and events are not
 * even counted. The marks of a mailbox are events that are raised long before.
 *
 * Channels take mail too, in a mailbox of their own without lanes: channel/channel_mailbox.c.
 */
#include "actor/house_extra.h"
#include "actor/life/graceful_stop.h"
#include "actor/life/watch.h"
#include "actor/mail/mail_pool.h"
#include "actor/mail/overflow.h"
#include "actor/mail/send.h"
#include "actor/memory_retry.h"

void gy_house_channels_ready(struct gy_house *house)
{
	house->pending |= GY_PENDING_CHANNELS;
	gy_house_wake(house, GY_PENDING_CHANNELS);
}

void gy_house_request_stop(struct gy_house *house, int reason)
{
	gy_assert(reason <= 0 && house->status != GY_HOUSE_FREE);
	/* The first reason counts. Without memory for it watchers are told of none. */
	if (reason != 0 && !gy_house_is_stopped(house) && gy_house_extra_get(house) != NULL) {
		house->extra->reason = reason;
	}
	gy_house_add_reason(house, GY_CLOSED_BY_STOP);
	if (house->status == GY_HOUSE_WAITING) {
		gy_house_ready(house);
	}
}

/* Puts a list at the front of a ring, whose last is @*ring. */
static void push_front(struct gy_node **ring, struct gy_node *first, struct gy_node *last)
{
	if (*ring == NULL) {
		last->next = first;
		*ring = last;
	} else {
		last->next = (*ring)->next;
		(*ring)->next = first;
	}
}

static bool has_urgent(const struct gy_house *house, enum gy_lane lane)
{
	return (lane == GY_LANE_ASK || lane == GY_LANE_NOTICE) &&
	       house->class_info->class->urgent != NULL;
}

void gy_house_put_back(struct gy_house *house, enum gy_lane lane, struct gy_node *first,
		       struct gy_node *last)
{
	if (house->limit != 0 && has_urgent(house, lane)) {
		gy_urgent_put_back(house, lane, first, last);
	} else {
		push_front(&house->lanes[lane], first, last);
	}
	house->pending |= (uint8_t)(1U << lane);
}

/* The same, before mail that is urgent too. */
static void put_at_front(struct gy_house *house, enum gy_lane lane, struct gy_node *first,
			 struct gy_node *last)
{
	push_front(&house->lanes[lane], first, last);
	house->pending |= (uint8_t)(1U << lane);
}

/* ---- bounds ---- */

static void tell_mark(struct gy_house *house, bool high)
{
	struct gyre_mail *mail = gy_mail_get(house->home, &gyre_type_gyre_mailbox_mark);

	if (mail == NULL) {
		gy_home_retry_later(
			house->home); /* perhaps nothing comes or goes before it is told */
		return;
	}
	house->above_mark = high;
	mail->node.kind = GY_MAIL_EVENT;
	gy_mail_from_nobody(mail);
	*(struct gyre_mailbox_mark *)gyre_payload(mail) =
		(struct gyre_mailbox_mark){ .waiting = house->waiting, .high = high };
	gy_count(&house->home->counters.sent, 1);
	gy_house_put(house->home, house, mail, GY_LANE_EVENT);
}

void gy_house_check_mailbox_mark(struct gy_house *house)
{
	const struct gyre_class *class = house->class_info->class;

	if (house->above_mark && house->waiting <= class->mailbox_low) {
		tell_mark(house, false);
	} else if (class->mailbox_high != 0 && house->waiting >= class->mailbox_high &&
		   !house->above_mark) {
		tell_mark(house, true);
	}
}

static void count_up(struct gy_house *house)
{
	const struct gyre_class *class = house->class_info->class;
	const struct gy_home_options *options = &house->home->options;

	gy_store_relaxed(&house->waiting, house->waiting + 1);
	if (gy_unlikely(house->waiting ==
			gy_load_relaxed(&gy_homes_of(options->system)->crowded_at))) {
		options->directory->crowded(house);
	}
	if (class->mailbox_high != 0 && house->waiting >= class->mailbox_high &&
	    !house->above_mark) {
		tell_mark(house, true);
	}
}

void gy_house_set_limit(struct gy_house *house, uint32_t limit)
{
	house->limit = limit;
	for (uint32_t lane = GY_LANE_ASK; limit != 0 && lane <= GY_LANE_NOTICE; lane++) {
		const struct gy_node *last = house->lanes[lane];
		const struct gy_node *node = last;

		while (node != NULL) {
			if (node->kind != GY_MAIL_EVENT) { /* no end, see watch.h */
				count_up(house);
			}
			node = node->next == last ? NULL : node->next;
		}
	}
	if (house->class_info->class->urgent != NULL) {
		gy_urgent_sort(house);
	}
}

void gy_house_start_counting(struct gy_house *house)
{
	if (house->limit == 0) {
		house->plain = false;
		gy_house_set_limit(house, UINT32_MAX);
	}
}

void gy_house_update_plain(struct gy_house *house)
{
	house->plain = house->class_info->plain && house->limit == 0 &&
		       (house->passed_over & GY_ENDS_HELD) == 0 &&
		       (house->extra == NULL || house->extra->receive_timeout == NULL);
}

/* Makes room, or drops the mail. True if there is room, without a change of the count. */
static bool make_room(struct gy_house *house, struct gyre_mail *mail, enum gy_lane lane)
{
	if (house->class_info->class->overflow == GYRE_OVERFLOW_DROP_OLDEST &&
	    gy_overflow_drop_oldest(house, lane)) {
		return true;
	}
	gy_drop(house->home, mail, gy_house_address(house), GYRE_DROP_MAILBOX_FULL, -ENOBUFS);
	return false;
}

static int put_counted(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail,
		       enum gy_lane lane)
{
	if (gy_likely(house->waiting < house->limit) || mail->type == &gy_type_poison) {
		count_up(house);
	} else if (!make_room(house, mail, lane)) {
		return house->class_info->class->overflow == GYRE_OVERFLOW_REFUSE ? -ENOBUFS : 0;
	}
	if (!has_urgent(house, lane) || !gy_urgent_put(house, mail, lane)) {
		gy_house_put(home, house, mail, lane);
	}
	return 0;
}

int gy_house_put_bounded(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail,
			 enum gy_lane lane)
{
	if (lane == GY_LANE_ASK || lane == GY_LANE_NOTICE) {
		return put_counted(home, house, mail, lane);
	}
	gy_house_put(home, house, mail, lane);
	return 0;
}

void gy_house_about_to_take(struct gy_house *house, enum gy_lane lane)
{
	if (has_urgent(house, lane)) {
		gy_urgent_take(house, lane);
	}
}

void gy_house_count_down(struct gy_house *house, const struct gy_node *node, enum gy_lane lane)
{
	gy_assert(house->waiting > 0);
	if (has_urgent(house, lane)) {
		gy_urgent_leaves(house, node, lane);
	}
	gy_store_relaxed(&house->waiting, house->waiting - 1);
	if (house->above_mark && house->waiting <= house->class_info->class->mailbox_low) {
		tell_mark(house, false);
	}
}

/* ---- the front ---- */

void gy_house_put_first(struct gy_house *house, enum gy_lane lane, struct gy_node *first,
			struct gy_node *last)
{
	struct gy_home *home = house->home;

	gy_assert(lane == GY_LANE_ASK || lane == GY_LANE_NOTICE);
	if (house->limit != 0) {
		for (struct gy_node *node = first; node != last; node = node->next) {
			count_up(house);
		}
		count_up(house);
	}
	if (house->status != GY_HOUSE_RUNNING && !gy_house_is_away(house)) {
		put_at_front(house, lane, first, last);
		gy_house_wake(house, 1U << lane);
		return;
	}
	/* Mail that the pass has taken waits too: the pass puts it back before the end of the
	 * run. */
	push_front(&home->put_first[lane], first, last);
	home->front_waits = true;
	gy_house_add_reason(house, lane == GY_LANE_ASK ? GY_CLOSED_BY_FIRST_ASK
						       : GY_CLOSED_BY_FIRST_NOTICE);
}

void gy_house_open_front(struct gy_house *house)
{
	struct gy_home *home = house->home;

	gy_assert(house->status == GY_HOUSE_RUNNING);
	home->front_waits = false;
	for (uint32_t lane = 0; lane < GY_LANES; lane++) {
		struct gy_node *last = home->put_first[lane];

		if (last != NULL) {
			home->put_first[lane] = NULL;
			put_at_front(house, (enum gy_lane)lane, last->next, last);
		}
	}
	gy_house_remove_reason(house, GY_CLOSED_BY_FIRST);
}
