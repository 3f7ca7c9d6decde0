/*
 * Watches. The watcher keeps a record, the watched house keeps another, and both are mail: the one
 * becomes the order to forget, the other the event of the end. So once a watch stands, its end can
 * be told without memory.
 *
 * A watch has a number that is unique in the system. The event carries it, and is dispatched only
 * if the watcher still has a watch of that number.
 *
 * The event comes after the last mail of the actor that has ended. That mail has been put into the
 * watcher's lanes before the event, but may still wait there: behind a barrier, for a restart, or
 * since there is more of it than a run may handle. So an event that is about to be dispatched while
 * lanes before its own hold mail passes through each of these lanes first, from the last to the
 * first: it takes its place at the end of the lane, and when it has come to the head of the lane,
 * all that stood there before it is done. This takes no memory, and the time of one message for
 * each lane, however much waits.
 */
#ifndef GY_ACTOR_WATCH_H
#define GY_ACTOR_WATCH_H

#include "actor/house.h"
#include "actor/mail.h"

/* A bit of a house beside its lanes that are passed over: ends stand in other lanes than that of
 * events. */
enum { GY_ENDS_HELD = 1 << GY_LANES };

/* What hangs in the extra part of a house that watches, or is watched. */
struct gy_watch {
	struct gy_table watched;  /* by the house: records by the watched actor's address */
	struct gy_table watchers; /* of the house: records by number */
	uint32_t held;		  /* events of ends in other lanes than that of events */
};

extern const struct gyre_type gy_type_watch;
extern const struct gyre_type gy_type_unwatch;

/* Mail of these types has come to a house, or for NULL to nobody. Takes the mail. */
void gy_watch_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
/* A watch waits among the events of the house for the memory of its record. Takes the mail, or
 * false while there still is none. */
bool gy_watch_retry(struct gy_house *house, struct gyre_mail *mail);
/* The house has ended, and mail that has waited so is told. */
void gy_watch_tell_waiting(struct gy_house *house, int reason);
void gy_unwatch_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
/* Whether the event of an end is still wanted; then the watch is over. */
bool gy_watch_claim(struct gy_house *house, const struct gyre_mail *mail);
/* The event of an end has come to the head of a lane, while the house runs. Whether a lane before
 * holds mail; then the event stands at its end, and has been taken. */
bool gy_watch_hold(struct gy_house *house, struct gyre_mail *mail, enum gy_lane from);
/* Asks and notices will never be handled any more: no event waits among them. */
GY_COLD void gy_watch_release(struct gy_house *house);
/* A watch or the end of one, of an actor here by one elsewhere; its sender and number are not set
 * yet. NULL without memory. */
struct gyre_mail *gy_watch_make(struct gy_home *home, const struct gyre_type *type,
				struct gyre_address actor);
/* A watch cannot be sent where it should go: the watcher is told that the other has ended. */
void gy_watch_refused(struct gy_home *home, struct gyre_mail *mail, int reason);
struct gy_node_loss;

/* All that the house watches in lives of nodes that are over have ended. False if memory for that
 * is lacking: then it is to be called again, and tells of each end once. */
bool gy_watch_node_lost(struct gy_house *house, const struct gy_node_loss *news);
/* Watchers of such lives: nobody is told of the end of the house. */
void gy_watch_forget_watchers(struct gy_house *house, const struct gy_node_loss *news);
/* Mail from a node may be lost: what is watched there is watched again, which changes nothing where
 * the watch still stands. False if memory is lacking, likewise. */
bool gy_watch_renew(struct gy_house *house, const struct gy_node_loss *news);
/* The house has ended: tells its watchers, and forgets whom it has watched. */
void gy_watch_end(struct gy_house *house, int reason);

#endif
