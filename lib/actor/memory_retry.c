/*
 * Work that lacks memory. An event comes once, so it waits for the stack of its handler, and its
 * lane is closed meanwhile. So does a notice of gyre's own, on which a protocol depends: a producer
 * that missed a demand would never be asked again. An actor that counts on every notice, as one to
 * which a stream sends its elements, keeps all of them; of others they are lost, which gives back
 * what memory they have. A timer of the home retries for all houses at once, so that a loop
 * without memory does not spin. That is rare, so no list of such houses is kept. The timer also
 * checks the marks of mailboxes, and sends orders to stop that wait for memory.
 */
#include "actor/memory_retry.h"
#include "actor/house_extra.h"
#include "actor/mail/mailbox.h"
#include "actor/stack/bound_ask.h"

static const uint64_t pause_ns = GYRE_MILLISECONDS(1);

/* Other threads may be reserving the slot. */
bool gy_house_is_spawned(struct gy_home *home, const struct gy_house *house)
{
	bool made;

	(void)pthread_mutex_lock(&home->slots.mutex);
	made = house->status >= GY_HOUSE_MOUNTING;
	(void)pthread_mutex_unlock(&home->slots.mutex);
	return made;
}

/* Returns whether the house has an actor that is not stopping: only such a house waits for memory.
 * The reasons of one that is away are those of a thief; it is looked at when it is back. */
static bool goes_on(struct gy_home *home, const struct gy_house *house)
{
	return gy_house_is_spawned(home, house) && !gy_house_is_away(house) &&
	       !gy_house_is_stopped(house);
}

void gy_home_retry_later(struct gy_home *home)
{
	if (!gy_timer_is_started(&home->retry_timer)) {
		gy_timer_start(&home->loop.wheel, &home->retry_timer, pause_ns);
	}
}

/* A house that runs is retried when the timer fires next. */
static void retry_all(struct gy_timer *timer)
{
	struct gy_home *home = gy_container_of(timer, struct gy_home, retry_timer);
	bool more = !gy_bound_asks_stop(home);

	for (uint32_t slot = 0; slot < gy_load_acquire(&home->slots.used); slot++) {
		struct gy_house *house = gy_house_at(home, slot);

		if (!goes_on(home, house)) {
			continue;
		}
		if (house->limit != 0) { /* a house with a limit is always at home */
			gy_house_check_mailbox_mark(house);
		}
		if ((house->reasons & GY_CLOSED_BY_NO_MEMORY) == 0) {
			continue;
		}
		if (house->status != GY_HOUSE_WAITING && house->status != GY_HOUSE_READY) {
			more = true;
			continue;
		}
		gy_house_remove_reason(house, GY_CLOSED_BY_NO_MEMORY);
		if (house->status == GY_HOUSE_WAITING && gy_house_can_run(house)) {
			gy_house_ready(house);
		}
	}
	if (more) {
		gy_home_retry_later(home);
	}
}

bool gy_house_keeps(const struct gy_house *house, const struct gyre_mail *mail)
{
	return mail->node.kind == GY_MAIL_NOTICE &&
	       (mail->type->id < GY_IDS_OF_GYRE ||
		(house->extra != NULL && house->extra->keeps_notices));
}

void gy_house_keep(struct gy_house *house, struct gyre_mail *mail)
{
	gy_assert(house->limit == 0);
	gy_house_put_first(house, GY_LANE_NOTICE, &mail->node, &mail->node);
	gy_house_retry_later(house, GY_CLOSED_BY_NOTICE_MEMORY);
}

void gy_memory_retry_init(struct gy_home *home)
{
	gy_timer_init(&home->retry_timer, retry_all);
}

void gy_house_retry_later(struct gy_house *house, enum gy_closed_reason reason)
{
	gy_assert((reason & GY_CLOSED_BY_NO_MEMORY) == reason);
	if (gy_house_is_stopped(house)) {
		return;
	}
	gy_house_add_reason(house, reason);
	if (!gy_house_is_away(house)) { /* else its own home does so when the house is back */
		gy_home_retry_later(house->home);
	}
}
