/*
 * Actors that hold phases of the shutdown. What an actor wants to hold are bits in the extra part
 * of its house. When a phase begins, its loop walks its houses once, tells those that have the bit,
 * and counts them; the phase is over here when the count is 0 again. So holding costs a byte, and
 * nothing is searched in a system where nobody has ever held the phase.
 *
 * An actor that is away, which is run by another loop, is told when it is back, and until then
 * nobody knows whether it holds the phase: the loop waits for it. One that wants to hold sets its
 * bit, then that of the system, and looks at the phase of its loop; the loop sets its phase, and
 * then looks at the bit of the system. All four are sequentially consistent, so either the loop
 * sees that it has to look, or the actor that it comes too late.
 */
#include "actor/life/shutdown.h"

#include <gyre/shutdown.h>

#include <errno.h>

#include "actor/home.h"
#include "actor/house_extra.h"
#include "actor/life/path.h"
#include "actor/mail/mailbox.h"
#include "actor/mail/send.h"
#include "actor/memory_retry.h"
#include "actor/stack/stack.h"
#include "actor/steal_actor.h"

static bool is_phase(enum gyre_shutdown_phase phase)
{
	return phase >= GYRE_SHUTDOWN_INTAKE && phase <= GYRE_SHUTDOWN_LAST_WORDS;
}

static uint8_t bit_of(uint32_t phase)
{
	return (uint8_t)(1U << phase);
}

static uint32_t *wanted_of(const struct gy_home *home, uint32_t phase)
{
	return &gy_homes_of(home->options.system)->shutdown_wanted[phase];
}

bool gy_shutdown_is_wanted(const struct gy_home *home, uint32_t phase)
{
	return gy_load_full(wanted_of(home, phase)) != 0;
}

/* ---- holding ---- */

/* The loop that the actor lives on, also while another one runs it. */
static struct gy_home *own_home(const struct gy_house *house)
{
	return gy_home_peer(house->home, house->self.loop);
}

int gyre_shutdown_hold(struct gyre_stack *stack, enum gyre_shutdown_phase phase)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_house_extra *extra;

	if (!is_phase(phase)) {
		return -EINVAL;
	}
	extra = gy_house_extra_get(house);
	if (extra == NULL) {
		return -ENOMEM;
	}
	extra->shutdown_holds |= bit_of(phase);
	gy_store_full(wanted_of(house->home, phase), 1);
	if (gy_load_full(&own_home(house)->shutdown.phase) >= (uint32_t)phase) {
		extra->shutdown_holds &= (uint8_t)~bit_of(phase);
		return -ESHUTDOWN;
	}
	return 0;
}

/* Keeps the longest. */
static void note(struct gy_house *house, bool abandoned)
{
	struct gy_shutdown *shutdown = &house->home->shutdown;
	uint64_t held_ns = gy_clock_ns(&house->home->loop.clock) - shutdown->begun_ns;
	char text[GYRE_PATH_TEXT_MAX];

	if (held_ns >= shutdown->longest.held_ns) {
		const char *path = gy_path(house, text);

		shutdown->longest = (struct gy_shutdown_hold){
			.held_ns = held_ns,
			.class = house->class_info->class,
			.address = gy_address_shown(house->home, gy_house_address(house)),
			.phase = house->extra->shutdown_holding,
			.abandoned = abandoned,
		};
		memcpy(shutdown->longest.path, path, strlen(path) + 1);
	}
}

static void release(struct gy_house *house, bool abandoned)
{
	gy_assert(house->home == own_home(house) && house->home->shutdown.holding > 0);
	note(house, abandoned);
	house->extra->shutdown_holding = 0;
	house->home->shutdown.holding--;
}

int gyre_shutdown_release(struct gyre_stack *stack, enum gyre_shutdown_phase phase)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_house_extra *extra = house->extra;

	if (!is_phase(phase)) {
		return -EINVAL;
	}
	if (extra != NULL && extra->shutdown_holding == (uint8_t)phase) {
		release(house, false);
		return 0;
	}
	if (extra == NULL || (extra->shutdown_holds & bit_of(phase)) == 0) {
		return -ENOENT;
	}
	extra->shutdown_holds &= (uint8_t)~bit_of(phase);
	return 0;
}

bool gy_shutdown_claim(const struct gy_house *house, const struct gyre_mail *mail)
{
	const struct gyre_stopping *stopping =
		(const struct gyre_stopping *)(const void *)mail->payload;

	gy_assert(mail->node.kind == GY_MAIL_EVENT && house->extra != NULL);
	return house->extra->shutdown_holding == (uint8_t)stopping->phase;
}

void gy_shutdown_leave(struct gy_house *house)
{
	house->extra->shutdown_holds = 0;
	if (house->extra->shutdown_holding != 0) {
		release(house, false);
	}
}

/* ---- the phases of a loop ---- */

typedef void (*house_fn)(struct gy_house *house);

/* Other threads may reserve slots meanwhile: such houses hold nothing yet. Returns whether some are
 * away, for which nothing was called. */
static bool for_each(struct gy_home *home, house_fn call)
{
	bool some_away = false;

	(void)pthread_mutex_lock(&home->slots.mutex);
	for (uint32_t slot = 0; slot < home->slots.used; slot++) {
		struct gy_house *house = gy_house_at(home, slot);

		if (house->status < GY_HOUSE_MOUNTING || house->status == GY_HOUSE_STOPPING) {
			continue;
		}
		if (gy_house_is_away(house)) {
			some_away = true;
		} else if (house->extra != NULL) {
			call(house);
		}
	}
	(void)pthread_mutex_unlock(&home->slots.mutex);
	return some_away;
}

/* Without memory for the event it is told later; the retry of the home makes a turn for that. */
static void tell(struct gy_house *house)
{
	struct gy_home *home = house->home;
	struct gyre_mail *mail = gy_mail_get(home, &gyre_type_gyre_stopping);

	if (mail == NULL) {
		home->shutdown.untold = true;
		gy_home_retry_later(home);
		return;
	}
	mail->node.kind = GY_MAIL_EVENT;
	gy_mail_from_nobody(mail);
	*(struct gyre_stopping *)gyre_payload(mail) = (struct gyre_stopping){
		.phase = (enum gyre_shutdown_phase)home->shutdown.phase,
		.deadline_ns = home->shutdown.deadline_ns,
	};
	gy_count(&home->counters.sent, 1);
	house->extra->shutdown_holds &= (uint8_t)~bit_of(home->shutdown.phase);
	house->extra->shutdown_holding = (uint8_t)home->shutdown.phase;
	home->shutdown.holding++;
	gy_house_put(home, house, mail, GY_LANE_EVENT);
}

static void tell_if_it_holds(struct gy_house *house)
{
	if (house->extra->shutdown_holding == 0 &&
	    (house->extra->shutdown_holds & bit_of(house->home->shutdown.phase)) != 0) {
		tell(house);
	}
}

void gy_shutdown_begin(struct gy_home *home, uint32_t phase, uint64_t deadline_ns)
{
	struct gy_shutdown *shutdown = &home->shutdown;

	gy_assert(is_phase((enum gyre_shutdown_phase)phase) && phase > shutdown->phase);
	gy_assert(shutdown->holding == 0);
	gy_store_full(&shutdown->phase, phase);
	shutdown->begun_ns = gy_clock_ns(&home->loop.clock);
	shutdown->deadline_ns = deadline_ns;
	shutdown->untold = gy_shutdown_is_wanted(home, phase);
}

bool gy_shutdown_step(struct gy_home *home)
{
	if (home->shutdown.untold) {
		home->shutdown.untold = false;
		if (for_each(home, tell_if_it_holds)) {
			home->shutdown.untold = true;
		}
	}
	return home->shutdown.holding == 0 && !home->shutdown.untold;
}

static void abandon_one(struct gy_house *house)
{
	if (house->extra->shutdown_holding != 0) {
		release(house, true);
	}
}

uint32_t gy_shutdown_abandon(struct gy_home *home)
{
	uint32_t holding = home->shutdown.holding;

	home->shutdown.untold = false;
	if (holding > 0) {
		(void)for_each(home, abandon_one);
	}
	gy_assert(home->shutdown.holding == 0);
	return holding;
}
