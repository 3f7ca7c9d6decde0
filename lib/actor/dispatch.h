/*
 * Running houses: the mail of their lanes, in passes, at home or on the loop of a thief.
 */
#ifndef GY_ACTOR_DISPATCH_H
#define GY_ACTOR_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "actor/mail/mail.h"

struct gy_home;
struct gy_house;
struct gy_job;
struct gy_loop;

/* Runs a ready house once: see run.c. */
void gy_house_run(struct gy_loop *loop, struct gy_job *job);
/* Ends a run: does the work that waited for that, and readies or stops the house. */
void gy_house_end_run(struct gy_home *home, struct gy_house *house);

/* A pass of a running house over all that is pending. Returns how many messages were handled. */
uint32_t gy_dispatch_all(struct gy_home *home, struct gy_house *house);
/* Runs a message that was taken out of a lane. Returns whether it was handled. */
bool gy_dispatch_one(struct gy_home *home, struct gy_house *house, enum gy_lane lane,
		     struct gyre_mail *mail);

/* Asks or notices that were taken out of a lane: a list that ends in NULL. */
struct gy_sealed_lane {
	struct gy_node *first;
	struct gy_node *last;
};

/*
 * Runs sealed mail on whatever loop @home is, of each lane as much as in a run at home; mail that
 * may not run now stays. Returns how many messages were handled.
 */
uint32_t gy_house_run_sealed(struct gy_home *home, struct gy_house *house,
			     struct gy_sealed_lane *asks, struct gy_sealed_lane *notices);

#endif
