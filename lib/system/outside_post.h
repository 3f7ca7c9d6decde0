/*
 * Posting mail from threads that turn no loop.
 */
#ifndef GY_SYSTEM_OUTSIDE_POST_H
#define GY_SYSTEM_OUTSIDE_POST_H

#include "actor/mail/mail.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "system/system.h"

enum { GY_GUARD_EVERY_NOTICES = 128, GY_GUARD_LARGE_BYTES = 4096 };

/*
 * Before the @sent-th notice of some threads from outside: checks the memory now and then, and
 * waits while it is short. Reading the clock for each notice would cost as much as the notice.
 */
static inline void gy_outside_guard_memory(struct gyre_system *system, uint64_t sent,
					   uint32_t bytes)
{
	if (gy_unlikely(sent % GY_GUARD_EVERY_NOTICES == 0 || bytes >= GY_GUARD_LARGE_BYTES)) {
		const struct gy_clock machine = { 0 };
		uint64_t now_ns = gy_clock_ns(&machine);

		if (gy_unlikely(now_ns >= gy_load_relaxed(&system->memory_guard.due_ns))) {
			gy_memory_guard_check(system, now_ns);
		}
	}
	if (gy_unlikely(gy_load_relaxed(&system->memory_guard.busy) != 0)) {
		gy_memory_guard_wait(system);
	}
}

/* Posts to a loop @posted, which is @mail itself or carries it. -ESHUTDOWN: they are lost. */
int gy_outside_post(struct gyre_system *system, uint32_t loop, struct gyre_address to,
		    struct gyre_mail *mail, struct gyre_mail *posted);
/* Sends a mail whose kind, sender and id are set to an actor of this node; counts it. Likewise. */
int gy_outside_send(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail);

#endif
