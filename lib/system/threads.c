/*
 * The threads of a system, and waiting for signals. Loops run with every signal blocked; the thread
 * in gyre_system_run() takes SIGINT and SIGTERM from a descriptor, so that an idle system wakes
 * nobody.
 */
#include "system/threads.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "actor/life/lifecycle.h"
#include "base/clock.h"
#include "base/log/log_writer.h"
#include "base/thread.h"
#include "ring/descriptor.h"
#include "ring/signal.h"
#include "system/drain.h"
#include "system/loop_data.h"
#include "system/loop_retire.h"
#include "system/observe/watchdog.h"
#include "system/outside/foreign_ask.h"
#include "system/outside/offload.h"
#include "system/outside_loss.h"
#include "system/process.h"
#include "system/resize.h"
#include "system/service_notify.h"
#include "system/signals.h"
#include "system/system.h"

static const uint64_t same_signal_ns = GYRE_MILLISECONDS(100);

/* Tells the starter how entering went. */
static void entered(struct gy_worker *worker, int r)
{
	struct gyre_system *system = worker->system;

	gy_assert(r <= 0);
	(void)pthread_mutex_lock(&system->mutex);
	system->entered++;
	worker->error = r;
	(void)pthread_cond_signal(&system->entered_condition);
	(void)pthread_mutex_unlock(&system->mutex);
}

/* Waits until all loops have entered, or one could not. */
static bool may_turn(struct gy_worker *worker)
{
	struct gyre_system *system = worker->system;
	bool may;

	(void)pthread_mutex_lock(&system->mutex);
	while (worker->gate == GY_GATE_CLOSED) {
		(void)pthread_cond_wait(&system->gate_condition, &system->mutex);
	}
	may = worker->gate == GY_GATE_OPEN;
	(void)pthread_mutex_unlock(&system->mutex);
	return may;
}

/* After a turn: whether there is another one. */
static inline bool has_next_turn(struct gy_worker *worker)
{
	if (gy_unlikely(worker->retiring.stage != GY_LOOP_RETIRE_NOT)) {
		return gy_loop_retire_step(worker);
	}
	return gy_likely(gy_load_relaxed(&worker->system->stop) == 0) || gy_drain_step(worker);
}

/* After a turn: checks the memory if that is due, and follows what the whole system does. */
static inline void guard_memory(struct gy_worker *worker)
{
	struct gy_memory_guard *memory_guard = &worker->system->memory_guard;

	if (gy_unlikely(worker->home->loop.now_ns >= gy_load_relaxed(&memory_guard->due_ns))) {
		gy_memory_guard_check(worker->system, worker->home->loop.now_ns);
	}
	if (gy_unlikely((gy_load_relaxed(&memory_guard->busy) | worker->guarded.busy) != 0)) {
		gy_memory_guard_apply(worker);
	}
}

int gy_worker_enter(struct gy_worker *worker)
{
	int r = gy_loop_enter(&worker->home->loop);

	if (r < 0) {
		return r;
	}
	r = gy_loop_data_init(worker);
	if (r < 0) {
		gy_loop_leave();
	}
	return r;
}

void gy_worker_leave(struct gy_worker *worker)
{
	gy_loop_data_fini(worker);
	gy_loop_leave();
}

static inline bool turn(struct gy_worker *worker)
{
	struct gy_loop *loop = &worker->home->loop;

	gy_loop_turn(loop);
	guard_memory(worker);
	if (loop->index == 0 && gy_loops_want_service(loop->peers)) {
		gy_loops_serve(loop->peers);
	}
	return has_next_turn(worker);
}

bool gy_worker_turn(struct gy_worker *worker)
{
	return turn(worker);
}

static void *run_loop(void *arg)
{
	struct gy_worker *worker = (struct gy_worker *)arg;
	struct gy_loop *loop = &worker->home->loop;
	int r;

	gy_thread_name_number("loop", loop->index);
	r = gy_worker_enter(worker);
	entered(worker, r);
	if (r < 0 || !may_turn(worker)) {
		if (r == 0) {
			gy_worker_leave(worker);
		}
		gy_ring_disown(loop->ring);
		return NULL;
	}
	gy_current_worker_set(worker);
	gy_watchdog_enter(worker);
	while (turn(worker)) {
	}
	gy_watchdog_leave(worker);
	gy_current_worker_set(NULL);
	gy_worker_leave(worker);
	if (worker->retiring.end != 0) {
		gy_ring_disown(loop->ring);
	}
	return NULL;
}

static void init_worker(struct gyre_system *system, uint32_t index)
{
	struct gy_worker *worker = &system->workers[index];

	*worker = (struct gy_worker){ .system = system, .home = &system->homes.homes[index] };
}

/* Behind the loops that live there is a gap, for those that may come, and then those of one actor
 * each. */
static uint32_t next_place(const struct gyre_system *system, uint32_t index)
{
	return index + 1 == system->resizing.living ? system->options.loops_max : index + 1;
}

static void open_gates(struct gyre_system *system, uint32_t from, uint32_t to, bool open)
{
	(void)pthread_mutex_lock(&system->mutex);
	for (uint32_t i = from; i < to; i = next_place(system, i)) {
		gy_assert(system->workers[i].gate == GY_GATE_CLOSED);
		system->workers[i].gate = open ? GY_GATE_OPEN : GY_GATE_ABANDONED;
	}
	(void)pthread_cond_broadcast(&system->gate_condition);
	(void)pthread_mutex_unlock(&system->mutex);
}

static bool has_thread(const struct gyre_system *system, uint32_t index)
{
	return index > 0 || !system->options.embedded;
}

/* Of a loop that another one turns the calling thread is to be the thread. */
static int start_embedded(struct gyre_system *system)
{
	int r = gy_embedded_enter(system);

	if (r == 0) {
		entered(&system->workers[0], 0);
		gy_watchdog_enter(&system->workers[0]);
	}
	return r;
}

static int start_thread(struct gyre_system *system, uint32_t index)
{
	struct gy_worker *worker = &system->workers[index];
	int r;

	gy_assert(!worker->started);
	init_worker(system, index);
	if (!has_thread(system, index)) {
		return start_embedded(system);
	}
	r = gy_thread_start(NULL, run_loop, worker, &worker->thread);
	worker->started = r == 0;
	if (r < 0) {
		gy_log(&system->log, GYRE_LOG_ERROR,
		       "no thread can be started for loop %u: %s; raise the limit of processes "
		       "(ulimit -u) or of memory (ulimit -v, and those of its cgroups)",
		       (unsigned)index, strerrordesc_np(-r));
	}
	return r;
}

int gy_threads_start(struct gyre_system *system, uint32_t from, uint32_t to)
{
	uint32_t started = from;
	uint32_t count = 0;
	int r = 0;

	gy_assert(from < to && to <= gy_system_places(system));
	gy_assert(gy_current_worker() == NULL || gy_current_worker()->system != system);
	(void)pthread_mutex_lock(&system->mutex);
	system->entered = 0;
	(void)pthread_mutex_unlock(&system->mutex);
	while (started < to && r == 0) {
		r = start_thread(system, started);
		if (r == 0) {
			count++;
			started = next_place(system, started);
		}
	}
	(void)pthread_mutex_lock(&system->mutex);
	while (system->entered < count) {
		(void)pthread_cond_wait(&system->entered_condition, &system->mutex);
	}
	(void)pthread_mutex_unlock(&system->mutex);
	for (uint32_t i = from; i < started && r == 0; i = next_place(system, i)) {
		r = system->workers[i].error;
	}
	open_gates(system, from, started, r == 0);
	for (uint32_t i = from; i < started && r < 0; i = next_place(system, i)) {
		if (has_thread(system, i)) {
			(void)pthread_join(system->workers[i].thread, NULL);
			system->workers[i].started = false;
		} else {
			gy_embedded_leave(system);
		}
	}
	return r;
}

void gy_system_opened(struct gy_homes *homes)
{
	struct gyre_system *system = gy_container_of(homes, struct gyre_system, homes);

	(void)pthread_mutex_lock(&system->mutex);
	(void)pthread_cond_signal(&system->entered_condition);
	(void)pthread_mutex_unlock(&system->mutex);
	if (system->options.embedded) {
		gy_ring_wake(system->homes.homes[0].loop.ring);
	}
}

void gy_system_await_start(struct gy_homes *homes)
{
	struct gyre_system *system = gy_container_of(homes, struct gyre_system, homes);

	if (gy_load_relaxed(&system->starting) == 0 || gy_current_worker() != NULL) {
		return;
	}
	(void)pthread_mutex_lock(&system->mutex);
	while (gy_load_relaxed(&system->starting) != 0) {
		(void)pthread_cond_wait(&system->started_condition, &system->mutex);
	}
	(void)pthread_mutex_unlock(&system->mutex);
}

static void set_starting(struct gyre_system *system, bool starting)
{
	(void)pthread_mutex_lock(&system->mutex);
	gy_store_relaxed(&system->starting, starting);
	(void)pthread_cond_broadcast(&system->started_condition);
	(void)pthread_mutex_unlock(&system->mutex);
}

static bool is_served(const struct gy_net *net)
{
	return gy_load_acquire(&net->pending_opens) == 0 ||
	       gy_load_relaxed(&net->pending_open_error) != 0;
}

/* Until what was opened before is served; why it is not, if it cannot be. */
static int wait_until_served(struct gyre_system *system)
{
	struct gy_homes *homes = &system->homes;

	while (system->options.embedded && !is_served(homes->net) && gy_embedded_wait(system)) {
	}
	(void)pthread_mutex_lock(&system->mutex);
	while (!is_served(homes->net)) {
		(void)pthread_cond_wait(&system->entered_condition, &system->mutex);
	}
	(void)pthread_mutex_unlock(&system->mutex);
	return gy_load_relaxed(&homes->net->pending_open_error);
}

static void end_at_once(struct gyre_system *system, int error)
{
	system->error = error;
	gy_store_release(&system->stop, 2);
	gy_system_wake_all(system);
	gy_system_join(system);
}

static int start_log(struct gyre_system *system)
{
	int r = gy_log_writer_start(system->log_writer);

	if (r < 0) {
		gy_log(&system->log, GYRE_LOG_ERROR,
		       "no thread can be started for the log: %s; raise the limit of processes "
		       "(ulimit -u) or of memory (ulimit -v, and those of its cgroups)",
		       strerrordesc_np(-r));
	}
	return r;
}

static int start_threads(struct gyre_system *system)
{
	bool has_pinned = system->options.loops_pinned > 0;

	return gy_threads_start(system, 0,
				has_pinned ? gy_system_places(system) : system->resizing.living);
}

static int start(struct gyre_system *system)
{
	int r;

	if (system->running) {
		return -EALREADY;
	}
	system->running = true;
	r = start_log(system);
	if (r < 0) {
		gy_foreign_asks_set_stage(system, GY_STAGE_END);
		end_at_once(system, r);
		return r;
	}
	gy_watchdog_start(system);
	r = start_threads(system);
	if (r < 0) {
		gy_foreign_asks_set_stage(system, GY_STAGE_END);
		end_at_once(system, r);
		return r;
	}
	set_starting(system, true);
	r = wait_until_served(system);
	set_starting(system, false);
	if (r < 0) {
		end_at_once(system, r);
	} else {
		if (system->succession == NULL && gy_load_relaxed(&system->stop) == 0) {
			gy_service_notify_ready(system, false);
		}
		gy_resize_after_start(system);
	}
	return r;
}

int gyre_system_start(struct gyre_system *system)
{
	int r;

	if (system == NULL) {
		return -EINVAL;
	}
	(void)pthread_mutex_lock(&system->resizing.exclusive);
	r = start(system);
	(void)pthread_mutex_unlock(&system->resizing.exclusive);
	if (r == 0 && system->options.started != NULL && gy_load_relaxed(&system->stop) == 0) {
		system->options.started(system, system->options.started_arg);
	}
	return r;
}

void gyre_system_stop(struct gyre_system *system)
{
	uint32_t running = 0;

	if (system == NULL) {
		return;
	}
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

/* What it does instead may take locks under which others come here, and so waits for the end. */
static void drop_late_task(struct gyre_system *system, struct gy_home *home, struct gy_task *task)
{
	gy_assert(task->embedded || task->came_late == NULL);
	if (!task->embedded) {
		gy_loop_node_put(&home->loop, &task->node);
	} else if (task->came_late != NULL) {
		task->node.next = system->late_tasks;
		system->late_tasks = &task->node;
	}
}

static struct gy_task *next_late_task(struct gyre_system *system)
{
	struct gy_node *node;

	(void)pthread_mutex_lock(&system->late_mutex);
	node = system->late_tasks;
	system->late_tasks = node == NULL ? NULL : node->next;
	(void)pthread_mutex_unlock(&system->late_mutex);
	return node == NULL ? NULL : gy_container_of(node, struct gy_task, node);
}

void gy_system_run_late(struct gyre_system *system)
{
	struct gy_task *task;

	while ((task = next_late_task(system)) != NULL) {
		task->came_late(task);
	}
}

static void drop_late(struct gyre_system *system, struct gy_home *home, struct gy_node *node)
{
	if (node->kind == GY_MAIL_SPAWN) {
		gy_spawn_came_late(home, gy_mail_of(node));
	} else if (node->kind >= GY_MAIL_REPLY && node->kind <= GY_MAIL_PUBLISHED) {
		gy_outside_lost(system, address_of(home, gy_mail_of(node)), gy_mail_of(node),
				GYRE_DROP_SHUTDOWN);
	} else if (node->kind == GY_MAIL_REMOTE) {
		home->options.remote->arrived(home, gy_mail_of(node));
	} else if (node->kind == GY_NODE_TASK) {
		drop_late_task(system, home, gy_container_of(node, struct gy_task, node));
	} else {
		gy_loop_node_put(&home->loop, node);
	}
}

/*
 * A thread that looked at the stage just before the end may post after it. Whoever does so comes
 * here then, so that also the last of them leaves nothing behind: what stands behind a place that
 * is not linked yet is left to who links it.
 */
void gy_system_take_late(struct gy_home *home)
{
	struct gyre_system *system = home->options.system;
	struct gy_node *node;

	(void)pthread_mutex_lock(&system->late_mutex);
	home->draining = true;
	while ((node = gy_inbox_take(&home->loop.inbox)) != NULL) {
		drop_late(system, home, node);
	}
	(void)pthread_mutex_unlock(&system->late_mutex);
}

void gy_system_join(struct gyre_system *system)
{
	if (!system->running || system->joined) {
		return;
	}
	gy_embedded_join(system);
	for (uint32_t i = 0; i < system->homes.count; i++) {
		if (system->workers[i].started) {
			(void)pthread_join(system->workers[i].thread, NULL);
		}
	}
	gy_offload_stop(system);
	gy_watchdog_stop(system);
	system->joined = true;
	for (uint32_t i = 0; i < system->homes.count; i++) {
		gy_loop_end(&system->homes.homes[i].loop);
		gy_system_take_late(&system->homes.homes[i]);
	}
	gy_log_writer_flush(system->log_writer);
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

/*
 * The signals that the running thread has heard. Some programs send a signal twice, as timeout(1)
 * does: to its child, and then to the group. So what comes shortly after the first one is no other;
 * and that time is over only when a look has found nothing more, however late the thread runs.
 */
struct heard_signals {
	uint32_t count;
	uint64_t same_until_ns; /* 0: the next one counts */
};

/* How long to wait for a signal: until the next one counts. */
static int patience_ms(const struct heard_signals *heard)
{
	uint64_t now_ns = heard->same_until_ns == 0 ? 0 : gy_clock_machine_ns();

	if (heard->same_until_ns == 0) {
		return -1;
	}
	return now_ns >= heard->same_until_ns
		       ? 0
		       : (int)((heard->same_until_ns - now_ns) / GYRE_MILLISECONDS(1) + 1);
}

/* The first one drains the system, the second closes at once. */
static void hear_signal(struct gyre_system *system, struct heard_signals *heard)
{
	if (heard->same_until_ns != 0) {
		return;
	}
	heard->count++;
	if (heard->count == 1) {
		heard->same_until_ns = gy_clock_machine_ns() + same_signal_ns;
		gyre_system_stop(system);
	} else {
		gy_store_release(&system->stop, 2);
		gy_system_wake_all(system);
	}
}

/* Waits for the end of the system, and hears signals meanwhile. */
static int wait_for_signals(struct gyre_system *system, const sigset_t *before, sigset_t *ret_late)
{
	struct pollfd fds[3] = { { .fd = system->signal_fd, .events = POLLIN },
				 { .fd = system->ended_fd, .events = POLLIN },
				 { .fd = system->watch_fd, .events = POLLIN } };
	struct heard_signals heard = { 0 };
	struct signalfd_siginfo signal;

	for (;;) {
		int r = gy_descriptor_poll(fds, gy_countof(fds), patience_ms(&heard));

		if (r == 0) {
			heard.same_until_ns = 0;
		}
		if (r < 0) {
			if (r != -EINTR) {
				gy_log(&system->log, GYRE_LOG_ERROR,
				       "waiting for signals failed, and the system stops: %s; "
				       "where a seccomp filter forbids poll and ppoll, allow them",
				       strerrordesc_np(-r));
				return r;
			}
			continue;
		}
		if ((fds[2].revents & POLLIN) != 0 &&
		    gy_descriptor_take_event(system->watch_fd) == 0) {
			gy_signals_block(system, before, ret_late);
		}
		if ((fds[1].revents & POLLIN) != 0) {
			return 0;
		}
		if ((fds[0].revents & POLLIN) != 0 &&
		    gy_signal_read(system->signal_fd, &signal, 1) == 1) {
			hear_signal(system, &heard);
		}
	}
}

/* A signal that came just as the drain ended was meant for it: it may not end the process instead.
 */
static void take_late_signals(const sigset_t *signals)
{
	while (gy_signal_take(signals)) {
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
	if (system->options.embedded) {
		gy_log(&system->log, GYRE_LOG_ERROR,
		       "an embedded system cannot be run: start it, and call gyre_system_turn()");
		return -EINVAL;
	}
	gy_system_signals(&signals);
	gy_thread_mask_signals(SIG_BLOCK, &signals, &before);
	gy_store_relaxed(&system->has_runner, true);
	r = gyre_system_start(system);
	if (r == 0) {
		r = wait_for_signals(system, &before, &signals);
		gyre_system_stop(system);
		gy_system_join(system);
		take_late_signals(&signals);
		r = r < 0 ? r : system->error;
	}
	gy_thread_restore_signals(&before);
	return r;
}
