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

static void publish(struct gyre_system *system, struct gy_home *home,
		    struct gyre_dead_letter *letter, const struct gyre_type *type)
{
	letter->type_id = type->id;
	(void)snprintf(letter->type_name, sizeof(letter->type_name), "%s", type->name);
	gy_publish_own(system, home, &gyre_type_gyre_dead_letter, letter);
}

void gy_letter_lost(struct gyre_system *system, struct gy_home *home, const struct gyre_mail *mail,
		    struct gyre_address to, enum gyre_drop reason)
{
	/* One that was published itself would lead to others without end. */
	const bool wanted = mail->node.kind != GY_MAIL_PUBLISHED &&
			    gy_own_event_is_wanted(system, &gyre_type_gyre_dead_letter);
	const gyre_dead_letter_fn hook = system->options.dead_letter;
	const struct gy_home *any = &system->homes.homes[0];
	struct gyre_dead_letter letter = { .reason = reason };
	const struct gyre_type *type = mail->type;

	if (hook == NULL && !wanted) {
		return;
	}
	letter.from = gy_sender_shown(any, mail);
	gy_foreign_ask_describe(mail, &type, &to);
	gy_forwarded_describe(mail, &type, &letter.from);
	letter.to = gy_address_shown(any, to);
	if (hook != NULL) {
		hook(type, letter.from, letter.to, reason, system->options.dead_letter_arg);
	}
	if (wanted) {
		publish(system, home, &letter, type);
	}
}

void gy_outside_drop(struct gyre_system *system, const struct gyre_mail *mail,
		     struct gyre_address to, enum gyre_drop reason)
{
	gy_assert(reason < GYRE_DROP_COUNT);
	(void)gy_add_relaxed(&system->outside_dropped[reason], 1);
	if (mail->node.kind == GY_MAIL_PUBLISHED) {
		gy_directory_ops.lose_event(mail);
	}
	gy_letter_lost(system, NULL, mail, to, reason);
}

void gy_outside_lost(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail,
		     enum gyre_drop reason)
{
	gy_outside_drop(system, mail, to, reason);
	gyre_mail_destroy(NULL, mail);
}
