/*
 * Systems that are stopped at a random moment under load of every kind: asks between loops, timers,
 * spawns, also on loops of one actor each, mail from outside. Actors hold phases of the shutdown,
 * for as long as they please, some to their end; some want to when it is too late, or while another
 * loop runs them. Each time every message must have an end that is counted, and nothing may be left
 * over.
 */
#include <errno.h>
#include <pthread.h>

#include <gyre/shutdown.h>

#include "stress.h"

enum { SYSTEMS = 60, LOOPS = 3, WORKERS = 4, PINNED = 2, DELAY_US_MAX = 20000 };

struct worker {
	uint64_t random;
	enum gyre_shutdown_phase held; /* now, or 0 */
};

struct worker_frame {
	struct gyre_future futures[3];
};

static struct gyre_system *current;
static struct gyre_address workers[LOOPS * WORKERS];
static uint32_t outside_may_run;

static struct gyre_address any_worker(uint64_t *random)
{
	return workers[stress_random(random, LOOPS * WORKERS)];
}

static int start_work(struct gyre_stack *stack)
{
	struct worker *worker = (struct worker *)gyre_state(stack);
	const struct gyre_timer_options often = { .period_ns = GYRE_MICROSECONDS(700) };

	worker->random = load_check(gyre_message(stack, load));
	return gyre_timer_start(stack, 1, &often);
}

/* A phase of a shutdown that may not have begun. */
static void hold_some_phase(struct gyre_stack *stack, uint64_t number)
{
	int r = gyre_shutdown_hold(stack, (enum gyre_shutdown_phase)(1 + number % 4));

	check(r == 0 || r == -ESHUTDOWN);
}

static int take(struct gyre_stack *stack)
{
	hold_some_phase(stack, load_check(gyre_message(stack, load)));
	return gyre_return(stack);
}

static int let_go(struct gyre_stack *stack)
{
	check(gyre_shutdown_release(stack, gyre_message(stack, gyre_stopping)->phase) == 0);
	return gyre_return(stack);
}

static int keep_going(struct gyre_stack *stack)
{
	struct worker *worker = (struct worker *)gyre_state(stack);
	uint64_t value = load_check(gyre_message(stack, load));

	if (value > 0) {
		(void)gyre_notify(stack, any_worker(&worker->random), load_new(stack, value - 1));
	}
	return gyre_return(stack);
}

static int answer(struct gyre_stack *stack)
{
	uint64_t value = load_check(gyre_message(stack, load));

	return gyre_reply(stack, load_new(stack, value));
}

static const struct gyre_class brief_class = { .name = "brief",
					       .behaviour = { .notice = take, .event = let_go } };

/* Holds some phase, and lets go of it at some later event. */
static void hold_a_while(struct gyre_stack *stack, struct worker *worker)
{
	const struct gyre_stopping *stopping = gyre_message(stack, gyre_stopping);

	if (stopping != NULL) {
		check(worker->held == 0);
		worker->held = stopping->phase;
	} else if (worker->held == 0) {
		hold_some_phase(stack, stress_random(&worker->random, 4));
	} else if (stress_random(&worker->random, 2) == 0) {
		check(gyre_shutdown_release(stack, worker->held) == 0);
		worker->held = (enum gyre_shutdown_phase)0;
	}
}

/* Asks three others; spawns one, writes to it and stops it; sends a notice on a long way. */
static int work(struct gyre_stack *stack)
{
	struct worker *worker = (struct worker *)gyre_state(stack);
	struct worker_frame *frame = (struct worker_frame *)gyre_frame(stack);
	struct gyre_spawn_options anywhere = { .place = GYRE_PLACE_ROUND_ROBIN };
	struct gyre_address brief;

	GYRE_BEGIN(stack);
	hold_a_while(stack, worker);
	if (stress_random(&worker->random, 3) == 0) {
		anywhere.place = GYRE_PLACE_PINNED;
	}
	if (gyre_spawn(stack, &brief_class, load_new(stack, 1), &anywhere, &brief) == 0) {
		(void)gyre_notify(stack, brief, load_new(stack, 2));
		(void)gyre_poison(stack, brief);
	}
	(void)gyre_notify(stack, any_worker(&worker->random), load_new(stack, 50));
	for (uint32_t i = 0; i < 3; i++) {
		(void)gyre_ask(stack, any_worker(&worker->random), load_new(stack, i),
			       i == 0 ? GYRE_FOREVER : 0, &frame->futures[i]);
	}
	GYRE_AWAIT(stack, 0);
	for (uint32_t i = 0; i < 3; i++) {
		if (gyre_future_get(&frame->futures[i], load) != NULL) {
			check(load_check(gyre_future_get(&frame->futures[i], load)) == i);
		}
	}
	GYRE_END(stack);
}

static const struct gyre_class worker_class = {
	.name = "worker",
	.state_bytes = sizeof(struct worker),
	.frame_bytes = sizeof(struct worker_frame),
	.mount = start_work,
	.behaviour = { .notice = keep_going, .ask = answer, .event = work },
};

static void *send_from_outside(void *arg)
{
	uint64_t random = *(const uint64_t *)arg;

	while (gy_load_acquire(&outside_may_run) != 0) {
		struct gyre_address address;

		(void)gyre_system_notify(current, any_worker(&random),
					 load_new_outside(current, 3));
		if (gyre_system_spawn(current, &brief_class, load_new_outside(current, 1), NULL,
				      &address) == 0) {
			(void)gyre_system_notify(current, address, load_new_outside(current, 4));
		}
		stress_dawdle(&random, 3000);
	}
	return NULL;
}

static void wait_us(uint64_t us)
{
	uint64_t end_ns = gy_clock_machine_ns() + us * 1000;

	while (gy_clock_machine_ns() < end_ns) {
		gy_pause();
	}
}

static void run_one(uint64_t *random)
{
	uint64_t seed = gy_random_next(random);
	uint32_t loops = 1 + stress_random(random, LOOPS);
	uint64_t delay_us = stress_random(random, DELAY_US_MAX);
	pthread_t thread;

	const struct gyre_system_options options = { .loops = loops,
						     .loops_pinned = PINNED,
						     .spin_ns = GYRE_SPIN_NEVER,
						     .buffer_count = 16,
						     .drain_timeout_ns = GYRE_SECONDS(60),
						     .log = stress_log };

	check(gyre_system_create(&options, &current) == 0);
	for (uint32_t i = 0; i < LOOPS * WORKERS; i++) {
		workers[i] = stress_spawn(current, &worker_class, i % loops,
					  load_new_outside(current, seed + i));
	}
	gy_store_release(&outside_may_run, 1);
	check(pthread_create(&thread, NULL, send_from_outside, &seed) == 0);
	check(gyre_system_start(current) == 0);
	wait_us(delay_us);
	gyre_system_stop(current);
	/* Some mail comes during the drain, some after it. */
	wait_us(delay_us % 2000);
	gy_store_release(&outside_may_run, 0);
	check(pthread_join(thread, NULL) == 0);
	(void)stress_end(current);
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);

	for (uint32_t i = 0; i < SYSTEMS; i++) {
		run_one(&random);
	}
	return 0;
}
