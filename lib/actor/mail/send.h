/*
 * Sending: mail from an actor or the runtime to a lane, and the end of mail that finds nobody.
 */
#ifndef GY_ACTOR_MAIL_SEND_H
#define GY_ACTOR_MAIL_SEND_H

#include "actor/mail/mailbox.h"

/* Puts mail that is counted as sent into a house with a limit, if there is room and the actor does
 * not stop. */
int gy_send_bounded(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail,
		    enum gy_lane lane);
/* Slow path of gy_send(): another loop, a group, another node, or nobody. */
int gy_send_away(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);

/* Puts mail into a house of this loop. False if @to is elsewhere, or nobody: nothing was done.
 * @from is the house whose actor sends, or NULL. */
static inline bool gy_send_here(struct gy_home *home, struct gy_house *from, struct gyre_address to,
				struct gyre_mail *mail, enum gy_lane lane, int *ret_result)
{
	struct gy_house *house;

	if (gy_unlikely(!gy_is_here(home, to))) {
		return false;
	}
	house = from == NULL ? gy_house_find(home, to.slot, to.cookie)
			     : gy_house_find_recent(home, from, to);
	if (gy_unlikely(house == NULL)) {
		return false;
	}
	gy_count(&home->counters.sent, 1);
	if (lane == GY_LANE_ASK) {
		gy_mail_set_deadline(mail, home->loop.now_ns);
	}
	if (gy_unlikely(house->limit != 0)) {
		*ret_result = gy_send_bounded(home, house, mail, lane);
	} else {
		*ret_result = 0;
		gy_house_put(home, house, mail, lane);
	}
	return true;
}

/*
 * Sends a mail whose kind and sender are set to the lane of that kind. -ESRCH when it is known at
 * once that nobody is there. On the same loop the inline part is all: no atomic instruction, no
 * call.
 */
static inline int gy_send(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail,
			  enum gy_lane lane)
{
	int result;

	if (gy_likely(gy_send_here(home, NULL, to, mail, lane, &result))) {
		return result;
	}
	return gy_send_away(home, to, mail);
}

/* Ends a mail that cannot be delivered: counts it, tells an asker @error, frees it. */
GY_COLD void gy_drop(struct gy_home *home, struct gyre_mail *mail, struct gyre_address to,
		     enum gyre_drop reason, int error);
/* Answers an ask with an error. The ask's own mail becomes the answer, so this cannot fail. */
void gy_fail_ask(struct gy_home *home, struct gyre_mail *ask, int error);
/* Sends a mail without payload; an actor of the same loop stops without one. As gyre_notify(). */
int gy_send_signal(struct gy_home *home, struct gyre_address to, const struct gyre_type *type,
		   enum gy_mail_kind kind);
/* Delivers a node from the inbox, in phase 2. */
void gy_home_deliver(struct gy_loop *loop, struct gy_node *node);

#endif
