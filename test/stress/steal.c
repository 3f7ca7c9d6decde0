/*
 * Stealing: one of three loops has far more ready actors than it keeps, in bursts, and the others
 * rob it. What an actor sends must arrive in the order of sending, whoever ran it then: at sinks on
 * its own loop, on the loops of the thieves, and at itself. Some ask, some start timers, spawn,
 * stash, fail or stop while they are away.
 */
#include "stress.h"

#include <gyre/watch.h>

enum { LOOPS = 3, ACTORS = 300, BURSTS = 150, BURST_MESSAGES = 4 };

struct task {
	uint64_t number;
	uint32_t actor;
};
GYRE_MESSAGE(task, 0x1201);

struct worker {
	uint64_t expected; /* the number of the next task */
	uint64_t heard;	   /* of itself */
	uint64_t random;
	uint32_t index;
	bool known;
};

struct worker_frame {
	struct gyre_future answer;
};

struct sink {
	uint64_t expected[ACTORS];
};

static struct gyre_address sinks[LOOPS];
static struct gyre_address workers[ACTORS];
static uint32_t done; /* workers that have had all their tasks */
static uint32_t ticks;
static uint32_t children;

/* ---- where the tasks end ---- */

static int check_order(struct gyre_stack *stack)
{
	struct sink *sink = (struct sink *)gyre_state(stack);
	const struct task *task = gyre_message(stack, task);

	check(task->number == sink->expected[task->actor]);
	sink->expected[task->actor]++;
	return gyre_return(stack);
}

static int answer(struct gyre_stack *stack)
{
	const struct task *task = gyre_message(stack, task);

	return gyre_reply(stack, gyre_new(stack, task, task->number, task->actor));
}

static const struct gyre_class sink_class = {
	.name = "sink",
	.state_bytes = sizeof(struct sink),
	.behaviour = { .notice = check_order, .ask = answer },
};

/* ---- who is stolen ---- */

static int count_child(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&children, 1);
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class child_class = { .name = "child", .mount = count_child };

static int tick(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&ticks, 1);
	return gyre_return(stack);
}

static void send_on(struct gyre_stack *stack, const struct task *task)
{
	for (uint32_t i = 0; i < LOOPS; i++) {
		check(gyre_notify(stack, sinks[i],
				  gyre_new(stack, task, task->number, task->actor)) == 0);
	}
}

/* Something for which it is best to be at home. */
static int be_busy(struct gyre_stack *stack, struct worker *self)
{
	struct gyre_address child;

	switch (stress_random(&self->random, 64)) {
	case 0:
		return gyre_timer_start(
			stack, 1,
			&(struct gyre_timer_options){ .delay_ns = GYRE_MICROSECONDS(200) });
	case 1:
		return gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT, NULL, &child);
	case 2:
		return gyre_watch(stack, workers[stress_random(&self->random, ACTORS)]) == -ENOMEM
			       ? -ENOMEM
			       : 0;
	case 3:
		return gyre_throw(stack, -EIO); /* a restart, which keeps the state */
	default:
		return 0;
	}
}

static int work(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	struct worker_frame *frame = (struct worker_frame *)gyre_frame(stack);
	const struct task *task = gyre_message(stack, task);
	uint64_t number = task->number;

	GYRE_BEGIN(stack);
	if (gyre_address_equal(gyre_sender(stack), gyre_self(stack))) {
		check(number == self->heard++);
		if (self->heard == (uint64_t)BURSTS * BURST_MESSAGES) {
			(void)gy_fetch_add(&done, 1);
		}
		return gyre_return(stack);
	}
	check(number == self->expected++);
	self->random ^= number + ((uint64_t)task->actor << 32);
	send_on(stack, task);
	check(gyre_notify(stack, gyre_self(stack), gyre_new(stack, task, number, task->actor)) ==
	      0);
	stress_dawdle(&self->random, 200);
	if (stress_random(&self->random, 32) == 0) {
		GYRE_AWAIT(stack,
			   gyre_ask(stack, sinks[number % LOOPS],
				    gyre_new(stack, task, number, task->actor), 0, &frame->answer));
		check(gyre_future_get(&frame->answer, task)->number ==
		      gyre_message(stack, task)->number);
		return gyre_return(stack);
	}
	return be_busy(stack, self);
	GYRE_END(stack);
}

static const struct gyre_class worker_class = {
	.name = "worker",
	.state_bytes = sizeof(struct worker),
	.frame_bytes = sizeof(struct worker_frame),
	.behaviour = { .notice = work, .event = tick },
};

/* ---- who makes them busy ---- */

struct driver {
	uint64_t random;
	uint32_t burst;
	struct gyre_future nap;
};

static void send_burst(struct gyre_stack *stack, uint32_t burst)
{
	for (uint32_t i = 0; i < BURST_MESSAGES; i++) {
		for (uint32_t actor = 0; actor < ACTORS; actor++) {
			check(gyre_notify(stack, workers[actor],
					  gyre_new(stack, task,
						   (uint64_t)burst * BURST_MESSAGES + i, actor)) ==
			      0);
		}
	}
}

static int drive(struct gyre_stack *stack)
{
	struct driver *frame = (struct driver *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < ACTORS; i++) {
		check(gyre_spawn(stack, &worker_class, GYRE_NO_ARGUMENT, NULL, &workers[i]) == 0);
	}
	for (frame->burst = 0; frame->burst < BURSTS; frame->burst++) {
		send_burst(stack, frame->burst);
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->nap));
	}
	while (gy_load_acquire(&done) < ACTORS) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->nap));
	}
	gyre_system_stop(gyre_system_of(stack));
	GYRE_END(stack);
}

static const struct gyre_class driver_class = {
	.name = "driver",
	.frame_bytes = sizeof(struct driver),
	.mount = drive,
};

/* ---- the system ---- */

static void logged(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	if (line->level >= GYRE_LOG_ERROR) {
		(void)fprintf(stderr, "%s\n", line->text);
		_exit(1);
	}
}

static void spawn(struct gyre_system *system, const struct gyre_class *class, uint32_t loop,
		  struct gyre_address *ret_address)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP, .loop = loop };

	check(gyre_system_spawn(system, class, GYRE_NO_ARGUMENT, &options, ret_address) == 0);
}

int main(int argc, char **argv)
{
	const struct gyre_system_options options = { .loops = LOOPS,
						     .log = logged,
						     .stall_ns = GYRE_STALL_NEVER };
	struct gyre_counters counters;
	struct gyre_system *system;
	struct gyre_address driver;
	uint64_t ends;

	(void)stress_begin(argc, argv);
	check(gyre_system_create(&options, &system) == 0);
	for (uint32_t i = 0; i < LOOPS; i++) {
		spawn(system, &sink_class, i, &sinks[i]);
	}
	spawn(system, &driver_class, 0, &driver);
	check(gyre_system_start(system) == 0);
	check(gyre_system_wait(system) == 0);
	check(gyre_system_counters(system, &counters) == 0);
	ends = counters.handled;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += counters.dropped[i];
	}
	check(counters.sent == ends);
	check(counters.spawned == counters.stopped);
	(void)printf("%llu published, %llu stolen\n", (unsigned long long)counters.published,
		     (unsigned long long)counters.stolen);
	check(counters.stolen > 0);
	gyre_system_destroy(system);
	return 0;
}
