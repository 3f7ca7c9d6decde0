/*
 * Services: on each of three nodes a boss, and some clerks who join a service. Clerks come and go,
 * several in a short time, then nobody for a longer one, and nobody any more once all is healed.
 * The boss watches the service. After the heal his listing must have exactly the clerks of all
 * nodes, and one of them, picked at random, must answer him. At all times a clerk of his own node
 * is found from its join until its end is told, and none of a node from when that is said to be
 * down.
 */
#include <inttypes.h>

#include "world.h"

enum { NODES = 3, CLERKS_MAX = 4, LISTED_MAX = 64 };

static const uint64_t tick_ns = GYRE_MILLISECONDS(250);
static const uint64_t round_ns = GYRE_SECONDS(6);
static const uint64_t busy_ns = GYRE_MILLISECONDS(1500); /* of a round, when clerks come and go */

struct services;

struct hello {
	uint32_t number;
};
GYRE_REQUEST(hello, 0x5401, hello);

GYRE_SERVICE(clerks, 0x5402, hello);

static const struct gyre_type *const types[] = { &gyre_type_hello, NULL };

struct node {
	struct services *services;
	uint16_t id;
	uint32_t clerks_count; /* that live, as the boss knows */
	struct gyre_address clerks[CLERKS_MAX];
	bool sent_home[CLERKS_MAX]; /* they are to stop */
	uint64_t draws;
	uint64_t matches;
};

struct services {
	struct gyre_sim *sim;
	bool healed;
	struct node nodes[NODES];
};

struct place {
	struct node *node;
};
GYRE_MESSAGE(place, 0x5403);

/* From a clerk to the boss, when it has joined. */
struct joined {
	char nothing;
};
GYRE_MESSAGE(joined, 0x5404);

struct hiring {
	struct gyre_address boss;
};
GYRE_MESSAGE(hiring, 0x5405);

#define violate(NODE, FORMAT, ...) \
	world_violate("node %u: " FORMAT, (unsigned)(NODE)->id, ##__VA_ARGS__)

/* ---- a clerk ---- */

static int on_hello(struct gyre_stack *stack)
{
	return gyre_reply_to(stack, hello, gyre_message(stack, hello)->number + 1);
}

static int on_clerk_mount(struct gyre_stack *stack)
{
	int r = gyre_service_join(stack, &gyre_service_clerks);

	if (r == 0) {
		r = gyre_notify(stack, gyre_message(stack, hiring)->boss,
				gyre_new(stack, joined, 0));
	}
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class clerk_class = { .name = "clerk",
					       .behaviour.ask = on_hello,
					       .mount = on_clerk_mount };

/* ---- a boss ---- */

struct boss {
	struct node *node;
	uint64_t version_min; /* of the next listing */
	uint32_t listed_count;
	struct gyre_address listed[LISTED_MAX];
};

struct boss_frame {
	struct gyre_future answer;
	struct gyre_address whom;
};

static struct boss *boss_of(struct gyre_stack *stack)
{
	return (struct boss *)gyre_state(stack);
}

/* Of whatever life of its node. */
static bool is_same(struct gyre_address a, struct gyre_address b)
{
	return a.slot == b.slot && a.cookie == b.cookie && a.loop == b.loop && a.node == b.node;
}

static bool is_among(const struct gyre_address *addresses, uint32_t count,
		     struct gyre_address address)
{
	for (uint32_t i = 0; i < count; i++) {
		if (is_same(addresses[i], address)) {
			return true;
		}
	}
	return false;
}

static uint32_t find_all(struct gyre_stack *stack, struct gyre_address found[LISTED_MAX])
{
	uint32_t count = 0;

	(void)gyre_service_find(stack, &gyre_service_clerks, LISTED_MAX, found, &count);
	return count < LISTED_MAX ? count : LISTED_MAX;
}

static int hire(struct gyre_stack *stack)
{
	struct node *node = boss_of(stack)->node;
	struct gyre_address clerk;
	int r = gyre_spawn(stack, &clerk_class, gyre_new(stack, hiring, gyre_self(stack)), NULL,
			   &clerk);

	if (r == 0) {
		node->sent_home[node->clerks_count] = false;
		node->clerks[node->clerks_count++] = clerk;
		r = gyre_watch(stack, clerk);
	}
	return r;
}

static int come_and_go(struct gyre_stack *stack)
{
	struct node *node = boss_of(stack)->node;
	uint64_t draw = world_draw(&node->draws);
	uint64_t which = draw / 3 % CLERKS_MAX;

	if (draw % 3 == 0 && node->clerks_count < CLERKS_MAX) {
		return hire(stack);
	}
	if (draw % 3 == 1 && which < node->clerks_count) {
		node->sent_home[which] = true;
		return gyre_stop(stack, node->clerks[which]);
	}
	return 0;
}

static bool has_exactly_all(const struct boss *boss)
{
	const struct services *services = boss->node->services;
	uint32_t count = 0;

	for (uint32_t n = 0; n < NODES; n++) {
		const struct node *node = &services->nodes[n];

		count += node->clerks_count;
		for (uint32_t i = 0; i < node->clerks_count; i++) {
			if (!is_among(boss->listed, boss->listed_count, node->clerks[i])) {
				return false;
			}
		}
	}
	return count == boss->listed_count;
}

static int ask_one(struct gyre_stack *stack)
{
	struct boss_frame *frame = (struct boss_frame *)gyre_frame(stack);
	int r = gyre_service_pick(stack, &gyre_service_clerks, GYRE_PICK_RANDOM, &frame->whom);

	return r < 0 ? r
		     : gyre_ask(stack, frame->whom, gyre_new(stack, hello, 6), GYRE_SECONDS(1),
				&frame->answer);
}

/* Each node has its own times. */
static bool is_busy(const struct node *node)
{
	const struct services *services = node->services;
	uint64_t at_ns = gyre_sim_now(services->sim) + node->id * (round_ns / NODES);

	return !services->healed && at_ns % round_ns < busy_ns;
}

static int on_tick(struct gyre_stack *stack)
{
	struct boss *boss = boss_of(stack);
	struct boss_frame *frame = (struct boss_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (is_busy(boss->node)) {
		int r = come_and_go(stack);

		return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
	}
	if (!has_exactly_all(boss)) {
		return gyre_return(stack);
	}
	GYRE_AWAIT(stack, ask_one(stack));
	if (boss->listed_count == 0 || (gyre_future_error(&frame->answer) == 0 &&
					gyre_future_get(&frame->answer, hello)->number == 7)) {
		boss->node->matches++;
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

static int on_listing(struct gyre_stack *stack)
{
	const struct gyre_listing *listing = gyre_message(stack, gyre_listing);
	struct boss *boss = boss_of(stack);

	if (listing->version < boss->version_min) {
		violate(boss->node, "listing %" PRIu64 " after %" PRIu64, listing->version,
			boss->version_min - 1);
	}
	if (listing->count > LISTED_MAX || listing->total != listing->count) {
		violate(boss->node, "a listing of %" PRIu32, listing->count);
		return gyre_return(stack);
	}
	boss->version_min = listing->version + 1;
	boss->listed_count = 0;
	for (uint32_t i = 0; i < listing->count; i++) {
		if (is_among(boss->listed, boss->listed_count, listing->members[i])) {
			violate(boss->node, "a clerk of node %u is listed twice",
				(unsigned)listing->members[i].node);
		}
		boss->listed[boss->listed_count++] = listing->members[i];
	}
	return gyre_return(stack);
}

static int on_terminated(struct gyre_stack *stack)
{
	struct gyre_address clerk = gyre_message(stack, gyre_terminated)->actor;
	struct node *node = boss_of(stack)->node;
	struct gyre_address found[LISTED_MAX];

	for (uint32_t i = 0; i < node->clerks_count; i++) {
		if (is_same(node->clerks[i], clerk)) {
			node->clerks_count--;
			node->clerks[i] = node->clerks[node->clerks_count];
			node->sent_home[i] = node->sent_home[node->clerks_count];
		}
	}
	if (is_among(found, find_all(stack, found), clerk)) {
		violate(node, "a clerk is found though its end was told");
	}
	return gyre_return(stack);
}

static int on_node_event(struct gyre_stack *stack)
{
	const struct gyre_node_event *event = gyre_message(stack, gyre_node_event);
	struct gyre_address found[LISTED_MAX];
	uint32_t count = find_all(stack, found);

	for (uint32_t i = 0; event->state == GYRE_NODE_DOWN && i < count; i++) {
		if (found[i].node == event->node && found[i].life == (uint32_t)event->incarnation) {
			violate(boss_of(stack)->node, "a clerk of node %u is found, which is down",
				(unsigned)event->node);
		}
	}
	return gyre_return(stack);
}

/* Its end is told after all that it has sent, and until it is stopped it is found. */
static int on_joined(struct gyre_stack *stack)
{
	struct node *node = boss_of(stack)->node;
	struct gyre_address found[LISTED_MAX];
	uint32_t count = find_all(stack, found);
	uint32_t i = 0;

	while (i < node->clerks_count && !is_same(node->clerks[i], gyre_sender(stack))) {
		i++;
	}
	if (i == node->clerks_count) {
		violate(node, "a clerk writes after its end");
	} else if (!node->sent_home[i] && !is_among(found, count, node->clerks[i])) {
		violate(node, "a clerk is not found though it has joined");
	}
	return gyre_return(stack);
}

static int on_boss_mount(struct gyre_stack *stack)
{
	const struct gyre_timer_options often = { .delay_ns = tick_ns, .period_ns = tick_ns };
	struct boss *boss = boss_of(stack);
	int r = gyre_service_watch(stack, &gyre_service_clerks, 0);

	boss->node = gyre_message(stack, place)->node;
	r = r < 0 ? r : gyre_node_watch(stack);
	r = r < 0 ? r : gyre_timer_start(stack, 0, &often);
	r = r < 0 ? r : hire(stack);
	r = r < 0 ? r : gyre_name_register(stack, "boss");
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_route boss_notices[] = { GYRE_ROUTE(joined, on_joined), GYRE_ROUTE_END };
static const struct gyre_route boss_events[] = {
	GYRE_ROUTE(gyre_timeout, on_tick),
	GYRE_ROUTE(gyre_listing, on_listing),
	GYRE_ROUTE(gyre_terminated, on_terminated),
	GYRE_ROUTE(gyre_node_event, on_node_event),
	GYRE_ROUTE_END,
};

static const struct gyre_class boss_class = {
	.name = "boss",
	.state_bytes = sizeof(struct boss),
	.frame_bytes = sizeof(struct boss_frame),
	.behaviour = { .notice_routes = boss_notices, .event_routes = boss_events },
	.mount = on_boss_mount,
};

/* ---- the world ---- */

static int spawn_boss(struct gyre_system *system, void *arg)
{
	static const char *const guarded[] = { "boss", NULL };
	struct gyre_address boss;
	int r = gyre_system_spawn(system, &boss_class, gyre_system_new(system, place, arg), NULL,
				  &boss);

	return r < 0 ? r : world_guard(system, guarded);
}

static int be_node(void *arg)
{
	struct node *node = (struct node *)arg;
	const struct world_node as = { .id = node->id, .nodes = NODES, .types = types };
	int r;

	node->clerks_count = 0;
	r = world_run_node(&as, spawn_boss, node);
	node->clerks_count = 0;
	return r;
}

static int build(struct gyre_sim *sim, void *state)
{
	struct services *services = (struct services *)state;

	services->sim = sim;
	for (uint32_t i = 0; i < NODES; i++) {
		services->nodes[i].services = services;
		services->nodes[i].id = (uint16_t)(i + 1);
		services->nodes[i].draws = gyre_sim_random(sim);
	}
	return world_add_nodes(sim, NODES, be_node, services->nodes, sizeof(services->nodes[0]));
}

static uint64_t progress(const void *state, uint32_t part)
{
	return ((const struct services *)state)->nodes[part].matches;
}

static void be_healed(void *state)
{
	((struct services *)state)->healed = true;
}

const struct world world_services = {
	.name = "services",
	.state_bytes = sizeof(struct services),
	.hosts = NODES,
	.trouble = TROUBLE_LINKS | TROUBLE_CRASHES | TROUBLE_FAULTS | TROUBLE_SIGNALS |
		   TROUBLE_REFUSALS | TROUBLE_RESETS,
	.steps = 10,
	.calm_seconds = 40,
	.go_on_seconds = 45,
	.build = build,
	.healed = be_healed,
	.parts = NODES,
	.progress = progress,
};
