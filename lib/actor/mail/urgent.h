/*
 * Urgent mail: asks and notices that the class has chosen stand at the front of their lane.
 */
#ifndef GY_ACTOR_MAIL_URGENT_H
#define GY_ACTOR_MAIL_URGENT_H

#include <stdbool.h>

#include "actor/mail/mail.h"

struct gy_house;

/* By lane: asks, notices. What is urgent ends with these, where there is any. */
struct gy_urgent {
	struct gy_node *last[2];  /* in the lane */
	struct gy_node *taken[2]; /* in what a run of the house has taken out of the lane */
};

/* Puts an ask or a notice that is urgent into its lane, which then has work. False if it is not
 * urgent, and then nothing was done. */
bool gy_urgent_put(struct gy_house *house, struct gyre_mail *mail, enum gy_lane lane);
/* The rest of a taken lane comes back: @first to @last stand before what is not urgent. */
void gy_urgent_put_back(struct gy_house *house, enum gy_lane lane, struct gy_node *first,
			struct gy_node *last);
/* The last urgent one of a lane, or NULL. */
struct gy_node *gy_urgent_last(const struct gy_house *house, enum gy_lane lane);
/* A run of the house is about to take the lane. */
void gy_urgent_take(struct gy_house *house, enum gy_lane lane);
/* A mail leaves the lane, or what was taken out of it. */
void gy_urgent_leaves(struct gy_house *house, const struct gy_node *node, enum gy_lane lane);
/* Sorts what has come before the house had a class. */
void gy_urgent_sort(struct gy_house *house);

#endif
