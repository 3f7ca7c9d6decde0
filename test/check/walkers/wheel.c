/*
 * Damage to a timing wheel.
 */
#include "loop/wheel.h"

#include "walkers.h"

enum { TIMERS = 4 };

static struct gy_wheel wheel;
static struct gy_timer timers[TIMERS];

static void fire(struct gy_timer *timer)
{
	(void)timer;
}

/* A fresh one, one that is due, and two that wait at levels 0 and 1. */
static void fill(void)
{
	gy_wheel_init(&wheel, 1000, 0);
	for (uint32_t i = 0; i < TIMERS; i++) {
		gy_timer_init(&timers[i], fire);
	}
	gy_timer_start_at(&wheel, &timers[1], 0);
	gy_timer_start_at(&wheel, &timers[2], 5000);
	gy_timer_start_at(&wheel, &timers[3], 500000);
	gy_timer_start(&wheel, &timers[0], 7000);
}

static void has_a_linked_timer_that_is_stopped(bool damaged)
{
	fill();
	if (damaged) {
		timers[0].place = GY_TIMER_STOPPED;
	}
	gy_wheel_check(&wheel);
}

static void has_a_timer_in_another_slot(bool damaged)
{
	fill();
	timers[2].deadline_tick += damaged;
	gy_wheel_check(&wheel);
}

static void has_a_timer_of_the_past(bool damaged)
{
	fill();
	wheel.tick += damaged ? 5 : 0;
	gy_wheel_check(&wheel);
}

static void lacks_a_bit_of_a_slot(bool damaged)
{
	fill();
	wheel.occupied[1] = damaged ? 0 : wheel.occupied[1];
	gy_wheel_check(&wheel);
}

static void counts_one_more(bool damaged)
{
	fill();
	wheel.count += damaged;
	gy_wheel_check(&wheel);
}

static void has_a_broken_link(bool damaged)
{
	fill();
	if (damaged) {
		timers[3].item.previous = &timers[3].item;
	}
	gy_wheel_check(&wheel);
}

static void has_a_lazy_timer_that_has_its_place(bool damaged)
{
	fill();
	gy_timer_stop(&wheel, &timers[2]);
	gy_timer_start_lazy(&wheel, &timers[2], 9000);
	if (damaged) {
		timers[2].place = timers[3].place;
	}
	gy_wheel_check(&wheel);
}

const struct walker_case wheel_cases[] = {
	{ "wheel: a lazy timer has a place too", has_a_lazy_timer_that_has_its_place },
	{ "wheel: a stopped timer is linked", has_a_linked_timer_that_is_stopped },
	{ "wheel: a timer is in another slot", has_a_timer_in_another_slot },
	{ "wheel: a timer of the past waits", has_a_timer_of_the_past },
	{ "wheel: the bit of a slot is missing", lacks_a_bit_of_a_slot },
	{ "wheel: the count is wrong", counts_one_more },
	{ "wheel: a link is broken", has_a_broken_link },
	{ 0 },
};
