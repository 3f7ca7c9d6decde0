/*
 * A walk goes from slot to slot, and in a house from bucket to bucket, and remembers where it is.
 * What comes or goes behind that place is of no account: watches that begin during a walk are sent
 * in its round, or are of a later one than it sweeps.
 *
 * A house that is away, since another loop runs its actor, gets an order that waits for it, and has
 * all its watches visited at once when it is back. A walk has ended when none is awaited any more.
 */
#include "actor/life/watch_walk.h"

#include "actor/life/watch.h"
#include "actor/mail/mail_pool.h"
#include "actor/memory_retry.h"
#include "actor/steal_actor.h"

/* The walk may go on to a later round meanwhile, but orders of that wait behind the visit. */
struct visit {
	struct gy_watch_walk *walk;
	uint32_t round;
};

static const struct gyre_type type_visit = { .name = "visit of watches",
					     .id = GY_ID_WATCH_VISIT,
					     .bytes = sizeof(struct visit) };

static bool visit_later(struct gy_home *home, struct gy_house *house, struct gy_watch_walk *walk)
{
	struct gyre_mail *mail = gy_mail_get(home, &type_visit);

	if (mail == NULL) {
		return false;
	}
	mail->node.kind = GY_MAIL_EVENT;
	gy_mail_from_nobody(mail);
	mail->ask_id = 0;
	*(struct visit *)gyre_payload(mail) = (struct visit){ .walk = walk, .round = walk->round };
	walk->away++;
	gy_house_defer(home, house, mail);
	return true;
}

void gy_watch_visit_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail)
{
	const struct visit visit = *(const struct visit *)gyre_payload(mail);
	struct gy_watch_walk *walk = visit.walk;
	struct gy_watch_walk then = *walk;
	struct gy_watch_place first = { 0 };
	uint32_t unbounded = UINT32_MAX;

	gy_mail_put(home, mail);
	then.round = visit.round;
	if (house != NULL && !gy_watch_visit(house, &then, &first, &unbounded)) {
		walk->again = true;
	}
	gy_assert(walk->away > 0);
	if (--walk->away == 0) {
		walk->back(walk);
	}
}

bool gy_watch_walk_step(struct gy_home *home, struct gy_watch_walk *walk)
{
	uint32_t budget = GY_WATCH_WALK_STEP;

	if (home->houses == 0) {
		return true;
	}
	for (; walk->slot < gy_load_acquire(&home->slots.used); walk->slot++) {
		struct gy_house *house = gy_house_at(home, walk->slot);

		if (budget == 0) {
			return false;
		}
		budget--;
		if (gy_house_is_spawned(home, house) &&
		    !(gy_house_is_away(house)
			      ? visit_later(home, house, walk)
			      : gy_watch_visit(house, walk, &walk->place, &budget))) {
			return false;
		}
		walk->place = (struct gy_watch_place){ 0 };
	}
	return true;
}
