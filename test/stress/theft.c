/*
 * Actors that do all there is to do while other loops run them: with the lowest floor nearly every
 * burst is stolen. Each checks that what a peer tells it comes in the order of sending, that no
 * time-out is early, and that nothing comes after its own stop; the system is stopped at a
 * random moment, with actors under way. Meanwhile their home looks for those that lack memory.
 */
#include "stress.h"

#include <errno.h>

#include <gyre/behaviour.h>
#include <gyre/watch.h>

#include "actor/memory_retry.h"
#include "actor/stack/stack.h"

enum { LOOPS_MAX = 4, WORKERS = 40, BURSTS = 300, CHILDREN_MAX = 60, TTL = 4 };

struct task {
	uint64_t number;
	uint32_t from; /* WORKERS and above: one whose order nobody counts */
	uint16_t ttl;
	bool again; /* was stashed */
	bool barrier;
};
GYRE_MESSAGE(task, 0x1202);

struct worker {
	uint64_t sent[WORKERS];
	uint64_t seen[WORKERS];
	uint64_t random;
	struct gyre_future old;
	struct gyre_address child;
	uint32_t index;
	bool stopped;
};

struct frame {
	struct gyre_future answer;
	uint64_t from_ns;
	uint64_t timeout_ns;
};

static struct gyre_address workers[WORKERS];
static uint32_t loops;
static uint32_t children;
static uint32_t early;
static uint64_t seed;

extern const struct gyre_class child_class;

/* ---- what they send ---- */

static struct gyre_mail *task_new(struct gyre_stack *stack, uint32_t to, uint32_t ttl)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	bool barrier = stress_random(&self->random, 8) == 0;

	if (self->index >= WORKERS) {
		return gyre_new(stack, task, 0, WORKERS, (uint16_t)ttl, false, barrier);
	}
	return gyre_new(stack, task, self->sent[to]++, self->index, (uint16_t)ttl, false, barrier);
}

static void tell_one(struct gyre_stack *stack, uint32_t ttl)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	uint32_t to = stress_random(&self->random, WORKERS);

	check(gyre_notify(stack, workers[to], task_new(stack, to, ttl)) == 0);
}

/* ---- what they do with themselves ---- */

static const struct gyre_behaviour other;

static void stop_self(struct gyre_stack *stack, struct worker *self)
{
	check(gyre_stop(stack, gyre_self(stack)) == 0);
	self->stopped = true;
}

static void have_child(struct gyre_stack *stack, struct worker *self)
{
	struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP };

	if (gy_fetch_add(&children, 1) >= CHILDREN_MAX) {
		(void)gy_fetch_add(&children, (uint32_t)-1);
		return;
	}
	options.loop = stress_random(&self->random, loops);
	options.detached = stress_random(&self->random, 4) == 0;
	if (gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT, &options, &self->child) < 0) {
		(void)gy_fetch_add(&children, (uint32_t)-1);
		return;
	}
	(void)gyre_watch(stack, self->child);
	for (uint32_t i = stress_random(&self->random, 20); i > 0; i--) {
		(void)gyre_notify(stack, self->child, task_new(stack, 0, 1));
		if (self->index < WORKERS) {
			self->sent[0]--;
		}
	}
}

static void end_child(struct gyre_stack *stack, struct worker *self)
{
	switch (stress_random(&self->random, 3)) {
	case 0:
		(void)gyre_stop(stack, self->child);
		break;
	case 1:
		(void)gyre_poison(stack, self->child);
		break;
	default:
		(void)gyre_stop_gracefully(stack, self->child, GYRE_MICROSECONDS(500), NULL);
	}
}

static void stop_timers(struct gyre_stack *stack)
{
	for (uint64_t key = 0; key < 3; key++) {
		(void)gyre_timer_stop(stack, key);
	}
}

static int do_something(struct gyre_stack *stack, struct worker *self)
{
	const uint64_t delay_ns = GYRE_MICROSECONDS(stress_random(&self->random, 3000));
	const struct gyre_timer_options timer = { .delay_ns = delay_ns, .period_ns = delay_ns / 2 };

	switch (stress_random(&self->random, 40)) {
	case 0:
	case 1:
		have_child(stack, self);
		break;
	case 2:
	case 3:
		end_child(stack, self);
		break;
	case 4:
		return gyre_timer_start(stack, stress_random(&self->random, 3), &timer);
	case 5:
	case 6:
		stop_timers(stack);
		break;
	case 7:
		return gyre_receive_timeout_start(stack, delay_ns + 1);
	case 8:
	case 9:
		(void)gyre_receive_timeout_stop(stack);
		break;
	case 10:
		(void)gyre_watch(stack, workers[stress_random(&self->random, WORKERS)]);
		break;
	case 11:
		(void)gyre_unwatch(stack, workers[stress_random(&self->random, WORKERS)]);
		break;
	case 12:
		return gyre_throw(stack, -EIO);
	case 13:
		(void)gyre_become_nested(stack, &other);
		break;
	case 14:
		gyre_unbecome(stack);
		break;
	case 15:
		return gyre_notify_self_first(stack,
					      gyre_new(stack, task, 0, WORKERS, 0, false, false));
	case 16:
	case 17:
		(void)gyre_unstash(stack, 1 + stress_random(&self->random, 4));
		break;
	case 18:
		if (self->index >= WORKERS) {
			stop_self(stack, self);
		}
		break;
	default:
		break;
	}
	return gyre_return(stack);
}

/* ---- what they hear ---- */

/* An ask and a notice have no order among each other: only notices are counted. */
static bool check_order(struct gyre_stack *stack, struct worker *self)
{
	const struct task *task = gyre_message(stack, task);
	int stale = self->old.promise == NULL ? -ESTALE : gyre_future_error(&self->old);

	check(!self->stopped);
	check(stale == -ESTALE || stale == -EINPROGRESS || stale == 0 || stale < 0);
	if (task->from < WORKERS && self->index < WORKERS && !task->again) {
		check(task->number == self->seen[task->from]);
		self->seen[task->from]++;
	}
	return !task->again && stress_random(&self->random, 24) == 0;
}

static int take_notice(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	struct frame *frame = (struct frame *)gyre_frame(stack);
	uint32_t to;

	GYRE_BEGIN(stack);
	if (check_order(stack, self)) {
		((struct task *)(uintptr_t)gyre_message(stack, task))->again = true;
		if (gyre_stash(stack) == 0) {
			return gyre_return(stack);
		}
	}
	stress_dawdle(&self->random, 400);
	if (gyre_message(stack, task)->ttl > 0) {
		tell_one(stack, gyre_message(stack, task)->ttl - 1U);
	}
	if (stress_random(&self->random, 24) == 0) {
		to = stress_random(&self->random, WORKERS);
		frame->timeout_ns =
			stress_random(&self->random, 2) == 0
				? GYRE_MICROSECONDS(stress_random(&self->random, 2000) + 1)
				: GYRE_MILLISECONDS(10);
		frame->from_ns = gyre_now(stack);
		GYRE_AWAIT(stack, gyre_ask(stack, workers[to],
					   gyre_new(stack, task, 0, WORKERS, 0, false, false),
					   frame->timeout_ns, &frame->answer));
		if (gyre_future_error(&frame->answer) == -ETIMEDOUT &&
		    gyre_now(stack) - frame->from_ns < frame->timeout_ns) {
			(void)gy_fetch_add(&early, 1);
		}
		self->old = frame->answer;
		return gyre_return(stack);
	}
	return do_something(stack, self);
	GYRE_END(stack);
}

static int take_ask(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	check(!self->stopped);
	switch (stress_random(&self->random, 32)) {
	case 0:
		return gyre_throw(stack, -EBUSY);
	case 1:
		return gyre_return(stack);
	case 2:
		if (gyre_stash(stack) == 0) {
			return gyre_return(stack);
		}
		break;
	case 3:
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MICROSECONDS(300), &frame->answer));
		break;
	default:
		break;
	}
	return gyre_reply(stack, gyre_new(stack, task, 0, WORKERS, 0, false, false));
	GYRE_END(stack);
}

static int take_event(struct gyre_stack *stack)
{
	check(!((struct worker *)gyre_state(stack))->stopped);
	(void)gyre_receive_timeout_stop(stack);
	stop_timers(stack);
	return gyre_return(stack);
}

static bool is_barrier(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(task) && ((const struct task *)message)->barrier;
}

static int begin_worker(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	const struct task *task = gyre_message(stack, task);

	self->index = task->from;
	self->random = seed + task->number;
	return gyre_return(stack);
}

static int begin_child(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);

	self->index = WORKERS;
	self->random = seed ^ gyre_now(stack);
	return gyre_return(stack);
}

static void end_of_child(void *state)
{
	(void)state;
	(void)gy_fetch_add(&children, (uint32_t)-1);
}

static int hook(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (stress_random(&self->random, 2) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MICROSECONDS(100), &frame->answer));
	}
	GYRE_END(stack);
}

#define WORKER                                                                     \
	.state_bytes = sizeof(struct worker), .frame_bytes = sizeof(struct frame), \
	.restart = hook,                                                           \
	.behaviour = { .notice = take_notice, .ask = take_ask, .event = take_event }

static const struct gyre_behaviour other = { .notice = take_notice,
					     .ask = take_ask,
					     .event = take_event };

static const struct gyre_class worker_classes[] = {
	{ .name = "worker", .mount = begin_worker, WORKER },
	{ .name = "delayed worker",
	  .mount = begin_worker,
	  .restart_delay_ns = GYRE_MICROSECONDS(100),
	  WORKER },
	{ .name = "barrier worker", .mount = begin_worker, .barrier = is_barrier, WORKER },
};

const struct gyre_class child_class = {
	.name = "child", .mount = begin_child, .clean = end_of_child, WORKER
};

/* ---- who makes them busy ---- */

static int drive(struct gyre_stack *stack)
{
	static uint32_t burst;
	struct gyre_future *nap = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (burst = 0; burst < BURSTS; burst++) {
		for (uint32_t i = 0; i < 4 * WORKERS; i++) {
			check(gyre_notify(stack, workers[i % WORKERS],
					  gyre_new(stack, task, 0, WORKERS, TTL, false, false)) ==
			      0);
		}
		gy_home_retry_later(gy_stack_of(stack)->home);
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(burst % 3), nap));
	}
	gyre_system_stop(gyre_system_of(stack));
	GYRE_END(stack);
}

static const struct gyre_class driver_class = { .name = "driver",
						.frame_bytes = sizeof(struct gyre_future),
						.mount = drive };

static void logged(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	if (line->level >= GYRE_LOG_ERROR) {
		(void)fprintf(stderr, "%s\n", line->text);
		_exit(1);
	}
}

int main(int argc, char **argv)
{
	struct gyre_system_options options = { .log = logged,
					       .steal_floor = 1,
					       .steal_aggression = 1,
					       .stall_ns = GYRE_MILLISECONDS(1) };
	struct gyre_counters counters;
	struct gyre_system *system;

	seed = stress_begin(argc, argv);
	loops = 2 + (uint32_t)(seed % (LOOPS_MAX - 1));
	options.loops = loops;
	check(gyre_system_create(&options, &system) == 0);
	for (uint32_t i = 0; i < WORKERS; i++) {
		struct gyre_mail *mail = gyre_system_mail_create(system, &gyre_type_task);

		*(struct task *)gyre_payload(mail) = (struct task){ .number = i, .from = i };
		workers[i] = stress_spawn(system, &worker_classes[i % 3], i % 4 == 3 ? 1 : 0, mail);
	}
	(void)stress_spawn(system, &driver_class, 0, GYRE_NO_ARGUMENT);
	check(gyre_system_start(system) == 0);
	counters = stress_end(system);
	check(early == 0);
	(void)printf("%llu published, %llu stolen\n", (unsigned long long)counters.published,
		     (unsigned long long)counters.stolen);
	return 0;
}
