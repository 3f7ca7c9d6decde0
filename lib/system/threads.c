/*
 * The threads of a system, and waiting for signals. Loops run with every signal blocked; the thread
 * in gyre_system_run() takes SIGINT and SIGTERM from a descriptor, so that an idle system wakes
 * nobody.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "system/system.h"
#include "system/watchdog.h"

/* Tells the starter how entering went; the first error is kept. */
static void entered(struct gyre_system *system, int r)
{
	(void)pthread_mutex_lock(&system->mutex);
	system->entered++;
	if (r < 0 && system->error == 0) {
		system->error = r;
	}
	(void)pthread_cond_signal(&system->entered_condition);
	(void)pthread_mutex_unlock(&system->mutex);
}

/* Waits until all loops have entered, or one could not. */
static bool may_turn(struct gyre_system *system)
{
	bool may;

	(void)pthread_mutex_lock(&system->mutex);
	while (system->gate == GY_GATE_CLOSED) {
		(void)pthread_cond_wait(&system->gate_condition, &system->mutex);
	}
	may = system->gate == GY_GATE_OPEN;
	(void)pthread_mutex_unlock(&system->mutex);
	return may;
}

static void *run_loop(void *arg)
{
	struct gy_worker *worker = (struct gy_worker *)arg;
	struct gyre_system *system = worker->system;
	struct gy_loop *loop = &worker->home->loop;
	int r = gy_loop_enter(loop);

	entered(system, r);
	if (r < 0) {
		return NULL;
	}
	if (!may_turn(system)) {
		gy_loop_leave(loop);
		return NULL;
	}
	gy_here_set(worker);
	gy_watchdog_enter(worker);
	do {
		gy_loop_turn(loop);
		gy_guard_turn(worker);
	} while (gy_likely(gy_load_relaxed(&system->stop) == 0) || gy_drain_step(worker));
	gy_watchdog_leave(worker);
	gy_here_set(NULL);
	gy_loop_leave(loop);
	return NULL;
}

static int start_threads(struct gyre_system *system)
{
	uint32_t started = 0;
	int r = 0;

	for (uint32_t i = 0; i < system->homes.count && r == 0; i++) {
		struct gy_worker *worker = &system->workers[i];

		worker->system = system;
		worker->home = &system->homes.homes[i];
		r = -pthread_create(&worker->thread, NULL, run_loop, worker);
		worker->started = r == 0;
		started += r == 0;
	}
	(void)pthread_mutex_lock(&system->mutex);
	while (system->entered < started) {
		(void)pthread_cond_wait(&system->entered_condition, &system->mutex);
	}
	r = r < 0 ? r : system->error;
	system->gate = r < 0 ? GY_GATE_ABANDONED : GY_GATE_OPEN;
	(void)pthread_cond_broadcast(&system->gate_condition);
	(void)pthread_mutex_unlock(&system->mutex);
	return r;
}

int gyre_system_start(struct gyre_system *system)
{
	sigset_t all;
	sigset_t before;
	int r;

	if (system == NULL) {
		return -EINVAL;
	}
	if (system->running) {
		return -EALREADY;
	}
	system->running = true;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	gy_watchdog_start(system);
	r = start_threads(system);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0) {
		gy_log(&system->log, GYRE_LOG_ERROR, "the loops could not be started: %s",
		       strerror(-r));
		system->error = r;
		gy_embassy_set_stage(system, GY_STAGE_END);
		gyre_system_stop(system);
		gy_system_join(system);
	}
	return r;
}

void gyre_system_stop(struct gyre_system *system)
{
	uint32_t running = 0;

	(void)gy_compare_exchange(&system->stop, &running, 1);
	gy_system_wake_all(system);
}

static struct gyre_address address_of(const struct gy_home *home, const struct gyre_mail *mail)
{
	return (struct gyre_address){ .slot = mail->to_slot,
				      .cookie = mail->to_cookie,
				      .loop = home->loop.index,
				      .node = home->node };
}

static void drop_late(struct gyre_system *system, struct gy_home *home)
{
	struct gy_node *node;

	home->draining = true;
	if (home->options.remote != NULL) {
		home->options.remote->drain(home);
	}
	while ((node = gy_inbox_take(&home->loop.inbox)) != NULL) {
		if (node->kind == GY_MAIL_SPAWN) {
			gy_spawn_arrived(home, gy_mail_of(node));
		} else if (node->kind >= GY_MAIL_REPLY && node->kind <= GY_MAIL_NOTICE) {
			gy_outside_lost(system, address_of(home, gy_mail_of(node)),
					gy_mail_of(node));
		} else if (node->kind == GY_MAIL_REMOTE) {
			home->options.remote->arrived(home, gy_mail_of(node));
		} else {
			gy_loop_node_put(&home->loop, node);
		}
	}
}

void gy_system_drop_late(struct gyre_system *system)
{
	for (uint32_t i = 0; i < system->homes.count; i++) {
		drop_late(system, &system->homes.homes[i]);
	}
}

void gy_system_join(struct gyre_system *system)
{
	if (!system->running || system->joined) {
		return;
	}
	for (uint32_t i = 0; i < system->homes.count; i++) {
		if (system->workers[i].started) {
			(void)pthread_join(system->workers[i].thread, NULL);
		}
	}
	gy_offload_stop(system);
	gy_watchdog_stop(system);
	system->joined = true;
	gy_system_drop_late(system);
}

int gyre_system_wait(struct gyre_system *system)
{
	if (system == NULL || !system->running) {
		return -EINVAL;
	}
	gy_system_join(system);
	return system->error;
}

void gy_system_signals(sigset_t *ret_signals)
{
	(void)sigemptyset(ret_signals);
	(void)sigaddset(ret_signals, SIGINT);
	(void)sigaddset(ret_signals, SIGTERM);
}

/* Waits for the end of the system; the first signal drains it, the second closes at once. */
static int wait_for_signals(struct gyre_system *system, const sigset_t *before, sigset_t *ret_late)
{
	struct pollfd fds[3] = { { .fd = system->signal_fd, .events = POLLIN },
				 { .fd = system->ended_fd, .events = POLLIN },
				 { .fd = system->watch_fd, .events = POLLIN } };
	struct signalfd_siginfo signal;
	uint32_t signals = 0;
	eventfd_t count;

	for (;;) {
		if (poll(fds, gy_countof(fds), -1) < 0) {
			if (errno != EINTR) {
				return -errno;
			}
			continue;
		}
		if ((fds[2].revents & POLLIN) != 0 && eventfd_read(system->watch_fd, &count) == 0) {
			gy_signals_block(system, before, ret_late);
		}
		if ((fds[1].revents & POLLIN) != 0) {
			return 0;
		}
		if ((fds[0].revents & POLLIN) != 0 &&
		    read(system->signal_fd, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
			gyre_system_stop(system);
			if (++signals > 1) {
				gy_store_release(&system->stop, 2);
				gy_system_wake_all(system);
			}
		}
	}
}

/* A signal that came just as the drain ended was meant for it: it may not end the process instead.
 */
static void take_late_signals(const sigset_t *signals)
{
	const struct timespec no_time = { 0 };

	while (sigtimedwait(signals, NULL, &no_time) > 0) {
	}
}

int gyre_system_run(struct gyre_system *system)
{
	sigset_t signals;
	sigset_t before;
	int r;

	if (system == NULL) {
		return -EINVAL;
	}
	gy_system_signals(&signals);
	(void)pthread_sigmask(SIG_BLOCK, &signals, &before);
	gy_store_relaxed(&system->has_runner, true);
	r = gyre_system_start(system);
	if (r == 0) {
		r = wait_for_signals(system, &before, &signals);
		gyre_system_stop(system);
		gy_system_join(system);
		take_late_signals(&signals);
		r = r < 0 ? r : system->error;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}
