/*
 * Barriers and ends: a clerk gets asks, whose handlers sleep, and notices, some of which are
 * barriers that sleep as well. While one of these is at work nothing else may be begun. The notices
 * come from errands, which are children of the clerk: each sends some, and ends. The clerk watches
 * them. It must hear of the end of each after all that the errand has sent, and of each one's end.
 */
#include <inttypes.h>

#include "world.h"

enum {
	CUSTOMERS = 2,
	ERRANDS = 3, /* at a time */
	NOTICES_MAX = 5,
	SLEEP_US = 1000,
};

struct barriers;

/* An errand as the clerk knows it. */
struct known {
	struct gyre_address address;
	uint32_t life;	/* counted up by each errand that has the place */
	uint32_t count; /* of the notices that it sends */
	uint32_t heard;
};

struct clerk {
	struct barriers *barriers;
	bool alone; /* the handler of a barrier has begun, and not ended */
	struct known errands[ERRANDS];
};

struct barriers {
	struct gyre_sim *sim;
	struct gyre_address clerk;
	uint64_t ends;
	uint64_t answers[CUSTOMERS];
};

struct task {
	struct barriers *barriers;
	uint32_t number;
};
GYRE_MESSAGE(task, 0x5801);

struct order {
	uint32_t errand;
	uint32_t life;
	uint32_t number; /* from 1 on */
	bool is_barrier;
};
GYRE_MESSAGE(order, 0x5802);

struct errand {
	struct barriers *barriers;
	uint32_t place;
	uint32_t life;
	uint32_t count;
};
GYRE_MESSAGE(errand, 0x5803);

struct answer {
	uint32_t number;
};
GYRE_MESSAGE(answer, 0x5804);

struct query {
	uint32_t number;
};
GYRE_REQUEST(query, 0x5805, answer);

/* All frames are this one. */
struct frame {
	struct gyre_future future;
};

static uint32_t draw(const struct barriers *barriers, uint32_t count)
{
	return (uint32_t)(gyre_sim_random(barriers->sim) % count);
}

static int sleep_a_while(struct gyre_stack *stack, const struct barriers *barriers)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	return gyre_sleep(stack, (1 + draw(barriers, SLEEP_US)) * GYRE_MICROSECONDS(1),
			  &frame->future);
}

/* ---- errands ---- */

/* Its stop comes after the notices that it has sent. */
static int on_errand_mount(struct gyre_stack *stack)
{
	struct errand errand = *gyre_message(stack, errand);
	int r = 0;

	for (uint32_t i = 1; r == 0 && i <= errand.count; i++) {
		r = gyre_notify(stack, errand.barriers->clerk,
				gyre_new(stack, order, errand.place, errand.life, i,
					 draw(errand.barriers, 2) == 0));
	}
	return r < 0 ? r : gyre_stop(stack, gyre_self(stack));
}

static int no_notice(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static const struct gyre_class errand_class = { .name = "errand",
						.behaviour = { .notice = no_notice },
						.mount = on_errand_mount };

/* ---- the clerk ---- */

static int send_errand(struct gyre_stack *stack, struct clerk *self, uint32_t place)
{
	static const struct gyre_spawn_options anywhere = { .place = GYRE_PLACE_ROUND_ROBIN };
	struct known *known = &self->errands[place];
	int r;

	known->life++;
	known->heard = 0;
	known->count = 1 + draw(self->barriers, NOTICES_MAX);
	r = gyre_spawn(stack, &errand_class,
		       gyre_new(stack, errand, self->barriers, place, known->life, known->count),
		       &anywhere, &known->address);
	return r < 0 ? r : gyre_watch(stack, known->address);
}

/* What is dispatched now must not be while a barrier is at work. */
static void begin(const struct clerk *self, const char *what)
{
	if (self->alone) {
		world_violate("%s is dispatched beside a barrier", what);
	}
}

static void hear(struct clerk *self, const struct order *order)
{
	struct known *known = &self->errands[order->errand];

	if (order->life != known->life) {
		world_violate("a notice came after the end of who has sent it");
	} else if (order->number != known->heard + 1) {
		world_violate("notice %" PRIu32 " came after %" PRIu32, order->number,
			      known->heard);
	}
	known->heard = order->number;
}

static int on_order(struct gyre_stack *stack)
{
	struct clerk *self = (struct clerk *)gyre_state(stack);
	const struct order *order = gyre_message(stack, order);

	GYRE_BEGIN(stack);
	begin(self, "a notice");
	hear(self, order);
	if (order->is_barrier) {
		self->alone = true;
		GYRE_AWAIT(stack, sleep_a_while(stack, self->barriers));
		self->alone = false;
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

static int on_query(struct gyre_stack *stack)
{
	const struct clerk *self = (const struct clerk *)gyre_state(stack);

	GYRE_BEGIN(stack);
	begin(self, "an ask");
	GYRE_AWAIT(stack, sleep_a_while(stack, self->barriers));
	return gyre_reply_to(stack, query, .number = gyre_message(stack, query)->number);
	GYRE_END(stack);
}

static int on_end(struct gyre_stack *stack)
{
	struct clerk *self = (struct clerk *)gyre_state(stack);
	const struct gyre_terminated *end = gyre_message(stack, gyre_terminated);

	for (uint32_t i = 0; end != NULL && i < ERRANDS; i++) {
		struct known *known = &self->errands[i];

		if (!gyre_address_equal(known->address, end->actor)) {
			continue;
		}
		if (known->heard != known->count) {
			world_violate("an end is told after %" PRIu32 " of %" PRIu32 " notices",
				      known->heard, known->count);
		}
		self->barriers->ends++;
		return send_errand(stack, self, i);
	}
	return gyre_return(stack);
}

static bool is_barrier(const struct gyre_type *type, const void *message)
{
	return type == &gyre_type_order && ((const struct order *)message)->is_barrier;
}

static int on_clerk_mount(struct gyre_stack *stack)
{
	struct clerk *self = (struct clerk *)gyre_state(stack);
	int r = 0;

	self->barriers = gyre_message(stack, task)->barriers;
	for (uint32_t i = 0; r == 0 && i < ERRANDS; i++) {
		r = send_errand(stack, self, i);
	}
	return r < 0 ? r : gyre_return(stack);
}

static const struct gyre_class clerk_class = {
	.name = "clerk",
	.state_bytes = sizeof(struct clerk),
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = on_order, .ask = on_query, .event = on_end },
	.strategy = GYRE_STRATEGY_SHUT_DOWN,
	.barrier = is_barrier,
	.mount = on_clerk_mount,
};

/* ---- customers ---- */

static int on_task(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	const struct task *task = gyre_message(stack, task);
	struct barriers *barriers = task->barriers;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, barriers->clerk,
			    gyre_new(stack, query, (uint32_t)barriers->answers[task->number]),
			    GYRE_FOREVER, &frame->future));
	barriers->answers[task->number] += gyre_future_error(&frame->future) == 0;
	GYRE_AWAIT(stack, sleep_a_while(stack, barriers));
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, task, barriers, task->number));
	GYRE_END(stack);
}

static int on_customer_mount(struct gyre_stack *stack)
{
	return gyre_notify(stack, gyre_self(stack),
			   gyre_new_copy(stack, task, gyre_message(stack, task)));
}

static const struct gyre_class customer_class = { .name = "customer",
						  .frame_bytes = sizeof(struct frame),
						  .behaviour = { .notice = on_task },
						  .mount = on_customer_mount };

/* ---- the host ---- */

static int be_host(void *arg)
{
	const struct gyre_system_options options = { .loops = 2, .log = world_no_log };
	struct barriers *barriers = (struct barriers *)arg;
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	r = r < 0 ? r
		  : gyre_system_spawn(system, &clerk_class,
				      gyre_system_new(system, task, barriers, 0), NULL,
				      &barriers->clerk);
	for (uint32_t i = 0; r == 0 && i < CUSTOMERS; i++) {
		struct gyre_address address;

		r = gyre_system_spawn(system, &customer_class,
				      gyre_system_new(system, task, barriers, i), NULL, &address);
	}
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r;
}

/* ---- the world ---- */

static int build(struct gyre_sim *sim, void *state)
{
	struct barriers *barriers = (struct barriers *)state;

	barriers->sim = sim;
	return gyre_sim_host(sim, "alpha", be_host, barriers, NULL);
}

/* The customers, and the ends. */
static uint64_t progress(const void *state, uint32_t part)
{
	const struct barriers *barriers = (const struct barriers *)state;

	return part < CUSTOMERS ? barriers->answers[part] : barriers->ends;
}

const struct world world_barriers = {
	.name = "barriers",
	.state_bytes = sizeof(struct barriers),
	.hosts = 1,
	.trouble = TROUBLE_FAULTS | TROUBLE_SIGNALS,
	.steps = 1,
	.calm_seconds = 0,
	.go_on_seconds = 10,
	.build = build,
	.parts = CUSTOMERS + 1,
	.progress = progress,
};
