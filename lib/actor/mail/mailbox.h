/*
 * The mailbox of an actor: the lanes of its house, the limit of those for asks and notices, and the
 * way of the house into the queues of its loop. See mailbox.c. Channels have a mailbox of their
 * own: channel/channel_mailbox.h.
 */
#ifndef GY_ACTOR_MAIL_MAILBOX_H
#define GY_ACTOR_MAIL_MAILBOX_H

#include "actor/home.h"

/* ---- lanes ---- */

static inline void gy_house_wake(struct gy_house *house, uint32_t cause);

/*
 * Appends mail to the lane of its kind, and readies the house if it waited. A house that waits has
 * mail in closed lanes only, so where mail stands before this one, nothing is to be readied.
 */
static inline void gy_house_put(struct gy_home *home, struct gy_house *house,
				struct gyre_mail *mail, enum gy_lane lane)
{
	struct gy_node *last = house->lanes[lane];

	house->lanes[lane] = &mail->node;
	if (lane <= GY_LANE_EXCEPTION) {
		if (gy_unlikely(house->replies++ == home->options.high_replies)) {
			house->high = true;
		}
	} else if (lane == GY_LANE_EVENT) {
		if (gy_unlikely(house->events++ == home->options.high_events)) {
			house->high = true;
		}
	}
	if (last != NULL) {
		mail->node.next = last->next;
		last->next = &mail->node;
		gy_verify(house->status != GY_HOUSE_WAITING || (house->closed & 1U << lane) != 0);
		return;
	}
	mail->node.next = &mail->node;
	house->pending |= (uint8_t)(1U << lane);
	gy_house_wake(house, 1U << lane);
}

/* The same for a chain of @count replies, asks or notices. What is in the @next of @last is
 * nothing.
 */
static inline void gy_house_put_chain(struct gy_home *home, struct gy_house *house,
				      enum gy_lane lane, struct gy_node *first,
				      struct gy_node *last, uint32_t count)
{
	struct gy_node *before = house->lanes[lane];

	gy_assume(lane == GY_LANE_REPLY || lane == GY_LANE_ASK || lane == GY_LANE_NOTICE);
	house->lanes[lane] = last;
	if (lane == GY_LANE_REPLY) {
		house->replies += count;
		house->high = house->replies > home->options.high_replies || house->high;
	}
	if (before != NULL) {
		last->next = before->next;
		before->next = first;
		gy_verify(house->status != GY_HOUSE_WAITING || (house->closed & 1U << lane) != 0);
		return;
	}
	last->next = first;
	house->pending |= (uint8_t)(1U << lane);
	gy_house_wake(house, 1U << lane);
}

/* Takes a whole lane, as a list that ends in NULL; @ret_last is its end. */
static inline struct gy_node *gy_house_take_lane(struct gy_house *house, enum gy_lane lane,
						 struct gy_node **ret_last)
{
	struct gy_node *last = house->lanes[lane];
	struct gy_node *first = last->next;

	last->next = NULL;
	house->lanes[lane] = NULL;
	house->pending &= (uint8_t) ~(1U << lane);
	*ret_last = last;
	return first;
}

/* Puts the rest of a taken lane back at its front. */
void gy_house_put_back(struct gy_house *house, enum gy_lane lane, struct gy_node *first,
		       struct gy_node *last);

/* Puts back the rest of a taken lane, if the budget or a closed lane has left one. */
static inline void gy_house_put_rest_back(struct gy_house *house, enum gy_lane lane,
					  struct gy_node *rest, struct gy_node *last)
{
	if (gy_unlikely(rest != NULL)) {
		gy_house_put_back(house, lane, rest, last);
	}
}

/*
 * Puts a list of asks or notices before all others in their lane, whatever the limit; any phase. In
 * a run of the house the list waits until the end of the run.
 */
void gy_house_put_first(struct gy_house *house, enum gy_lane lane, struct gy_node *first,
			struct gy_node *last);
/* Ends a run in which gy_house_put_first() was called. */
GY_COLD void gy_house_open_front(struct gy_house *house);

/* ---- the limit ---- */

/* Puts mail into a house with a limit, or drops what there is no room for, as the class says;
 * -ENOBUFS where the sender is to be told. Only asks and notices are counted, and ever dropped. */
int gy_house_put_bounded(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail,
			 enum gy_lane lane);
/* An ask or a notice of a house with a limit is taken out of its lane. */
void gy_house_count_down(struct gy_house *house, const struct gy_node *node, enum gy_lane lane);
/* A run is about to take a lane of a house with a limit. */
void gy_house_about_to_take(struct gy_house *house, enum gy_lane lane);
/* Sets the limit of a new house, and counts mail that overtook the order to spawn it. */
void gy_house_set_limit(struct gy_house *house, uint32_t limit);
/* Counts the mail of a house without a limit too, between two runs. */
void gy_house_start_counting(struct gy_house *house);
/* A reason has ended for which the runs of a house were not plain. */
void gy_house_update_plain(struct gy_house *house);
/* Tells the actor that a mark of its mailbox was crossed, unless it knows. */
void gy_house_check_mailbox_mark(struct gy_house *house);

/* ---- queues of the loop ---- */

/* Puts the house into the queue of its kind, at the priority that it has now. */
static inline void gy_house_ready(struct gy_house *house)
{
	struct gy_loop *loop = &house->home->loop;

	gy_house_set_status(house, GY_HOUSE_READY);
	if (gy_unlikely(house->channels_actor)) {
		gy_loop_ready_channels(loop, &house->job, house->high);
	} else {
		gy_loop_ready_state(loop, &house->job, house->high);
	}
}

/* Readies a waiting house, if @cause, a bit as in @pending, is not closed. */
static inline void gy_house_wake(struct gy_house *house, uint32_t cause)
{
	if (house->status == GY_HOUSE_WAITING && (house->closed & cause) == 0) {
		gy_house_ready(house);
	}
}

/* The channel floor has work for this house, which is not stopping; any phase. */
void gy_house_channels_ready(struct gy_house *house);

/* Has the house stop after the present message: the end of its run calls gy_house_stop(). @reason:
 * a negative errno, or 0. */
GY_COLD void gy_house_request_stop(struct gy_house *house, int reason);

#endif
