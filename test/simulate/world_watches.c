/*
 * Watches of actors on other nodes, by those who cannot make up their minds. Each node has a
 * statue, which stands as long as the node; and for each other node some gazers, who find its
 * statue, watch it, and soon give that up, again and again, until all is healed.
 *
 * After the heal each node must come to count as many watchers of each other node as there are
 * gazers there who watch it: whatever was lost with a link is forgotten, and nothing else.
 */
#include "world.h"

enum { NODES = 3, GAZERS = 6 };

static const uint32_t gaze_more_ms = 40;

struct watches {
	bool healed;
	bool gazes[NODES][NODES][GAZERS]; /* by node of the gazer, and that of the statue */
	uint64_t draws[NODES][NODES][GAZERS];
	uint64_t agreed[NODES][NODES]; /* likewise: how often the count was right, since the heal */
};

struct place {
	struct watches *watches;
	uint16_t node; /* from 1 on */
	uint16_t whom; /* a gazer: the node of the statue */
	uint16_t number;
};
GYRE_MESSAGE(place, 0x5a01);

struct gaze {
	char nothing;
};
GYRE_MESSAGE(gaze, 0x5a02);

/* ---- a statue, which counts who watches it ---- */

static uint32_t count_gazers(const struct watches *watches, uint16_t node, uint16_t whom)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < GAZERS; i++) {
		count += watches->gazes[node - 1][whom - 1][i];
	}
	return count;
}

static int on_count(struct gyre_stack *stack)
{
	const struct place *self = (const struct place *)gyre_state(stack);
	struct watches *watches = self->watches;

	for (uint16_t node = 1; watches->healed && node <= NODES; node++) {
		struct gyre_node_status status = { .watchers = 0 };

		if (node != self->node &&
		    gyre_system_node_status(gyre_system_of(stack), node, &status) == 0 &&
		    status.watchers == count_gazers(watches, node, self->node)) {
			watches->agreed[node - 1][self->node - 1]++;
		}
	}
	return gyre_return(stack);
}

static int on_statue_mount(struct gyre_stack *stack)
{
	const struct gyre_timer_options often = { .delay_ns = GYRE_MILLISECONDS(100),
						  .period_ns = GYRE_MILLISECONDS(100) };
	int r = gyre_name_register(stack, "statue");

	*(struct place *)gyre_state(stack) = *gyre_message(stack, place);
	r = r < 0 ? r : gyre_timer_start(stack, 0, &often);
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class statue_class = { .name = "statue",
						.state_bytes = sizeof(struct place),
						.behaviour.event = on_count,
						.mount = on_statue_mount };

/* ---- a gazer ---- */

struct gazer {
	struct place place;
	struct gyre_address statue;
};

struct gazer_frame {
	struct gyre_future future;
};

static bool *gazes(const struct place *place)
{
	return &place->watches->gazes[place->node - 1][place->whom - 1][place->number];
}

static uint64_t draw(const struct place *place)
{
	return world_draw(&place->watches->draws[place->node - 1][place->whom - 1][place->number]);
}

static int turn_to_or_from(struct gyre_stack *stack, struct gazer *self)
{
	bool *does = gazes(&self->place);
	int r;

	if (!*does) {
		r = gyre_watch(stack, self->statue);
	} else if (self->place.watches->healed) {
		return 0;
	} else {
		r = gyre_unwatch(stack, self->statue);
	}
	*does = r == 0 ? !*does : *does;
	return r;
}

static int on_gaze(struct gyre_stack *stack)
{
	struct gazer *self = (struct gazer *)gyre_state(stack);
	struct gazer_frame *frame = (struct gazer_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (!*gazes(&self->place)) {
		GYRE_AWAIT(stack, gyre_node_lookup(stack, self->place.whom, "statue",
						   GYRE_SECONDS(1), &frame->future));
		if (gyre_future_error(&frame->future) == 0) {
			self->statue = gyre_future_get(&frame->future, gyre_node_found)->address;
		}
	}
	if (gyre_address_is_nobody(self->statue) || turn_to_or_from(stack, self) < 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(100), &frame->future));
	}
	GYRE_AWAIT(stack,
		   gyre_sleep(stack,
			      GYRE_MILLISECONDS(1 + (uint64_t)draw(&self->place) % gaze_more_ms),
			      &frame->future));
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, gaze, 0));
	GYRE_END(stack);
}

static int on_fallen(struct gyre_stack *stack)
{
	struct gazer *self = (struct gazer *)gyre_state(stack);
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	if (terminated == NULL || !*gazes(&self->place) ||
	    !gyre_address_equal(terminated->actor, self->statue)) {
		world_violate("node %u is told of an end that it does not wait for, on node %u",
			      (unsigned)self->place.node, (unsigned)self->place.whom);
		return gyre_return(stack);
	}
	*gazes(&self->place) = false;
	self->statue = GYRE_NOBODY;
	return gyre_return(stack);
}

static int on_gazer_mount(struct gyre_stack *stack)
{
	struct gazer *self = (struct gazer *)gyre_state(stack);
	int r;

	self->place = *gyre_message(stack, place);
	r = gyre_notify(stack, gyre_self(stack), gyre_new(stack, gaze, 0));
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class gazer_class = {
	.name = "gazer",
	.state_bytes = sizeof(struct gazer),
	.frame_bytes = sizeof(struct gazer_frame),
	.behaviour = { .notice = on_gaze, .event = on_fallen },
	.mount = on_gazer_mount,
};

/* ---- hosts ---- */

static int spawn_one(struct gyre_system *system, const struct gyre_class *class,
		     const struct place *place, uint16_t whom, uint16_t number)
{
	struct gyre_address address;

	return gyre_system_spawn(
		system, class,
		gyre_system_new(system, place, place->watches, place->node, whom, number), NULL,
		&address);
}

/* Those who gazed before have gone with the last life of the host. */
static int spawn_all(struct gyre_system *system, void *arg)
{
	const struct place *place = (const struct place *)arg;
	int r = spawn_one(system, &statue_class, place, 0, 0);

	for (uint16_t whom = 1; r == 0 && whom <= NODES; whom++) {
		for (uint16_t number = 0; r == 0 && whom != place->node && number < GAZERS;
		     number++) {
			place->watches->gazes[place->node - 1][whom - 1][number] = false;
			r = spawn_one(system, &gazer_class, place, whom, number);
		}
	}
	return r;
}

static int be_node(void *arg)
{
	const struct place *place = (const struct place *)arg;

	return world_run_node(&(struct world_node){ .id = place->node, .nodes = NODES }, spawn_all,
			      arg);
}

/* ---- the world ---- */

static int build(struct gyre_sim *sim, void *state)
{
	static struct place places[NODES];
	struct watches *watches = (struct watches *)state;

	for (uint32_t i = 0; i < NODES; i++) {
		for (uint32_t j = 0; j < NODES * GAZERS; j++) {
			watches->draws[i][j / GAZERS][j % GAZERS] = gyre_sim_random(sim);
		}
		places[i] = (struct place){ .watches = watches, .node = (uint16_t)(i + 1) };
	}
	return world_add_nodes(sim, NODES, be_node, places, sizeof(places[0]));
}

static void healed(void *state)
{
	((struct watches *)state)->healed = true;
}

static uint64_t progress(const void *state, uint32_t part)
{
	const struct watches *watches = (const struct watches *)state;
	uint32_t node = part / (NODES - 1);
	uint32_t whom = part % (NODES - 1);

	return watches->agreed[node][whom + (whom >= node)];
}

const struct world world_watches = {
	.name = "watches",
	.state_bytes = sizeof(struct watches),
	.hosts = NODES,
	.trouble =
		TROUBLE_LINKS | TROUBLE_CRASHES | TROUBLE_FAULTS | TROUBLE_SIGNALS | TROUBLE_RESETS,
	.steps = 12,
	.calm_seconds = 25,
	.go_on_seconds = 20,
	.build = build,
	.healed = healed,
	.parts = NODES * (NODES - 1),
	.progress = progress,
};
