/*
 * The loss of another node: the work that a loop has for its own actors then.
 */
#ifndef GY_ACTOR_LIFE_NODE_LOSS_H
#define GY_ACTOR_LIFE_NODE_LOSS_H

#include "actor/home.h"

/* The work about another node, as bits. */
enum {
	GY_NODE_LOSS_FAIL_ASKS = 1,	  /* with the error */
	GY_NODE_LOSS_END_WATCHES = 2,	  /* of lives that are over, with the error */
	GY_NODE_LOSS_FORGET_WATCHERS = 4, /* of lives that are over: nobody waits there any more */
};

struct gy_node_loss {
	uint16_t node; /* 0: all others */
	uint16_t deeds;
	int error;
	/* Which lives are over, as they stand in addresses; NULL: all. @arg lives as long as the
	 * home. */
	bool (*is_over)(const void *arg, uint32_t life);
	const void *arg;
	/* Asks with a later number, by gy_home_number() of this loop, do not fail; 0: all do. */
	uint64_t asked_until;
};

/*
 * Takes time in proportion to the actors of the loop. False when there was no memory for all of it:
 * then the caller calls again with the same, and nobody is told anything twice.
 */
bool gy_home_node_lost(struct gy_home *home, const struct gy_node_loss *news);

static inline bool gy_node_loss_concerns(const struct gy_home *home,
					 const struct gy_node_loss *news, uint16_t node)
{
	return news->node == 0 ? !gy_is_of_node(home->node, (struct gyre_address){ .node = node })
			       : node == news->node;
}

static inline bool gy_node_loss_ends(const struct gy_home *home, const struct gy_node_loss *news,
				     struct gyre_address address)
{
	return gy_node_loss_concerns(home, news, address.node) &&
	       (news->is_over == NULL || news->is_over(news->arg, address.life));
}

/* Does the work for a house that was away. Takes the mail. */
extern const struct gyre_type gy_type_node_loss;
void gy_node_loss_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
/* Does the work for a house that lacked memory for it. Takes the mail, or returns false while there
 * is not enough. */
bool gy_node_loss_retry(struct gy_house *house, struct gyre_mail *mail);

/*
 * The event that an ask to another node is not answered: the ask or its answer was lost on the way.
 * Its ask id is that of the ask, its sender names the node. The event means nothing when the ask
 * has ended.
 */
extern const struct gyre_type gy_type_unanswered;
/* Makes the event; the caller sets the sender. NULL without memory. */
struct gyre_mail *gy_unanswered_make(struct gy_home *home, uint64_t ask_id, int error);
/* Converts mail of any type, whose payload has ended, to the event. */
void gy_unanswered_convert(struct gyre_mail *mail, int error);
int gy_unanswered_error(const struct gyre_mail *mail);
/* Takes the mail; NULL for a house that has ended. */
void gy_unanswered_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);

#endif
