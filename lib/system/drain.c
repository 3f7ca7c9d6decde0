/*
 * How a system stops: in stages that all loops go through together, so that nothing is lost
 * uncounted.
 *
 * - Acceptors stop, channels send what is queued and close. Past the time-out they are closed at
 *   once.
 * - Actors stop. Messages that wait for them become dead letters.
 * - Mail that was between loops arrives and becomes dead letters. Its askers are told.
 * - Those answers arrive.
 * - Envelopes come home to the loop they belong to.
 *
 * A loop that has done its part of a stage arrives; the last one to arrive opens the next stage and
 * wakes all. What a loop sent before it arrived has been flushed, so it is in its receiver's inbox
 * when the next stage begins.
 */
#include "system/drain.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "actor/steal_actor.h"
#include "loop/borrowed.h"
#include "system/handover/handover.h"
#include "system/outside/foreign_ask.h"
#include "system/outside/offload.h"
#include "system/process.h"
#include "system/resize.h"
#include "system/service_notify.h"
#include "system/system.h"
#include "system/threads.h"

void gy_system_wake_all(struct gyre_system *system)
{
	uint32_t made = gy_homes_made(&system->homes);

	for (uint32_t i = 0; i < made; i++) {
		if (system->homes.homes[i].loop.ring != NULL) {
			gy_ring_wake(system->homes.homes[i].loop.ring);
		}
	}
}

static void wake_for_deadline(struct gy_timer *timer)
{
	(void)timer; /* the turn that it woke looks at the clock */
}

static void begin(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;

	gy_assert(worker->retiring.stage == GY_LOOP_RETIRE_NOT);
	worker->draining = true;
	worker->stage = GY_STAGE_RUNNING;
	gy_timer_init(&worker->deadline, wake_for_deadline);
	gy_timer_start(&home->loop.wheel, &worker->deadline,
		       worker->system->options.drain_timeout_ns);
	gy_memory_guard_end(worker);
	if (home->loop.index == 0 && !gy_succession_is_over(worker->system)) {
		gy_service_notify_stopping(worker->system);
	}
	if (home->options.remote != NULL) {
		home->options.remote->drain(home);
	}
	home->channel_ops->drain(home);
	gy_offload_close(worker->system);
}

static void note_timeout(struct gyre_system *system)
{
	int none = 0;

	(void)gy_compare_exchange_relaxed(&system->error, &none, -ETIMEDOUT);
}

static bool channels_are_closed(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;
	bool now = gy_load_relaxed(&worker->system->stop) > 1 ||
		   !gy_timer_is_started(&worker->deadline);

	if (home->channel_ops->open_count(home) == 0) {
		return true;
	}
	if (now && !worker->aborted) {
		worker->aborted = true;
		bool late = gy_load_relaxed(&worker->system->stop) == 1;

		if (late) {
			note_timeout(worker->system);
		}
		gy_log(home->loop.options.log, GYRE_LOG_WARNING,
		       late ? "loop %u: %u channels did not end in time: they are closed at once"
			    : "loop %u: %u channels are open still: the system stops at once, and "
			      "closes them",
		       (unsigned)home->loop.index, home->channel_ops->open_count(home));
		home->channel_ops->abort(home);
	}
	return home->channel_ops->open_count(home) == 0;
}

/* Other threads may reserve slots meanwhile: those houses are left to the mail that mounts them. */
static void stop_actors(struct gy_home *home)
{
	home->draining = true;
	(void)pthread_mutex_lock(&home->slots.mutex);
	for (uint32_t slot = 0; slot < home->slots.used; slot++) {
		struct gy_house *house = gy_house_at(home, slot);

		if (house->status < GY_HOUSE_MOUNTING || house->status == GY_HOUSE_STOPPING) {
			continue;
		}
		gy_house_order_stop(house);
	}
	(void)pthread_mutex_unlock(&home->slots.mutex);
}

static bool stage_is_done(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;

	switch (worker->stage) {
	case GY_STAGE_RUNNING:
		return channels_are_closed(worker);
	case GY_STAGE_NO_ACTORS:
		if (!worker->stopped) {
			worker->stopped = true;
			gy_timer_stop(&home->loop.wheel, &worker->deadline);
			stop_actors(home);
		}
		return home->houses == 0;
	default:
		return gy_inbox_empty(&home->loop.inbox) && home->houses == 0 &&
		       (home->loop.index != 0 || gy_loops_are_served(home->loop.peers));
	}
}

static void arrive(struct gy_worker *worker)
{
	struct gyre_system *system = worker->system;

	gy_assert(!worker->arrived && worker->stage < GY_STAGE_END);
	worker->arrived = true;
	gy_loop_flush(&worker->home->loop);
	if (gy_fetch_add(&system->arrived, 1) + 1 < system->resizing.living) {
		return;
	}
	gy_assert(gy_load_relaxed(&system->arrived) == system->resizing.living);
	gy_store_relaxed(&system->arrived, 0);
	gy_foreign_asks_set_stage(system, worker->stage + 1);
	gy_system_wake_all(system);
}

/* Drains the loop's inbox. The first loop also drains those of retired loops, whose deputy it is.
 */
static void drain_inboxes(struct gy_worker *worker)
{
	struct gy_loop *loop = &worker->home->loop;

	gy_loop_drain_inbox(loop);
	gy_loop_end_borrowing(loop);
	if (loop->index == 0) {
		gy_loops_serve_all(loop->peers);
	}
}

bool gy_drain_step(struct gy_worker *worker)
{
	struct gyre_system *system = worker->system;
	uint32_t stage = gy_load_acquire(&system->stage);
	uint64_t one = 1;

	gy_assert(gy_current_worker() == worker);
	gy_assert(!worker->draining || stage >= worker->stage);
	if (stage == GY_STAGE_END) {
		return false;
	}
	if (!worker->draining) {
		/* In this order: whoever begins to resize sets the one, and then looks at the
		 * stop. */
		if (gy_load_full(&system->resizing.under_way) != 0) {
			gy_resizing_wake(system);
			return true;
		}
		begin(worker);
	}
	if (stage > worker->stage) {
		worker->stage = stage;
		worker->arrived = false;
		if (stage > GY_STAGE_NO_ACTORS) {
			drain_inboxes(worker);
		}
	}
	if (!worker->arrived && stage_is_done(worker)) {
		arrive(worker);
	}
	if (gy_load_acquire(&system->stage) != GY_STAGE_END) {
		return true;
	}
	(void)!write(system->ended_fd, &one, sizeof(one));
	return false;
}
