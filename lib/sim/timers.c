/*
 * Timers of a simulation: a binary heap by time, and by the order of their starts where times are
 * the same. Packets, most of which take the same time, and what waits for their acknowledgement
 * stand in rows of their own, where the first is the next to fire: one that would have to go before
 * others there stands in the heap.
 */
#include "base/assert.h"
#include "base/macros.h"
#include "sim/scheduler.h"

enum { IN_ROW = UINT32_MAX };

static bool is_before(const struct gy_sim_timer *a, const struct gy_sim_timer *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

static void set(struct gy_sim_scheduler *scheduler, uint32_t place, struct gy_sim_timer *timer)
{
	scheduler->timers[place] = timer;
	timer->place = place;
}

/* Moves @timer from @place on up or down to where it belongs. */
static void settle(struct gy_sim_scheduler *scheduler, uint32_t place, struct gy_sim_timer *timer)
{
	uint32_t child;

	while (place > 1 && is_before(timer, scheduler->timers[place / 2])) {
		set(scheduler, place, scheduler->timers[place / 2]);
		place /= 2;
	}
	while ((child = place * 2) <= scheduler->timers_count) {
		if (child < scheduler->timers_count &&
		    is_before(scheduler->timers[child + 1], scheduler->timers[child])) {
			child++;
		}
		if (!is_before(scheduler->timers[child], timer)) {
			break;
		}
		set(scheduler, place, scheduler->timers[child]);
		place = child;
	}
	set(scheduler, place, timer);
}

void gy_sim_timer_stop(struct gyre_sim *sim, struct gy_sim_timer *timer)
{
	struct gy_sim_scheduler *scheduler = sim->scheduler;
	uint32_t place = timer->place;
	struct gy_sim_timer *last;

	if (place == 0) {
		return;
	}
	if (place == IN_ROW) {
		gy_list_remove(&timer->of_row);
		timer->place = 0;
		return;
	}
	gy_assert(scheduler->timers[place] == timer);
	last = scheduler->timers[scheduler->timers_count--];
	timer->place = 0;
	if (last != timer) {
		settle(scheduler, place, last);
	}
}

void gy_sim_timer_start(struct gyre_sim *sim, struct gy_sim_timer *timer, uint64_t at_ns)
{
	struct gy_sim_scheduler *scheduler = sim->scheduler;

	gy_sim_timer_stop(sim, timer);
	if (at_ns == UINT64_MAX) {
		return;
	}
	timer->at_ns = at_ns;
	timer->number = ++scheduler->timer_number;
	scheduler->timers_count++;
	gy_sim_grow((void **)&scheduler->timers, &scheduler->timers_room,
		    scheduler->timers_count + 1, sizeof(*scheduler->timers));
	settle(scheduler, scheduler->timers_count, timer);
}

static struct gy_sim_timer *timer_of(struct gy_list *item)
{
	return gy_container_of(item, struct gy_sim_timer, of_row);
}

void gy_sim_timer_start_in_row(struct gyre_sim *sim, struct gy_sim_timer *timer, uint64_t at_ns,
			       enum gy_sim_row row)
{
	struct gy_list *list = &sim->scheduler->rows[row];

	gy_sim_timer_stop(sim, timer);
	if (!gy_list_empty(list) && timer_of(list->previous)->at_ns > at_ns) {
		gy_sim_timer_start(sim, timer, at_ns);
		return;
	}
	timer->at_ns = at_ns;
	timer->number = ++sim->scheduler->timer_number;
	timer->place = IN_ROW;
	gy_list_append(list, &timer->of_row);
}

struct gy_sim_timer *gy_sim_timer_first(const struct gy_sim_scheduler *scheduler)
{
	struct gy_sim_timer *first = scheduler->timers_count == 0 ? NULL : scheduler->timers[1];

	for (uint32_t row = 0; row < GY_SIM_ROWS; row++) {
		struct gy_list *item = scheduler->rows[row].next;

		if (item != &scheduler->rows[row] &&
		    (first == NULL || is_before(timer_of(item), first))) {
			first = timer_of(item);
		}
	}
	return first;
}

void gy_sim_timers_init(struct gy_sim_scheduler *scheduler)
{
	for (uint32_t row = 0; row < GY_SIM_ROWS; row++) {
		gy_list_init(&scheduler->rows[row]);
	}
}
