/*
 * Hosts. A host is up from its boot until its boot function returns or it crashes. Then its tasks
 * end where they stand, its descriptors are closed, and after a crash what gyre has allocated for
 * it is given back. Its disk and its place in the network stay for the next boot.
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/descriptor/table.h"
#include "sim/disk/disk.h"
#include "sim/scheduler.h"

static const uint64_t million = 1000000;
static const uint64_t date_base_ns = UINT64_C(1767225600000000000); /* the first of January 2026 */
static const uint64_t clock_base_ns = UINT64_C(1000000000);
static const uint64_t detached_max_ns = UINT64_C(1000000000);
static const uint64_t detached_look_ns = 1000000;

enum {
	SKEW_MAX = 100,
	DISK_WAITS = 2,
	RATE_BITS = 63,
};

static bool has_detached(const struct gy_sim_host *host)
{
	for (struct gy_list *item = host->tasks.next; item != &host->tasks; item = item->next) {
		const struct gy_sim_task *task = gy_container_of(item, struct gy_sim_task, of_host);

		if (task->detached && task != host->rcu->reclaimer) {
			return true;
		}
	}
	return false;
}

/*
 * Threads that nobody joins give back what they have when they end, which they do by themselves. A
 * process would not wait for that, but then nobody looks for what they have not given back.
 */
static void await_detached(const struct gy_sim_host *host)
{
	uint64_t disk_ns = 2 * host->disk->options.delay_ns * DISK_WAITS; /* may double */
	uint64_t most_ns = disk_ns > detached_max_ns ? disk_ns : detached_max_ns;
	uint64_t until_ns = host->sim->now_ns + most_ns;
	struct gy_sim_queue nobody;

	gy_sim_queue_init(&nobody);
	while (has_detached(host) && host->sim->now_ns < until_ns) {
		(void)gy_sim_wait(&nobody, host->sim->now_ns + detached_look_ns,
				  "threads that nobody joins");
	}
}

static void *run_boot(void *arg)
{
	struct gy_sim_host *host = (struct gy_sim_host *)arg;
	int r = host->boot(host->arg);

	if (host->sim->leaks) {
		await_detached(host);
	}
	gy_sim_streams_flush(host);
	gy_sim_trace(host->sim, host, "ends with %d", r);
	return NULL;
}

void gy_sim_host_boot(struct gy_sim_host *host)
{
	gy_assert(!host->up && gy_list_empty(&host->tasks));
	host->up = true;
	host->life++;
	host->tasks_made = 0;
	host->signals = 0;
	host->descriptors_max = GY_SIM_DESCRIPTORS_MAX;
	host->user = 0;
	memset(host->handlers, 0, sizeof(host->handlers));
	host->clock_base_ns = clock_base_ns + gy_sim_choose_time(host->sim, clock_base_ns);
	gy_sim_rcu_init(host);
	gy_sim_table_init(host);
	gy_sim_trace(host->sim, host, "boots");
	host->main = gy_sim_task_create(host, run_boot, host);
	if (host->main == NULL) {
		gy_sim_fail(host->sim, "there is no memory for the first task of a host");
	}
}

static struct gy_sim_task *first_task(const struct gy_sim_host *host)
{
	return gy_container_of(host->tasks.next, struct gy_sim_task, of_host);
}

/* What tasks have in the process, which other hosts use too, has to be put in order. */
static void end_specifics(struct gy_sim_host *host)
{
	for (struct gy_list *item = host->tasks.next; item != &host->tasks; item = item->next) {
		struct gy_sim_task *task = gy_container_of(item, struct gy_sim_task, of_host);
		struct gy_sim_task *before;

		if (task->state == GY_SIM_TASK_ENDED && !task->exits) {
			continue; /* it has done so itself */
		}
		before = gy_sim_task_pose(task);
		gy_sim_task_end_specifics(task);
		(void)gy_sim_task_pose(before);
	}
}

/*
 * All of them, before anything else is done in the name of one. Who waits on other hosts is woken:
 * also in the place of a task that was woken for the same, and goes no further.
 */
static void unlock_mutexes(struct gy_sim_host *host)
{
	for (struct gy_list *item = host->tasks.next; item != &host->tasks; item = item->next) {
		struct gy_sim_task *task = gy_container_of(item, struct gy_sim_task, of_host);
		struct gy_sim_task *before = gy_sim_task_pose(task);

		gy_sim_task_unlock_all(task);
		if (task->woken && task->address != NULL) {
			gy_sim_wake_at(task->address, false);
		}
		(void)gy_sim_task_pose(before);
	}
}

/* Nothing wakes them any more. */
static void stop_tasks(struct gy_sim_host *host)
{
	for (struct gy_list *item = host->tasks.next; item != &host->tasks; item = item->next) {
		struct gy_sim_task *task = gy_container_of(item, struct gy_sim_task, of_host);

		gy_sim_timer_stop(host->sim, &task->timer);
		gy_sim_task_unlist(task);
	}
}

static void destroy_tasks(struct gy_sim_host *host)
{
	/* The watches of a file may be in any of the tasks. */
	for (struct gy_list *item = host->tasks.next; item != &host->tasks; item = item->next) {
		struct gy_sim_task *task = gy_container_of(item, struct gy_sim_task, of_host);
		struct gy_sim_file *file = task->file;

		task->file = NULL;
		if (file != NULL) {
			gy_sim_file_unref(file);
		}
	}
	while (!gy_list_empty(&host->tasks)) {
		gy_sim_task_destroy(first_task(host));
	}
	host->main = NULL;
}

/* Threads of the program that have not ended. */
static uint32_t count_threads(const struct gy_sim_host *host)
{
	uint32_t threads = 0;

	for (const struct gy_list *item = host->tasks.next; item != &host->tasks;
	     item = item->next) {
		const struct gy_sim_task *task =
			gy_container_of(item, const struct gy_sim_task, of_host);

		threads += task != host->main && task != host->rcu->reclaimer &&
			   task->state != GY_SIM_TASK_ENDED;
	}
	return threads;
}

/* Its boot function has returned. */
static void look_for_leaks(struct gy_sim_host *host)
{
	uint32_t descriptors = gy_sim_table_count(host);
	uint32_t threads = count_threads(host);

	if (descriptors > 0 || threads > 0 || !gy_list_empty(&host->memory)) {
		gy_sim_fail(host->sim, "%s has ended with %u descriptors, %u threads and %s",
			    host->name, descriptors, threads,
			    gy_list_empty(&host->memory) ? "no memory" : "memory of gyre");
	}
}

/* By exit(), which need not give back anything. */
static bool has_exited(const struct gy_sim_host *host)
{
	for (const struct gy_list *at = host->tasks.next; at != &host->tasks; at = at->next) {
		if (gy_container_of(at, const struct gy_sim_task, of_host)->exits) {
			return true;
		}
	}
	return false;
}

void gy_sim_host_down(struct gy_sim_host *host, bool crashed)
{
	bool exited;
	bool runs_on; /* a thread, which would have given its memory back */

	gy_assert(host->up);
	host->goes_down = true;
	gy_sim_tasks_leave(host);
	exited = has_exited(host);
	runs_on = count_threads(host) > 0;
	gy_sim_trace(host->sim, host, crashed ? "crashes" : "is down");
	host->up = !crashed; /* who ends in peace says good-bye */
	stop_tasks(host);
	unlock_mutexes(host);
	end_specifics(host);
	if (!crashed && !exited && host->sim->leaks) {
		look_for_leaks(host);
	}
	gy_sim_streams_fini(host);
	gy_sim_table_fini(host);
	destroy_tasks(host);
	gy_sim_local_drop_all(host);
	gy_sim_workers_fini(host);
	gy_sim_environment_fini(host);
	host->up = false;
	gy_sim_net_host_down(host, crashed);
	gy_sim_rcu_fini(host);
	gy_sim_foreign_pools_fini(host);
	if (crashed || exited || runs_on || host->sim->leaks) { /* leaks were told of */
		gy_sim_hash_tables_crash(host);
		gy_sim_memory_crash(host);
	}
	if (crashed) {
		gy_sim_disk_crash(host);
	}
	host->goes_down = false;
}

void gy_sim_host_set_skew(struct gy_sim_host *host, int32_t skew)
{
	const unsigned __int128 one = (unsigned __int128)1 << RATE_BITS;
	uint64_t rate = million + (uint64_t)(int64_t)skew;

	host->clock_rate = (uint64_t)(one * rate / million);
	host->clock_inverse = (uint64_t)(one * one / host->clock_rate);
}

struct gy_sim_host *gy_sim_host_make(struct gyre_sim *sim, const char *name, gyre_sim_boot_fn boot,
				     void *arg)
{
	struct gy_sim_host *host = (struct gy_sim_host *)gy_sim_get(sizeof(*host));
	int32_t skew;

	gy_assert(sim->hosts_count < GY_SIM_HOSTS_MAX && strlen(name) < GY_SIM_NAME_BYTES);
	host->sim = sim;
	host->index = sim->hosts_count;
	host->boot = boot;
	host->arg = arg;
	memcpy(host->name, name, strlen(name) + 1);
	skew = (int32_t)gy_sim_choose(sim, 2 * SKEW_MAX + 1);
	gy_sim_host_set_skew(host, skew > SKEW_MAX ? SKEW_MAX - skew : skew);
	gy_list_init(&host->tasks);
	gy_list_init(&host->memory);
	gy_list_init(&host->hash_tables);
	gy_list_init(&host->signal_files);
	gy_sim_queue_init(&host->signal_waiters);
	gy_list_init(&host->environment);
	gy_list_init(&host->streams);
	sim->hosts[sim->hosts_count++] = host;
	gy_sim_net_host_init(host);
	gy_sim_disk_init(host);
	return host;
}

void gy_sim_host_destroy(struct gy_sim_host *host)
{
	gy_assert(!host->up);
	gy_sim_net_host_fini(host);
	gy_sim_disk_fini(host);
	gy_sim_hash_tables_crash(host);
	while (!gy_list_empty(&host->memory)) {
		gy_list_remove(host->memory.next); /* what is left there is a leak of the program */
	}
	gy_sim_put(host);
}

/* ---- clocks ---- */

static uint64_t skewed(const struct gy_sim_host *host, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * host->clock_rate >> RATE_BITS);
}

uint64_t gy_sim_host_clock(const struct gy_sim_host *host)
{
	return host->clock_base_ns + skewed(host, host->sim->now_ns);
}

uint64_t gy_sim_host_date(const struct gy_sim_host *host)
{
	return date_base_ns + skewed(host, host->sim->now_ns);
}

/* When a clock shows @ns after its base; not earlier. */
static uint64_t unskewed(const struct gy_sim_host *host, uint64_t ns)
{
	uint64_t when_ns = (uint64_t)((unsigned __int128)ns * host->clock_inverse >> RATE_BITS);

	/* Both numbers are rounded down, so it may be too early by little, never late. */
	while (skewed(host, when_ns) < ns) {
		when_ns++;
	}
	return when_ns;
}

uint64_t gy_sim_host_when(const struct gy_sim_host *host, uint64_t clock_ns)
{
	if (clock_ns >= UINT64_MAX / 2) {
		return UINT64_MAX;
	}
	return clock_ns <= host->clock_base_ns ? 0 : unskewed(host, clock_ns - host->clock_base_ns);
}

uint64_t gy_sim_host_after(const struct gy_sim_host *host, uint64_t ns)
{
	return ns >= UINT64_MAX / 4 ? UINT64_MAX
				    : gy_sim_host_when(host, gy_sim_host_clock(host) + ns);
}

uint64_t gy_sim_host_when_date(const struct gy_sim_host *host, uint64_t date_ns)
{
	return date_ns <= date_base_ns ? 0 : unskewed(host, date_ns - date_base_ns);
}
