/*
 * Placing and advancing. A timer stands at the level of the highest digit (base 64) in which its
 * tick differs from the wheel's, in the slot of its own digit there. So whatever is at level 0 is
 * due before all of level 1, and so on, and the first occupied slot of the lowest occupied level is
 * the next to look at. When the wheel reaches a slot of a higher level, its timers move down.
 */
#include "loop/wheel.h"

#include "base/assert.h"
#include "base/clock.h"

enum { TICK_BITS = GY_WHEEL_BITS * GY_WHEEL_LEVELS };

static const uint64_t tick_max = (UINT64_C(1) << TICK_BITS) - 1;

void gy_wheel_init(struct gy_wheel *wheel, uint64_t tick_ns, uint64_t now_ns)
{
	*wheel = (struct gy_wheel){ .tick_ns = tick_ns, .start_ns = now_ns };
	wheel->reciprocal = UINT64_MAX / tick_ns;
	wheel->next_tick_ns = now_ns + tick_ns;
	gy_list_init(&wheel->fresh);
	gy_list_init(&wheel->due);
	for (uint32_t level = 0; level < GY_WHEEL_LEVELS; level++) {
		for (uint32_t slot = 0; slot < GY_WHEEL_SLOTS; slot++) {
			gy_list_init(&wheel->slots[level][slot]);
		}
	}
}

/* The number of whole ticks from the start to @now_ns. */
static uint64_t tick_before(const struct gy_wheel *wheel, uint64_t now_ns)
{
	uint64_t span = now_ns > wheel->start_ns ? now_ns - wheel->start_ns : 0;
	uint64_t tick = (uint64_t)(((unsigned __int128)span * wheel->reciprocal) >> 64);

	/* The reciprocal is rounded down, so the product may lie below, never above. */
	while (span - tick * wheel->tick_ns >= wheel->tick_ns) {
		tick++;
	}
	return tick;
}

/* The first tick that does not lie before @deadline_ns. */
static uint64_t tick_after(const struct gy_wheel *wheel, uint64_t deadline_ns)
{
	uint64_t tick = tick_before(wheel, deadline_ns);

	if (deadline_ns > wheel->start_ns &&
	    deadline_ns - wheel->start_ns > tick * wheel->tick_ns) {
		tick++;
	}
	return tick < tick_max ? tick : tick_max;
}

/* The slot number, over all levels, of a tick that lies ahead. */
static uint32_t slot_of(const struct gy_wheel *wheel, uint64_t tick)
{
	uint32_t level = (uint32_t)(63 - __builtin_clzll(tick ^ wheel->tick)) / GY_WHEEL_BITS;

	return level * GY_WHEEL_SLOTS +
	       (uint32_t)(tick >> (level * GY_WHEEL_BITS)) % GY_WHEEL_SLOTS;
}

static void place(struct gy_wheel *wheel, struct gy_timer *timer, uint64_t tick)
{
	uint32_t at;

	timer->deadline_tick = tick;
	if (tick <= wheel->tick) {
		timer->place = GY_TIMER_DUE;
		gy_list_append(&wheel->due, &timer->item);
		return;
	}
	gy_assert(tick <= tick_max);
	at = slot_of(wheel, tick);
	timer->place = at;
	wheel->occupied[at / GY_WHEEL_SLOTS] |= UINT64_C(1) << at % GY_WHEEL_SLOTS;
	gy_list_append(&wheel->slots[at / GY_WHEEL_SLOTS][at % GY_WHEEL_SLOTS], &timer->item);
}

/* Places a timer behind one that has the same tick, and was placed just before. */
static void place_behind(struct gy_timer *timer, struct gy_timer *before, uint64_t tick)
{
	timer->deadline_tick = tick;
	timer->place = before->place;
	gy_list_append(before->item.next, &timer->item); /* that is the head */
}

void gy_timer_start_at(struct gy_wheel *wheel, struct gy_timer *timer, uint64_t deadline_ns)
{
	gy_assert(timer->place == GY_TIMER_STOPPED);
	wheel->count++;
	place(wheel, timer, tick_after(wheel, deadline_ns));
}

/* Moves all timers of @from to the slots of the present tick. */
static void settle(struct gy_wheel *wheel, struct gy_list *from, uint64_t now_ns)
{
	uint64_t fresh_delay_ns = 0;
	uint64_t fresh_tick = tick_after(wheel, now_ns);
	struct gy_list moving;

	gy_list_init(&moving);
	gy_list_splice(&moving, from);
	while (!gy_list_empty(&moving)) {
		struct gy_timer *timer = gy_container_of(moving.next, struct gy_timer, item);
		uint64_t tick = timer->deadline_tick;

		if (timer->place == GY_TIMER_FRESH) {
			if (timer->delay_ns !=
			    fresh_delay_ns) { /* often the one before had it too */
				fresh_delay_ns = timer->delay_ns;
				fresh_tick = tick_after(wheel, gy_time_add(now_ns, fresh_delay_ns));
			}
			tick = fresh_tick;
		}
		gy_list_remove(&timer->item);
		place(wheel, timer, tick);
	}
}

void gy_timers_settle_lazy(struct gy_wheel *wheel, uint64_t now_ns)
{
	uint64_t last_delay_ns = 0;
	uint64_t tick = 0;
	struct gy_list *item = wheel->lazy;
	struct gy_timer *before = NULL;

	wheel->lazy = NULL;
	while (item != NULL) {
		struct gy_timer *timer = gy_container_of(item, struct gy_timer, item);

		item = item->next;
		if (timer->delay_ns == 0) {
			timer->place = GY_TIMER_STOPPED;
			continue;
		}
		wheel->count++;
		if (timer->delay_ns == last_delay_ns) { /* most often */
			place_behind(timer, before, tick);
		} else {
			last_delay_ns = timer->delay_ns;
			tick = tick_after(wheel, gy_time_add(now_ns, last_delay_ns));
			place(wheel, timer, tick);
		}
		before = timer;
	}
}

/* The tick of the first occupied slot, its level and number; UINT64_MAX when all are empty. */
static uint64_t next_slot(const struct gy_wheel *wheel, uint32_t *ret_level, uint32_t *ret_slot)
{
	for (uint32_t level = 0; level < GY_WHEEL_LEVELS; level++) {
		uint32_t shift = level * GY_WHEEL_BITS;
		uint32_t slot;

		if (wheel->occupied[level] == 0) {
			continue;
		}
		slot = (uint32_t)__builtin_ctzll(wheel->occupied[level]);
		*ret_level = level;
		*ret_slot = slot;
		return (((wheel->tick >> shift) & ~(uint64_t)(GY_WHEEL_SLOTS - 1)) | slot) << shift;
	}
	return UINT64_MAX;
}

static inline void set_tick(struct gy_wheel *wheel, uint64_t tick)
{
	wheel->tick = tick;
	wheel->next_tick_ns = wheel->start_ns + (tick + 1) * wheel->tick_ns;
}

void gy_wheel_advance_slow(struct gy_wheel *wheel, uint64_t now_ns)
{
	uint64_t now_tick = tick_before(wheel, now_ns);
	uint32_t level = 0;
	uint32_t slot = 0;

	if (now_tick > wheel->tick) {
		for (;;) {
			uint64_t tick = next_slot(wheel, &level, &slot);

			if (tick > now_tick) {
				break;
			}
			wheel->tick = tick;
			wheel->occupied[level] &= ~(UINT64_C(1) << slot);
			settle(wheel, &wheel->slots[level][slot], now_ns);
		}
		set_tick(wheel, now_tick);
	}
	if (!gy_list_empty(&wheel->fresh)) {
		settle(wheel, &wheel->fresh, now_ns);
	}
	if (wheel->lazy != NULL) {
		gy_timers_settle_lazy(wheel, now_ns);
	}
}

uint32_t gy_wheel_fire(struct gy_wheel *wheel)
{
	struct gy_list firing;
	uint32_t fired = 0;

	gy_list_init(&firing);
	gy_list_splice(&firing, &wheel->due);
	while (!gy_list_empty(&firing)) {
		struct gy_timer *timer = gy_container_of(firing.next, struct gy_timer, item);

		gy_list_remove(&timer->item);
		timer->place = GY_TIMER_STOPPED;
		wheel->count--;
		fired++;
		timer->fire(timer);
	}
	return fired;
}

uint64_t gy_wheel_next_ns(const struct gy_wheel *wheel)
{
	uint32_t level;
	uint32_t slot;
	uint64_t tick;

	if (!gy_list_empty(&wheel->fresh) || !gy_list_empty(&wheel->due) || wheel->lazy != NULL) {
		return 0;
	}
	tick = next_slot(wheel, &level, &slot);
	if (tick == UINT64_MAX) {
		return UINT64_MAX;
	}
	return gy_time_add(wheel->start_ns, tick * wheel->tick_ns);
}

void gy_timer_pack(struct gy_wheel *wheel, struct gy_timer *timer, uint64_t now_ns)
{
	uint64_t deadline_ns;

	if (timer->place == GY_TIMER_LAZY) {
		gy_timers_settle_lazy(wheel, now_ns);
	}
	if (!gy_timer_is_started(timer)) {
		return;
	}
	if (timer->place == GY_TIMER_FRESH) {
		deadline_ns = gy_time_add(now_ns, timer->delay_ns);
	} else if (timer->deadline_tick > (UINT64_MAX - wheel->start_ns) / wheel->tick_ns) {
		deadline_ns = UINT64_MAX;
	} else {
		deadline_ns = wheel->start_ns + timer->deadline_tick * wheel->tick_ns;
	}
	gy_timer_stop(wheel, timer);
	timer->delay_ns = deadline_ns;
	timer->place = GY_TIMER_PACKED;
}

void gy_timer_unpack(struct gy_wheel *wheel, struct gy_timer *timer)
{
	uint64_t deadline_ns = timer->delay_ns;

	if (timer->place == GY_TIMER_PACKED) {
		timer->place = GY_TIMER_STOPPED;
		gy_timer_start_at(wheel, timer, deadline_ns);
	}
}

static uint64_t check_list(const struct gy_list *list, uint32_t place)
{
	for (const struct gy_list *item = list->next; item != list; item = item->next) {
		gy_assert(gy_container_of(item, const struct gy_timer, item)->place == place);
	}
	return gy_list_check(list);
}

static uint64_t check_slot(const struct gy_wheel *wheel, uint32_t at)
{
	const struct gy_list *list = &wheel->slots[at / GY_WHEEL_SLOTS][at % GY_WHEEL_SLOTS];
	bool occupied = (wheel->occupied[at / GY_WHEEL_SLOTS] >> at % GY_WHEEL_SLOTS & 1) != 0;

	gy_assert(occupied == !gy_list_empty(list));
	for (const struct gy_list *item = list->next; item != list; item = item->next) {
		uint64_t tick = gy_container_of(item, const struct gy_timer, item)->deadline_tick;

		gy_assert(tick > wheel->tick && slot_of(wheel, tick) == at);
	}
	return check_list(list, at);
}

void gy_wheel_check(const struct gy_wheel *wheel)
{
	uint64_t count = check_list(&wheel->fresh, GY_TIMER_FRESH);

	count += check_list(&wheel->due, GY_TIMER_DUE);
	for (uint32_t at = 0; at < GY_WHEEL_LEVELS * GY_WHEEL_SLOTS; at++) {
		count += check_slot(wheel, at);
	}
	gy_assert(count == wheel->count);
	for (const struct gy_list *item = wheel->lazy; item != NULL; item = item->next) {
		gy_assert(gy_container_of(item, const struct gy_timer, item)->place ==
			  GY_TIMER_LAZY);
	}
}
