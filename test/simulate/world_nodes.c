/*
 * Nodes: on each a counter, and an asker for each other node that finds the counter there, watches
 * it, sends it numbers and asks it to count. Numbers come in their order and at most once; a
 * counter counts on as long as it lives; who watches it is told of its end once.
 */
#include <inttypes.h>

#include "world.h"

enum { NODES = 4, SENDERS_MAX = 512 };

struct nodes {
	bool encrypted;
	uint64_t answers[NODES][NODES]; /* of each asker, by the node it is on */
};

struct count_once {
};
GYRE_MESSAGE(count_once, 0x5301);

struct count {
	uint64_t value;
};
GYRE_MESSAGE(count, 0x5302);

struct number {
	uint64_t value;
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
	uint64_t value = gyre_message(stack, number)->value;

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

static int say(struct gyre_stack *stack)
{
	struct asker *self = (struct asker *)gyre_state(stack);
	int r = self->watches ? 0 : gyre_watch(stack, self->counter);

	self->watches = r == 0;
	if (r == 0) {
		/* What a link has no room for is lost, as any notice may be. */
		(void)gyre_notify(stack, self->counter, gyre_new(stack, number, ++self->said));
		(void)gyre_notify(stack, self->counter, gyre_new(stack, number, ++self->said));
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

/* ---- hosts ---- */

static int spawn_all(struct gyre_system *system, const struct place *place)
{
	struct gyre_address address;
	int r = gyre_system_spawn(system, &counter_class,
				  gyre_system_new(system, place, place->nodes, place->node, 0),
				  NULL, &address);

	for (uint16_t whom = 1; r == 0 && whom <= NODES; whom++) {
		if (whom != place->node) {
			r = gyre_system_spawn(
				system, &asker_class,
				gyre_system_new(system, place, place->nodes, place->node, whom),
				NULL, &address);
		}
	}
	return r;
}

static int be_node(void *arg)
{
	const struct place *place = (const struct place *)arg;
	struct gyre_system *system = NULL;
	int r = world_create_node(&(struct world_node){ .id = place->node,
							.nodes = NODES,
							.encrypted = place->nodes->encrypted,
							.types = types },
				  &system);

	r = r < 0 ? r : spawn_all(system, place);
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r;
}

/* ---- the world ---- */

static int build(struct gyre_sim *sim, void *state)
{
	static struct place places[NODES];
	struct nodes *nodes = (struct nodes *)state;

	nodes->encrypted = gyre_sim_random(sim) % 4 == 0;
	for (uint32_t i = 0; i < NODES; i++) {
		places[i] = (struct place){ .nodes = nodes, .node = (uint16_t)(i + 1) };
	}
	return world_add_nodes(sim, NODES, be_node, places, sizeof(places[0]));
}

static uint32_t parts(const void *state)
{
	(void)state;
	return NODES * (NODES - 1);
}

static uint64_t progress(const void *state, uint32_t part)
{
	uint32_t node = part / (NODES - 1);
	uint32_t whom = part % (NODES - 1);

	return ((const struct nodes *)state)->answers[node][whom < node ? whom : whom + 1];
}

const struct world world_nodes = {
	.name = "nodes",
	.state_bytes = sizeof(struct nodes),
	.hosts = NODES,
	.trouble = TROUBLE_LINKS | TROUBLE_CRASHES | TROUBLE_FAULTS | TROUBLE_SIGNALS,
	.steps = 20,
	.calm_seconds = 60,
	.go_on_seconds = 30,
	.build = build,
	.parts = parts,
	.progress = progress,
};
