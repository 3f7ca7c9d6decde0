/*
 * Nodes: on each a counter, a keeper who ends it now and then and makes another, and for each other
 * node an asker and a mourner.
 *
 * An asker finds the counter of its node, watches it, sends it numbers and asks it to count.
 * Numbers come in their order, at most once, and to nobody but the counter that they are for; a
 * counter counts on as long as it lives; who watches it is told of its end once.
 *
 * A mourner finds the counter and waits for its end, without a time-out: nothing that becomes of
 * the links may keep it waiting for ever.
 */
#include <errno.h>
#include <inttypes.h>

#include "world.h"

enum { NODES = 3, SENDERS_MAX = 512, NUMBERS_MAX = 8 };

static const uint64_t life_least_ns = GYRE_MILLISECONDS(200); /* of a counter */
static const uint32_t life_more_ms = 1500;

struct nodes {
	bool encrypted;
	uint64_t redial_min_ns;
	/* What the asker of each other node draws from, and the keeper. */
	uint64_t draws[NODES][NODES];
	uint64_t answers[NODES][NODES]; /* of each asker, by the node it is on */
	uint64_t ends[NODES][NODES];	/* that each mourner was told of */
};

struct count_once {
};
GYRE_MESSAGE(count_once, 0x5301);

struct count {
	uint64_t value;
};
GYRE_MESSAGE(count, 0x5302);

/* To the counter that has this place on its node. */
struct number {
	uint64_t value;
	uint32_t slot;
	uint32_t cookie;
};
GYRE_MESSAGE(number, 0x5303);

static const struct gyre_type *const types[] = { &gyre_type_count_once, &gyre_type_count,
						 &gyre_type_number, NULL };

struct place {
	struct nodes *nodes;
	uint16_t node; /* from 1 on */
	uint16_t whom; /* an asker: the node that it asks */
};
GYRE_MESSAGE(place, 0x5304);

struct ask_again {
};
GYRE_MESSAGE(ask_again, 0x5305);

static uint64_t draw(const struct place *place)
{
	uint16_t whom = place->whom == 0 ? place->node : place->whom;

	return world_draw(&place->nodes->draws[place->node - 1][whom - 1]);
}

/* ---- a counter ---- */

struct sender {
	struct gyre_address address;
	uint64_t last;
};

struct counter {
	struct place place;
	uint64_t value;
	uint32_t senders_count;
	struct sender senders[SENDERS_MAX];
};

static int on_count(struct gyre_stack *stack)
{
	struct counter *self = (struct counter *)gyre_state(stack);

	return gyre_reply(stack, gyre_new(stack, count, ++self->value));
}

static struct sender *find_sender(struct counter *self, struct gyre_address address)
{
	uint32_t i = 0;

	while (i < self->senders_count && !gyre_address_equal(self->senders[i].address, address)) {
		i++;
	}
	if (i == self->senders_count && i < SENDERS_MAX) {
		self->senders[self->senders_count++] = (struct sender){ .address = address };
	}
	return i < SENDERS_MAX ? &self->senders[i] : NULL;
}

static int on_number(struct gyre_stack *stack)
{
	struct counter *self = (struct counter *)gyre_state(stack);
	struct sender *sender = find_sender(self, gyre_sender(stack));
	const struct number *number = gyre_message(stack, number);
	struct gyre_address here = gyre_self(stack);
	uint64_t value = number->value;

	if (number->slot != here.slot || number->cookie != here.cookie) {
		world_violate("node %u got number %" PRIu64 " for a counter that has ended",
			      (unsigned)self->place.node, value);
	}
	if (sender != NULL && value <= sender->last) {
		world_violate("node %u got number %" PRIu64 " of node %u after %" PRIu64,
			      (unsigned)self->place.node, value, (unsigned)sender->address.node,
			      sender->last);
	} else if (sender != NULL) {
		sender->last = value;
	}
	return gyre_return(stack);
}

static int on_counter_mount(struct gyre_stack *stack)
{
	struct counter *self = (struct counter *)gyre_state(stack);
	int r = gyre_name_register(stack, "counter");

	self->place = *gyre_message(stack, place);
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class counter_class = { .name = "counter",
						 .state_bytes = sizeof(struct counter),
						 .behaviour = { .ask = on_count,
								.notice = on_number },
						 .mount = on_counter_mount };

/* ---- one who asks a counter ---- */

struct asker {
	struct place place;
	struct gyre_address counter;
	bool watches;
	uint64_t said;
	uint64_t value; /* that the counter has answered last */
};

struct asker_frame {
	struct gyre_future future;
};

static bool find(struct asker *self, const struct gyre_future *future)
{
	struct gyre_address address;

	if (gyre_future_error(future) < 0) {
		return false;
	}
	address = gyre_future_get(future, gyre_node_found)->address;
	if (!gyre_address_equal(address, self->counter)) {
		self->watches = false;
		self->value = 0;
		self->counter = address;
	}
	return true;
}

/* What a link has no room for is lost, as any notice may be. */
static int say(struct gyre_stack *stack)
{
	struct asker *self = (struct asker *)gyre_state(stack);
	uint64_t count = 1 + draw(&self->place) % NUMBERS_MAX;
	int r = self->watches ? 0 : gyre_watch(stack, self->counter);

	self->watches = r == 0;
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		(void)gyre_notify(stack, self->counter,
				  gyre_new(stack, number, ++self->said, self->counter.slot,
					   self->counter.cookie));
	}
	return r;
}

static void hear(struct asker *self, uint64_t value)
{
	if (value <= self->value) {
		world_violate("node %u: node %u has counted %" PRIu64 " after %" PRIu64,
			      (unsigned)self->place.node, (unsigned)self->place.whom, value,
			      self->value);
	}
	self->value = value;
	self->place.nodes->answers[self->place.node - 1][self->place.whom - 1]++;
}

static int on_ask_again(struct gyre_stack *stack)
{
	struct asker *self = (struct asker *)gyre_state(stack);
	struct asker_frame *frame = (struct asker_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, self->place.whom, "counter", 0, &frame->future));
	while (find(self, &frame->future) && say(stack) == 0) {
		GYRE_AWAIT(stack, gyre_ask(stack, self->counter, gyre_new(stack, count_once),
					   GYRE_SECONDS(1), &frame->future));
		if (gyre_future_error(&frame->future) < 0) {
			break;
		}
		hear(self, gyre_future_get(&frame->future, count)->value);
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(100), &frame->future));
		GYRE_AWAIT(stack,
			   gyre_node_lookup(stack, self->place.whom, "counter", 0, &frame->future));
	}
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(200), &frame->future));
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, ask_again));
	GYRE_END(stack);
}

/* It is told also of one whose end it was told of before, if it has begun to watch it again. */
static int on_event(struct gyre_stack *stack)
{
	struct asker *self = (struct asker *)gyre_state(stack);
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	if (terminated != NULL && gyre_address_equal(terminated->actor, self->counter)) {
		if (!self->watches) {
			world_violate("node %u is told twice of an end on node %u",
				      (unsigned)self->place.node, (unsigned)self->place.whom);
		}
		self->watches = false;
	}
	return gyre_return(stack);
}

static int on_asker_mount(struct gyre_stack *stack)
{
	struct asker *self = (struct asker *)gyre_state(stack);
	int r;

	self->place = *gyre_message(stack, place);
	r = gyre_notify(stack, gyre_self(stack), gyre_new(stack, ask_again));
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class asker_class = {
	.name = "asker",
	.state_bytes = sizeof(struct asker),
	.frame_bytes = sizeof(struct asker_frame),
	.behaviour = { .notice = on_ask_again, .event = on_event },
	.mount = on_asker_mount,
};

/* ---- one who waits for the ends of counters ---- */

struct mourner {
	struct place place;
	struct gyre_address counter;
};

static int on_find_again(struct gyre_stack *stack)
{
	struct mourner *self = (struct mourner *)gyre_state(stack);
	struct asker_frame *frame = (struct asker_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (;;) {
		GYRE_AWAIT(stack, gyre_node_lookup(stack, self->place.whom, "counter", GYRE_FOREVER,
						   &frame->future));
		if (gyre_future_error(&frame->future) == 0) {
			break;
		}
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(100), &frame->future));
	}
	self->counter = gyre_future_get(&frame->future, gyre_node_found)->address;
	return gyre_watch(stack, self->counter) < 0 ? gyre_throw(stack, -ENOMEM)
						    : gyre_return(stack);
	GYRE_END(stack);
}

static int on_mourned(struct gyre_stack *stack)
{
	struct mourner *self = (struct mourner *)gyre_state(stack);
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	if (terminated == NULL || !gyre_address_equal(terminated->actor, self->counter)) {
		world_violate("node %u is told of another end than that of a counter on node %u",
			      (unsigned)self->place.node, (unsigned)self->place.whom);
		return gyre_return(stack);
	}
	self->place.nodes->ends[self->place.node - 1][self->place.whom - 1]++;
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, ask_again));
}

static int on_mourner_mount(struct gyre_stack *stack)
{
	struct mourner *self = (struct mourner *)gyre_state(stack);
	int r;

	self->place = *gyre_message(stack, place);
	r = gyre_notify(stack, gyre_self(stack), gyre_new(stack, ask_again));
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class mourner_class = {
	.name = "mourner",
	.state_bytes = sizeof(struct mourner),
	.frame_bytes = sizeof(struct asker_frame),
	.behaviour = { .notice = on_find_again, .event = on_mourned },
	.mount = on_mourner_mount,
};

/* ---- one who makes counters, and ends them ---- */

struct keeper {
	struct place place;
	struct gyre_address counter;
};

static int make_counter(struct gyre_stack *stack)
{
	struct keeper *self = (struct keeper *)gyre_state(stack);
	uint64_t more_ms = draw(&self->place) % life_more_ms;
	const struct gyre_timer_options life = { .delay_ns = life_least_ns +
							     GYRE_MILLISECONDS(more_ms) };
	int r = gyre_spawn(stack, &counter_class,
			   gyre_new(stack, place, self->place.nodes, self->place.node, 0), NULL,
			   &self->counter);

	r = r < 0 ? r : gyre_watch(stack, self->counter);
	r = r < 0 ? r : gyre_timer_start(stack, 0, &life);
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static int on_life_over(struct gyre_stack *stack)
{
	const struct keeper *self = (const struct keeper *)gyre_state(stack);
	int r = gyre_stop(stack, self->counter);

	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static int on_keeper_mount(struct gyre_stack *stack)
{
	((struct keeper *)gyre_state(stack))->place = *gyre_message(stack, place);
	return make_counter(stack);
}

static const struct gyre_route keeper_events[] = { GYRE_ROUTE(gyre_timeout, on_life_over),
						   GYRE_ROUTE(gyre_terminated, make_counter),
						   GYRE_ROUTE_END };

static const struct gyre_class keeper_class = { .name = "keeper",
						.state_bytes = sizeof(struct keeper),
						.behaviour.event_routes = keeper_events,
						.mount = on_keeper_mount };

/* ---- hosts ---- */

static int spawn_one(struct gyre_system *system, const struct gyre_class *class,
		     const struct place *place, uint16_t whom)
{
	struct gyre_address address;

	return gyre_system_spawn(system, class,
				 gyre_system_new(system, place, place->nodes, place->node, whom),
				 NULL, &address);
}

static int spawn_all(struct gyre_system *system, void *arg)
{
	const struct place *place = (const struct place *)arg;
	int r = spawn_one(system, &keeper_class, place, 0);

	for (uint16_t whom = 1; r == 0 && whom <= NODES; whom++) {
		if (whom != place->node) {
			r = spawn_one(system, &asker_class, place, whom);
			r = r < 0 ? r : spawn_one(system, &mourner_class, place, whom);
		}
	}
	return r;
}

static int be_node(void *arg)
{
	const struct place *place = (const struct place *)arg;

	return world_run_node(&(struct world_node){ .id = place->node,
						    .nodes = NODES,
						    .encrypted = place->nodes->encrypted,
						    .redial_min_ns = place->nodes->redial_min_ns,
						    .types = types },
			      spawn_all, arg);
}

/* ---- the world ---- */

static int build(struct gyre_sim *sim, void *state)
{
	static struct place places[NODES];
	struct nodes *nodes = (struct nodes *)state;

	nodes->encrypted = gyre_sim_random(sim) % 4 == 0;
	nodes->redial_min_ns = gyre_sim_random(sim) % 2 * GYRE_MILLISECONDS(1);
	for (uint32_t i = 0; i < NODES; i++) {
		for (uint32_t j = 0; j < NODES; j++) {
			nodes->draws[i][j] = gyre_sim_random(sim);
		}
		places[i] = (struct place){ .nodes = nodes, .node = (uint16_t)(i + 1) };
	}
	return world_add_nodes(sim, NODES, be_node, places, sizeof(places[0]));
}

/* The askers, and then the mourners. */
static uint64_t progress(const void *state, uint32_t part)
{
	const struct nodes *nodes = (const struct nodes *)state;
	uint32_t pair = part % (NODES * (NODES - 1));
	uint32_t node = pair / (NODES - 1);
	uint32_t whom = pair % (NODES - 1);

	whom += whom >= node;
	return pair == part ? nodes->answers[node][whom] : nodes->ends[node][whom];
}

const struct world world_nodes = {
	.name = "nodes",
	.state_bytes = sizeof(struct nodes),
	.hosts = NODES,
	.trouble =
		TROUBLE_LINKS | TROUBLE_CRASHES | TROUBLE_FAULTS | TROUBLE_SIGNALS | TROUBLE_RESETS,
	.steps = 12,
	.calm_seconds = 25,
	.go_on_seconds = 20,
	.build = build,
	.parts = 2 * NODES * (NODES - 1),
	.progress = progress,
};
