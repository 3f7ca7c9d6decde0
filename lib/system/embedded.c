/*
 * A system whose first loop is turned by a thread of the program, from a loop of its own.
 *
 * Between two calls the loop rests: it counts as parked, so that whoever sends to it wakes it, and
 * that makes the descriptor readable for which the program waits. A call turns until there is
 * nothing to do, and no longer than its budget. The thread is known as the loop's only while it is
 * in a call; between them it is one from outside.
 */
#include "system/embedded.h"

#include <gyre/embed.h>

#include <errno.h>
#include <signal.h>

#include "base/thread.h"
#include "ring/signal.h"
#include "system/observe/watchdog.h"
#include "system/process.h"
#include "system/system.h"
#include "system/threads.h"

static const uint64_t budget_ns = GYRE_MILLISECONDS(1);

bool gy_embedded_is_owner(const struct gyre_system *system)
{
	const struct gy_embedding *embedding = &system->embedding;

	return gy_load_acquire(&embedding->owned) &&
	       pthread_equal(embedding->owner, pthread_self());
}

/* ---- SIGPIPE ---- */

static void pipe_signal(sigset_t *ret_signals)
{
	(void)sigemptyset(ret_signals);
	(void)sigaddset(ret_signals, SIGPIPE);
}

/* Writing to a pipe without a reader would end a program that has not thought of it. */
static bool has_to_keep_pipe_away(void)
{
	struct sigaction action;
	sigset_t blocked;

	(void)gy_signal_action(SIGPIPE, &action);
	gy_thread_mask_signals(SIG_BLOCK, NULL, &blocked);
	return (action.sa_flags & SA_SIGINFO) != 0 ||
	       (action.sa_handler != SIG_IGN && sigismember(&blocked, SIGPIPE) == 0);
}

static void block_pipe(sigset_t *ret_before)
{
	sigset_t signals;

	pipe_signal(&signals);
	gy_thread_mask_signals(SIG_BLOCK, &signals, ret_before);
}

/* One of our own writes may have left it pending. */
static void unblock_pipe(const sigset_t *before)
{
	sigset_t signals;

	pipe_signal(&signals);
	(void)gy_signal_take(&signals);
	gy_thread_restore_signals(before);
}

/* ---- the signal of the watchdog ---- */

/* A thread that blocks it would never say what it does. 0 where it does not. */
static int blocked_watch_signal(const struct gyre_system *system)
{
	int number = system->watchdog == NULL ? 0 : system->watchdog->signal;
	sigset_t blocked;

	gy_thread_mask_signals(SIG_BLOCK, NULL, &blocked);
	return number != 0 && sigismember(&blocked, number) == 1 ? number : 0;
}

static void mask_watch_signal(int number, int how)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, number);
	gy_thread_mask_signals(how, &signals, NULL);
}

/* ---- turning ---- */

/* The last thing that the owner does with the loop. */
static void end(struct gyre_system *system)
{
	struct gy_worker *worker = &system->workers[0];

	gy_watchdog_leave(worker);
	gy_worker_leave(worker);
	gy_ring_disown(worker->home->loop.ring);
	(void)pthread_mutex_lock(&system->mutex);
	gy_store_release(&system->embedding.ended, true);
	(void)pthread_cond_broadcast(&system->started_condition);
	(void)pthread_mutex_unlock(&system->mutex);
}

/* Turns until the loop has nothing to do, or the budget is used up. False when it has ended. */
static bool turn_while_busy(struct gy_worker *worker, bool *ret_done)
{
	struct gy_loop *loop = &worker->home->loop;
	uint64_t end_ns;
	bool out_of_time;

	gy_loop_rouse(loop);
	end_ns = gy_time_add(loop->now_ns, budget_ns);
	do {
		bool goes_on = gy_worker_turn(worker);

		*ret_done = *ret_done || loop->idle_count == 0;
		if (!goes_on) {
			return false;
		}
		out_of_time = loop->now_ns >= end_ns;
	} while (!gy_loop_rest(loop, out_of_time));
	return true;
}

static bool turn(struct gyre_system *system, bool *ret_done)
{
	struct gy_worker *worker = &system->workers[0];
	bool keeps_pipe_away = system->embedding.keeps_pipe_away;
	int watch_signal = system->embedding.watch_signal;
	sigset_t before;
	bool goes_on;

	gy_assert(gy_embedded_is_owner(system) && system->embedding.resting);
	if (keeps_pipe_away) {
		block_pipe(&before);
	}
	if (watch_signal != 0) {
		mask_watch_signal(watch_signal, SIG_UNBLOCK);
	}
	system->embedding.resting = false;
	gy_current_worker_set(worker);
	goes_on = turn_while_busy(worker, ret_done);
	gy_current_worker_set(NULL);
	system->embedding.resting = true;
	if (!goes_on) {
		end(system); /* another thread may free it now */
	}
	if (watch_signal != 0) {
		mask_watch_signal(watch_signal, SIG_BLOCK);
	}
	if (keeps_pipe_away) {
		unblock_pipe(&before);
	}
	return goes_on;
}

static int turn_or_wait(struct gyre_system *system, uint64_t timeout_ns)
{
	bool done = false;

	if (!turn(system, &done)) {
		return -ESHUTDOWN;
	}
	if (!done && timeout_ns > 0) {
		gy_ring_descriptor_wait(system->homes.homes[0].loop.ring, timeout_ns);
		if (!turn(system, &done)) {
			return -ESHUTDOWN;
		}
	}
	return done;
}

int gyre_system_turn(struct gyre_system *system, uint64_t timeout_ns)
{
	if (system == NULL || !system->options.embedded ||
	    !gy_load_acquire(&system->embedding.owned)) {
		return -EINVAL;
	}
	if (!gy_embedded_is_owner(system)) {
		return -EPERM;
	}
	if (gy_current_worker() != NULL) {
		return -EDEADLK;
	}
	return gy_load_acquire(&system->embedding.ended) ? -ESHUTDOWN
							 : turn_or_wait(system, timeout_ns);
}

int gyre_system_descriptor(const struct gyre_system *system)
{
	return system == NULL || !system->options.embedded
		       ? -EINVAL
		       : gy_ring_descriptor(system->homes.homes[0].loop.ring);
}

/* ---- life ---- */

int gy_embedded_enter(struct gyre_system *system)
{
	struct gy_embedding *embedding = &system->embedding;
	int r = gy_worker_enter(&system->workers[0]);

	gy_assert(!embedding->owned);
	if (r < 0) {
		return r;
	}
	embedding->owner = pthread_self();
	embedding->keeps_pipe_away = has_to_keep_pipe_away();
	embedding->watch_signal = blocked_watch_signal(system);
	embedding->resting = true;
	gy_store_release(&embedding->owned, true);
	(void)gy_loop_rest(&system->homes.homes[0].loop, true);
	return 0;
}

void gy_embedded_leave(struct gyre_system *system)
{
	gy_loop_rouse(&system->homes.homes[0].loop);
	end(system);
}

/* In this order: a wake that came since the caller looked is seen, and not used up unseen. */
bool gy_embedded_wait(struct gyre_system *system)
{
	bool done = false;

	gy_ring_descriptor_wait(system->homes.homes[0].loop.ring, UINT64_MAX);
	return turn(system, &done);
}

void gy_embedded_join(struct gyre_system *system)
{
	if (!gy_load_acquire(&system->embedding.owned)) {
		return;
	}
	if (gy_embedded_is_owner(system)) {
		while (!gy_load_acquire(&system->embedding.ended) && gy_embedded_wait(system)) {
		}
		return;
	}
	(void)pthread_mutex_lock(&system->mutex);
	while (!gy_load_relaxed(&system->embedding.ended)) {
		(void)pthread_cond_wait(&system->started_condition, &system->mutex);
	}
	(void)pthread_mutex_unlock(&system->mutex);
}
