/*
 * A group grows and shrinks as fast as it can while actors on all loops and threads from outside
 * send bursts to it, ask it, and pause. No message may be lost with a member that goes: each is
 * handled, each ask is answered.
 */
#include <pthread.h>

#include <gyre/group.h>

#include "stress.h"

enum {
	LOOPS = 3,
	MOST = 12,
	STEPS = 250,
	BURST = 60,
	THREADS = 2,
	OUTSIDE_STEPS = 250,
};

static struct gyre_address group;
static uint64_t sent; /* notices; atomic, as all of these */
static uint64_t handled;
static uint64_t answered;
static uint32_t unfinished = LOOPS;
static uint32_t threads_left = THREADS;

/* ---- members ---- */

struct member_frame {
	struct gyre_future future;
};

/* Some take so long that mail waits. */
static int take(struct gyre_stack *stack)
{
	struct member_frame *frame = (struct member_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (load_check(gyre_message(stack, load)) % 8 == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MICROSECONDS(100), &frame->future));
	}
	(void)gy_fetch_add(&handled, 1);
	GYRE_END(stack);
}

static int reply(struct gyre_stack *stack)
{
	struct member_frame *frame = (struct member_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (load_check(gyre_message(stack, load)) % 2 == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(20), &frame->future));
	}
	return gyre_reply(stack, load_new(stack, load_check(gyre_message(stack, load)) + 1));
	GYRE_END(stack);
}

static bool runs_alone(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(load) && ((const struct load *)message)->value % 8 == 0;
}

static const struct gyre_class member_class = {
	.name = "member",
	.frame_bytes = sizeof(struct member_frame),
	.behaviour = { .notice = take, .ask = reply },
	.barrier = runs_alone,
};

/* ---- senders ---- */

struct sender {
	uint64_t random; /* first, for stress_start() */
	uint32_t steps;
};

struct sender_frame {
	struct gyre_future future;
	uint64_t asked;
};

static void send_burst(struct gyre_stack *stack, struct sender *sender)
{
	uint32_t count = stress_random(&sender->random, BURST);

	(void)gy_fetch_add(&sent, count);
	while (count-- > 0) {
		check(gyre_notify(stack, group, load_new(stack, count)) == 0);
	}
}

static uint64_t draw_pause_ns(struct sender *sender)
{
	return GYRE_MICROSECONDS(stress_random(&sender->random, 8) == 0
					 ? 20000
					 : 1 + stress_random(&sender->random, 500));
}

static bool all_handled(void)
{
	return gy_load_acquire(&threads_left) == 0 &&
	       gy_load_acquire(&handled) == gy_load_acquire(&sent);
}

static int step(struct gyre_stack *stack)
{
	struct sender *sender = (struct sender *)gyre_state(stack);
	struct sender_frame *frame = (struct sender_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (; sender->steps < STEPS; sender->steps++) {
		send_burst(stack, sender);
		if (sender->steps % 4 == 0) {
			frame->asked = 8 * sender->steps + stress_random(&sender->random, 8);
			GYRE_AWAIT(stack, gyre_ask(stack, group, load_new(stack, frame->asked),
						   GYRE_FOREVER, &frame->future));
			check(gyre_future_error(&frame->future) == 0);
			check(load_check(gyre_future_get(&frame->future, load)) ==
			      frame->asked + 1);
			(void)gy_fetch_add(&answered, 1);
		}
		GYRE_AWAIT(stack, gyre_sleep(stack, draw_pause_ns(sender), &frame->future));
	}
	while (!all_handled()) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	stress_finish(stack, &unfinished);
	GYRE_END(stack);
}

static const struct gyre_class sender_class = {
	.name = "sender",
	.state_bytes = sizeof(struct sender),
	.frame_bytes = sizeof(struct sender_frame),
	.mount = stress_start,
	.behaviour.notice = step,
};

static void *send_from_outside(void *arg)
{
	struct gyre_system *system = (struct gyre_system *)arg;
	uint64_t random = (uint64_t)(uintptr_t)&random;

	for (uint32_t i = 0; i < OUTSIDE_STEPS; i++) {
		uint32_t count = stress_random(&random, BURST / 4);

		(void)gy_fetch_add(&sent, count);
		while (count-- > 0) {
			check(gyre_system_notify(system, group, load_new_outside(system, i)) == 0);
		}
		stress_dawdle(&random, stress_random(&random, 8) == 0 ? 200000 : 5000);
	}
	(void)gy_fetch_add(&threads_left, -1U);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct gyre_group_options options = { .count_max = MOST,
						    .grow_above = 2,
						    .shrink_after_ns = 1 };
	uint64_t seed = stress_begin(argc, argv);
	struct gyre_system *system = stress_create(LOOPS);
	pthread_t threads[THREADS];
	struct gyre_counters counters;

	check(gyre_system_group_spawn(system, &member_class, GYRE_NO_ARGUMENT, &options, &group) ==
	      0);
	for (uint32_t i = 0; i < LOOPS; i++) {
		(void)stress_spawn(system, &sender_class, i, load_new_outside(system, seed + i));
	}
	check(gyre_system_start(system) == 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_create(&threads[i], NULL, send_from_outside, system) == 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(threads[i], NULL) == 0);
	}
	counters = stress_end(system);
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		check(counters.dropped[i] == 0);
	}
	check(handled == sent && counters.spawned > MOST + LOOPS);
	(void)printf("%llu handled, %llu answered, %llu members made\n",
		     (unsigned long long)handled, (unsigned long long)answered,
		     (unsigned long long)counters.spawned - LOOPS);
	return 0;
}
