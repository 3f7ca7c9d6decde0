/*
 * Watches. The watcher keeps a record, the watched house keeps another, and both are mail: the
 * first becomes the order to forget, the second the event of the end. So once a watch stands, its
 * end can be told without memory.
 *
 * A watch has a number that is unique in the system. The event carries the number, and is
 * dispatched only if the watcher still has a watch of that number.
 *
 * The event comes after the last mail of the actor that has ended. That mail is in the watcher's
 * lanes before the event, but may still wait there: behind a barrier, for a restart, or because a
 * run has a budget. An event that is due while lanes before its own hold mail therefore passes
 * through each of these lanes first, from the last to the first: it takes its place at the end of
 * the lane, and when it reaches the head of the lane, all mail that stood there before it is done.
 * This takes no memory, and the time of one message for each lane, however much mail waits.
 */
#ifndef GY_ACTOR_LIFE_WATCH_H
#define GY_ACTOR_LIFE_WATCH_H

#include <gyre/watch.h>

#include "actor/house.h"
#include "actor/mail/mail.h"
#include "actor/stack/cause.h"

/* A bit of gy_house.passed_over beside its lanes: ends stand in other lanes than that of events. */
enum { GY_ENDS_HELD = 1 << GY_LANES };

/* The watches of a house; hangs in its extra part. */
struct gy_watch {
	struct gy_table watched;  /* by the house: records by the watched actor's address */
	struct gy_table watchers; /* of the house: records by number */
	uint32_t held;		  /* events of ends in other lanes than that of events */
};

extern const struct gyre_type gy_type_watch;
extern const struct gyre_type gy_type_unwatch;

/* A watch has come to a house, or to nobody, which is NULL. Takes the mail. */
void gy_watch_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
/* Retries a watch that waits among the events for the memory of its record. Takes the mail, or
 * returns false while there still is none. */
bool gy_watch_retry(struct gy_house *house, struct gyre_mail *mail);
/* The house has ended: tells the watchers whose watches still wait. */
void gy_watch_tell_waiting(struct gy_house *house, int reason);
void gy_unwatch_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
/* Returns whether the event of an end is still wanted; then the watch is over. */
bool gy_watch_claim(struct gy_house *house, const struct gyre_mail *mail);
/* The event of an end is of a pact that holds: the house stops. Then the event has been taken. */
bool gy_watch_end_by_pact(struct gy_house *house, struct gyre_mail *mail);
/* The event of an end has come to the head of lane @from, while the house runs. True if a lane
 * before holds mail: then the event stands at the end of that lane, and has been taken. */
bool gy_watch_hold(struct gy_house *house, struct gyre_mail *mail, enum gy_lane from);
/* Asks and notices will never be handled any more: events that wait among them go on. */
GY_COLD void gy_watch_release(struct gy_house *house);
/* Makes a watch or an unwatch of an actor here by an actor elsewhere; the caller sets sender and
 * number. NULL without memory. */
struct gyre_mail *gy_watch_make(struct gy_home *home, const struct gyre_type *type,
				struct gyre_address actor);
/* A watch cannot be sent to its node: tells the watcher that the actor has ended. */
void gy_watch_refused(struct gy_home *home, struct gyre_mail *mail, int reason);
/* The cause that goes with the event of an end; NULL for none. */
struct gy_cause *gy_watch_cause(const struct gyre_mail *event);
/* The event of an end on another node, whose cause is taken and may be NULL. NULL without memory.
 */
struct gyre_mail *gy_watch_make_end(struct gy_home *home, const struct gyre_terminated *terminated,
				    struct gy_cause *cause);
struct gy_node_loss;

/* Ends the watches of the house on lives of nodes that are over. False if memory is lacking: then
 * it is called again, and tells of each end once. */
bool gy_watch_node_lost(struct gy_house *house, const struct gy_node_loss *news);
/* Forgets watchers of such lives: nobody there is told of the end of the house. */
void gy_watch_forget_watchers(struct gy_house *house, const struct gy_node_loss *news);
/* The round that an order of @gy_type_watch was sent in; see watch_walk.h. */
uint32_t gy_watch_round(const struct gyre_mail *order);
void gy_watch_set_round(struct gyre_mail *order, uint32_t round);

struct gy_watch_place;
struct gy_watch_walk;

/* Does what a walk is for with the watches of the house, from @place on. False where @budget, which
 * is counted down, or memory has ended: then it is called again, with the same @place. */
bool gy_watch_visit(struct gy_house *house, const struct gy_watch_walk *walk,
		    struct gy_watch_place *place, uint32_t *budget);
/* The house has ended: tells its watchers, and forgets whom it has watched. */
void gy_watch_end(struct gy_house *house, int reason);

#endif
