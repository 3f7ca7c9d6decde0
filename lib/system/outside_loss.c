/*
 * Dead letters: the one place that tells of all of them, and that counts those of threads that are
 * no loops: notices to actors and to groups, questions, and offloaded work. Those of loops are
 * counted in actor/mail/send.c.
 */
#include "system/outside_loss.h"

#include <stdio.h>

#include "actor/home.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "remote/message/forward.h"
#include "system/directory/directory.h"
#include "system/outside/foreign_ask.h"
#include "system/system.h"

void gy_letter_lost(struct gyre_system *system, struct gy_home *home, const struct gyre_mail *mail,
		    struct gyre_address to, enum gyre_drop reason)
{
	const struct gy_home *any = &system->homes.homes[0];
	struct gyre_dead_letter letter = { .from = gy_sender_shown(any, mail), .reason = reason };
	const struct gyre_type *type = mail->type;

	gy_foreign_ask_describe(mail, &type, &to);
	gy_forwarded_describe(mail, &type, &letter.from);
	letter.to = gy_address_shown(any, to);
	if (system->options.dead_letter != NULL) {
		system->options.dead_letter(type, letter.from, letter.to, reason,
					    system->options.dead_letter_arg);
	}
	if (mail->node.kind != GY_MAIL_PUBLISHED) { /* which would lead to others without end */
		letter.type_id = type->id;
		(void)snprintf(letter.type_name, sizeof(letter.type_name), "%s", type->name);
		gy_publish_own(system, home, &gyre_type_gyre_dead_letter, &letter);
	}
}

void gy_outside_drop(struct gyre_system *system, const struct gyre_mail *mail,
		     struct gyre_address to, enum gyre_drop reason)
{
	gy_assert(reason < GYRE_DROP_COUNT);
	(void)gy_add_relaxed(&system->outside_dropped[reason], 1);
	if (mail->node.kind == GY_MAIL_PUBLISHED) {
		gy_event_lost(mail);
	}
	gy_letter_lost(system, NULL, mail, to, reason);
}

void gy_outside_lost(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail,
		     enum gyre_drop reason)
{
	gy_outside_drop(system, mail, to, reason);
	gyre_mail_destroy(NULL, mail);
}
