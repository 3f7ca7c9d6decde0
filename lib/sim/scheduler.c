/*
 * The scheduler: which task goes on. Most often the one that has been ready longest; now and then,
 * as the seed will have it, any other. Where none can go on, time jumps to the next timer.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/checks.h"
#include "sim/scheduler.h"

enum {
	OTHERS_FIRST = 250000, /* of a million choices among tasks, those that are not by turn */
	YIELD_NS = 200,	       /* that a turn takes at least */
	LEAVE_TURNS_MAX = 1000,
};

/* ---- lists ---- */

void gy_sim_task_ready(struct gy_sim_task *task)
{
	struct gy_sim_scheduler *scheduler = task->sim->scheduler;

	gy_assert(gy_list_empty(&task->of_queue) && task->state != GY_SIM_TASK_ENDED);
	task->state = GY_SIM_TASK_READY;
	gy_list_append(&scheduler->ready, &task->of_queue);
	scheduler->ready_count++;
}

void gy_sim_task_unlist(struct gy_sim_task *task)
{
	if (task->state == GY_SIM_TASK_READY) {
		task->sim->scheduler->ready_count--;
		task->state = GY_SIM_TASK_WAITING;
	}
	gy_list_remove(&task->of_queue);
}

/* ---- waiting and waking ---- */

static void refuse_to_wait(const struct gy_sim_task *task, const char *what)
{
	if (task->observer) {
		(void)fprintf(stderr, "simulator: a check or a condition of gyre_sim_run_until() "
				      "waits for something, which it must not\n");
		abort();
	}
	if (task->state != GY_SIM_TASK_RUNNING) {
		(void)fprintf(stderr,
			      "simulator: task %u of %s would wait for %s while its host goes "
			      "down, on a stack that is not its own\n",
			      task->number, task->host->name, what);
		abort();
	}
}

void gy_sim_yield(bool always)
{
	struct gy_sim_task *task = gy_sim_here;

	/* One in whose name calls are made while its host ends is not running. */
	if (task->observer || task->stack == NULL || task->state != GY_SIM_TASK_RUNNING ||
	    (!always && !gy_sim_gives_way(task->sim, GY_SIM_PAUSE_CALL))) {
		return;
	}
	gy_sim_task_ready(task);
	gy_sim_task_switch_back(task);
}

bool gy_sim_wait(struct gy_sim_queue *queue, uint64_t until_ns, const char *what)
{
	struct gy_sim_task *task = gy_sim_here;
	struct gyre_sim *sim = task->sim;

	refuse_to_wait(task, what);
	task->woken = false;
	if (until_ns <= sim->now_ns) {
		gy_sim_yield(true);
		return false;
	}
	task->state = GY_SIM_TASK_WAITING;
	task->waits_for = what;
	gy_list_append(&queue->tasks, &task->of_queue);
	gy_sim_task_start_timer(task, until_ns);
	gy_sim_task_switch_back(task);
	return task->woken;
}

static void wake(struct gy_sim_task *task)
{
	gy_list_remove(&task->of_queue);
	task->woken = true;
	gy_sim_task_ready(task);
}

void gy_sim_wake_one(struct gy_sim_queue *queue)
{
	if (!gy_list_empty(&queue->tasks)) {
		wake(gy_container_of(queue->tasks.next, struct gy_sim_task, of_queue));
	}
}

void gy_sim_wake_all(struct gy_sim_queue *queue)
{
	while (!gy_list_empty(&queue->tasks)) {
		gy_sim_wake_one(queue);
	}
}

/* What is global in the program belongs to all hosts, so their tasks wait in the same queues. */
static struct gy_sim_queue *queue_of(const struct gyre_sim *sim, const void *address)
{
	enum { ALIGNED = 8 };

	return &sim->scheduler->at_addresses[(uintptr_t)address / ALIGNED % GY_SIM_ADDRESS_QUEUES];
}

bool gy_sim_wait_at(const void *address, uint64_t until_ns, const char *what)
{
	struct gy_sim_task *task = gy_sim_here;
	bool woken;

	refuse_to_wait(task, what);
	task->address = address;
	woken = gy_sim_wait(queue_of(task->sim, address), until_ns, what);
	task->address = NULL;
	return woken;
}

void gy_sim_wake_at(const void *address, bool all)
{
	const struct gy_list *tasks = &queue_of(gy_sim_here->sim, address)->tasks;
	struct gy_list *next;

	if (gy_sim_here->host == NULL) {
		return; /* the observer changes nothing that others wait for */
	}
	for (struct gy_list *item = tasks->next; item != tasks; item = next) {
		struct gy_sim_task *task = gy_container_of(item, struct gy_sim_task, of_queue);

		next = item->next;
		if (task->address == address) {
			wake(task);
			if (!all) {
				return;
			}
		}
	}
}

/* ---- telling ---- */

static void tell_one(const struct gy_sim_task *task, void (*tell)(const char *line, void *arg),
		     void *arg)
{
	const struct gy_sim_file *file = task->file;
	const char *does = task->state == GY_SIM_TASK_WAITING ? task->waits_for : "can go on";
	char until[64] = "";
	char line[256];

	if (task->state == GY_SIM_TASK_ENDED) {
		does = "has ended, and waits to be joined";
	} else if (task->state == GY_SIM_TASK_WAITING && task->until_ns != UINT64_MAX) {
		(void)snprintf(until, sizeof(until), ", until %.6f s",
			       (double)task->until_ns / 1e9);
	}
	(void)snprintf(line, sizeof(line), "%s: task %u%s%s %s%s%s%s%s", task->host->name,
		       task->number, task->name[0] == '\0' ? "" : " ", task->name,
		       task->state == GY_SIM_TASK_WAITING ? "waits for " : "", does,
		       file == NULL ? "" : " of ", file == NULL ? "" : file->ops->name, until);
	tell(line, arg);
}

void gy_sim_tasks_tell(const struct gyre_sim *sim, void (*tell)(const char *line, void *arg),
		       void *arg)
{
	for (uint32_t i = 0; i < sim->hosts_count; i++) {
		const struct gy_sim_host *host = sim->hosts[i];

		for (struct gy_list *item = host->tasks.next; item != &host->tasks;
		     item = item->next) {
			tell_one(gy_container_of(item, struct gy_sim_task, of_host), tell, arg);
		}
	}
}

/* ---- running ---- */

static struct gy_sim_task *choose(struct gyre_sim *sim)
{
	struct gy_sim_scheduler *scheduler = sim->scheduler;
	uint32_t place = gy_sim_choose_task(sim, scheduler->ready_count, OTHERS_FIRST);
	struct gy_list *item = scheduler->ready.next;

	while (place-- > 0) {
		item = item->next;
	}
	return gy_container_of(item, struct gy_sim_task, of_queue);
}

/* What is left of a task that has ended, or of its host, now that it is not on its own stack. */
static void clean_up(struct gy_sim_task *task)
{
	struct gy_sim_host *host = task->host;

	if (host->goes_down) {
		return; /* it was let out of something; the host ends it with the others */
	}
	if (task == host->main || task->exits) {
		gy_sim_host_down(host, false);
	} else if (task->detached) {
		gy_sim_task_destroy(task);
	}
}

static void give_turn(struct gyre_sim *sim, struct gy_sim_task *task)
{
	struct gy_sim_host *host = task->host;

	gy_list_remove(&task->of_queue);
	sim->scheduler->ready_count--;
	gy_sim_note(sim, host->index, task->number);
	sim->now_ns += YIELD_NS;
	sim->events++;
	gy_sim_task_switch_to(task);
	gy_sim_rcu_look(host);
	if (task->state == GY_SIM_TASK_ENDED) {
		clean_up(task);
	}
}

/* ---- before a host goes down ---- */

static bool holds_shared(const struct gy_sim_task *task)
{
	for (uint32_t i = 0; i < task->held_count; i++) {
		if (!gy_sim_memory_has(task->host, task->held[i])) {
			return true;
		}
	}
	return false;
}

static struct gy_sim_task *find_inside(const struct gy_sim_host *host)
{
	const struct gy_list *ready = &host->sim->scheduler->ready;

	for (struct gy_list *item = ready->next; item != ready; item = item->next) {
		struct gy_sim_task *task = gy_container_of(item, struct gy_sim_task, of_queue);

		if ((task->host == host && task->ending) || holds_shared(task)) {
			return task;
		}
	}
	return NULL;
}

void gy_sim_tasks_leave(struct gy_sim_host *host)
{
	struct gy_sim_task *task = find_inside(host);

	gy_assert(host->goes_down);
	for (uint32_t turns = 0; task != NULL && turns < LEAVE_TURNS_MAX; turns++) {
		give_turn(host->sim, task);
		task = find_inside(host);
	}
}

/*
 * The next thing that happens before @until_ns. Returns whether a check may see something new by
 * it: what has come for a task that goes on next is seen when that has had its turn.
 */
static bool do_one(struct gyre_sim *sim, uint64_t until_ns)
{
	struct gy_sim_timer *timer = gy_sim_timer_first(sim->scheduler);
	uint64_t next_ns = timer == NULL ? UINT64_MAX : timer->at_ns;
	bool is_turn = next_ns > sim->now_ns && sim->scheduler->ready_count > 0;

	if (is_turn) {
		give_turn(sim, choose(sim));
	} else if (timer == NULL || (next_ns >= until_ns && next_ns > sim->now_ns)) {
		sim->now_ns = until_ns;
	} else {
		sim->now_ns = next_ns > sim->now_ns ? next_ns : sim->now_ns;
		gy_sim_timer_stop(sim, timer);
		sim->events++;
		timer->fire(timer);
	}
	gy_sim_net_deliver(sim);
	return is_turn || sim->scheduler->ready_count == 0;
}

int gy_sim_schedule(struct gyre_sim *sim, gyre_sim_when_fn when, void *arg, uint64_t until_ns)
{
	bool is_new = true;

	for (;;) {
		bool is_late = sim->now_ns >= until_ns;
		bool answer = (is_new || is_late) && gy_sim_checks_run(sim, when, arg);

		if (sim->failure[0] != '\0') {
			return -ENOTRECOVERABLE;
		}
		if (answer) {
			return 0;
		}
		if (is_late) {
			return -ETIMEDOUT;
		}
		is_new = do_one(sim, until_ns);
	}
}
