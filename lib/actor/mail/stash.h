/*
 * The stash: messages that an actor has laid aside.
 */
#ifndef GY_ACTOR_MAIL_STASH_H
#define GY_ACTOR_MAIL_STASH_H

#include <gyre/address.h>
#include <gyre/counters.h>

#include <stdint.h>

struct gy_house;
struct gy_node;

/* A list that ends in NULL. */
struct gy_stash {
	struct gy_node *first;
	struct gy_node *last;
	uint32_t count;
};

/* Puts stashed messages back to the front of the mailbox; returns how many. */
uint32_t gy_house_unstash(struct gy_house *house, uint32_t count_max);
/* Drops all that is stashed. */
void gy_stash_drop(struct gy_house *house, enum gyre_drop reason);

#endif
