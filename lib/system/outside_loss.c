/*
 * The one place that counts dead letters of threads that are no loops: notices to actors and to
 * groups, questions, and offloaded work. Those of loops are counted in actor/mail/send.c.
 */
#include "system/outside_loss.h"

#include "base/assert.h"
#include "base/atomic.h"
#include "system/system.h"

void gy_outside_drop(struct gyre_system *system, const struct gyre_mail *mail,
		     struct gyre_address to, enum gyre_drop reason)
{
	struct gy_home *home = &system->homes.homes[0];

	gy_assert(reason < GYRE_DROP_COUNT);
	(void)gy_add_relaxed(&system->outside_dropped[reason], 1);
	if (home->options.dead_letter != NULL) {
		home->options.dead_letter(home, mail, to, reason);
	}
}

void gy_outside_lost(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail,
		     enum gyre_drop reason)
{
	gy_outside_drop(system, mail, to, reason);
	gyre_mail_destroy(NULL, mail);
}
