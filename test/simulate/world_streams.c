/*
 * Streams between nodes: on each of three nodes a maker, and for each other node a taker, who
 * orders one stream after the other there. Some are taken whole, of some a part is wanted, and some
 * fail on one of the two sides. Whatever happens to the nodes and between them, elements come in
 * their order, none is left out and none comes twice; where one side is told that a stream is
 * complete, all of it has come; and both sides are told of an end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "world.h"

enum { NODES = 3, FLOWS_MAX = 1 << 15, OPEN_MAX = 256, COUNT_MAX = 400, SLOW_COUNT_MAX = 4 };

enum { OPEN = 1 }; /* instead of a reason, which is 0 or negative */

static const uint64_t end_told_ns = GYRE_SECONDS(90); /* after which both sides must know the end */
static const uint64_t look_ns = GYRE_SECONDS(5);

enum kind { WHOLE, PART, MAKER_FAILS, TAKER_FAILS, KINDS };

/* A side of a stream. */
struct side {
	uint16_t node;
	uint32_t boot; /* of that node */
	int end;       /* OPEN until it is told */
};

struct flow {
	struct streams *streams;
	enum kind kind;
	uint64_t begin_ns;
	uint64_t taken_ns; /* when the taker was told of the end */
	uint32_t downs;	   /* that there were between the two nodes before it */
	bool is_judged;
	bool is_made_slowly;
	bool is_slow; /* its taker takes one element after the other, with pauses */
	uint32_t window;
	uint32_t count;	  /* that is made, if all is wanted */
	uint32_t decided; /* after so many the taker has enough, or one of the two fails */
	uint32_t made;
	uint32_t come;
	struct side maker;
	struct side taker;
};

struct node {
	struct streams *streams;
	uint16_t id;
	uint32_t boots;
	uint32_t downs[NODES]; /* how often it has taken each other one for down */
	uint64_t draws[NODES]; /* what its takers draw from, by maker */
	uint64_t whole[NODES]; /* streams that it has had whole, by maker */
};

struct streams {
	struct gyre_sim *sim;
	bool has_memory; /* nobody is refused it */
	struct node nodes[NODES];
	uint64_t looked_ns;
	uint32_t flows_count;
	struct flow flows[FLOWS_MAX];
};

struct element {
	uint32_t number;
};
GYRE_MESSAGE(element, 0x5500);

struct order {
	uint32_t flow;
};
GYRE_MESSAGE(order, 0x5501);

struct offer {
	struct gyre_address graph;
	uint32_t port;
	uint32_t reserved;
};
GYRE_MESSAGE(offer, 0x5502);

static const struct gyre_type *const types[] = { &gyre_type_element, &gyre_type_order,
						 &gyre_type_offer, NULL };

struct place {
	struct node *node;
	uint16_t whom; /* a taker: whose streams it takes */
};
GYRE_MESSAGE(place, 0x5503);

struct again {
	char nothing;
};
GYRE_MESSAGE(again, 0x5504);

#define violate(FLOW, FORMAT, ...)                                               \
	world_violate("stream %d of kind %d from node %u to node %u: " FORMAT,   \
		      (int)((FLOW) - (FLOW)->streams->flows), (int)(FLOW)->kind, \
		      (unsigned)(FLOW)->maker.node, (unsigned)(FLOW)->taker.node, ##__VA_ARGS__)

static uint32_t draw(uint64_t *draws, uint32_t count)
{
	return (uint32_t)(world_draw(draws) % count);
}

static bool still_lives(const struct flow *flow, const struct side *side)
{
	return side->boot == flow->streams->nodes[side->node - 1].boots;
}

/* ---- ends ---- */

static void judge_taker(const struct flow *flow)
{
	uint32_t all = flow->kind == WHOLE ? flow->count : flow->decided;
	bool must_fail = flow->kind == MAKER_FAILS || flow->kind == TAKER_FAILS;

	if (flow->taker.end == 0 && (must_fail || flow->come != all)) {
		violate(flow, "complete with %" PRIu32 " of %" PRIu32, flow->come, all);
	}
	if (flow->taker.end == (flow->kind == MAKER_FAILS ? -EIO : -EDOM) &&
	    (!must_fail || flow->come != all)) {
		violate(flow, "failed by itself with %" PRIu32 " of %" PRIu32, flow->come, all);
	}
}

/*
 * When the maker is told that the stream is complete, all has come to the node of the taker. Only
 * the end may be lost after that: then the taker has had all, and fails. One that fails by itself
 * has not taken all that had come.
 */
static void judge_both(const struct flow *flow)
{
	if (flow->maker.end != 0 || flow->taker.end == OPEN || flow->kind == PART) {
		return;
	}
	if (flow->made != flow->count || flow->kind == MAKER_FAILS) {
		violate(flow, "the maker is told it is complete with %" PRIu32 " of %" PRIu32,
			flow->made, flow->count);
	} else if (flow->taker.end != -EDOM && flow->come != flow->count) {
		violate(flow, "%" PRIu32 " of %" PRIu32 " are lost, and the maker is not told",
			flow->come, flow->count);
	}
}

static uint32_t downs_of(const struct flow *flow)
{
	const struct node *nodes = flow->streams->nodes;

	return nodes[flow->maker.node - 1].downs[flow->taker.node - 1] +
	       nodes[flow->taker.node - 1].downs[flow->maker.node - 1];
}

/*
 * Some time after both were told: where neither node has taken the other one for down, and nobody
 * lacks memory, the taker of a stream that is complete is told so as well.
 */
static void judge_late(struct flow *flow)
{
	flow->is_judged = true;
	if (flow->streams->has_memory && flow->maker.end == 0 && flow->taker.end != 0 &&
	    flow->taker.end != -EDOM && flow->taker.end != -EHOSTDOWN &&
	    downs_of(flow) == flow->downs) {
		violate(flow, "the maker is told it is complete, and the taker that it failed: %d",
			flow->taker.end);
	}
}

static void end_maker(struct flow *flow, int reason)
{
	if (flow->maker.end != OPEN) {
		violate(flow, "the maker is told twice of the end");
	}
	flow->maker.end = reason;
	judge_both(flow);
}

static void end_taker(struct flow *flow, int reason)
{
	flow->taker.end = reason;
	flow->taken_ns = gyre_sim_now(flow->streams->sim);
	judge_taker(flow);
	judge_both(flow);
}

/* ---- a maker ---- */

struct maker {
	struct node *node;
	uint32_t count;
	struct {
		struct gyre_address graph;
		struct flow *flow;
	} open[OPEN_MAX];
};

static int make(void *arg, void *out)
{
	struct flow *flow = (struct flow *)arg;

	if (flow->kind == MAKER_FAILS && flow->made == flow->decided) {
		return -EIO;
	}
	if (flow->made == flow->count) {
		return 0;
	}
	((struct element *)out)->number = ++flow->made;
	return 1;
}

/* Some streams are made slowly, so that something happens meanwhile. */
static uint32_t build_offer(struct gyre_graph *graph, struct flow *flow)
{
	const struct gyre_throttle_options slow = { .count = 50, .period_ns = GYRE_SECONDS(1) };
	struct gyre_stream s = gyre_stream_generate(graph, &gyre_type_element, make, flow);

	if (flow->is_made_slowly) {
		s = gyre_stream_throttle(s, &slow);
	}
	return gyre_stream_offer(s, GYRE_SECONDS(10));
}

static int on_order(struct gyre_stack *stack)
{
	struct maker *self = (struct maker *)gyre_state(stack);
	struct streams *streams = self->node->streams;
	struct flow *flow = &streams->flows[gyre_message(stack, order)->flow];
	struct gyre_graph *graph;
	struct gyre_address address;
	uint32_t port;
	int r;

	if (self->count == OPEN_MAX) {
		return gyre_throw(stack, -ENOBUFS);
	}
	graph = gyre_graph_create();
	port = build_offer(graph, flow);
	r = gyre_graph_start(stack, graph, NULL, &address);
	r = r < 0 ? r : gyre_watch(stack, address);
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	flow->maker.boot = self->node->boots;
	flow->maker.end = OPEN;
	self->open[self->count].graph = address;
	self->open[self->count++].flow = flow;
	return gyre_reply(stack, gyre_new(stack, offer, address, port, 0));
}

static int on_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *end = gyre_message(stack, gyre_terminated);
	struct maker *self = (struct maker *)gyre_state(stack);

	for (uint32_t i = 0; i < self->count; i++) {
		if (gyre_address_equal(self->open[i].graph, end->actor)) {
			end_maker(self->open[i].flow, end->reason);
			self->open[i] = self->open[--self->count];
			break;
		}
	}
	return gyre_return(stack);
}

static int on_node_event(struct gyre_stack *stack)
{
	const struct gyre_node_event *event = gyre_message(stack, gyre_node_event);
	struct node *node = ((struct maker *)gyre_state(stack))->node;

	if (event->state == GYRE_NODE_DOWN) {
		node->downs[event->node - 1]++;
	}
	return gyre_return(stack);
}

static int on_maker_mount(struct gyre_stack *stack)
{
	int r = gyre_name_register(stack, "maker");

	r = r < 0 ? r : gyre_node_watch(stack);
	((struct maker *)gyre_state(stack))->node = gyre_message(stack, place)->node;
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_route maker_events[] = { GYRE_ROUTE(gyre_terminated, on_end),
						  GYRE_ROUTE(gyre_node_event, on_node_event),
						  GYRE_ROUTE_END };

static const struct gyre_class maker_class = { .name = "maker",
					       .state_bytes = sizeof(struct maker),
					       .behaviour = { .ask = on_order,
							      .event_routes = maker_events },
					       .mount = on_maker_mount };

/* ---- a taker ---- */

static const char *const taker_names[NODES] = { "taker-1", "taker-2", "taker-3" };

struct taker {
	struct place place;
};

struct taker_frame {
	struct gyre_future future;
	struct flow *flow;
};

static int take(void *arg, void *in)
{
	struct flow *flow = (struct flow *)arg;
	uint32_t number = ((const struct element *)in)->number;

	if (number != ++flow->come) {
		violate(flow, "element %" PRIu32 " comes as number %" PRIu32, number, flow->come);
	}
	return flow->kind == TAKER_FAILS && flow->come == flow->decided ? -EDOM : 0;
}

static struct flow *begin_flow(const struct taker *self)
{
	struct streams *streams = self->place.node->streams;
	struct flow *flow = &streams->flows[streams->flows_count];
	uint64_t *draws = &self->place.node->draws[self->place.whom - 1];
	bool is_slow = draw(draws, 2) == 0;
	uint32_t count = 1 + draw(draws, is_slow ? SLOW_COUNT_MAX : COUNT_MAX);

	if (streams->flows_count == FLOWS_MAX) {
		return NULL;
	}
	streams->flows_count++;
	*flow = (struct flow){ .streams = streams,
			       .kind = draw(draws, 2) == 0 ? WHOLE : (enum kind)draw(draws, KINDS),
			       .begin_ns = gyre_sim_now(streams->sim),
			       .is_made_slowly = draw(draws, 3) == 0,
			       .is_slow = is_slow,
			       .window = is_slow ? 1 : 20 * draw(draws, 3),
			       .count = count,
			       .decided = 1 + draw(draws, count),
			       .maker = { .node = self->place.whom },
			       .taker = { .node = self->place.node->id,
					  .boot = self->place.node->boots } };
	flow->downs = downs_of(flow);
	return flow;
}

static int order(struct gyre_stack *stack)
{
	const struct taker *self = (const struct taker *)gyre_state(stack);
	struct taker_frame *frame = (struct taker_frame *)gyre_frame(stack);
	struct gyre_address maker;

	if (gyre_future_error(&frame->future) < 0) {
		return gyre_future_error(&frame->future);
	}
	maker = gyre_future_get(&frame->future, gyre_node_found)->address;
	frame->flow = begin_flow(self);
	return frame->flow == NULL
		       ? -ENOBUFS
		       : gyre_ask(stack, maker,
				  gyre_new(stack, order,
					   (uint32_t)(frame->flow - frame->flow->streams->flows)),
				  GYRE_SECONDS(2), &frame->future);
}

static int accept_offer(struct gyre_stack *stack)
{
	struct taker_frame *frame = (struct taker_frame *)gyre_frame(stack);
	struct flow *flow = frame->flow;
	const struct offer *offer = gyre_future_get(&frame->future, offer);
	const struct gyre_throttle_options slow = { .count = 1,
						    .period_ns = GYRE_MILLISECONDS(300) };
	const struct gyre_window window = { .elements_max = flow->window };
	struct gyre_graph *graph = gyre_graph_create();
	struct gyre_stream s = gyre_stream_accept(
		graph, &gyre_type_element, gyre_stream_ref_of(offer->graph, offer->port), &window);

	if (flow->kind == PART) {
		s = gyre_stream_take(s, flow->decided);
	}
	if (flow->is_slow) {
		s = gyre_stream_throttle(s, &slow);
	}
	gyre_stream_each(s, take, flow);
	flow->taker.end = OPEN;
	return gyre_graph_run(stack, graph, NULL, &frame->future);
}

static int on_again(struct gyre_stack *stack)
{
	const struct taker *self = (const struct taker *)gyre_state(stack);
	struct taker_frame *frame = (struct taker_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, self->place.whom, "maker", GYRE_SECONDS(2),
					   &frame->future));
	GYRE_AWAIT(stack, order(stack));
	if (frame->flow != NULL && gyre_future_error(&frame->future) == 0) {
		GYRE_AWAIT(stack, accept_offer(stack));
		end_taker(frame->flow, gyre_future_error(&frame->future));
		if (frame->flow->taker.end == 0 && frame->flow->kind == WHOLE) {
			self->place.node->whole[self->place.whom - 1]++;
		}
	}
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(400), &frame->future));
	if (gyre_notify(stack, gyre_self(stack), gyre_new(stack, again, 0)) < 0) {
		gyre_exit(stack, EXIT_FAILURE); /* nobody would go on; the node boots again */
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

static int on_taker_mount(struct gyre_stack *stack)
{
	const struct place *place = gyre_message(stack, place);
	int r = gyre_name_register(stack, taker_names[place->whom - 1]);

	r = r < 0 ? r : gyre_notify(stack, gyre_self(stack), gyre_new(stack, again, 0));
	((struct taker *)gyre_state(stack))->place = *place;
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class taker_class = { .name = "taker",
					       .state_bytes = sizeof(struct taker),
					       .frame_bytes = sizeof(struct taker_frame),
					       .behaviour.notice = on_again,
					       .mount = on_taker_mount };

/* ---- hosts ---- */

static int spawn_all(struct gyre_system *system, void *arg)
{
	static const char *const guarded[NODES][NODES + 1] = {
		{ "maker", "taker-2", "taker-3" },
		{ "maker", "taker-1", "taker-3" },
		{ "maker", "taker-1", "taker-2" },
	};
	struct node *node = (struct node *)arg;
	struct gyre_address address;
	int r = gyre_system_spawn(system, &maker_class,
				  gyre_system_new(system, place, node, node->id), NULL, &address);

	for (uint16_t i = 1; r == 0 && i <= NODES; i++) {
		if (i != node->id) {
			r = gyre_system_spawn(system, &taker_class,
					      gyre_system_new(system, place, node, i), NULL,
					      &address);
		}
	}
	return r < 0 ? r : world_guard(system, guarded[node->id - 1]);
}

static int be_node(void *arg)
{
	struct node *node = (struct node *)arg;
	int r;

	node->boots++;
	r = world_run_node(&(struct world_node){ .id = node->id, .nodes = NODES, .types = types },
			   spawn_all, node);
	node->boots++; /* what is open is so no longer */
	return r;
}

/* ---- the world ---- */

/* Both sides that live must be told of the end of a stream in some time. */
static const char *look_at_flows(void *arg)
{
	struct streams *streams = (struct streams *)arg;
	uint64_t now_ns = gyre_sim_now(streams->sim);

	if (now_ns - streams->looked_ns < look_ns) {
		return NULL;
	}
	streams->looked_ns = now_ns;
	for (uint32_t i = 0; i < streams->flows_count; i++) {
		struct flow *flow = &streams->flows[i];
		bool maker_open = flow->maker.end == OPEN && still_lives(flow, &flow->maker);
		bool taker_open = flow->taker.end == OPEN && still_lives(flow, &flow->taker);

		if (now_ns - flow->begin_ns >= end_told_ns && (maker_open || taker_open)) {
			violate(flow, "an end is not told");
		}
		if (!flow->is_judged && flow->maker.end != OPEN && flow->taken_ns != 0 &&
		    now_ns - flow->taken_ns >= look_ns) {
			judge_late(flow);
		}
	}
	return NULL; /* what was said is found by itself */
}

static int build(struct gyre_sim *sim, void *state)
{
	struct streams *streams = (struct streams *)state;
	int r;

	streams->sim = sim;
	for (uint32_t i = 0; i < NODES; i++) {
		streams->nodes[i].streams = streams;
		streams->nodes[i].id = (uint16_t)(i + 1);
		for (uint32_t j = 0; j < NODES; j++) {
			streams->nodes[i].draws[j] = gyre_sim_random(sim);
		}
	}
	r = world_add_nodes(sim, NODES, be_node, streams->nodes, sizeof(streams->nodes[0]));
	return r < 0 ? r : gyre_sim_check(sim, "streams", look_at_flows, streams);
}

static int build_with_memory(struct gyre_sim *sim, void *state)
{
	((struct streams *)state)->has_memory = true;
	return build(sim, state);
}

static uint64_t progress(const void *state, uint32_t part)
{
	uint32_t node = part / (NODES - 1);
	uint32_t whom = part % (NODES - 1);

	return ((const struct streams *)state)->nodes[node].whole[whom < node ? whom : whom + 1];
}

const struct world world_streams = {
	.name = "streams",
	.state_bytes = sizeof(struct streams),
	.hosts = NODES,
	.trouble = TROUBLE_LINKS | TROUBLE_CRASHES | TROUBLE_FAULTS | TROUBLE_SIGNALS |
		   TROUBLE_REFUSALS | TROUBLE_RESETS,
	.steps = 12,
	.calm_seconds = 60,
	.go_on_seconds = 60,
	.build = build,
	.parts = NODES * (NODES - 1),
	.progress = progress,
};

/* The same, where each side that fails has a reason to. */
const struct world world_ends = {
	.name = "ends",
	.state_bytes = sizeof(struct streams),
	.hosts = NODES,
	.trouble =
		TROUBLE_LINKS | TROUBLE_CRASHES | TROUBLE_FAULTS | TROUBLE_SIGNALS | TROUBLE_RESETS,
	.steps = 12,
	.calm_seconds = 25,
	.go_on_seconds = 30,
	.build = build_with_memory,
	.parts = NODES * (NODES - 1),
	.progress = progress,
};
