/*
 * How a loop retires, on its own thread; whoever resizes tells it when to begin which stage.
 *
 *   1  Sockets that listen go to other loops. Connections are served on, since most end by
 *      themselves. When half of the drain's time is over those that are left are drained as in a
 *      stop of the system, and at its end closed at once.
 *   2  Actors handle what came before, and stop: first those that have no children here, then their
 *      parents, and last those that carry asks from outside to the others. What is left at the end
 *      of another such time stops at once.
 *   3  The thread ends. What comes from then on is for the deputy; see loop/retired.c.
 */
#include "system/loop_retire.h"

#include "actor/life/children.h"
#include "actor/life/graceful_stop.h"
#include "actor/stack/bound_ask.h"
#include "actor/steal_actor.h"
#include "loop/borrowed.h"
#include "system/machine/memory_guard.h"
#include "system/outside/foreign_ask.h"
#include "system/process.h"
#include "system/resize.h"
#include "system/system.h"
#include "system/threads.h"

static void wake(struct gy_timer *timer)
{
	(void)timer; /* the turn that it woke looks at the clock */
}

static void begin(struct gy_worker *worker, enum gy_loop_retire_stage stage, uint64_t drain_ns)
{
	struct gy_loop *loop = &worker->home->loop;
	uint64_t now_ns = gy_clock_ns(&loop->clock);

	gy_assert(loop->index != 0);
	gy_assert(!worker->draining);
	gy_timer_stop(&loop->wheel, &worker->deadline);
	worker->retiring = (struct gy_loop_retiring){
		.stage = stage,
		.drain_ns = gy_time_add(now_ns, drain_ns),
		.end_ns = gy_time_add(now_ns, worker->system->options.drain_timeout_ns),
		.done = gy_load_relaxed(&worker->retiring.done),
	};
	gy_timer_start_at(&loop->wheel, &worker->deadline, worker->retiring.drain_ns);
}

void gy_loop_retire_begin(struct gy_worker *worker)
{
	gy_assert(worker->retiring.stage == GY_LOOP_RETIRE_NOT);
	gy_timer_init(&worker->deadline, wake);
	begin(worker, GY_LOOP_RETIRE_CHANNELS, worker->system->options.drain_timeout_ns / 2);
	worker->home->channel_ops->leave(worker->home);
}

void gy_loop_retire_actors(struct gy_worker *worker)
{
	gy_assert(worker->retiring.stage == GY_LOOP_RETIRE_CHANNELS);
	begin(worker, GY_LOOP_RETIRE_ACTORS, worker->system->options.drain_timeout_ns);
	worker->home->leaving = true;
}

static void stage_done(struct gy_worker *worker)
{
	if (gy_load_relaxed(&worker->retiring.done) != worker->retiring.stage) {
		gy_store_release(&worker->retiring.done, (uint32_t)worker->retiring.stage);
		gy_resizing_wake(worker->system);
	}
}

/* ---- connections ---- */

static void set_deadline(struct gy_worker *worker, uint64_t time_ns)
{
	struct gy_wheel *wheel = &worker->home->loop.wheel;

	gy_timer_stop(wheel, &worker->deadline);
	gy_timer_start_at(wheel, &worker->deadline, time_ns);
}

/* Links to other nodes first, which takes an answer of those; half of the time that is left. */
static bool links_have_ended(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;
	struct gy_loop_retiring *retiring = &worker->retiring;
	uint64_t now_ns = home->loop.now_ns;

	if (home->options.remote == NULL || home->options.remote->leave(home)) {
		return true;
	}
	if (retiring->leave_ns == 0) {
		retiring->leave_ns = gy_time_add(now_ns, (retiring->end_ns - now_ns) / 2);
		set_deadline(worker, retiring->leave_ns);
	}
	return now_ns >= retiring->leave_ns;
}

static void end_channels(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;
	struct gy_loop_retiring *retiring = &worker->retiring;

	if (!retiring->drained && home->loop.now_ns >= retiring->drain_ns &&
	    (home->loop.now_ns >= retiring->end_ns || links_have_ended(worker))) {
		retiring->drained = true;
		set_deadline(worker, retiring->end_ns);
		home->channel_ops->drain(home);
	}
	if (!retiring->hard && home->loop.now_ns >= retiring->end_ns) {
		retiring->hard = true;
		gy_log(home->loop.options.log, GYRE_LOG_WARNING,
		       "loop %u: %u channels did not end before it retired: they are closed at "
		       "once",
		       (unsigned)home->loop.index, home->channel_ops->open_count(home));
		home->channel_ops->abort(home);
	}
}

/* ---- actors ---- */

typedef void (*house_fn)(struct gy_worker *worker, struct gy_house *house);

/* Other threads may reserve slots meanwhile: their houses are refused when the order comes. */
static void for_each(struct gy_worker *worker, house_fn call)
{
	struct gy_home *home = worker->home;

	(void)pthread_mutex_lock(&home->slots.mutex);
	for (uint32_t slot = 0; slot < home->slots.used; slot++) {
		struct gy_house *house = gy_house_at(home, slot);

		if (house->status >= GY_HOUSE_MOUNTING && house->status != GY_HOUSE_STOPPING) {
			call(worker, house);
		}
	}
	(void)pthread_mutex_unlock(&home->slots.mutex);
}

/* An actor that another loop runs is told when it is back. */
static void order_stop(struct gy_worker *worker, struct gy_house *house)
{
	uint64_t now_ns = worker->home->loop.now_ns;
	uint64_t end_ns = worker->retiring.end_ns;

	if (gy_house_is_away(house)) { /* its class record is the thief's */
		worker->retiring.again = true;
	} else if (gy_foreign_asks_has(house) && !worker->retiring.last) {
		worker->retiring.agents++;
	} else if (!gy_family_has_local_children(house)) {
		worker->retiring.ordered++;
		gy_house_order_graceful_stop(house, end_ns > now_ns ? end_ns - now_ns : 1);
	}
}

static void order_close(struct gy_worker *worker, struct gy_house *house)
{
	worker->retiring.ordered++;
	gy_house_order_stop(house);
}

static void end_actors(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;
	struct gy_loop_retiring *retiring = &worker->retiring;

	if (!retiring->hard && home->loop.now_ns >= retiring->end_ns) {
		retiring->hard = true;
		gy_log(home->loop.options.log, GYRE_LOG_WARNING,
		       "loop %u: %u actors did not end before it retired: they are stopped at once",
		       (unsigned)home->loop.index, home->houses);
		for_each(worker, order_close);
	} else if (!retiring->hard &&
		   (retiring->again ||
		    home->counters.stopped - retiring->stopped >= retiring->ordered)) {
		/* The actors that were told have ended: now their parents are told. */
		retiring->again = false;
		retiring->stopped = home->counters.stopped;
		retiring->ordered = 0;
		retiring->agents = 0;
		retiring->last = false;
		for_each(worker, order_stop);
		retiring->last = retiring->agents == home->houses;
		if (retiring->last) {
			for_each(worker, order_stop);
		}
	}
}

/* ---- the step ---- */

bool gy_loop_retire_step(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;

	gy_assert(gy_current_worker() == worker);
	if (gy_load_relaxed(&worker->system->stop) != 0) {
		gy_resizing_wake(worker->system);
	}
	switch (worker->retiring.stage) {
	case GY_LOOP_RETIRE_CHANNELS:
		if (home->channel_ops->open_count(home) == 0) {
			if (home->options.remote != NULL) {
				home->options.remote->drain(home);
			}
			stage_done(worker);
		} else {
			end_channels(worker);
		}
		return true;
	case GY_LOOP_RETIRE_ACTORS:
		if (gy_load_acquire(&worker->retiring.end) != 0) {
			gy_timer_stop(&home->loop.wheel, &worker->deadline);
			gy_memory_guard_leave(worker);
			gy_loop_end_borrowing(&home->loop);
			gy_loop_finish(&home->loop);
			return false;
		}
		if (home->houses == 0 && gy_bound_asks_stop(home)) {
			stage_done(worker);
		} else if (home->houses > 0) {
			end_actors(worker);
		}
		return true;
	default:
		return true;
	}
}
