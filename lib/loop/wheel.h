/*
 * A hierarchical timing wheel: 8 levels of 64 slots, intrusive nodes, O(1) to start and to cancel.
 *
 * A timer that is started with a delay is first only appended to a list of fresh ones. It gets its
 * place at the next clock reading, from which its delay counts. Starting a timer therefore needs no
 * clock and no division, and a stale clock makes no timer early.
 *
 * A lazy timer is for what is started and stopped many times a turn, as that of an ask, which is
 * most often answered in the turn that it is made in. It stays in a list of its own until the next
 * clock reading, started or not; starting and stopping it there only write its delay. Then it gets
 * its place if it is started, and leaves the list if it is not. So its memory must stay until then,
 * or until gy_timers_settle_lazy() is called for it.
 */
#ifndef GY_LOOP_WHEEL_H
#define GY_LOOP_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/list.h"

enum { GY_WHEEL_BITS = 6, GY_WHEEL_SLOTS = 1 << GY_WHEEL_BITS, GY_WHEEL_LEVELS = 8 };

struct gy_timer;

/* Called in phase 2 with the timer already stopped, so that it may be started again or freed. */
typedef void (*gy_timer_fire_fn)(struct gy_timer *timer);

struct gy_timer {
	struct gy_list item;
	union {
		uint64_t delay_ns;	/* while fresh; while lazy, 0: it is not started */
		uint64_t deadline_tick; /* once placed */
	};
	gy_timer_fire_fn fire;
	uint32_t place; /* slot number over all levels, or one of the below */
};

enum {
	GY_TIMER_STOPPED = 0xffff,
	GY_TIMER_FRESH = 0xfffe,
	GY_TIMER_DUE = 0xfffd,
	GY_TIMER_PACKED = 0xfffc, /* between two wheels; delay_ns is the deadline */
	GY_TIMER_LAZY = 0xfffb,	  /* in the list of lazy ones, by item.next alone */
};

struct gy_wheel {
	uint64_t tick;	       /* all timers up to this one have been made due */
	uint64_t next_tick_ns; /* when the one behind it begins */
	uint64_t tick_ns;      /* length of a tick */
	uint64_t reciprocal;   /* of @tick_ns, as a fraction of 2^64 */
	uint64_t start_ns;     /* the clock at tick 0 */
	uint64_t count;	       /* timers started and not yet fired or stopped, but lazy ones */
	uint64_t occupied[GY_WHEEL_LEVELS];
	struct gy_list fresh;
	struct gy_list *lazy; /* ends in NULL */
	struct gy_list due;
	struct gy_list slots[GY_WHEEL_LEVELS][GY_WHEEL_SLOTS];
};

void gy_wheel_init(struct gy_wheel *wheel, uint64_t tick_ns, uint64_t now_ns);

static inline void gy_timer_init(struct gy_timer *timer, gy_timer_fire_fn fire)
{
	gy_list_init(&timer->item);
	timer->fire = fire;
	timer->place = GY_TIMER_STOPPED;
}

static inline bool gy_timer_is_started(const struct gy_timer *timer)
{
	return timer->place == GY_TIMER_LAZY ? timer->delay_ns != 0
					     : timer->place != GY_TIMER_STOPPED;
}

/* Fires @delay_ns after the next clock reading, never earlier. The timer must be stopped. */
static inline void gy_timer_start(struct gy_wheel *wheel, struct gy_timer *timer, uint64_t delay_ns)
{
	gy_assert(timer->place == GY_TIMER_STOPPED);
	timer->delay_ns = delay_ns;
	timer->place = GY_TIMER_FRESH;
	wheel->count++;
	gy_list_append(&wheel->fresh, &timer->item);
}

/* gy_timer_start() for a lazy timer; @delay_ns is not 0. */
static inline void gy_timer_start_lazy(struct gy_wheel *wheel, struct gy_timer *timer,
				       uint64_t delay_ns)
{
	if (gy_unlikely(timer->place != GY_TIMER_LAZY)) {
		gy_assert(timer->place == GY_TIMER_STOPPED);
		timer->place = GY_TIMER_LAZY;
		timer->item.next = wheel->lazy;
		wheel->lazy = &timer->item;
	}
	timer->delay_ns = delay_ns;
}

/* Fires when the clock has reached @deadline_ns. The timer must be stopped. */
void gy_timer_start_at(struct gy_wheel *wheel, struct gy_timer *timer, uint64_t deadline_ns);

/* A stopped timer may be stopped again. */
static inline void gy_timer_stop(struct gy_wheel *wheel, struct gy_timer *timer)
{
	uint32_t place = timer->place;
	bool was_last;

	gy_verify(place != GY_TIMER_LAZY);
	if (place == GY_TIMER_STOPPED) {
		return;
	}
	/* If both neighbours are one, that is the head of the list. */
	was_last = timer->item.next == timer->item.previous;
	gy_list_remove(&timer->item);
	timer->place = GY_TIMER_STOPPED;
	wheel->count--;
	if (was_last && place < GY_WHEEL_LEVELS * GY_WHEEL_SLOTS) {
		wheel->occupied[place / GY_WHEEL_SLOTS] &= ~(UINT64_C(1) << place % GY_WHEEL_SLOTS);
	}
}

/* gy_timer_stop() for a lazy timer. */
static inline void gy_timer_stop_lazy(struct gy_wheel *wheel, struct gy_timer *timer)
{
	if (gy_likely(timer->place == GY_TIMER_LAZY)) {
		timer->delay_ns = 0;
		return;
	}
	gy_timer_stop(wheel, timer);
}

/* Empties the list of lazy timers: each is placed, or stopped. */
void gy_timers_settle_lazy(struct gy_wheel *wheel, uint64_t now_ns);

/* Takes a timer off its wheel, to be put onto another by gy_timer_unpack(). A stopped timer stays
 * stopped. */
void gy_timer_pack(struct gy_wheel *wheel, struct gy_timer *timer, uint64_t now_ns);
void gy_timer_unpack(struct gy_wheel *wheel, struct gy_timer *timer);

/* As gy_wheel_advance(), which calls it where there is something to do. */
void gy_wheel_advance_slow(struct gy_wheel *wheel, uint64_t now_ns);

/* Places fresh timers and makes timers due whose time has come; cheap when there are none. */
static inline void gy_wheel_advance(struct gy_wheel *wheel, uint64_t now_ns)
{
	if (now_ns >= wheel->next_tick_ns || !gy_list_empty(&wheel->fresh) || wheel->lazy != NULL) {
		gy_wheel_advance_slow(wheel, now_ns);
	}
}

/* Whether gy_wheel_fire() would fire any. */
static inline bool gy_wheel_is_due(const struct gy_wheel *wheel)
{
	return !gy_list_empty(&wheel->due);
}

/* Fires the timers that are due, without those that become due meanwhile. Returns how many. */
uint32_t gy_wheel_fire(struct gy_wheel *wheel);
/* Asserts that each timer stands where its deadline belongs, and that the count is right. */
void gy_wheel_check(const struct gy_wheel *wheel);
/* Returns the clock reading at which gy_wheel_advance() has something to do; UINT64_MAX: never. */
uint64_t gy_wheel_next_ns(const struct gy_wheel *wheel);

#endif
