/*
 * Adding loops to a running system, and retiring them; on the thread that asks for it. What is to
 * be done on a loop is done there, by visits: functions that are posted to it and waited for. So
 * nothing here needs a lock that a loop would take, other than those by which things are placed.
 *
 * A loop is added when its thread can turn, and only then shown to others. One that retires is no
 * longer chosen from the first moment on. Then a grace period passes: every loop has handed over
 * what it was about to send there, so that what is posted after that comes behind all mail that was
 * accepted before. The home stays when the thread has ended, for mail of its pools may be anywhere
 * and senders may have its address; see loop/retired.c.
 *
 * A stop of the system begins when nobody resizes. So how many loops take part in a stop does not
 * change, and all visits take place.
 */
#include "system/resize.h"

#include <gyre/resize.h>

#include <errno.h>
#include <string.h>

#include "net/listen/listener.h"
#include "system/directory/directory.h"
#include "system/directory/groups.h"
#include "system/drain.h"
#include "system/loop_retire.h"
#include "system/machine/cpus.h"
#include "system/machine/topology.h"
#include "system/observe/watchdog.h"
#include "system/outside/foreign_ask.h"
#include "system/process.h"
#include "system/rcu.h"
#include "system/system.h"
#include "system/threads.h"

/* ---- life ---- */

void gy_resizing_init(struct gyre_system *system)
{
	(void)pthread_mutex_init(&system->resizing.exclusive, NULL);
	(void)pthread_mutex_init(&system->resizing.mutex, NULL);
	(void)pthread_cond_init(&system->resizing.condition, NULL);
}

void gy_resizing_fini(struct gyre_system *system)
{
	(void)pthread_cond_destroy(&system->resizing.condition);
	(void)pthread_mutex_destroy(&system->resizing.mutex);
	(void)pthread_mutex_destroy(&system->resizing.exclusive);
}

/* ---- waiting ---- */

/* With the mutex held. The start of an embedded system turns the first loop while it waits. */
static void wake(struct gyre_system *system)
{
	(void)pthread_cond_broadcast(&system->resizing.condition);
	if (system->options.embedded) {
		gy_ring_wake(system->homes.homes[0].loop.ring);
	}
}

void gy_resizing_wake(struct gyre_system *system)
{
	(void)pthread_mutex_lock(&system->resizing.mutex);
	wake(system);
	(void)pthread_mutex_unlock(&system->resizing.mutex);
}

/* With the mutex held. */
static void wait_for_change(struct gyre_system *system)
{
	struct gy_resizing *resizing = &system->resizing;

	if (gy_embedded_is_owner(system)) {
		(void)pthread_mutex_unlock(&resizing->mutex);
		(void)gy_embedded_wait(system);
		(void)pthread_mutex_lock(&resizing->mutex);
	} else {
		(void)pthread_cond_wait(&resizing->condition, &resizing->mutex);
	}
}

/* ---- visits ---- */

static void carry_out(struct gy_loop *loop, struct gy_task *task)
{
	struct gy_visit *visit = gy_container_of(task, struct gy_visit, task);
	struct gyre_system *system = visit->worker->system;

	gy_assert(!visit->done);
	(void)loop;
	visit->run(visit->worker);
	(void)pthread_mutex_lock(&system->resizing.mutex);
	visit->done = true;
	wake(system);
	(void)pthread_mutex_unlock(&system->resizing.mutex);
}

typedef void (*visit_fn)(struct gy_worker *worker);

static void begin_visit(struct gy_loop *loop, struct gy_worker *worker, visit_fn run)
{
	worker->visit = (struct gy_visit){ .task.run = carry_out, .worker = worker, .run = run };
	gy_loop_post_task(loop, &worker->visit.task);
}

static void end_visit(struct gy_worker *worker)
{
	struct gyre_system *system = worker->system;

	(void)pthread_mutex_lock(&system->resizing.mutex);
	while (!worker->visit.done) {
		wait_for_change(system);
	}
	(void)pthread_mutex_unlock(&system->resizing.mutex);
}

static void visit(struct gy_worker *worker, visit_fn run)
{
	begin_visit(&worker->home->loop, worker, run);
	end_visit(worker);
}

/* On the thread of the deputy, or at once where that has none yet. */
static void visit_deputy(struct gy_worker *worker, visit_fn run)
{
	if (worker->system->running) {
		begin_visit(&worker->system->homes.homes[0].loop, worker, run);
		end_visit(worker);
	} else {
		run(worker);
	}
}

static void visit_all(struct gyre_system *system, uint32_t from, uint32_t to, visit_fn run)
{
	for (uint32_t i = from; i < to; i++) {
		begin_visit(&system->homes.homes[i].loop, &system->workers[i], run);
	}
	for (uint32_t i = from; i < to; i++) {
		end_visit(&system->workers[i]);
	}
}

static void adopt(struct gy_worker *worker)
{
	worker->home->leaving = true;
	gy_loop_adopt(&worker->home->loop);
}

/* The loop takes nothing in any more, as after it has retired. */
static void close_loop(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;

	home->channel_ops->leave(home);
	if (home->options.remote != NULL) {
		home->options.remote->drain(home);
	}
	home->leaving = true;
	if (worker->system->running) {
		gy_loop_adopt(&home->loop);
	} else {
		gy_loop_adopt_later(&home->loop);
	}
}

static void release(struct gy_worker *worker)
{
	struct gy_home *home = worker->home;

	gy_loop_release(&home->loop);
	home->leaving = false;
	home->channel_ops->resume(home);
	if (home->options.remote != NULL) {
		home->options.remote->resume(home);
	}
}

/* Submits what was prepared before, wakes to other rings among it. */
static void submit(struct gy_worker *worker)
{
	gy_loop_finish(&worker->home->loop);
}

static void submit_all(struct gyre_system *system)
{
	uint32_t from = system->options.loops_max;

	visit_all(system, 0, system->resizing.living, submit);
	visit_all(system, from, from + system->resizing.pinned, submit);
}

/* Lets loops poll before they park if all of them can run at once, unless the options say
 * otherwise. */
static void tune(struct gy_worker *worker)
{
	const struct gyre_system *system = worker->system;

	if (system->resizing.spin_auto) {
		worker->home->loop.options.spin_ns =
			gy_loops_count(system->homes.loops) > system->resizing.threads_max
				? GYRE_SPIN_NEVER
				: GYRE_SPIN_AUTO;
	}
}

/* No visit, for that would wait behind a flood that is left to the deputy. */
static void end_thread(struct gy_worker *worker)
{
	gy_assert(worker->home->loop.index != 0 && worker->started);
	gy_store_release(&worker->retiring.end, 1);
	gy_ring_wake(worker->home->loop.ring);
	(void)pthread_join(worker->thread, NULL);
	worker->started = false;
}

/* The loop goes on, and stops with the system. */
static void cancel_retiring(struct gy_worker *worker)
{
	gy_timer_stop(&worker->home->loop.wheel, &worker->deadline);
	worker->retiring.stage = GY_LOOP_RETIRE_NOT;
}

/* ---- the stages of loops that retire ---- */

static bool all_done(const struct gyre_system *system, uint32_t from, uint32_t to,
		     enum gy_loop_retire_stage stage)
{
	for (uint32_t i = from; i < to; i++) {
		if (gy_load_acquire(&system->workers[i].retiring.done) < (uint32_t)stage) {
			return false;
		}
	}
	return true;
}

/* -ESHUTDOWN when the system stops before the loops are done. */
static int wait_until_done(struct gyre_system *system, uint32_t from, uint32_t to,
			   enum gy_loop_retire_stage stage)
{
	struct gy_resizing *resizing = &system->resizing;
	int r = 0;

	(void)pthread_mutex_lock(&resizing->mutex);
	while (!all_done(system, from, to, stage) && r == 0) {
		if (gy_load_relaxed(&system->stop) != 0) {
			r = -ESHUTDOWN;
		} else {
			wait_for_change(system);
		}
	}
	(void)pthread_mutex_unlock(&resizing->mutex);
	return r;
}

struct grace {
	struct gy_rcu_item item;
	struct gyre_system *system;
	bool over;
};

static void grace_is_over(struct gy_rcu_item *item)
{
	struct grace *grace = gy_container_of(item, struct grace, item);
	struct gyre_system *system = grace->system;

	(void)pthread_mutex_lock(&system->resizing.mutex);
	grace->over = true;
	wake(system);
	(void)pthread_mutex_unlock(&system->resizing.mutex);
}

/* Each loop has ended the turn it was in, and each thread that routed to a group has done so. */
static void wait_for_grace(struct gyre_system *system)
{
	struct grace grace = { .system = system };

	gy_rcu_call(&system->directory->rcu, &grace.item, grace_is_over);
	(void)pthread_mutex_lock(&system->resizing.mutex);
	while (!grace.over) {
		wait_for_change(system);
	}
	(void)pthread_mutex_unlock(&system->resizing.mutex);
}

/* ---- retiring ---- */

/* From here on nothing is placed on the loops from @to on. */
static void unpublish(struct gyre_system *system, uint32_t to)
{
	gy_assert(to > 0 && to <= gy_loops_count(system->homes.loops));
	(void)pthread_mutex_lock(&system->homes.placing);
	gy_store_release(&system->homes.loops->count, to);
	gy_listeners_shrink(&system->homes, to);
	(void)pthread_mutex_unlock(&system->homes.placing);
	gy_groups_shrink(system, to);
}

/* The thread of a loop has ended: its deputy takes over, and its ring is closed. */
static void hand_to_deputy(struct gyre_system *system, uint32_t index)
{
	struct gy_worker *worker = &system->workers[index];

	visit_deputy(worker, adopt);
	submit_all(system);
	worker->home->channel_ops->rest(worker->home);
}

static int retire_last(struct gyre_system *system)
{
	uint32_t index = system->resizing.living - 1;
	struct gy_worker *worker = &system->workers[index];
	int r;

	gy_assert(index > 0 && index >= gy_loops_count(system->homes.loops));
	visit(worker, gy_loop_retire_actors);
	r = wait_until_done(system, index, index + 1, GY_LOOP_RETIRE_ACTORS);
	if (r < 0) {
		return r;
	}
	gy_foreign_asks_close(system, index);
	end_thread(worker);
	system->resizing.living = index;
	hand_to_deputy(system, index);
	return 0;
}

/* Ends the threads of all loops that do not take part any more. */
static int retire_all(struct gyre_system *system)
{
	uint32_t to = gy_loops_count(system->homes.loops);
	int r;

	wait_for_grace(system);
	visit_all(system, to, system->resizing.living, gy_loop_retire_begin);
	r = wait_until_done(system, to, system->resizing.living, GY_LOOP_RETIRE_CHANNELS);
	while (r == 0 && system->resizing.living > to) {
		r = retire_last(system);
	}
	visit_all(system, to, system->resizing.living, cancel_retiring);
	visit_all(system, 0, to, tune);
	return r;
}

/* Also when no fewer are shown, but some that are not have been left running: see
 * gy_resize_after_start(). */
static int shrink(struct gyre_system *system, uint32_t to)
{
	if (to < gy_loops_count(system->homes.loops)) {
		unpublish(system, to);
	}
	return system->running ? retire_all(system) : 0;
}

/* ---- adding ---- */

static int revive(struct gyre_system *system, uint32_t index)
{
	struct gy_worker *worker = &system->workers[index];
	struct gy_home *home = worker->home;
	struct gy_numa_policy policy;
	int r;

	gy_numa_enter(system->cpu_places[index].node, &policy);
	r = gy_ring_reopen(home->loop.ring, &home->loop.options.ring);
	gy_numa_leave(&policy);
	if (r == 0) {
		visit_deputy(worker, release);
	}
	return r;
}

static int prepare(struct gyre_system *system, uint32_t index)
{
	int r = index < system->homes.count ? revive(system, index)
					    : gy_system_make_home(system, index);

	if (r == 0) {
		system->workers[index] =
			(struct gy_worker){ .system = system, .home = &system->homes.homes[index] };
		system->homes.homes[index].loop.watch =
			system->watchdog == NULL ? NULL : &system->watchdog->watch;
	}
	return r;
}

/*
 * Undoes prepare() for a loop that has no thread. Its home stays all the same, as that of a loop
 * that has retired: its number has been seen, and mail may be on its way there.
 */
static void give_up(struct gyre_system *system, uint32_t index)
{
	struct gy_worker *worker = &system->workers[index];

	visit_deputy(worker, close_loop);
	if (system->running) {
		submit_all(system);
	}
	worker->home->channel_ops->rest(worker->home);
}

/* Makes loops run that nobody knows yet; on failure none of them does. */
static int add(struct gyre_system *system, uint32_t from, uint32_t to)
{
	uint32_t made = from;
	int r = 0;

	while (made < to && r == 0) {
		r = prepare(system, made);
		made += r == 0;
	}
	if (r == 0 && system->running) {
		r = gy_threads_start(system, from, to);
	}
	if (r == 0) {
		system->resizing.living = to;
		return 0;
	}
	gy_log(&system->log, GYRE_LOG_ERROR, "%u loops cannot be added, there are %u as before: %s",
	       (unsigned)(to - from), (unsigned)gy_loops_count(system->homes.loops),
	       strerrordesc_np(-r));
	while (made > from) {
		give_up(system, --made);
	}
	return r;
}

static void publish(struct gyre_system *system, uint32_t from, uint32_t to)
{
	(void)pthread_mutex_lock(&system->homes.placing);
	gy_store_release(&system->homes.loops->count, to);
	gy_listeners_grow(&system->homes, from, to);
	(void)pthread_mutex_unlock(&system->homes.placing);
	gy_groups_grow(system, from, to);
	if (system->running) {
		visit_all(system, 0, to, tune);
	}
}

static int grow(struct gyre_system *system, uint32_t from, uint32_t to)
{
	uint32_t there = system->resizing.living;
	int r = to > there ? add(system, there, to) : 0;

	if (r == 0) {
		publish(system, from, to);
	}
	return r;
}

/* ---- loops of one actor each ---- */

/*
 * Their numbers follow those of all loops that there may be, and homes are made without a gap: so
 * those in between are made too, and rest as if they had retired.
 */
int gy_resize_make_pinned(struct gyre_system *system)
{
	uint32_t there = system->resizing.living;
	uint32_t made = there;
	int r = 0;

	gy_assert(!system->running && system->homes.count == there);
	while (made < gy_system_places(system) && r == 0) {
		r = prepare(system, made);
		made += r == 0;
		if (r == 0 && made <= system->options.loops_max) {
			give_up(system, made - 1);
		}
	}
	if (r == 0) {
		system->resizing.pinned = system->options.loops_pinned;
	}
	return r;
}

/* ---- one at a time ---- */

/* In this order: a loop that looks whether to stop sees the one, or we see the other. */
static int begin(struct gyre_system *system)
{
	gy_store_full(&system->resizing.under_way, 1);
	return gy_load_full(&system->stop) != 0 ? -ESHUTDOWN : 0;
}

/* In this order too: the one who hands over sees us, and waits, or we see that one. */
static int begin_unless_refused(struct gyre_system *system)
{
	int r = begin(system);

	return r == 0 && gy_load_full(&system->resizing.refused) != 0 ? -EBUSY : r;
}

static void end(struct gyre_system *system)
{
	gy_store_full(&system->resizing.under_way, 0);
	if (gy_load_full(&system->stop) != 0) {
		gy_system_wake_all(system);
	}
}

static int resize(struct gyre_system *system, uint32_t to)
{
	uint32_t from = gy_loops_count(system->homes.loops);
	int r = begin_unless_refused(system);

	if (r == 0 && to > from) {
		r = grow(system, from, to);
	}
	if (r == 0 && to < system->resizing.living) {
		r = shrink(system, to);
	}
	end(system);
	return r;
}

/*
 * A successor may have come with the start, and be given the sockets of these loops too. Then they
 * serve on: the process ends, or the next resize retires them. A stop ends them as it does all.
 */
void gy_resize_after_start(struct gyre_system *system)
{
	if (system->resizing.living > gy_loops_count(system->homes.loops) &&
	    begin_unless_refused(system) == 0) {
		(void)retire_all(system); /* fails when the system stops, and only then */
	}
	end(system);
}

int gyre_system_resize(struct gyre_system *system, uint32_t loops)
{
	int r;

	if (system == NULL || loops == 0) {
		return -EINVAL;
	}
	if (gy_current_worker() != NULL || gy_embedded_is_owner(system)) {
		return -EDEADLK;
	}
	if (loops > system->options.loops_max) {
		return -ENOBUFS;
	}
	(void)pthread_mutex_lock(&system->resizing.exclusive);
	r = resize(system, loops);
	(void)pthread_mutex_unlock(&system->resizing.exclusive);
	return r;
}
