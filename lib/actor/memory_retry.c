/*
 * What has to be done, and lacks memory: an event that comes once waits for the stack of its
 * handler, and the lane is closed meanwhile. All houses that wait so look again when a timer of the
 * home fires, so that a loop without memory does not spin. That is rare, so nobody keeps a list of
 * them. The marks of mailboxes are looked at then too.
 */
#include "actor/memory_retry.h"
#include "actor/mailbox.h"

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

/* Only that can lack anything. */
static bool goes_on(struct gy_home *home, const struct gy_house *house)
{
	return gy_house_is_spawned(home, house) && !gy_house_is_stopped(house);
}

void gy_home_retry_later(struct gy_home *home)
{
	if (!gy_timer_is_started(&home->lack_timer)) {
		gy_timer_start(&home->loop.wheel, &home->lack_timer, pause_ns);
	}
}

/* A house that is about to run, or away, has its turn when the timer fires next. */
static void look_again(struct gy_timer *timer)
{
	struct gy_home *home = gy_container_of(timer, struct gy_home, lack_timer);
	bool more = false;

	for (uint32_t slot = 0; slot < gy_load_acquire(&home->slots.used); slot++) {
		struct gy_house *house = gy_house_at(home, slot);

		if (!goes_on(home, house)) {
			continue;
		}
		if (house->limit != 0) { /* which are always at home */
			gy_house_check_mailbox_mark(house);
		}
		if ((house->reasons & GY_CLOSED_BY_NO_MEMORY) == 0) {
			continue;
		}
		if (house->status != GY_HOUSE_WAITING) {
			more = true;
			continue;
		}
		gy_house_remove_reason(house, GY_CLOSED_BY_NO_MEMORY);
		if (gy_house_can_run(house)) {
			gy_house_ready(house);
		}
	}
	if (more) {
		gy_home_retry_later(home);
	}
}

void gy_memory_retry_init(struct gy_home *home)
{
	gy_timer_init(&home->lack_timer, look_again);
}

void gy_house_retry_later(struct gy_house *house, enum gy_closed_reason reason)
{
	struct gy_home *home = house->home;

	gy_assert((reason & GY_CLOSED_BY_NO_MEMORY) == reason);
	if (gy_house_is_stopped(house)) {
		return;
	}
	gy_house_add_reason(house, reason);
	gy_home_retry_later(home);
}
