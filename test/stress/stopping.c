/*
 * Systems that do all there is to do at once and are stopped at every moment: before they start,
 * as they start, and later; by a thread, by an actor, by both, once or more. Loops rob each other;
 * actors ask, wait for timers, for work off the loops and for groups whose members come and go, and
 * take names from each other; threads ask from outside, with callbacks too; clients connect, write
 * and leave, politely or not. Each message must have an end that is counted, each ask from outside
 * must end once, and nobody may hang or be left over.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include <gyre/group.h>
#include <gyre/listen.h>
#include <gyre/name.h>
#include <gyre/offload.h>
#include <gyre/outside.h>
#include <gyre/pipeline.h>

#include "stress.h"

enum {
	SYSTEMS = 40,
	LOOPS = 3,
	WORKERS = 24, /* all on one loop, so that the others rob it */
	GROUPS = 2,
	NAMES = 3,
	DELAY_US_MAX = 12000,
	CLIENT_BYTES = 600,
	UNANSWERED_MAX = 300,
};

struct worker {
	uint64_t random;
	bool joined[GROUPS];
};

struct frame {
	struct gyre_future answer;
	uint64_t timeout_ns;
};

struct visitor {
	pthread_t id;
	uint64_t random;
	uint64_t asked; /* callbacks that must come */
	uint64_t heard; /* atomic: that came */
};

static struct gyre_system *current;
static struct gyre_address workers[WORKERS];
static struct gyre_address groups[GROUPS];
static uint32_t may_run;
static uint32_t stops_itself; /* atomic: an actor may stop the system */
static uint16_t port;

/* ---- the actors ---- */

static int work_off(struct gyre_work *piece)
{
	uint64_t value = load_check(gyre_work_get(piece, load));

	return value % 3 == 0
		       ? -EIO
		       : gyre_work_reply(piece, load_new_outside(gyre_work_system(piece), value));
}

static void change_group(struct gyre_stack *stack, struct worker *self)
{
	uint32_t i = stress_random(&self->random, GROUPS);
	int r = self->joined[i] ? gyre_group_leave(stack, groups[i])
				: gyre_group_join(stack, groups[i]);

	if (r == 0) {
		self->joined[i] = !self->joined[i];
	}
}

static void change_name(struct gyre_stack *stack, struct worker *self)
{
	static const char *const names[NAMES] = { "first", "second", "third" };
	const char *name = names[stress_random(&self->random, NAMES)];
	struct gyre_address holder;

	if (gyre_name_lookup(stack, name, &holder) == 0) {
		(void)gyre_notify(stack, holder, load_new(stack, 0));
	}
	if (gyre_name_register(stack, name) == -EEXIST) {
		(void)gyre_name_unregister(stack, name);
	}
}

static const struct gyre_class brief_class;

static void be_parent(struct gyre_stack *stack)
{
	const struct gyre_spawn_options anywhere = { .place = GYRE_PLACE_ROUND_ROBIN };
	struct gyre_address brief;

	if (gyre_spawn(stack, &brief_class, load_new(stack, 1), &anywhere, &brief) == 0) {
		(void)gyre_notify(stack, brief, load_new(stack, 2));
		(void)gyre_poison(stack, brief);
	}
}

static struct gyre_address anybody(struct worker *self)
{
	uint32_t i = stress_random(&self->random, WORKERS + GROUPS);

	return i < WORKERS ? workers[i] : groups[i - WORKERS];
}

/* What needs no answer. */
static void do_something(struct gyre_stack *stack, struct worker *self)
{
	switch (stress_random(&self->random, 6)) {
	case 0:
		change_group(stack, self);
		break;
	case 1:
		change_name(stack, self);
		break;
	case 2:
		be_parent(stack);
		break;
	case 3:
		if (stress_random(&self->random, 64) == 0 && gy_load_acquire(&stops_itself) != 0) {
			gyre_system_stop(gyre_system_of(stack));
		}
		break;
	default:
		for (uint32_t i = stress_random(&self->random, 4); i > 0; i--) {
			(void)gyre_notify(stack, anybody(self), load_new(stack, i));
		}
	}
}

/* A notice: does something, and then waits for something else. */
static int live(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	self->random += load_check(gyre_message(stack, load));
	do_something(stack, self);
	frame->timeout_ns = GYRE_MICROSECONDS(stress_random(&self->random, 3000) + 1);
	switch (stress_random(&self->random, 12)) {
	case 0:
		GYRE_AWAIT(stack, gyre_sleep(stack, frame->timeout_ns, &frame->answer));
		break;
	case 1:
		GYRE_AWAIT(stack, gyre_offload(stack, work_off, load_new(stack, self->random),
					       frame->timeout_ns, &frame->answer));
		break;
	case 2:
	case 3:
		GYRE_AWAIT(stack, gyre_ask(stack, anybody(self), load_new(stack, self->random),
					   frame->timeout_ns, &frame->answer));
		break;
	default:
		return gyre_return(stack);
	}
	GYRE_END(stack);
}

static int answer(struct gyre_stack *stack)
{
	return gyre_reply(stack, load_new(stack, load_check(gyre_message(stack, load))));
}

/* So that there is always something to do. */
static int tick(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);

	for (uint32_t i = 0; i < 3; i++) {
		(void)gyre_notify(stack, workers[stress_random(&self->random, WORKERS)],
				  load_new(stack, self->random));
	}
	return gyre_return(stack);
}

static int begin_life(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	const struct gyre_timer_options often = { .period_ns = GYRE_MILLISECONDS(1) };

	self->random = load_check(gyre_message(stack, load));
	change_group(stack, self);
	/* Who has a timer is never robbed. */
	return stress_random(&self->random, 4) == 0 ? gyre_timer_start(stack, 1, &often)
						    : gyre_return(stack);
}

static int ignore(struct gyre_stack *stack)
{
	(void)load_check(gyre_message(stack, load));
	return gyre_return(stack);
}

static const struct gyre_class brief_class = { .name = "brief", .behaviour.notice = ignore };
static const struct gyre_class worker_class = {
	.name = "worker",
	.state_bytes = sizeof(struct worker),
	.frame_bytes = sizeof(struct frame),
	.mount = begin_life,
	.behaviour = { .notice = live, .ask = answer, .event = tick },
};

/* ---- the channels ---- */

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &echo, arg);
}

/* ---- from outside ---- */

static void hear(struct gyre_mail *end, int error, void *arg)
{
	struct visitor *visitor = (struct visitor *)arg;

	if (error == 0) {
		(void)load_check(gyre_mail_get(end, load));
	}
	(void)gy_fetch_add(&visitor->heard, 1);
}

static void ask_and_wait(struct visitor *visitor, struct gyre_address to, uint64_t timeout_ns)
{
	uint64_t value = stress_random(&visitor->random, 100000);
	struct gyre_mail *end = NULL;

	if (gyre_system_ask(current, to, load_new_outside(current, value), timeout_ns, &end) == 0) {
		check(load_check(gyre_mail_get(end, load)) == value);
	}
	gyre_mail_destroy(NULL, end);
}

static void *visit(void *arg)
{
	struct visitor *visitor = (struct visitor *)arg;

	for (uint32_t i = 0; gy_load_acquire(&may_run) != 0; i++) {
		struct gyre_address to = workers[stress_random(&visitor->random, WORKERS)];
		uint64_t timeout_ns = GYRE_MICROSECONDS(stress_random(&visitor->random, 2000) + 1);

		/* Who waits for answers does not send faster than a loop can take. */
		switch (i < UNANSWERED_MAX ? stress_random(&visitor->random, 4) : 3) {
		case 0:
			visitor->asked +=
				gyre_system_ask_callback(current, to, load_new_outside(current, 1),
							 timeout_ns, hear, visitor) == 0;
			break;
		case 1:
			(void)gyre_system_notify(current,
						 groups[stress_random(&visitor->random, GROUPS)],
						 load_new_outside(current, 2));
			break;
		case 2:
			(void)gyre_system_notify(current, to, load_new_outside(current, 3));
			break;
		default:
			ask_and_wait(visitor, to, timeout_ns);
		}
		stress_dawdle(&visitor->random, 3000);
	}
	return NULL;
}

/* Writes, reads back some of it or nothing, and goes; now and then by a reset. */
static void be_client(int fd, uint64_t *random)
{
	static const char bytes[CLIENT_BYTES];
	const struct linger reset = { .l_onoff = 1 };
	char back[CLIENT_BYTES];

	for (uint32_t i = stress_random(random, 4); i > 0; i--) {
		if (send(fd, bytes, 1 + stress_random(random, CLIENT_BYTES), MSG_NOSIGNAL) <= 0 ||
		    recv(fd, back, sizeof(back), 0) <= 0) {
			break;
		}
	}
	if (stress_random(random, 3) == 0) {
		check(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) == 0);
	}
}

static void *connect_often(void *arg)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct visitor *visitor = (struct visitor *)arg;

	while (gy_load_acquire(&may_run) != 0) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		check(fd >= 0);
		if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
			be_client(fd, &visitor->random);
		}
		check(close(fd) == 0);
		stress_dawdle(&visitor->random, 3000);
	}
	return NULL;
}

/* ---- a system ---- */

static void create(uint64_t *random)
{
	const struct gyre_system_options options = {
		.loops = 1 + stress_random(random, LOOPS),
		.spin_ns = stress_random(random, 2) == 0 ? GYRE_SPIN_NEVER : 0,
		.buffer_count = 16,
		.steal_floor = 1,
		.steal_aggression = 1,
		.offload_threads = 2,
		.offload_queue_max = 8,
		.log = stress_log,
	};
	const struct gyre_group_options all = { .routing = GYRE_ROUTING_ALL };
	const struct gyre_acceptor_options listening = { .bind = "tcp://127.0.0.1:0",
							 .init_channel = init_channel,
							 .ret_port = &port };

	check(gyre_system_create(&options, &current) == 0);
	check(gyre_system_group_create(current, NULL, &groups[0]) == 0);
	check(gyre_system_group_create(current, &all, &groups[1]) == 0);
	check(gyre_system_listen(current, &listening, NULL) == 0);
	for (uint32_t i = 0; i < WORKERS; i++) {
		workers[i] = stress_spawn(current, &worker_class, 0,
					  load_new_outside(current, gy_random_next(random) >> 16));
	}
}

static void wait_us(uint64_t us)
{
	uint64_t end_ns = gy_clock_machine_ns() + us * 1000;

	while (gy_clock_machine_ns() < end_ns) {
		(void)sched_yield(); /* the machine may have few cores for so many threads */
	}
}

/* One in eight is stopped before it starts, one in eight as soon as it has. */
static void start_and_stop(uint64_t *random)
{
	uint32_t when = stress_random(random, 8);

	gy_store_release(&stops_itself, stress_random(random, 2));
	if (when == 0) {
		gyre_system_stop(current);
	}
	check(gyre_system_start(current) == 0);
	if (when > 1) {
		wait_us(stress_random(random, DELAY_US_MAX));
	}
	for (uint32_t i = stress_random(random, 3) + 1; i > 0; i--) {
		gyre_system_stop(current);
		wait_us(stress_random(random, 500));
	}
}

/* How many jobs loops took from each other. */
static uint64_t run_one(uint64_t *random)
{
	struct gyre_counters counters;
	struct visitor visitors[3];

	create(random);
	memset(visitors, 0, sizeof(visitors));
	gy_store_release(&may_run, 1);
	for (uint32_t i = 0; i < 3; i++) {
		visitors[i].random = gy_random_next(random);
		check(pthread_create(&visitors[i].id, NULL, i < 2 ? visit : connect_often,
				     &visitors[i]) == 0);
	}
	start_and_stop(random);
	if (stress_random(random, 2) == 0) {
		check(gyre_system_wait(current) == 0);
	}
	gy_store_release(&may_run, 0);
	for (uint32_t i = 0; i < 3; i++) {
		check(pthread_join(visitors[i].id, NULL) == 0);
	}
	counters = stress_end(current);
	for (uint32_t i = 0; i < 2; i++) {
		check(gy_load_acquire(&visitors[i].heard) == visitors[i].asked);
	}
	return counters.stolen;
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);
	uint64_t stolen = 0;

	for (uint32_t i = 0; i < SYSTEMS; i++) {
		stolen += run_one(&random);
	}
	(void)printf("%llu stolen\n", (unsigned long long)stolen);
	return 0;
}
