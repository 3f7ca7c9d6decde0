/*
 * Two threads look at systems that spawn, ask, drop and stop all the while. What they see may be of
 * any moment, but counters may never go back, and a snapshot must hold what it was made of.
 */
#include <pthread.h>
#include <string.h>

#include <gyre/inspect.h>

#include "stress.h"

enum { SYSTEMS = 12, LOOPS = 2, INSPECTORS = 2, LIVES = 3000 };

static struct gyre_system *current;
static uint32_t may_inspect;
static uint64_t lives; /* actors that have come and gone */

static int answer(struct gyre_stack *stack)
{
	return gyre_reply(stack, load_new(stack, load_check(gyre_message(stack, load)) + 1));
}

static const struct gyre_class short_lived_class = { .name = "short-lived",
						     .behaviour.ask = answer };

struct spawner_frame {
	struct gyre_future future;
	struct gyre_address to;
};

static int spawn_and_ask(struct gyre_stack *stack)
{
	struct spawner_frame *frame = (struct spawner_frame *)gyre_frame(stack);
	struct gyre_spawn_options options = { .place = GYRE_PLACE_ROUND_ROBIN };

	GYRE_BEGIN(stack);
	while (gy_fetch_add(&lives, 1) < LIVES) {
		check(gyre_spawn(stack, &short_lived_class, GYRE_NO_ARGUMENT, &options,
				 &frame->to) == 0);
		GYRE_AWAIT(stack,
			   gyre_ask(stack, frame->to, load_new(stack, 1), 0, &frame->future));
		check(gyre_notify(stack, frame->to, load_new(stack, 2)) <= 0); /* unhandled */
		check(gyre_stop(stack, frame->to) <= 0);
	}
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class spawner_class = {
	.name = "spawner",
	.frame_bytes = sizeof(struct spawner_frame),
	.mount = spawn_and_ask,
};

/* What a thread saw last. */
struct seen {
	uint64_t turns;
	uint64_t handled;
};

static void look(struct seen *seen)
{
	struct gyre_snapshot *snapshot = NULL;
	struct seen now = { 0 };

	check(gyre_system_inspect(current, &snapshot) == 0);
	check(snapshot->loops_count == LOOPS);
	check(snapshot->classes_count <= 2);
	for (uint32_t i = 0; i < LOOPS; i++) {
		now.turns += snapshot->loops[i].turns;
		check(snapshot->loops[i].index == i);
	}
	for (uint32_t i = 0; i < snapshot->classes_count; i++) {
		const char *name = snapshot->classes[i].name;

		now.handled += snapshot->classes[i].handled;
		check(strcmp(name, "spawner") == 0 || strcmp(name, "short-lived") == 0);
	}
	check(now.turns >= seen->turns);
	check(now.handled >= seen->handled);
	*seen = now;
	gyre_snapshot_destroy(snapshot);
}

static void *inspect_often(void *arg)
{
	struct seen seen = { 0 };

	(void)arg;
	while (gy_load_acquire(&may_inspect) != 0) {
		look(&seen);
	}
	return NULL;
}

static void run_one(void)
{
	pthread_t inspectors[INSPECTORS];
	struct seen seen = { 0 };

	lives = 0;
	current = stress_create(LOOPS);
	gy_store_release(&may_inspect, 1);
	for (uint32_t i = 0; i < INSPECTORS; i++) {
		check(pthread_create(&inspectors[i], NULL, inspect_often, NULL) == 0);
	}
	for (uint32_t i = 0; i < 2 * LOOPS; i++) {
		(void)stress_spawn(current, &spawner_class, i % LOOPS, GYRE_NO_ARGUMENT);
	}
	check(gyre_system_start(current) == 0);
	check(gyre_system_wait(current) == 0);
	look(&seen);
	gy_store_release(&may_inspect, 0);
	for (uint32_t i = 0; i < INSPECTORS; i++) {
		check(pthread_join(inspectors[i], NULL) == 0);
	}
	(void)stress_end(current);
}

int main(int argc, char **argv)
{
	(void)stress_begin(argc, argv);
	for (uint32_t i = 0; i < SYSTEMS; i++) {
		run_one();
	}
	return 0;
}
