/*
 * The watchdog: a thread that looks at every loop four times in stall_ns. A loop that goes on has
 * another pulse each time. One that has not and is not parked is sent a signal, for only its own
 * thread may say what it does just then: see stall.c.
 *
 * When all loops have been parked for a while the watchdog sleeps too, without a limit, so that an
 * idle system wakes nobody. A loop that leaves its park then wakes it; struct gy_loop_watch tells
 * why neither can miss the other.
 */
#include "system/observe/watchdog.h"

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <string.h>

#include "base/memory/memory.h"
#include "base/thread.h"
#include "ring/signal.h"
#include "system/system.h"
#include "system/threads.h"

enum { LINES_A_MINUTE = 5 };

/* Shorter than anybody would wait for a system to become idle, longer than most gaps in its work.
 */
static const uint64_t quiet_enough_ns = GYRE_MILLISECONDS(250);
static const uint64_t tick_min_ns = GYRE_MILLISECONDS(1);

/* ---- sleeping ---- */

static void wake(struct gy_loop_watch *watch)
{
	struct gy_watchdog *dog = gy_container_of(watch, struct gy_watchdog, watch);

	(void)pthread_mutex_lock(&dog->mutex);
	gy_store_relaxed(&watch->asleep, 0);
	(void)pthread_cond_signal(&dog->condition);
	(void)pthread_mutex_unlock(&dog->mutex);
}

static bool all_parked(const struct gy_watchdog *dog)
{
	uint32_t made = gy_homes_made(&dog->system->homes);

	for (uint32_t i = 0; i < made; i++) {
		const struct gy_watched *watched = &dog->watched[i];

		if (watched->here && gy_load_full(&watched->home->loop.parked) == GY_AWAKE) {
			return false;
		}
	}
	return true;
}

/* The waits are entered with the mutex held. */
static void sleep_while_parked(struct gy_watchdog *dog)
{
	gy_store_full(&dog->watch.asleep, 1);
	if (all_parked(dog)) {
		while (gy_load_relaxed(&dog->watch.asleep) != 0 && !dog->ending) {
			(void)pthread_cond_wait(&dog->condition, &dog->mutex);
		}
	}
	gy_store_relaxed(&dog->watch.asleep, 0);
	dog->quiet_ns = 0;
}

static void wait_for_tick(struct gy_watchdog *dog)
{
	uint64_t until_ns = gy_clock_machine_ns() + dog->tick_ns;
	struct timespec until = { .tv_sec = (time_t)(until_ns / GYRE_SECONDS(1)),
				  .tv_nsec = (long)(until_ns % GYRE_SECONDS(1)) };
	int r = 0;

	while (!dog->ending && r == 0) {
		r = pthread_cond_timedwait(&dog->condition, &dog->mutex, &until);
	}
}

/* ---- looking ---- */

static void remember(struct gy_watched *watched, const struct gy_pulse *pulse, uint64_t now_ns)
{
	gy_assert(now_ns >= watched->since_ns);
	gy_store_relaxed(&watched->pulse.turns, pulse->turns);
	gy_store_relaxed(&watched->pulse.timed, pulse->timed);
	gy_store_relaxed(&watched->pulse.countdown, pulse->countdown);
	gy_store_relaxed(&watched->since_ns, now_ns);
	watched->look_ns = now_ns;
	watched->reported = false;
}

/* A loop that polls before it parks does not go on either. */
static uint64_t polling_ns(const struct gy_watched *watched)
{
	int64_t spin_ns = watched->home->loop.options.spin_ns;

	return spin_ns > 0 ? (uint64_t)spin_ns : 0;
}

static void inquire(struct gy_watchdog *dog, struct gy_watched *watched, uint64_t now_ns)
{
	if (now_ns < watched->look_ns) {
		return;
	}
	if (dog->signal != 0) {
		watched->look_ns = now_ns + (watched->reported ? dog->stall_ns : 0);
		(void)pthread_kill(watched->thread, dog->signal);
	} else if (!watched->reported &&
		   now_ns - watched->since_ns >= dog->stall_ns + polling_ns(watched)) {
		watched->reported = true;
		gy_stall_log_blind(dog, watched, now_ns - watched->since_ns);
	}
}

static void check_loop(struct gy_watchdog *dog, struct gy_watched *watched)
{
	const struct gy_loop *loop = &watched->home->loop;
	struct gy_pulse pulse = gy_pulse_read(loop);
	bool parked = !watched->here || gy_load_full(&loop->parked) != GY_AWAKE;
	bool same = gy_pulse_equal(&pulse, &watched->pulse);
	/* Read after the pulse: what it belongs to has begun by now. */
	uint64_t now_ns = gy_clock_machine_ns();

	watched->quiet = parked && same;
	if (parked || !same) {
		remember(watched, &pulse, now_ns);
	} else {
		inquire(dog, watched, now_ns);
	}
}

static void check_loops(struct gy_watchdog *dog)
{
	uint32_t made = gy_homes_made(&dog->system->homes);
	bool quiet = true;

	for (uint32_t i = 0; i < made; i++) {
		check_loop(dog, &dog->watched[i]);
		quiet = quiet && dog->watched[i].quiet;
	}
	dog->quiet_ns = quiet ? dog->quiet_ns + dog->tick_ns : 0;
	gy_count(&dog->ticks, 1);
}

static void *run(void *arg)
{
	struct gy_watchdog *dog = (struct gy_watchdog *)arg;

	gy_thread_name("watchdog");
	(void)pthread_mutex_lock(&dog->mutex);
	while (!dog->ending) {
		if (dog->quiet_ns >= quiet_enough_ns) {
			sleep_while_parked(dog);
		} else {
			wait_for_tick(dog);
		}
		check_loops(dog);
		/* A loop that comes or goes need not wait for whoever reads the log. */
		(void)pthread_mutex_unlock(&dog->mutex);
		gy_stalls_log(dog);
		(void)pthread_mutex_lock(&dog->mutex);
	}
	(void)pthread_mutex_unlock(&dog->mutex);
	gy_stalls_log_rest(dog);
	return NULL;
}

/* ---- life ---- */

static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(condition, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

static struct gy_watchdog *make(struct gyre_system *system)
{
	uint32_t loops = gy_system_places(system);
	struct gy_watchdog *dog = (struct gy_watchdog *)gy_memory_get(
		sizeof(*dog) + loops * sizeof(struct gy_watched));

	if (dog == NULL) {
		return NULL;
	}
	dog->watch.wake = wake;
	dog->system = system;
	gy_log_limit_init(&dog->limit, LINES_A_MINUTE, 60000);
	dog->stall_ns = (uint64_t)system->options.stall_ns;
	dog->tick_ns = dog->stall_ns / 4 < tick_min_ns ? tick_min_ns : dog->stall_ns / 4;
	(void)pthread_mutex_init(&dog->mutex, NULL);
	init_condition(&dog->condition);
	for (uint32_t i = 0; i < loops; i++) {
		dog->watched[i].home = &system->homes.homes[i];
		dog->watched[i].watchdog = dog;
	}
	return dog;
}

static void unmake(struct gy_watchdog *dog)
{
	(void)pthread_cond_destroy(&dog->condition);
	(void)pthread_mutex_destroy(&dog->mutex);
	gy_memory_put(dog);
}

static void set_watch(struct gyre_system *system, struct gy_loop_watch *watch)
{
	for (uint32_t i = 0; i < system->homes.count; i++) {
		system->homes.homes[i].loop.watch = watch;
	}
}

static void take_signal(struct gy_watchdog *dog)
{
	void *frame;

	/* The first call loads a library, which is not to happen in a signal handler. */
	(void)backtrace(&frame, 1);
	dog->signal = gy_stall_signal_get();
	if (dog->signal == 0) {
		gy_log(&dog->system->log, GYRE_LOG_INFO,
		       "no real-time signal is free: stalls are logged without class and "
		       "backtrace");
	}
}

void gy_watchdog_start(struct gyre_system *system)
{
	struct gy_watchdog *dog;
	int r = -ENOMEM;

	if (!GY_INSPECT || system->options.stall_ns == GYRE_STALL_NEVER) {
		return;
	}
	dog = make(system);
	if (dog != NULL) {
		take_signal(dog);
		r = gy_thread_start(NULL, run, dog, &dog->thread);
		if (r == 0) {
			set_watch(system, &dog->watch);
			system->watchdog = dog;
			return;
		}
		if (dog->signal != 0) {
			gy_stall_signal_put();
		}
		unmake(dog);
	}
	gy_log(&system->log, GYRE_LOG_WARNING, "nobody looks for stalls of this system: %s",
	       strerrordesc_np(-r));
}

void gy_watchdog_stop(struct gyre_system *system)
{
	struct gy_watchdog *dog = system->watchdog;

	if (dog == NULL) {
		return;
	}
	(void)pthread_mutex_lock(&dog->mutex);
	dog->ending = true;
	(void)pthread_cond_signal(&dog->condition);
	(void)pthread_mutex_unlock(&dog->mutex);
	(void)pthread_join(dog->thread, NULL);
	if (dog->signal != 0) {
		gy_stall_signal_put();
	}
	set_watch(system, NULL);
	system->watchdog = NULL;
	unmake(dog);
}

/* All signals are blocked on a loop's thread, unless it is the program's. */
static void mask_signal(const struct gy_watchdog *dog, const struct gy_worker *worker, int how)
{
	sigset_t set;

	if (dog->signal != 0 && !worker->home->loop.options.embedded) {
		(void)sigemptyset(&set);
		(void)sigaddset(&set, dog->signal);
		(void)pthread_sigmask(how, &set, NULL);
	}
}

/* A loop that begins has no park to leave, so it wakes the watchdog here. */
static void set_here(struct gy_watchdog *dog, struct gy_watched *watched, bool here)
{
	(void)pthread_mutex_lock(&dog->mutex);
	watched->thread = pthread_self();
	watched->here = here;
	if (here) {
		gy_store_relaxed(&dog->watch.asleep, 0);
		(void)pthread_cond_signal(&dog->condition);
	}
	(void)pthread_mutex_unlock(&dog->mutex);
}

void gy_watchdog_enter(struct gy_worker *worker)
{
	struct gy_watchdog *dog = worker->system->watchdog;

	if (dog != NULL) {
		struct gy_watched *watched = &dog->watched[worker->home->loop.index];

		mask_signal(dog, worker, SIG_UNBLOCK);
		set_here(dog, watched, true);
	}
}

/* What waits because the program blocks the signal would end the process when the signal has been
 * given back and the program blocks it no longer. */
static void take_what_waits(const struct gy_watchdog *dog)
{
	sigset_t set;
	sigset_t before;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, dog->signal);
	gy_thread_mask_signals(SIG_BLOCK, &set, &before);
	while (gy_signal_take(&set)) {
	}
	gy_thread_restore_signals(&before);
}

void gy_watchdog_leave(struct gy_worker *worker)
{
	struct gy_watchdog *dog = worker->system->watchdog;

	if (dog != NULL) {
		set_here(dog, &dog->watched[worker->home->loop.index], false);
		mask_signal(dog, worker, SIG_BLOCK);
		if (dog->signal != 0 && worker->home->loop.options.embedded) {
			take_what_waits(dog);
		}
	}
}
