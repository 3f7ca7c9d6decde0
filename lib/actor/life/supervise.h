/*
 * Supervision: failures that go to the parent, and what it decides.
 *
 * A child that has failed runs nothing until its parent has decided. The report of the failure is a
 * mail that goes to the parent, is decided there between two messages, and comes back as the
 * decision: so nothing else is needed for one child. Decisions about several children go to each
 * loop that has some, which carries them out for its part of the family.
 *
 * A child whose report finds no parent stops, as all children of a parent that stops do; but such a
 * child may be exempt from the parent's order: see gy_family_orphan(). A decision that finds nobody
 * is void: a child that stops needs none.
 */
#ifndef GY_ACTOR_LIFE_SUPERVISE_H
#define GY_ACTOR_LIFE_SUPERVISE_H

#include <stdbool.h>

#include "actor/mail/mail.h"

struct gy_home;
struct gy_house;

extern const struct gyre_type gy_type_failure;
extern const struct gyre_type gy_type_decision;

/*
 * The actor has failed, and its class leaves that to its parent. @ends: it stops in any case; the
 * caller sees to that afterwards. @origin: the report of a failure that its own child had; NULL if
 * it is its own.
 */
void gy_supervise_report(struct gy_house *house, int error, bool ends,
			 const struct gyre_mail *origin);

/* A report has come to the parent, or to nobody, which is NULL. Takes the mail. */
void gy_failure_arrived(struct gy_home *home, struct gy_house *parent, struct gyre_mail *mail);
/* The parent stops before it has decided. Takes the mail. */
void gy_failure_undecided(struct gy_home *home, struct gyre_mail *mail);
/* Goes on with a decision that waits among the events for memory. Takes the mail, or returns false
 * while there still is none. */
bool gy_failure_retry(struct gy_house *parent, struct gyre_mail *mail);
/* A decision has come to the child, or to nobody, which is NULL. Takes the mail. */
void gy_decision_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
/* A decision about all children that a parent elsewhere has on this loop. Takes the mail. */
void gy_family_decision_arrived(struct gy_home *home, struct gyre_mail *mail);

#endif
