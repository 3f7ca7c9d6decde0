/*
 * The one way by which mail of threads that turn no loop comes to a loop.
 */
#include "system/outside_post.h"

#include <errno.h>

#include "base/assert.h"
#include "system/drain.h"
#include "system/outside_count.h"
#include "system/outside_loss.h"

int gy_outside_post(struct gyre_system *system, uint32_t loop, struct gyre_address to,
		    struct gyre_mail *mail, struct gyre_mail *posted)
{
	/* From this stage on the system only ends; a flood must not keep it from that. */
	if (gy_unlikely(gy_load_acquire(&system->stage) >= GY_STAGE_NO_MAIL)) {
		if (posted != mail) {
			gyre_mail_destroy(NULL, posted);
		}
		gy_outside_lost(system, to, mail, GYRE_DROP_SHUTDOWN);
		return -ESHUTDOWN;
	}
	gy_assert(loop < gy_homes_made(&system->homes));
	gy_loop_post(&system->homes.homes[loop].loop, &posted->node);
	return 0;
}

int gy_outside_send(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail)
{
	gy_assert(gy_is_of_node(system->homes.node, to));
	mail->to_slot = to.slot;
	mail->to_cookie = to.cookie;
	(void)gy_outside_count(system);
	return gy_outside_post(system, to.loop, to, mail, mail);
}
