/*
 * The search. Threads of the model are contexts of one thread of the machine; where the next step
 * of several could come next, one run is made for each, depth first, by doing anew all that led
 * there.
 *
 * Of runs that differ only in the order of steps that have nothing to do with each other one is
 * enough: a thread whose step has been tried at some point sleeps from there on until a step comes
 * that is in conflict with it (sleep sets, after P. Godefroid). A protocol that is too large for
 * that may limit how often a thread loses its turn though it could go on; then nothing sleeps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { STACK_BYTES = 256 << 10, CHOICES_MAX = 24, STEPS_MAX = 4000 };

/* What a step touches. */
struct footprint {
	const struct location *location[FOOTPRINT_MAX];
	bool written[FOOTPRINT_MAX];
	uint32_t count;
	uint32_t threads;
	bool looks_at_all; /* it waits for any change */
	bool writes;
};

/* A step of a thread, after it has seen so many of the stores that wait in the buffers of others.
 */
struct choice {
	uint32_t thread;
	uint8_t seen[MODEL_THREADS_MAX];
	bool asleep;
	struct footprint footprint;
};

struct node {
	struct choice choices[CHOICES_MAX];
	uint32_t count;
	uint32_t taken;
	uint32_t preemptions;
	uint32_t last; /* the thread that had its turn before */
};

enum outcome { RUNNING, ENDED, LEFT, FAILED };

struct engine engine;

static struct node path[STEPS_MAX];
static uint32_t path_length;
static unsigned char stacks[MODEL_THREADS_MAX + 1][STACK_BYTES] __attribute__((aligned(64)));
static ucontext_t explorer;
static bool starting;
static enum outcome outcome;

/* ---- ends ---- */

static _Noreturn void leave(enum outcome how)
{
	outcome = how;
	engine.current = NULL;
	(void)setcontext(&explorer);
	abort();
}

_Noreturn void model_failed(const char *what)
{
	engine.failure = what;
	leave(FAILED);
}

/* ---- footprints ---- */

static void touch(struct footprint *footprint, const struct location *location, bool writes)
{
	footprint->location[footprint->count] = location;
	footprint->written[footprint->count] = writes;
	footprint->count++;
	footprint->writes = footprint->writes || writes;
}

static void take_footprint(struct choice *choice)
{
	const struct thread *thread = &engine.threads[choice->thread];
	struct footprint *footprint = &choice->footprint;

	*footprint = (struct footprint){ .threads = 1U << choice->thread };
	footprint->looks_at_all = thread->next.site.kind == MODEL_PAUSE;
	if (thread->next.location != NULL) {
		touch(footprint, thread->next.location, thread->next.writes);
	}
	for (uint32_t i = 0; i < engine.threads_count; i++) {
		for (uint32_t k = 0; k < choice->seen[i]; k++) {
			footprint->threads |= 1U << i;
			touch(footprint, engine.threads[i].buffer[k].location, true);
		}
	}
}

static bool conflict(const struct footprint *a, const struct footprint *b)
{
	if ((a->threads & b->threads) != 0 || (a->looks_at_all && b->writes) ||
	    (b->looks_at_all && a->writes)) {
		return true;
	}
	for (uint32_t i = 0; i < a->count; i++) {
		for (uint32_t k = 0; k < b->count; k++) {
			if (a->location[i] == b->location[k] && (a->written[i] || b->written[k])) {
				return true;
			}
		}
	}
	return false;
}

/* ---- choices ---- */

/* Whether the step of a thread is about what stands in another's buffer. */
static bool is_awaited(const struct thread *thread, const struct pending_store *store)
{
	if (thread->next.site.kind == MODEL_PAUSE) {
		return (store->location->readers >> thread->index & 1) != 0;
	}
	return store->location == thread->next.location;
}

static bool can_go(const struct thread *thread)
{
	uint32_t flag;

	switch (thread->next.site.kind) {
	case MODEL_PAUSE:
		return thread->changed;
	case MODEL_AWAIT:
		memcpy(&flag, (const void *)thread->next.location->address, sizeof(flag));
		return flag != 0;
	default:
		return true;
	}
}

static void add_choice(struct node *node, const struct choice *choice)
{
	if (node->count == CHOICES_MAX) {
		model_failed("too many choices for one step");
	}
	node->choices[node->count] = *choice;
	take_footprint(&node->choices[node->count]);
	node->count++;
}

/* All ways in which @choice may go on with the buffers from thread @other on. */
static void add_ways(struct node *node, struct choice *choice, uint32_t other)
{
	const struct thread *thread = &engine.threads[choice->thread];
	const struct thread *owner;

	if (other == engine.threads_count) {
		uint32_t seen = 0;

		for (uint32_t i = 0; i < engine.threads_count; i++) {
			seen += choice->seen[i];
		}
		if (seen > 0 || can_go(thread)) {
			add_choice(node, choice);
		}
		return;
	}
	choice->seen[other] = 0;
	add_ways(node, choice, other + 1);
	owner = &engine.threads[other];
	for (uint32_t i = 0; other != choice->thread && i < owner->buffered; i++) {
		if (is_awaited(thread, &owner->buffer[i])) {
			choice->seen[other] = (uint8_t)(i + 1);
			add_ways(node, choice, other + 1);
		}
	}
	choice->seen[other] = 0;
}

static bool same(const struct choice *a, const struct choice *b)
{
	return a->thread == b->thread && memcmp(a->seen, b->seen, sizeof(a->seen)) == 0;
}

/* What was tried before, and is not touched by the step that led here, need not be tried. */
static void put_to_sleep(struct node *node, const struct node *parent)
{
	const struct choice *taken = &parent->choices[parent->taken];

	for (uint32_t i = 0; i < parent->count; i++) {
		const struct choice *tried = &parent->choices[i];

		if (!tried->asleep || conflict(&tried->footprint, &taken->footprint)) {
			continue;
		}
		for (uint32_t k = 0; k < node->count; k++) {
			if (same(&node->choices[k], tried)) {
				node->choices[k].asleep = true;
			}
		}
	}
}

/* Takes the choice at @from or the first behind it that is awake; false if there is none. */
static bool take_next(struct node *node, uint32_t from)
{
	for (node->taken = from; node->taken < node->count; node->taken++) {
		if (!node->choices[node->taken].asleep) {
			return true;
		}
	}
	return false;
}

static void limit_preemptions(struct node *node, const struct node *parent)
{
	uint32_t most = engine.protocol->preemptions_max;
	bool last_could = false;
	uint32_t kept = 0;

	if (parent != NULL) {
		uint32_t before = parent->choices[parent->taken].thread;

		node->preemptions = parent->preemptions;
		for (uint32_t i = 0; i < parent->count; i++) {
			last_could = last_could || parent->choices[i].thread == parent->last;
		}
		node->preemptions += before != parent->last && last_could;
	}
	last_could = false;
	for (uint32_t i = 0; i < node->count; i++) {
		last_could = last_could || node->choices[i].thread == node->last;
	}
	for (uint32_t i = 0; i < node->count; i++) {
		if (!last_could || node->choices[i].thread == node->last ||
		    node->preemptions < most) {
			node->choices[kept++] = node->choices[i];
		}
	}
	node->count = kept;
}

static void fill_node(struct node *node, const struct node *parent)
{
	node->count = 0;
	node->preemptions = 0;
	node->last = parent == NULL ? 0 : parent->choices[parent->taken].thread;
	for (uint32_t i = 0; i < engine.threads_count; i++) {
		struct choice choice = { .thread = (node->last + i) % engine.threads_count };

		if (!engine.threads[choice.thread].done) {
			add_ways(node, &choice, 0);
		}
	}
	if (engine.protocol->preemptions_max > 0) {
		limit_preemptions(node, parent);
	} else if (parent != NULL) {
		put_to_sleep(node, parent);
	}
}

/* ---- a run ---- */

/* The next step of the run: whose it is. Does not return when the run is at its end. */
static struct thread *choose(void)
{
	struct node *node = &path[engine.steps];
	struct thread *thread;
	const struct choice *choice;

	if (engine.steps + 1 == STEPS_MAX) {
		model_failed("it goes on for ever");
	}
	if (engine.steps == path_length) {
		fill_node(node, engine.steps == 0 ? NULL : &path[engine.steps - 1]);
		if (node->count == 0) {
			leave(ENDED);
		}
		if (!take_next(node, 0)) {
			leave(LEFT);
		}
		path_length++;
	}
	choice = &node->choices[node->taken];
	thread = &engine.threads[choice->thread];
	engine.steps++;
	for (uint32_t i = 0; i < engine.threads_count; i++) {
		memory_commit(&engine.threads[i], choice->seen[i]);
	}
	thread->earlier_step = thread->last_step;
	thread->last_step = engine.steps;
	return thread;
}

static void go_on_with(struct thread *self, struct thread *next)
{
	engine.current = next;
	if (next != self) {
		(void)swapcontext(&self->context, &next->context);
	}
}

void engine_step(struct location *location, bool writes, const struct model_site *site)
{
	struct thread *self = engine.current;

	self->next = (struct step){ location, writes, *site };
	if (starting) {
		engine.current = NULL;
		(void)swapcontext(&self->context, &explorer);
	} else {
		go_on_with(self, choose());
	}
}

static void run_thread(void)
{
	struct thread *self = engine.current;

	self->run();
	self->done = true;
	if (starting) {
		engine.current = NULL;
		(void)setcontext(&explorer);
	}
	engine.current = choose();
	(void)setcontext(&engine.current->context);
}

static void prepare(ucontext_t *context, uint32_t stack, void (*run)(void))
{
	(void)getcontext(context);
	context->uc_stack.ss_sp = stacks[stack];
	context->uc_stack.ss_size = STACK_BYTES;
	context->uc_link = &explorer;
	makecontext(context, run, 0);
}

/* Each thread runs up to its first step, which nobody can tell from having done so later. */
static void start_threads(void)
{
	const struct model_protocol *protocol = engine.protocol;

	engine.threads_count = 0;
	while (engine.threads_count < MODEL_THREADS_MAX &&
	       protocol->threads[engine.threads_count].run != NULL) {
		uint32_t i = engine.threads_count++;
		struct thread *thread = &engine.threads[i];

		memset(thread, 0, sizeof(*thread));
		thread->index = i;
		thread->name = protocol->threads[i].name;
		thread->run = protocol->threads[i].run;
		thread->clock.time[i] = 1;
		prepare(&thread->context, i, run_thread);
	}
	starting = true;
	for (uint32_t i = 0; i < engine.threads_count && outcome == RUNNING; i++) {
		engine.current = &engine.threads[i];
		(void)swapcontext(&explorer, &engine.threads[i].context);
	}
	starting = false;
}

static void go(void)
{
	engine.current = choose();
	(void)setcontext(&engine.current->context);
}

static void check(void)
{
	for (uint32_t i = 0; i < engine.threads_count; i++) {
		memory_commit(&engine.threads[i], engine.threads[i].buffered);
	}
	engine.protocol->check();
}

/* In a context of its own, which model_failed() can leave. */
static void run_apart(void (*what)(void))
{
	static ucontext_t apart;

	prepare(&apart, MODEL_THREADS_MAX, what);
	(void)swapcontext(&explorer, &apart);
}

static void run_once(void)
{
	engine.run++;
	engine.steps = 0;
	outcome = RUNNING;
	heap_begin();
	trace_begin();
	run_apart(engine.protocol->setup);
	if (outcome == RUNNING) {
		start_threads();
	}
	if (outcome == RUNNING) {
		run_apart(go);
	}
	if (outcome == ENDED) {
		run_apart(check);
	}
}

/* Makes the path lead to the next run; false when there is none. */
static bool turn_back(void)
{
	while (path_length > 0) {
		struct node *node = &path[path_length - 1];

		node->choices[node->taken].asleep = true;
		if (take_next(node, node->taken + 1)) {
			return true;
		}
		path_length--;
	}
	return false;
}

struct result engine_explore(const struct model_protocol *protocol, const struct model_plant *plant)
{
	struct result result = { 0 };

	engine.protocol = protocol;
	engine.plant = plant;
	engine.failure = NULL;
	memory_forget();
	path_length = 0;
	do {
		run_once();
		if (outcome == FAILED) {
			result.failure = engine.failure;
			break;
		}
		if (engine.more_shared) {
			memory_begin();
			path_length = 0;
			result = (struct result){ 0 };
			continue;
		}
		result.runs += outcome == ENDED;
		result.leaves += outcome == LEFT;
	} while (path_length == 0 || turn_back());
	return result;
}
