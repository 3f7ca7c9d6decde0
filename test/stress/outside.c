/*
 * Threads that are no loop's beat on systems which are stopped at a random moment: eight of them
 * send notices, ask and wait, ask with callbacks and with time-outs of every length, while actors
 * of all loops give work to several pools, and give some of it up. Each ask must end exactly once
 * and with its own answer, each payload that owns something must be destroyed once, no pool may
 * work at more pieces than it has threads, and nobody may hang.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <gyre/offload.h>
#include <gyre/outside.h>

#include "stress.h"

enum {
	SYSTEMS = 40,
	LOOPS = 3,
	ACTORS = 2 * LOOPS,
	THREADS = 8,
	DELAY_US_MAX = 30000,
	UNANSWERED_MAX = 300,
	POOLS = 4,
};

/* A payload that owns a piece of the heap, which its maker wrote. */
struct goods {
	uint64_t *values;
};

static int64_t goods_alive; /* atomic */

static void goods_destroy(struct goods *goods)
{
	if (goods->values != NULL) {
		check(goods->values[1] == goods->values[0] * 3);
		free(goods->values);
		(void)gy_fetch_add(&goods_alive, -1);
	}
}
GYRE_MESSAGE_OWNING(goods, 0x2101, goods_destroy);

static struct goods goods_of(uint64_t value)
{
	struct goods goods = { .values = (uint64_t *)malloc(2 * sizeof(uint64_t)) };

	check(goods.values != NULL);
	goods.values[0] = value;
	goods.values[1] = value * 3;
	(void)gy_fetch_add(&goods_alive, 1);
	return goods;
}

struct thread {
	pthread_t id;
	uint64_t random;
	uint64_t asked; /* callbacks that must come */
	uint64_t heard; /* atomic: that came */
	uint32_t unanswered;
};

static struct gyre_system *current;
static struct gyre_address actors[ACTORS];
static uint32_t may_run;

static void wait_us(uint64_t us)
{
	uint64_t end_ns = gy_clock_machine_ns() + us * 1000;

	while (gy_clock_machine_ns() < end_ns) {
		(void)sched_yield(); /* the machine may have few cores for so many threads */
	}
}

/* ---- the actors ---- */

struct pool {
	const char *name; /* NULL for that of gyre_offload() */
	uint32_t threads;
	uint32_t queue_max;
	uint32_t working; /* atomic */
};

static struct pool pools[POOLS] = {
	{ 0 }, { .name = "disk" }, { .name = "hash" }, { .name = "mail" }
};

/* The pool that a value is worked at by. */
static struct pool *pool_of(uint64_t value)
{
	return &pools[value % POOLS];
}

struct working_frame {
	struct gyre_future future;
	struct gyre_future other;
	uint64_t value;
};

static int work_at(struct gyre_work *piece, uint64_t value)
{
	if (value % 5 == 0) {
		wait_us(value % 4000); /* some are still at it when the loops end */
	}
	if (value % 7 == 0) {
		return -EIO;
	}
	return gyre_work_reply(
		piece,
		gyre_fill_goods(gyre_system_mail_create(gyre_work_system(piece), &gyre_type_goods),
				goods_of(value + 1)));
}

static int work(struct gyre_work *piece)
{
	struct goods goods;
	struct pool *pool;
	uint64_t value;
	int r;

	check(gyre_work_move(piece, goods, &goods) == 0);
	value = goods.values[0];
	pool = pool_of(value);
	goods_destroy(&goods);
	check(gy_fetch_add(&pool->working, 1) < pool->threads);
	r = work_at(piece, value);
	(void)gy_fetch_add(&pool->working, -1U);
	return r;
}

static int give(struct gyre_stack *stack, uint64_t value, struct gyre_future *ret_future)
{
	return gyre_offload_to(stack, pool_of(value)->name, work,
			       gyre_new(stack, goods, goods_of(value).values), value % 3000000 + 1,
			       ret_future);
}

/* Gives work and does not wait for it; or gives it to nobody. */
static void give_in_vain(struct gyre_stack *stack, uint64_t value, struct gyre_future *ret_future)
{
	if (value % 16 == 0) {
		check(gyre_offload_to(stack, "nobody", work,
				      gyre_new(stack, goods, goods_of(value).values), GYRE_FOREVER,
				      ret_future) == -ENOENT);
	} else if (give(stack, value, ret_future) == 0) {
		check(gyre_cancel(stack, ret_future) == 0);
		check(gyre_future_error(ret_future) == -ECANCELED);
	}
}

/* Answers at once, or late, or has somebody off the loops do it. */
static int answer(struct gyre_stack *stack)
{
	struct working_frame *frame = (struct working_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->value = gyre_message(stack, goods)->values[0];
	if (frame->value % 3 == 1) {
		GYRE_AWAIT(stack, gyre_sleep(stack, frame->value % 2000000, &frame->future));
	} else if (frame->value % 3 == 2) {
		give_in_vain(stack, frame->value / 3, &frame->other);
		GYRE_AWAIT(stack, give(stack, frame->value, &frame->future));
		if (gyre_future_failed(&frame->future)) {
			return gyre_throw(stack, gyre_future_error(&frame->future));
		}
		check(gyre_future_get(&frame->future, goods)->values[0] == frame->value + 1);
	}
	return gyre_reply(stack, gyre_new(stack, goods, goods_of(frame->value + 1).values));
	GYRE_END(stack);
}

static int ignore(struct gyre_stack *stack)
{
	check(gyre_message(stack, goods) != NULL);
	return gyre_return(stack);
}

static const struct gyre_class answering_class = {
	.name = "answering",
	.frame_bytes = sizeof(struct working_frame),
	.behaviour = { .notice = ignore, .ask = answer },
};

/* ---- the threads ---- */

static struct gyre_mail *new_goods(uint64_t value)
{
	return gyre_system_new(current, goods, goods_of(value).values);
}

static void check_end(const struct gyre_mail *end, int error)
{
	if (error == 0) {
		check(gyre_mail_get(end, goods)->values[0] > 0);
		return;
	}
	check(end == NULL);
	check(error == -ETIMEDOUT || error == -ESHUTDOWN || error == -ESRCH || error == -EIO ||
	      error == -ENOBUFS);
}

static void hear(struct gyre_mail *end, int error, void *arg)
{
	struct thread *thread = (struct thread *)arg;
	struct goods kept;

	check_end(end, error);
	if (error == 0 && gyre_mail_move(end, goods, &kept) == 0) {
		goods_destroy(&kept);
	}
	(void)gy_fetch_add(&thread->heard, 1);
}

static uint64_t any_timeout(uint64_t *random)
{
	return stress_random(random, 4) == 0 ? GYRE_FOREVER
					     : GYRE_MICROSECONDS(stress_random(random, 5000) + 1);
}

static void ask_and_wait(struct thread *thread, struct gyre_address to)
{
	uint64_t value = stress_random(&thread->random, 1000000);
	struct gyre_mail *end = NULL;
	int r = gyre_system_ask(current, to, new_goods(value), any_timeout(&thread->random), &end);

	check_end(end, r);
	thread->unanswered = r == -ETIMEDOUT ? thread->unanswered : 0;
	check(r != 0 || gyre_mail_get(end, goods)->values[0] == value + 1);
	gyre_mail_destroy(NULL, end);
}

static void do_something(struct thread *thread)
{
	struct gyre_address to = actors[stress_random(&thread->random, ACTORS)];

	if (stress_random(&thread->random, 16) == 0) {
		to.cookie ^= 0x55; /* nobody */
	}
	/* Who waits for answers now and then does not send faster than a loop can take. */
	switch (thread->unanswered++ < UNANSWERED_MAX ? stress_random(&thread->random, 4) : 0) {
	case 0:
		ask_and_wait(thread, to);
		break;
	case 1:
		thread->asked +=
			gyre_system_ask_callback(current, to,
						 new_goods(gy_random_next(&thread->random) >> 8),
						 any_timeout(&thread->random), hear, thread) == 0;
		break;
	default:
		(void)gyre_system_notify(current, to, new_goods(1));
		break;
	}
	stress_dawdle(&thread->random, 500);
}

static void *beat(void *arg)
{
	struct thread *thread = (struct thread *)arg;

	while (gy_load_acquire(&may_run) != 0) {
		do_something(thread);
	}
	return NULL;
}

/* ---- a system ---- */

static struct gyre_system *create(uint64_t *random, uint32_t loops)
{
	struct gyre_offload_pool named[POOLS - 1];
	struct gyre_system_options options = {
		.loops = loops,
		.spin_ns = GYRE_SPIN_NEVER,
		.buffer_count = 16,
		.log = stress_log,
		.offload_pools = named,
		.offload_pools_count = POOLS - 1,
	};
	struct gyre_system *system = NULL;

	for (uint32_t i = 0; i < POOLS; i++) {
		pools[i].threads = 1 + stress_random(random, 4);
		pools[i].queue_max = 1 + stress_random(random, 20);
		check(pools[i].working == 0);
	}
	for (uint32_t i = 1; i < POOLS; i++) {
		named[i - 1] = (struct gyre_offload_pool){ .name = pools[i].name,
							   .threads = pools[i].threads,
							   .queue_max = pools[i].queue_max };
	}
	options.offload_threads = pools[0].threads;
	options.offload_queue_max = pools[0].queue_max;
	check(gyre_system_create(&options, &system) == 0);
	return system;
}

static void run_one(uint64_t *random)
{
	uint32_t loops = 1 + stress_random(random, LOOPS);
	uint64_t delay_us = stress_random(random, DELAY_US_MAX);
	struct thread threads[THREADS];

	current = create(random, loops);
	for (uint32_t i = 0; i < ACTORS; i++) {
		actors[i] = stress_spawn(current, &answering_class, i % loops, GYRE_NO_ARGUMENT);
	}
	memset(threads, 0, sizeof(threads));
	gy_store_release(&may_run, 1);
	for (uint32_t i = 0; i < THREADS; i++) {
		threads[i].random = gy_random_next(random);
		check(pthread_create(&threads[i].id, NULL, beat, &threads[i]) == 0);
	}
	wait_us(stress_random(random, 500)); /* some ask before the start */
	check(gyre_system_start(current) == 0);
	wait_us(delay_us);
	gyre_system_stop(current);
	wait_us(delay_us % 2000);
	if (stress_random(random, 2) == 0) {
		check(gyre_system_wait(current) == 0);
	}
	/* Else those that wait must come back without anybody waiting for the system. */
	gy_store_release(&may_run, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(threads[i].id, NULL) == 0);
	}
	(void)stress_end(current);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(gy_load_acquire(&threads[i].heard) == threads[i].asked);
	}
	check(gy_load_acquire(&goods_alive) == 0);
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);

	for (uint32_t i = 0; i < SYSTEMS; i++) {
		run_one(&random);
	}
	return 0;
}
