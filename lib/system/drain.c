/*
 * How a system stops: in stages that all loops go through together, so that nothing is lost
 * uncounted.
 *
 * - Acceptors stop.
 * - What was begun is finished, as long as actors hold this phase.
 * - Channels send what is queued and close. Past the time-out they are closed at once.
 * - Actors have their last words.
 * - Actors stop. Messages that wait for them become dead letters.
 * - Mail that was between loops arrives and becomes dead letters. Its askers are told.
 * - Those answers arrive.
 * - Envelopes come home to the loop they belong to.
 *
 * A loop that has done its part of a stage arrives; the last one to arrive opens the next stage and
 * wakes all. The first four are the phases that actors hold, see gyre/shutdown.h; a loop where
 * nobody has ever wanted to hold the first two closes its channels at once, without a look at the
 * others, one of which may be in the middle of a long handler. What a loop sent before it arrived
 * has been flushed, so it is in its receiver's inbox when the next stage begins.
 */
#include "system/drain.h"

#include <errno.h>

#include <gyre/shutdown.h>

#include "actor/address_text.h"
#include "actor/life/shutdown.h"
#include "actor/steal_actor.h"
#include "loop/borrowed.h"
#include "ring/descriptor.h"
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

/* ---- phases ---- */

static const char *const phase_names[] = {
	[GYRE_SHUTDOWN_INTAKE] = "intake",
	[GYRE_SHUTDOWN_FINISH] = "finish",
	[GYRE_SHUTDOWN_CLOSE] = "close",
	[GYRE_SHUTDOWN_LAST_WORDS] = "last words",
};

static bool is_out_of_time(const struct gy_worker *worker)
{
	return gy_load_relaxed(&worker->system->stop) > 1 ||
	       !gy_timer_is_started(&worker->deadline);
}

static void begin_phase(struct gy_worker *worker, uint32_t phase)
{
	gy_shutdown_begin(worker->home, phase, worker->deadline_ns);
}

/* Until here channels, links and the pool have gone on as ever. */
static void begin_to_close(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;

	gy_assert(!worker->closing);
	worker->closing = true;
	if (home->options.remote != NULL) {
		home->options.remote->drain(home);
	}
	home->channel_ops->drain(home);
	gy_offload_close(worker->system);
}

static void begin(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;
	uint64_t budget_ns = worker->system->options.drain_timeout_ns;

	gy_assert(worker->retiring.stage == GY_LOOP_RETIRE_NOT);
	worker->draining = true;
	worker->stage = GY_STAGE_RUNNING;
	worker->deadline_ns = gy_time_add(gy_clock_ns(&home->loop.clock), budget_ns);
	gy_timer_init(&worker->deadline, wake_for_deadline);
	gy_timer_start(&home->loop.wheel, &worker->deadline, budget_ns);
	gy_memory_guard_end(worker);
	if (home->loop.index == 0 && !gy_succession_is_over(worker->system)) {
		gy_service_notify_stopping(worker->system);
	}
	home->channel_ops->close_doors(home);
	if (gy_shutdown_is_wanted(home, GYRE_SHUTDOWN_INTAKE) ||
	    gy_shutdown_is_wanted(home, GYRE_SHUTDOWN_FINISH)) {
		begin_phase(worker, GYRE_SHUTDOWN_INTAKE);
	} else {
		begin_phase(worker, GYRE_SHUTDOWN_CLOSE);
		begin_to_close(worker);
	}
}

static void note_timeout(struct gyre_system *system)
{
	int none = 0;

	(void)gy_compare_exchange_relaxed(&system->error, &none, -ETIMEDOUT);
}

/* Whether no actor of this loop holds the present phase any more. */
static bool phase_is_over(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;
	uint32_t held;

	if (!is_out_of_time(worker)) {
		return gy_shutdown_step(home);
	}
	held = gy_shutdown_abandon(home);
	if (held > 0) {
		bool late = gy_load_relaxed(&worker->system->stop) == 1;

		if (late) {
			note_timeout(worker->system);
		}
		gy_log(home->loop.options.log, GYRE_LOG_WARNING,
		       late ? "loop %u: %u actors held the phase \"%s\" to the end of the time"
			    : "loop %u: %u actors hold the phase \"%s\" still: the system stops at "
			      "once",
		       (unsigned)home->loop.index, held,
		       phase_names[gy_load_relaxed(&home->shutdown.phase)]);
	}
	return true;
}

static bool channels_are_closed(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;

	if (home->channel_ops->open_count(home) == 0) {
		return true;
	}
	if (is_out_of_time(worker) && !worker->aborted) {
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

/* Of all loops; they do not go on before this one does. */
static void log_longest_hold(const struct gyre_system *system)
{
	const struct gy_shutdown_hold *longest = &system->homes.homes[0].shutdown.longest;
	char address[GYRE_ADDRESS_TEXT_MAX];

	for (uint32_t i = 1; i < gy_homes_made(&system->homes); i++) {
		const struct gy_shutdown_hold *other = &system->homes.homes[i].shutdown.longest;

		if (other->held_ns > longest->held_ns || longest->class == NULL) {
			longest = other;
		}
	}
	if (longest->class == NULL) {
		return;
	}
	gy_log(&system->log, longest->abandoned ? GYRE_LOG_WARNING : GYRE_LOG_INFO,
	       "the shutdown was held longest by %s %s, %s: phase \"%s\" for %llu ms%s",
	       longest->class->name == NULL ? "an actor" : longest->class->name,
	       gy_address_text(longest->address, address), longest->path,
	       phase_names[longest->phase],
	       (unsigned long long)(longest->held_ns / GYRE_MILLISECONDS(1)),
	       longest->abandoned ? ", and did not let go" : "");
}

/* ---- stages ---- */

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

/*
 * Whether nothing waits for this loop, nor, where it is their deputy, for those that have retired.
 * Nodes that only return to a retired loop call nobody, so the deputy looks each time; and again
 * where one has come since, or is not linked yet.
 */
static bool inboxes_are_empty(struct gy_loop *loop)
{
	if (loop->index == 0) {
		gy_loops_serve_all(loop->peers);
		if (!gy_loops_are_served(loop->peers)) {
			gy_ring_wake(loop->ring);
			return false;
		}
	}
	return gy_inbox_empty(&loop->inbox);
}

static bool stage_is_done(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;

	switch (worker->stage) {
	case GY_STAGE_RUNNING:
	case GY_STAGE_FINISH:
	case GY_STAGE_LAST_WORDS:
		return phase_is_over(worker);
	case GY_STAGE_CLOSE: {
		bool closed = channels_are_closed(worker);

		return phase_is_over(worker) && closed;
	}
	case GY_STAGE_NO_ACTORS:
		if (!worker->stopped) {
			worker->stopped = true;
			if (home->loop.index == 0) {
				log_longest_hold(worker->system);
			}
			gy_timer_stop(&home->loop.wheel, &worker->deadline);
			stop_actors(home);
		}
		return home->houses == 0;
	default:
		return inboxes_are_empty(&home->loop) && home->houses == 0;
	}
}

static void arrive(struct gy_worker *worker)
{
	struct gyre_system *system = worker->system;

	gy_assert(!worker->arrived && worker->stage < GY_STAGE_END);
	worker->arrived = true;
	gy_loop_flush(&worker->home->loop);
	if (gy_fetch_add(&system->arrived, 1) + 1 <
	    system->resizing.living + system->resizing.pinned) {
		return;
	}
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

/* The loop has left out the first two phases if it closes its channels already. */
static void begin_stage(struct gy_worker *worker, uint32_t stage)
{
	worker->stage = stage;
	worker->arrived = false;
	if (stage == GY_STAGE_FINISH && !worker->closing) {
		begin_phase(worker, GYRE_SHUTDOWN_FINISH);
	} else if (stage == GY_STAGE_CLOSE) {
		if (gy_load_relaxed(&worker->home->shutdown.phase) < GYRE_SHUTDOWN_CLOSE) {
			begin_phase(worker, GYRE_SHUTDOWN_CLOSE);
		}
		if (!worker->closing) {
			begin_to_close(worker);
		}
	} else if (stage == GY_STAGE_LAST_WORDS) {
		begin_phase(worker, GYRE_SHUTDOWN_LAST_WORDS);
	} else if (stage > GY_STAGE_NO_ACTORS) {
		drain_inboxes(worker);
	}
}

bool gy_drain_step(struct gy_worker *worker)
{
	struct gyre_system *system = worker->system;
	uint32_t stage = gy_load_acquire(&system->stage);

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
		begin_stage(worker, stage);
	}
	if (gy_unlikely(!worker->closing && is_out_of_time(worker))) {
		begin_to_close(worker); /* others may be far behind */
	}
	if (worker->closing && stage < GY_STAGE_LAST_WORDS) {
		(void)channels_are_closed(worker);
	}
	if (!worker->arrived && stage_is_done(worker)) {
		arrive(worker);
	}
	if (gy_load_acquire(&system->stage) != GY_STAGE_END) {
		return true;
	}
	(void)gy_descriptor_post_event(system->ended_fd);
	return false;
}
