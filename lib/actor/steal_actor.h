/*
 * Actors that are run by another loop than their own.
 */
#ifndef GY_ACTOR_STEAL_ACTOR_H
#define GY_ACTOR_STEAL_ACTOR_H

#include <stdbool.h>

struct gy_home;
struct gy_house;
struct gy_job;
struct gy_loop;
struct gy_task;
struct gyre_mail;

/* gy_house_request_stop() for an order from outside of the house's own run. */
void gy_house_order_stop(struct gy_house *house);
/* Keeps an order to a house that is away until it is back. */
void gy_house_defer(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
/* Runs a task again, whose turn has come while a house is away or not mounted, when one has come
 * home, was mounted, or will not be. */
void gy_house_defer_task(struct gy_home *home, const struct gy_house *house, struct gy_task *task);
/* That is so for a house: those of others wait again. */
void gy_home_run_kept_tasks(struct gy_home *home);
/* The same where that is found in the midst of a handler: they run in a later turn. */
void gy_home_post_kept_tasks(struct gy_home *home);
/* Makes a ready house one that another loop may run; false if it may not. */
bool gy_house_seal(struct gy_loop *loop, struct gy_job *job);
/* No other loop has taken the house: makes it ready again. */
void gy_house_unseal(struct gy_loop *loop, struct gy_job *job);
/* Runs a house of another loop, and sends it home. */
void gy_house_run_stolen(struct gy_loop *loop, struct gy_job *job);
/* A house has come home. Takes the mail. */
void gy_house_came_home(struct gy_home *home, struct gyre_mail *mail);

#endif
