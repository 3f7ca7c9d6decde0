/*
 * Families over several loops whose members fail all the time, while loops rob each other, somebody
 * looks at the tree, and the system stops at any moment or by a failure that nobody settles. Causes
 * are read on other loops than they were made on. Each message must have an end that is counted,
 * children must end before their parents, and nobody may hang.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include <gyre/inspect.h>
#include <gyre/watch.h>

#include "stress.h"

enum { SYSTEMS = 60, LOOPS = 3, TOPS = 3, CHILDREN = 3, DELAY_US_MAX = 12000, DEPTH = 3 };

struct member {
	uint64_t random;
	uint32_t depth;
	uint32_t alive; /* atomic; children */
	struct member *parent;
};

struct birth {
	uint64_t random;
	uint32_t depth;
	struct member *parent;
};
GYRE_MESSAGE(birth, 0x2100);

static uint64_t causes; /* atomic; that were read */
static uint64_t settled;
static uint32_t gives_up; /* atomic; a top may fail as well */

static struct member *member_of(struct gyre_stack *stack)
{
	return (struct member *)gyre_state(stack);
}

static const struct gyre_class *class_at(uint32_t depth, uint64_t random);

static void spawn_child(struct gyre_stack *stack)
{
	struct member *self = member_of(stack);
	const struct gyre_spawn_options anywhere = { .place = GYRE_PLACE_ROUND_ROBIN };
	uint64_t random = gy_random_next(&self->random);
	struct gyre_address child;
	int r;

	if (self->depth == DEPTH) {
		return;
	}
	r = gyre_spawn(stack, class_at(self->depth + 1, random),
		       gyre_new(stack, birth, random, self->depth + 1, self), &anywhere, &child);
	check(r == 0 || r == -ESHUTDOWN);
	if (r == 0 && stress_random(&self->random, 8) == 0) {
		check(gyre_watch_pact(stack, child) == 0);
	} else if (r == 0) {
		check(gyre_watch(stack, child) == 0);
		(void)gyre_notify(stack, child, load_new(stack, self->random));
	}
}

static int mount(struct gyre_stack *stack)
{
	const struct birth *birth = gyre_message(stack, birth);
	struct member *self = member_of(stack);

	*self = (struct member){ .random = birth->random,
				 .depth = birth->depth,
				 .parent = birth->parent };
	if (self->parent != NULL) {
		(void)gy_fetch_add(&self->parent->alive, 1);
	}
	for (uint32_t i = 0; i < CHILDREN; i++) {
		spawn_child(stack);
	}
	if (self->depth == DEPTH && stress_random(&self->random, 16) == 0) {
		return gyre_throw_with(stack, -EIO, load_new(stack, self->random));
	}
	return gyre_notify(stack, gyre_self(stack), load_new(stack, self->random));
}

/* Its parent lives as long, and its own children are gone. */
static void clean(void *state)
{
	struct member *self = (struct member *)state;

	check(gy_load_acquire(&self->alive) == 0);
	if (self->parent != NULL) {
		(void)gy_fetch_add(&self->parent->alive, -1U);
	}
}

static int restart(struct gyre_stack *stack)
{
	struct member *self = member_of(stack);

	for (uint32_t i = gy_load_acquire(&self->alive); i < CHILDREN; i++) {
		spawn_child(stack);
	}
	return gyre_notify(stack, gyre_self(stack), load_new(stack, self->random));
}

static int handle(struct gyre_stack *stack)
{
	struct member *self = member_of(stack);

	self->random += load_check(gyre_message(stack, load));
	if (stress_random(&self->random, 8) == 0 &&
	    (self->depth > 0 || gy_load_relaxed(&gives_up))) {
		return gyre_throw_with(stack, -EIO, load_new(stack, self->random));
	}
	stress_dawdle(&self->random, 200);
	return gyre_notify(stack, gyre_self(stack), load_new(stack, self->random));
}

static int hear_of_end(struct gyre_stack *stack)
{
	const struct load *load = gyre_terminated_cause(stack, load);

	if (load != NULL) {
		(void)load_check(load);
		(void)gy_fetch_add(&causes, 1);
	}
	spawn_child(stack);
	return gyre_return(stack);
}

static enum gyre_decision decide(void *state, const struct gyre_failure *failure)
{
	struct member *self = (struct member *)state;
	const struct load *load = gyre_failure_cause(failure, load);

	check(failure->error == -EIO && strncmp(failure->path, "/user/", 6) == 0);
	if (load != NULL) {
		(void)load_check(load);
		(void)gy_fetch_add(&causes, 1);
	}
	(void)gy_fetch_add(&settled, 1);
	return (enum gyre_decision)stress_random(&self->random, GYRE_DECISION_ESCALATE + 1);
}

#define COMMON                                                                                    \
	.state_bytes = sizeof(struct member), .mount = mount, .clean = clean, .restart = restart, \
	.behaviour = { .notice = handle, .event = hear_of_end }

static const struct gyre_class top_class = {
	.name = "top",
	COMMON,
	.strategy = GYRE_STRATEGY_RESTART,
	.supervision = { .scope = GYRE_ALL_FOR_ONE, .delay_ns = GYRE_MICROSECONDS(50) },
};
static const struct gyre_class last_class = {
	.name = "last",
	COMMON,
	.strategy = GYRE_STRATEGY_ESCALATE,
	.supervision.scope = GYRE_REST_FOR_ONE,
};
static const struct gyre_class inner_classes[] = {
	{ .name = "rest",
	  COMMON,
	  .strategy = GYRE_STRATEGY_ESCALATE,
	  .supervision = { .scope = GYRE_REST_FOR_ONE,
			   .restarts_max = 4,
			   .window_ns = GYRE_MILLISECONDS(1) } },
	{ .name = "all",
	  COMMON,
	  .strategy = GYRE_STRATEGY_ESCALATE,
	  .keep_children = true,
	  .supervision = { .scope = GYRE_ALL_FOR_ONE, .decide = decide } },
	{ .name = "one", COMMON, .strategy = GYRE_STRATEGY_ESCALATE, .supervision.decide = decide },
	{ .name = "stopping",
	  COMMON,
	  .strategy = GYRE_STRATEGY_ESCALATE,
	  .supervision = { .scope = GYRE_ALL_FOR_ONE, .decision = GYRE_DECISION_STOP } },
};

static const struct gyre_class *class_at(uint32_t depth, uint64_t random)
{
	if (depth == 0) {
		return random % 4 == 0 ? &last_class : &top_class;
	}
	return &inner_classes[random % (sizeof(inner_classes) / sizeof(inner_classes[0]))];
}

/* ---- systems ---- */

static void log_errors(const struct gyre_log_line *line, void *arg)
{
	if (strstr(line->text, "no parent has settled its failure") == NULL) {
		stress_log(line, arg);
	}
}

static void look(struct gyre_system *system)
{
	struct gyre_snapshot *snapshot;

	check(gyre_system_inspect(system, &snapshot) == 0);
	check(strncmp(snapshot->tree, "/\n  user\n", 9) == 0);
	gyre_snapshot_destroy(snapshot);
}

static void play(uint64_t *random)
{
	const struct gyre_system_options options = {
		.loops = LOOPS, .spin_ns = GYRE_SPIN_NEVER, .buffer_count = 16, .log = log_errors
	};
	uint64_t until_ns;
	struct gyre_system *system;
	int r;

	check(gyre_system_create(&options, &system) == 0);
	gy_store_relaxed(&gives_up, stress_random(random, 2));
	for (uint32_t i = 0; i < TOPS; i++) {
		uint64_t seed = gy_random_next(random);

		(void)stress_spawn(system, class_at(0, seed), i % LOOPS,
				   gyre_system_new(system, birth, seed, 0, NULL));
	}
	check(gyre_system_start(system) == 0);
	until_ns = gy_clock_machine_ns() + GYRE_MICROSECONDS(stress_random(random, DELAY_US_MAX));
	while (gy_clock_machine_ns() < until_ns) {
		look(system);
		(void)sched_yield();
	}
	gyre_system_stop(system);
	r = gyre_system_wait(system);
	check(r == 0 || (r == -EIO && gy_load_relaxed(&gives_up) != 0));
	(void)stress_close(system);
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);

	for (uint32_t i = 0; i < SYSTEMS; i++) {
		play(&random);
	}
	check(gy_load_relaxed(&settled) > 0);
	check(gy_load_relaxed(&causes) > 0);
	return 0;
}
