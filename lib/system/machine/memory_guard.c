/*
 * The memory guard. Who looks is whoever comes first past the time that is due: a loop at the end
 * of a turn, by the clock that the turn has read, or a foreign thread that sends, since a flood of
 * its notices can keep a loop in one turn for long. So nobody is woken to look, and the watchdog,
 * which may be switched off, has no part in it. Looking is one exchange on the time, which is
 * UINT64_MAX until the look is over.
 *
 * The outcome is one word, which loops follow after each turn and which wakes them when it changes.
 * While the system is busy each loop has a timer: the end must be seen also when nothing else
 * happens any more, and what a loop has freed only that loop can give back.
 */
#include <inttypes.h>
#include <urcu/urcu-qsbr.h>

#include <gyre/event.h>
#include <gyre/overload.h>

#include "base/memory/memory.h"
#include "base/thread.h"
#include "channel/channels.h"
#include "loop/foreign_nodes.h"
#include "system/drain.h"
#include "system/system.h"
#include "system/threads.h"

enum { POOL_KEEP = 10 };

static const uint64_t measure_every_ns = GYRE_MILLISECONDS(100);
/* A flood can fill a small limit in a tenth of a second: so fast memory can be written at most. */
static const uint64_t flood_bytes_per_ns = 8;
static const uint64_t measure_closely_every_ns = GYRE_MILLISECONDS(10);
static const uint64_t measure_again_ns = GYRE_MILLISECONDS(1);
static const uint64_t hold_max_ns = GYRE_MILLISECONDS(40);
/* By then pools and heap have given back what they kept, many times. */
static const uint64_t lasting_ns = GYRE_SECONDS(10);

/* ---- life ---- */

int64_t gy_memory_guard_init(struct gy_memory_guard *memory_guard, const char *root,
			     int64_t limit_bytes)
{
	struct gy_memory_reading reading;

	*memory_guard = (struct gy_memory_guard){ .due_ns = UINT64_MAX };
	gy_memory_usage_init(&memory_guard->memory_usage);
	(void)pthread_mutex_init(&memory_guard->mutex, NULL);
	gy_condition_init(&memory_guard->condition);
	if (limit_bytes == GYRE_MEMORY_LIMIT_NEVER) {
		return limit_bytes;
	}
	gy_memory_usage_open(&memory_guard->memory_usage, root, (uint64_t)limit_bytes);
	reading = gy_memory_usage_read(&memory_guard->memory_usage);
	if (reading.limit_bytes > 0) {
		memory_guard->due_ns = 0;
	}
	gy_assert(limit_bytes >= 0 && reading.limit_bytes <= INT64_MAX);
	return limit_bytes > 0 ? limit_bytes : (int64_t)reading.limit_bytes;
}

void gy_memory_guard_fini(struct gy_memory_guard *memory_guard)
{
	if (memory_guard->busy != 0) { /* no loop has ever turned */
		gy_memory_hurry(false);
	}
	gy_memory_usage_close(&memory_guard->memory_usage);
	(void)pthread_cond_destroy(&memory_guard->condition);
	(void)pthread_mutex_destroy(&memory_guard->mutex);
}

/* ---- measuring ---- */

/* Whether that is a change. */
static bool set_busy(struct gy_memory_guard *memory_guard, bool busy)
{
	bool changed;

	(void)pthread_mutex_lock(&memory_guard->mutex);
	changed = !memory_guard->ended && busy != (memory_guard->busy != 0);
	if (changed) {
		gy_store_relaxed(&memory_guard->busy, busy);
		gy_count(&memory_guard->periods, busy);
		gy_memory_hurry(busy);
		(void)pthread_cond_broadcast(&memory_guard->condition);
	}
	(void)pthread_mutex_unlock(&memory_guard->mutex);
	return changed;
}

static void log_change(const struct gyre_system *system, bool busy,
		       const struct gy_memory_reading *look)
{
	uint64_t used_mib = look->used_bytes >> 20;
	uint64_t limit_mib = look->limit_bytes >> 20;

	if (busy) {
		gy_log(&system->log, GYRE_LOG_WARNING,
		       "memory is short: %" PRIu64 " MiB of %" PRIu64 " MiB are used; nothing is "
		       "accepted or read until less than 80 %% are",
		       used_mib, limit_mib);
	} else {
		gy_log(&system->log, GYRE_LOG_INFO,
		       "memory is no longer short: %" PRIu64 " MiB of %" PRIu64 " MiB are used",
		       used_mib, limit_mib);
	}
}

/* What is left is the program's own: nobody is served until it holds less, or may hold more. */
static void warn_if_it_lasts(struct gyre_system *system, const struct gy_memory_reading *look,
			     uint64_t now_ns)
{
	struct gy_memory_guard *memory_guard = &system->memory_guard;
	uint64_t since_ns = gy_load_relaxed(&memory_guard->busy_since_ns);

	if (since_ns == 0 || now_ns - since_ns < lasting_ns) {
		return;
	}
	gy_store_relaxed(&memory_guard->busy_since_ns, 0);
	gy_log(&system->log, GYRE_LOG_WARNING,
	       "memory stays short: %" PRIu64 " MiB of %" PRIu64 " MiB are used, though what was "
	       "kept for later has been given back; the rest is the program's own, or waits in its "
	       "mailboxes and queues, and nobody is served until less than 80 %% are used: bound "
	       "what is kept, or raise the limit (memory.max of the cgroup, memory_limit_bytes of "
	       "the system)",
	       look->used_bytes >> 20, look->limit_bytes >> 20);
}

/* When to look next: before memory gets short, if it goes on to be taken as since the last look. */
static uint64_t interval_ns(struct gy_memory_guard *memory_guard,
			    const struct gy_memory_reading *seen, uint64_t now_ns)
{
	uint64_t most_ns = seen->limit_bytes / flood_bytes_per_ns;
	uint64_t short_bytes = seen->limit_bytes / 10 * 9;
	uint64_t grown = seen->used_bytes - memory_guard->seen_bytes;
	uint64_t passed_ns = now_ns - memory_guard->seen_ns;
	uint64_t left = short_bytes > seen->used_bytes ? short_bytes - seen->used_bytes : 0;
	bool grows = memory_guard->seen_ns != 0 && seen->used_bytes > memory_guard->seen_bytes;

	gy_assert(now_ns >= memory_guard->seen_ns);
	memory_guard->seen_bytes = seen->used_bytes;
	memory_guard->seen_ns = now_ns;
	most_ns = most_ns < measure_every_ns ? most_ns : measure_every_ns;
	if (seen->level >= GY_MEMORY_USAGE_HALF) {
		most_ns = measure_closely_every_ns;
	}
	if (grows && (double)left / 2 * (double)passed_ns < (double)most_ns * (double)grown) {
		most_ns = (uint64_t)((double)left / 2 * (double)passed_ns / (double)grown);
	}
	return most_ns > measure_again_ns ? most_ns : measure_again_ns;
}

static void publish_change(struct gyre_system *system, bool busy)
{
	const struct gyre_overload event = { .busy = busy };

	system->homes.homes[0].options.directory->publish(system, NULL, &gyre_type_gyre_overload,
							  &event);
}

static void measure(struct gyre_system *system, uint64_t now_ns)
{
	struct gy_memory_guard *memory_guard = &system->memory_guard;
	bool was = gy_load_relaxed(&memory_guard->busy) != 0;
	struct gy_memory_reading seen = gy_memory_usage_read(&memory_guard->memory_usage);
	bool busy = seen.level >= (was ? GY_MEMORY_USAGE_HIGH : GY_MEMORY_USAGE_OVER);

	memory_guard->interval_ns = interval_ns(memory_guard, &seen, now_ns);
	if (set_busy(memory_guard, busy)) {
		gy_store_relaxed(&memory_guard->busy_since_ns, busy ? now_ns : 0);
		log_change(system, busy, &seen);
		publish_change(system, busy);
		gy_system_wake_all(system);
	}
	warn_if_it_lasts(system, &seen, now_ns);
}

void gy_memory_guard_check(struct gyre_system *system, uint64_t now_ns)
{
	struct gy_memory_guard *memory_guard = &system->memory_guard;
	uint64_t due_ns = gy_load_relaxed(&memory_guard->due_ns);

	if (now_ns < due_ns || !gy_compare_exchange(&memory_guard->due_ns, &due_ns, UINT64_MAX)) {
		return;
	}
	measure(system, now_ns);
	gy_assert(gy_load_relaxed(&memory_guard->due_ns) == UINT64_MAX);
	gy_assert(memory_guard->interval_ns >= measure_again_ns);
	/* The next one to look sees what this one wrote. */
	gy_store_release(&memory_guard->due_ns, now_ns + memory_guard->interval_ns);
}

/* ---- loops ---- */

/* The turn that the timer wakes gives back, and measures if it is the first to do so. */
static void keep_measuring(struct gy_timer *timer)
{
	struct gy_worker *worker = gy_container_of(timer, struct gy_worker, guarded.timer);

	gy_timer_start(&worker->home->loop.wheel, timer, measure_every_ns);
}

/* Gives back memory that this loop's pools did not need lately, and that its heap keeps. */
static void trim(struct gy_worker *worker)
{
	struct gy_loop *loop = &worker->home->loop;

	worker->guarded.trim_ns = loop->now_ns + measure_every_ns;
	(void)gy_sizes_trim(&loop->nodes, POOL_KEEP);
	(void)loop->ops->trim(loop, POOL_KEEP);
	gy_foreign_nodes_trim(true);
	gy_memory_trim();
}

static void set_loop_busy(struct gy_worker *worker, bool busy)
{
	struct gy_loop *loop = &worker->home->loop;

	gy_assert(busy != (worker->guarded.busy != 0));
	worker->guarded.busy = busy;
	gy_channels_set_busy(worker->home, busy);
	if (busy) {
		gy_timer_init(&worker->guarded.timer, keep_measuring);
		gy_timer_start(&loop->wheel, &worker->guarded.timer, measure_every_ns);
	} else {
		gy_timer_stop(&loop->wheel, &worker->guarded.timer);
	}
}

void gy_memory_guard_apply(struct gy_worker *worker)
{
	uint32_t busy = gy_load_relaxed(&worker->system->memory_guard.busy);

	if (worker->draining) {
		return;
	}
	if (busy != worker->guarded.busy) {
		set_loop_busy(worker, busy != 0);
	}
	if (busy != 0 && worker->home->loop.now_ns >= worker->guarded.trim_ns) {
		trim(worker);
	}
}

void gy_memory_guard_leave(struct gy_worker *worker)
{
	if (worker->guarded.busy != 0) {
		set_loop_busy(worker, false);
	}
}

void gy_memory_guard_end(struct gy_worker *worker)
{
	struct gy_memory_guard *memory_guard = &worker->system->memory_guard;
	bool busy;

	(void)pthread_mutex_lock(&memory_guard->mutex);
	busy = memory_guard->busy != 0;
	memory_guard->ended = true;
	gy_store_relaxed(&memory_guard->busy, 0);
	if (busy) {
		gy_memory_hurry(false);
	}
	(void)pthread_cond_broadcast(&memory_guard->condition);
	(void)pthread_mutex_unlock(&memory_guard->mutex);
	gy_memory_guard_leave(worker);
	if (busy) {
		publish_change(worker->system, false);
		gy_log(&worker->system->log, GYRE_LOG_INFO,
		       "memory was short to the end: the system stops");
	}
}

/* ---- foreign threads ---- */

static void wait_for_end(struct gy_memory_guard *memory_guard)
{
	uint64_t until_ns = gy_clock_machine_ns() + hold_max_ns;
	bool in_time = true;

	(void)pthread_mutex_lock(&memory_guard->mutex);
	while (memory_guard->busy != 0 && in_time) {
		in_time = gy_condition_wait_until(&memory_guard->condition, &memory_guard->mutex,
						  until_ns);
	}
	(void)pthread_mutex_unlock(&memory_guard->mutex);
}

void gy_memory_guard_wait(struct gyre_system *system)
{
	/* A reader of RCU, which would hold up everybody: a loop, of whatever system. And the
	 * thread that turns a loop itself would wait for what only its turns can bring. */
	if (urcu_qsbr_read_ongoing() || gy_embedded_is_owner(system)) {
		return;
	}
	(void)gy_add_relaxed(&system->memory_guard.delayed, 1);
	/* What loops have freed of this thread's mail comes back to its heap; here is the time. */
	gy_foreign_nodes_free_mine();
	gy_foreign_nodes_trim(true);
	gy_memory_trim();
	wait_for_end(&system->memory_guard);
}

/* ---- what users see ---- */

bool gyre_system_busy(const struct gyre_system *system)
{
	return system != NULL && gy_load_relaxed(&system->memory_guard.busy) != 0;
}

bool gyre_busy(const struct gyre_stack *stack)
{
	return gyre_system_busy(gyre_system_of(stack));
}
