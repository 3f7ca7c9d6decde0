/*
 * Tasks: the threads of hosts, each with a stack of its own in the one thread of the simulation. A
 * switch also exchanges the thread-local objects of gyre and errno, for all tasks share the
 * thread's.
 *
 * Stacks have a page before them that nobody may touch, and are used again by later tasks, also
 * those of the simulations that the process makes later: it costs more to map one than to run most
 * tasks.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/macros.h"
#include "base/reader.h"
#include "loop/foreign_nodes.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"
#include "system/process.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#if defined(SANITIZED)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

enum {
	STACK_BYTES = 1 << 20,
	GUARD_BYTES = 1 << 16,
	COLOURS = 32,
	COLOUR_BYTES = 4096 + 576, /* other lines of other pages */
	KEPT_MAX = 64,
	ROUNDS_MAX = 4,
};

struct gy_sim_stack {
	struct gy_list of_free;
	unsigned char *memory; /* with the guard */
};

_Thread_local struct gy_sim_task *gy_sim_here;

struct gy_sim_host *gy_sim_host_here(void)
{
	return gy_sim_here == NULL ? NULL : gy_sim_here->host;
}

/* ---- stacks ---- */

/* Of no simulation. One thread after another may have some. */
static struct {
	pthread_mutex_t mutex;
	struct gy_list stacks;
	uint32_t count;
} kept = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.stacks = { .next = &kept.stacks, .previous = &kept.stacks },
};

/* Whether there is place to keep it. */
static bool keep_stack(struct gy_sim_stack *stack)
{
	bool is_place;

	(void)__real_pthread_mutex_lock(&kept.mutex);
	is_place = kept.count < KEPT_MAX;
	if (is_place) {
		kept.count++;
		gy_list_append(&kept.stacks, &stack->of_free);
	}
	(void)__real_pthread_mutex_unlock(&kept.mutex);
	return is_place;
}

static struct gy_sim_stack *take_from(struct gy_list *stacks)
{
	struct gy_sim_stack *stack = NULL;

	if (!gy_list_empty(stacks)) {
		stack = gy_container_of(stacks->previous, struct gy_sim_stack, of_free);
		gy_list_remove(&stack->of_free);
	}
	return stack;
}

static struct gy_sim_stack *take_kept(void)
{
	struct gy_sim_stack *stack;

	(void)__real_pthread_mutex_lock(&kept.mutex);
	stack = take_from(&kept.stacks);
	kept.count -= stack != NULL;
	(void)__real_pthread_mutex_unlock(&kept.mutex);
	return stack;
}

static struct gy_sim_stack *get_stack(struct gyre_sim *sim)
{
	struct gy_sim_stack *stack = take_from(&sim->scheduler->stacks);
	void *memory;

	stack = stack == NULL ? take_kept() : stack;
	if (stack != NULL) {
		return stack;
	}
	memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (memory == MAP_FAILED) {
		return NULL;
	}
	(void)mprotect(memory, GUARD_BYTES, PROT_NONE);
	stack = (struct gy_sim_stack *)gy_sim_get(sizeof(*stack));
	stack->memory = (unsigned char *)memory;
	gy_list_init(&stack->of_free);
	return stack;
}

static void put_stack(struct gyre_sim *sim, struct gy_sim_stack *stack)
{
#if defined(SANITIZED)
	/* Frames that were cut off have left their red zones there. */
	ASAN_UNPOISON_MEMORY_REGION(stack->memory + GUARD_BYTES, STACK_BYTES);
#endif
	gy_list_append(&sim->scheduler->stacks, &stack->of_free);
}

static void free_stacks(struct gyre_sim *sim)
{
	struct gy_sim_stack *stack;

	while ((stack = take_from(&sim->scheduler->stacks)) != NULL) {
		if (!keep_stack(stack)) {
			(void)munmap(stack->memory, GUARD_BYTES + STACK_BYTES);
			gy_sim_put(stack);
		}
	}
}

/*
 * How much of a stack is used. Stacks lie at a power of two from each other: if all began at their
 * ends, what tasks have there would share a few lines of each cache, and each switch would miss.
 */
static size_t bytes_used(const struct gy_sim_stack *stack)
{
	size_t number = (uintptr_t)stack->memory / (GUARD_BYTES + STACK_BYTES);

	return STACK_BYTES - number % COLOURS * COLOUR_BYTES;
}

/* ---- what belongs to a thread ---- */

static void enter(const struct gy_sim_task_locals *locals)
{
	gy_foreign_mine = locals->foreign_mine;
	gy_reader_reasons = locals->reader_reasons;
	gy_current_worker_set(locals->worker);
	errno = locals->error;
}

static void leave(struct gy_sim_task_locals *ret_locals)
{
	*ret_locals = (struct gy_sim_task_locals){ .foreign_mine = gy_foreign_mine,
						   .reader_reasons = gy_reader_reasons,
						   .worker = gy_current_worker(),
						   .error = errno };
}

/* ---- switching ---- */

static void start_switch(void **ret_fake_stack, const void *bottom, size_t bytes)
{
#if defined(SANITIZED)
	__sanitizer_start_switch_fiber(ret_fake_stack, bottom, bytes);
#else
	(void)ret_fake_stack;
	(void)bottom;
	(void)bytes;
#endif
}

static void finish_switch(void *fake_stack, const void **ret_bottom, size_t *ret_bytes)
{
#if defined(SANITIZED)
	__sanitizer_finish_switch_fiber(fake_stack, ret_bottom, ret_bytes);
#else
	(void)fake_stack;
	(void)ret_bottom;
	(void)ret_bytes;
#endif
}

void gy_sim_task_switch_to(struct gy_sim_task *task)
{
	struct gy_sim_scheduler *scheduler = task->sim->scheduler;
	struct gy_sim_task_locals outside;

	gy_assert(gy_sim_here == NULL && task->state == GY_SIM_TASK_READY);
	leave(&outside);
	task->state = GY_SIM_TASK_RUNNING;
	gy_sim_here = task;
	enter(&task->locals);
	start_switch(&scheduler->fake_stack, task->stack->memory + GUARD_BYTES, STACK_BYTES);
	gy_sim_context_switch(&scheduler->context, &task->context);
	finish_switch(scheduler->fake_stack, NULL, NULL);
	enter(&outside);
	gy_sim_here = NULL;
}

void gy_sim_task_switch_back(struct gy_sim_task *task)
{
	struct gy_sim_scheduler *scheduler = task->sim->scheduler;
	bool ended = task->state == GY_SIM_TASK_ENDED;

	leave(&task->locals);
	start_switch(ended ? NULL : &task->fake_stack, scheduler->bottom, scheduler->bottom_bytes);
	gy_sim_context_switch(&task->context, &scheduler->context);
	finish_switch(task->fake_stack, &scheduler->bottom, &scheduler->bottom_bytes);
}

struct gy_sim_task *gy_sim_task_pose(struct gy_sim_task *task)
{
	/* What the thread itself has, while calls are made in the name of a task. */
	static _Thread_local struct gy_sim_task_locals outside;
	struct gy_sim_task *before = gy_sim_here;

	leave(before == NULL ? &outside : &before->locals);
	enter(task == NULL ? &outside : &task->locals);
	gy_sim_here = task;
	return before;
}

/* ---- life ---- */

void gy_sim_task_end_specifics(struct gy_sim_task *task)
{
	/* A function may set a value anew, as POSIX has it. */
	for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
		for (uint32_t i = 0; i < task->specifics_count; i++) {
			const void *value = task->specifics[i].value;

			task->specifics[i].value = NULL;
			if (value != NULL) {
				gy_sim_key_end(task->specifics[i].key, value);
			}
		}
	}
}

static void run(void)
{
	struct gy_sim_task *task = gy_sim_here;

	finish_switch(NULL, &task->sim->scheduler->bottom, &task->sim->scheduler->bottom_bytes);
	gy_sim_task_return(task->run(task->arg));
}

void gy_sim_task_return(void *value)
{
	struct gy_sim_task *task = gy_sim_here;

	gy_assert(task->stack != NULL && task->state == GY_SIM_TASK_RUNNING);
	task->value = value;
	task->ending = true;
	gy_sim_task_end_specifics(task);
	task->state = GY_SIM_TASK_ENDED;
	gy_sim_wake_all(&task->joiners);
	gy_sim_task_switch_back(task);
	abort(); /* nobody goes on with it */
}

void gy_sim_task_exit(void)
{
	struct gy_sim_task *task = gy_sim_here;

	gy_assert(task->stack != NULL && task->state == GY_SIM_TASK_RUNNING);
	task->exits = true;
	task->state = GY_SIM_TASK_ENDED;
	gy_sim_task_switch_back(task);
	abort(); /* nobody goes on with it */
}

/* ---- time ---- */

/*
 * Most waits end long before their time, and most are followed by one that ends later. So a wait
 * that ends leaves the timer as it is, and the next one starts it only where it has to fire sooner.
 */
void gy_sim_task_start_timer(struct gy_sim_task *task, uint64_t until_ns)
{
	task->until_ns = until_ns;
	if (task->timer.place == 0 || task->timer.at_ns > until_ns) {
		gy_sim_timer_start(task->sim, &task->timer, until_ns);
	}
}

static void time_is_up(struct gy_sim_timer *timer)
{
	struct gy_sim_task *task = gy_container_of(timer, struct gy_sim_task, timer);

	if (task->state != GY_SIM_TASK_WAITING) {
		return;
	}
	if (task->until_ns > task->sim->now_ns) {
		gy_sim_timer_start(task->sim, timer, task->until_ns);
		return;
	}
	gy_sim_task_unlist(task);
	gy_sim_task_ready(task);
}

/* ---- life of tasks ---- */

static void init(struct gy_sim_task *task, struct gyre_sim *sim)
{
	task->sim = sim;
	task->timer.fire = time_is_up;
	gy_list_init(&task->of_host);
	gy_list_init(&task->of_queue);
	gy_sim_queue_init(&task->joiners);
}

struct gy_sim_task *gy_sim_task_create(struct gy_sim_host *host, void *(*call)(void *arg),
				       void *arg)
{
	struct gy_sim_stack *stack = get_stack(host->sim);
	struct gy_sim_task *task;

	if (stack == NULL) {
		return NULL;
	}
	task = (struct gy_sim_task *)gy_sim_get(sizeof(*task));
	init(task, host->sim);
	task->host = host;
	task->number = host->tasks_made++;
	task->serial = ++host->sim->scheduler->tasks_made;
	task->run = call;
	task->arg = arg;
	task->stack = stack;
	gy_sim_context_init(&task->context, stack->memory + GUARD_BYTES, bytes_used(stack), run);
	gy_list_append(&host->tasks, &task->of_host);
	gy_sim_task_ready(task);
	return task;
}

void gy_sim_task_destroy(struct gy_sim_task *task)
{
	gy_assert(task != gy_sim_here);
	gy_sim_timer_stop(task->sim, &task->timer);
	gy_sim_task_unlist(task);
	gy_list_remove(&task->of_host);
	if (task->file != NULL) {
		gy_sim_file_unref(task->file);
	}
	gy_sim_put(task->scratch);
	put_stack(task->sim, task->stack);
	gy_sim_put(task->held);
	gy_sim_put(task->specifics);
	gy_sim_put(task);
}

void gy_sim_scheduler_init(struct gyre_sim *sim)
{
	struct gy_sim_scheduler *scheduler =
		(struct gy_sim_scheduler *)gy_sim_get(sizeof(*scheduler));

	sim->scheduler = scheduler;
	gy_list_init(&scheduler->ready);
	gy_list_init(&scheduler->stacks);
	gy_sim_timers_init(scheduler);
	for (uint32_t i = 0; i < GY_SIM_ADDRESS_QUEUES; i++) {
		gy_sim_queue_init(&scheduler->at_addresses[i]);
	}
	init(&scheduler->observer, sim);
	scheduler->observer.observer = true;
}

void gy_sim_scheduler_fini(struct gyre_sim *sim)
{
	free_stacks(sim);
	gy_sim_put(sim->scheduler->observer.held);
	gy_sim_put(sim->scheduler->observer.specifics);
	gy_sim_put(sim->scheduler->timers);
	gy_sim_put(sim->scheduler);
}
