/*
 * The actor of an island. It runs the sinks in turns: each takes a block, one after the other,
 * until none can, or until the turn has lasted long enough and the rest is for another message.
 *
 * The actor of the first island spawns those of the others, starts them when all are there, and
 * ends when all have ended. Then it answers who has started the graph, or ends with the graph's
 * failure for those who watch it.
 */
#include "stream/island.h"

#include <errno.h>

#include <gyre/move.h>
#include <gyre/watch.h>

#include "stream/orders.h"
#include "stream/port.h"
#include "stream/post.h"
#include "stream/start.h"

enum {
	TIMER_RETRY = 1,
	TIMER_TIMEOUT = 2,
	TIMER_LAST = 3,
	TIMER_STAGE = 16, /* the first of the stages' */
};

static const uint64_t turn_ns = GYRE_MICROSECONDS(500);
static const uint64_t retry_ns = GYRE_MILLISECONDS(1);
static const uint64_t last_ns = GYRE_SECONDS(10); /* for an ask that was lost */

/* Another turn, or the end of all. */
struct gy_stream_turn {
	uint32_t reserved;
};
GYRE_OWN_MESSAGE_(gy_stream_turn, 0x81);

/* To another island: all of them are there. */
struct gy_stream_begin {
	uint32_t reserved;
};
GYRE_OWN_MESSAGE_(gy_stream_begin, 0x91);

/* To the first island: another one has ended. */
struct gy_stream_part_done {
	uint64_t elements;
	int result;
	uint32_t island;
};
GYRE_OWN_MESSAGE_(gy_stream_part_done, 0x8a);

/* Work of a stage. */
struct gy_stream_work {
	uint32_t stage;
};
GYRE_OWN_MESSAGE_(gy_stream_work, 0x8b);

struct state {
	struct gy_island *island;
	struct gyre_graph *owned; /* of the first island */
};

struct gy_island *gy_island_of(const struct gyre_stack *stack)
{
	return ((struct state *)gyre_state(stack))->island;
}

static bool is_first(const struct gy_island *island)
{
	return island->index == 0;
}

/* ---- what stages ask for ---- */

int gy_island_timer(struct gy_stage *stage, uint64_t delay_ns)
{
	return gyre_timer_start(stage->island->stack, TIMER_STAGE + (uint64_t)stage->index,
				&(struct gyre_timer_options){ .delay_ns = delay_ns });
}

void gy_island_timer_stop(struct gy_stage *stage)
{
	(void)gyre_timer_stop(stage->island->stack, TIMER_STAGE + (uint64_t)stage->index);
}

uint64_t gy_island_now(const struct gy_stage *stage)
{
	return gyre_now(stage->island->stack);
}

int gy_island_work(struct gy_stage *stage)
{
	struct gy_island *island = stage->island;
	struct gyre_stack *stack = island->stack;
	int r = gy_stream_post(stack, island->self,
			       gyre_new(stack, gy_stream_work, .stage = stage->index));

	island->working += r == 0;
	return r;
}

void gy_island_retry_later(struct gy_island *island)
{
	if (island->retries) {
		return;
	}
	island->retries =
		gyre_timer_start(island->stack, TIMER_RETRY,
				 &(struct gyre_timer_options){ .delay_ns = retry_ns }) == 0;
	if (!island->retries) {
		island->fatal = -ENOMEM; /* it would never go on */
	}
}

/* ---- turns ---- */

static void note_end(struct gy_island *island, const struct gy_stage *sink)
{
	if (sink->is_inner) {
		return;
	}
	island->elements += sink->counted;
	if (island->result == 0) {
		island->result = sink->error;
	}
}

/* Each sink that has not ended, once; whether one has done something. */
static bool run_sinks(struct gy_island *island)
{
	bool moves = false;

	for (uint32_t i = 0; i < island->live;) {
		struct gy_stage *sink = island->sinks[i];
		enum gy_sink_state state = sink->ops->run(sink);

		moves = moves || state != GY_SINK_WAITS;
		if (state == GY_SINK_DONE) {
			note_end(island, sink);
			island->sinks[i] = island->sinks[--island->live];
			island->sinks[island->live] = sink;
		} else {
			i++;
		}
	}
	return moves;
}

void gy_island_turn_later(struct gy_island *island)
{
	struct gyre_stack *stack = island->stack;

	if (island->turn_posted) {
		return;
	}
	island->turn_posted =
		gy_stream_post(stack, island->self, gyre_new(stack, gy_stream_turn, 0)) == 0;
	if (!island->turn_posted) {
		gy_island_retry_later(island);
	}
}

static bool has_open_stages(const struct gy_island *island)
{
	const struct gyre_graph *graph = island->graph;

	for (uint32_t i = 0; i < graph->count; i++) {
		const struct gy_stage *stage = graph->stages[i];

		if (stage->island == island && stage->ops->is_open != NULL &&
		    stage->ops->is_open(stage)) {
			return true;
		}
	}
	return false;
}

/* All has ended: the rest is done by a message of its own, which may stop the actor. */
static void look_for_the_end(struct gy_island *island)
{
	if (!island->is_over && island->live == 0 && island->working == 0 &&
	    (!is_first(island) || island->graph->islands_live == 0) && !has_open_stages(island)) {
		island->is_over = true;
	}
	if (island->is_over) {
		gy_island_turn_later(island);
	}
}

int gy_island_turn(struct gy_island *island, struct gyre_stack *stack)
{
	uint64_t until_ns;
	bool moves = true;

	island->stack = stack;
	if (!island->started || island->is_over) {
		return island->fatal;
	}
	until_ns = gyre_now(stack) + turn_ns;
	while (moves && island->fatal == 0) {
		moves = run_sinks(island);
		if (moves && gyre_now(stack) >= until_ns) {
			gy_island_turn_later(island);
			moves = false;
		}
	}
	look_for_the_end(island);
	return island->fatal;
}

/* ---- the begin ---- */

static void start_stages(struct gy_island *island)
{
	struct gyre_graph *graph = island->graph;

	island->started = true;
	for (uint32_t i = 0; i < graph->count; i++) {
		struct gy_stage *stage = graph->stages[i];

		if (stage->island == island && stage->ops->start != NULL) {
			stage->ops->start(stage);
		}
	}
}

/* Ends the graph at once; parts that run are stopped as children of the actor, and those who are at
 * the other ends of ports hear of it when the graph is freed. */
static void abandon(struct gy_island *island, int error)
{
	if (!island->is_over) {
		island->result = error;
		island->is_over = true;
	}
	gy_island_turn_later(island);
}

static int spawn_others(struct gy_island *first)
{
	struct gyre_graph *graph = first->graph;
	struct gyre_stack *stack = first->stack;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < graph->island_count; i++) {
		struct gy_island *island = &graph->islands[i];
		const struct gyre_spawn_options options = { .place = island->place,
							    .loop = island->loop };

		r = gyre_spawn(stack, &gy_island_class,
			       gyre_new(stack, gy_stream_argument, .island = island), &options,
			       &island->self);
		if (r == 0) {
			graph->islands_live++;
			r = gyre_watch(stack, island->self);
		}
	}
	for (uint32_t i = 1; r == 0 && i < graph->island_count; i++) {
		r = gy_stream_post(stack, graph->islands[i].self,
				   gyre_new(stack, gy_stream_begin, 0));
	}
	return r;
}

void gy_island_introduce(struct gy_island *island)
{
	struct gyre_graph *graph = island->graph;

	if (island->introduced) {
		return;
	}
	island->introduced = true;
	for (uint32_t i = 0; i < graph->count; i++) {
		struct gy_port *port = gy_port_find(island, i);

		if (port != NULL && port->kind == GY_PORT_INNER) {
			port->peer = graph->stages[port->peer_port]->island->self;
		}
	}
}

static int begin(struct gy_island *island, struct gyre_stack *stack)
{
	gy_island_introduce(island);
	start_stages(island);
	return gy_island_turn(island, stack);
}

static int mount(struct gyre_stack *stack)
{
	struct state *state = (struct state *)gyre_state(stack);
	struct gy_stream_argument argument;
	struct gy_island *island;
	int r = gyre_move(stack, gy_stream_argument, &argument);

	gy_assert(r == 0);
	state->island = island = argument.island;
	state->owned = argument.graph;
	island->stack = stack;
	if (!is_first(island)) {
		return gyre_return(stack);
	}
	island->self = gyre_self(stack);
	r = spawn_others(island);
	if (r == 0 && island->graph->timeout_ns > 0) {
		r = gyre_timer_start(
			stack, TIMER_TIMEOUT,
			&(struct gyre_timer_options){ .delay_ns = island->graph->timeout_ns });
	}
	if (r < 0) {
		abandon(island, r);
		return island->fatal;
	}
	return begin(island, stack);
}

/* ---- the end ---- */

void gy_island_die(struct gy_island *island)
{
	if (gyre_stop(island->stack, island->self) < 0) {
		gy_island_retry_later(island);
	}
}

/* Who waits stops the actor. If the ask was lost, nobody does. */
static int finish_awaited(struct gy_island *island)
{
	struct gyre_stack *stack = island->stack;

	return gyre_unstash(stack, GYRE_UNSTASH_ALL) > 0
		       ? 0
		       : gyre_timer_start(stack, TIMER_LAST,
					  &(struct gyre_timer_options){ .delay_ns = last_ns });
}

/* The event of which this is the handler fails with the graph, and so ends the actor. */
static int finish(struct gy_island *island)
{
	struct gyre_stack *stack = island->stack;
	int r;

	if (is_first(island)) {
		if (island->graph->awaited) {
			return finish_awaited(island);
		}
		return island->result < 0 ? island->result : gyre_stop(stack, island->self);
	}
	r = gy_stream_post(stack, gyre_parent(stack),
			   gyre_new(stack, gy_stream_part_done, .elements = island->elements,
				    .result = island->result, .island = island->index));
	if (r == -ENOMEM) {
		gy_island_retry_later(island);
		return island->fatal;
	}
	return gyre_stop(stack, island->self);
}

static int take_turn(struct gyre_stack *stack)
{
	struct gy_island *island = gy_island_of(stack);

	island->turn_posted = false;
	island->stack = stack;
	return island->is_over ? finish(island) : gy_island_turn(island, stack);
}

static int answer_end(struct gyre_stack *stack)
{
	struct gy_island *island = gy_island_of(stack);

	island->stack = stack;
	if (!island->is_over || island->turn_posted) { /* which would be lost with the actor */
		int r = gyre_stash(stack);

		if (r < 0) { /* nobody would hear of the end */
			gy_island_die(island);
		}
		return r;
	}
	gy_island_die(island);
	return island->result < 0
		       ? gyre_throw(stack, island->result)
		       : gyre_reply(stack, gyre_new(stack, gyre_stream_done, island->elements));
}

/* ---- messages ---- */

static int part_done(struct gyre_stack *stack)
{
	const struct gy_stream_part_done *part = gyre_message(stack, gy_stream_part_done);
	struct gy_island *island = gy_island_of(stack);
	struct gyre_graph *graph = island->graph;

	gy_assert(part->island > 0 && part->island < graph->island_count &&
		  graph->islands_live > 0);
	(void)gyre_unwatch(stack, graph->islands[part->island].self);
	graph->islands_live--;
	island->elements += part->elements;
	if (island->result == 0) {
		island->result = part->result;
	}
	return gy_island_turn(island, stack);
}

static int begin_part(struct gyre_stack *stack)
{
	struct gy_island *island = gy_island_of(stack);

	island->stack = stack;
	(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
	return begin(island, stack);
}

/* ---- work ---- */

static int work(struct gyre_stack *stack)
{
	struct gy_island *island = gy_island_of(stack);
	struct gy_work *frame = (struct gy_work *)gyre_frame(stack);

	island->stack = stack;
	if (gyre_stack_state(stack) == 0) {
		frame->stage = island->graph->stages[gyre_message(stack, gy_stream_work)->stage];
	}
	frame->stack = stack;
	if (frame->stage->ops->work(frame->stage, frame) == GY_WORK_DONE) {
		island->working--;
		return gy_island_turn(island, stack);
	}
	if (gyre_stack_state(stack) != 0) { /* what has ended may let others go on */
		int r = gy_island_turn(island, stack);

		if (r < 0) {
			return r;
		}
	}
	return gyre_suspend(stack, gyre_stack_state(stack) == 1 ? 2 : 1);
}

/* ---- events ---- */

static int retry(struct gy_island *island)
{
	const struct gyre_graph *graph = island->graph;

	island->retries = false;
	for (uint32_t i = 0; i < graph->count; i++) {
		struct gy_stage *stage = graph->stages[i];

		if (stage->island == island && stage->ops->retry != NULL) {
			stage->ops->retry(stage);
		}
	}
	if (island->is_over) {
		gy_island_turn_later(island);
		return island->fatal;
	}
	return gy_island_turn(island, island->stack);
}

static int take_timeout(struct gyre_stack *stack)
{
	uint64_t key = gyre_message(stack, gyre_timeout)->key;
	struct gy_island *island = gy_island_of(stack);
	struct gy_stage *stage;

	island->stack = stack;
	if (key == TIMER_RETRY) {
		return retry(island);
	}
	if (key == TIMER_LAST) {
		return gyre_stop(stack, island->self);
	}
	if (key == TIMER_TIMEOUT) {
		abandon(island, -ETIMEDOUT);
		return island->fatal;
	}
	gy_assert(key >= TIMER_STAGE && key - TIMER_STAGE < island->graph->count);
	stage = island->graph->stages[key - TIMER_STAGE];
	if (stage->ops->timeout != NULL) {
		stage->ops->timeout(stage);
	}
	return gy_island_turn(island, stack);
}

static int take_terminated(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);
	struct gy_island *island = gy_island_of(stack);
	const struct gyre_graph *graph = island->graph;
	int reason = terminated->reason == 0 ? -ECANCELED : gy_reason_of(terminated->reason);

	island->stack = stack;
	for (uint32_t i = 1; is_first(island) && i < graph->island_count; i++) {
		if (gyre_address_equal(graph->islands[i].self, terminated->actor)) {
			abandon(island, reason);
			return island->fatal;
		}
	}
	for (uint32_t i = 0; i < graph->count; i++) {
		struct gy_port *port = gy_port_find(island, i);

		if (port != NULL && port->is_watched &&
		    gyre_address_equal(port->peer, terminated->actor)) {
			gy_port_lose(port, gy_port_is_consumer(port) ? -ESRCH : reason);
		}
	}
	return gy_island_turn(island, stack);
}

/* ---- the class ---- */

static void clean(void *actor_state)
{
	gyre_graph_destroy(((struct state *)actor_state)->owned);
}

void gy_stream_argument_fini(struct gy_stream_argument *argument)
{
	gyre_graph_destroy(argument->graph);
}

static const struct gyre_route asks[] = {
	GYRE_ROUTE(gy_stream_frame, gy_orders_frame),
	GYRE_ROUTE(gy_stream_control, gy_orders_far_control),
	GYRE_ROUTE(gy_stream_attach, gy_orders_attach),
	GYRE_ROUTE(gy_stream_wait, answer_end),
	GYRE_ROUTE_END,
};

static const struct gyre_route events[] = {
	GYRE_ROUTE(gy_stream_block, gy_orders_block),
	GYRE_ROUTE(gy_stream_control, gy_orders_control),
	GYRE_ROUTE(gy_stream_turn, take_turn),
	GYRE_ROUTE(gy_stream_work, work),
	GYRE_ROUTE(gyre_timeout, take_timeout),
	GYRE_ROUTE(gyre_terminated, take_terminated),
	GYRE_ROUTE(gy_stream_begin, begin_part),
	GYRE_ROUTE(gy_stream_part_done, part_done),
	GYRE_ROUTE_END,
};

const struct gyre_class gy_island_class = {
	.name = "stream",
	.state_bytes = sizeof(struct state),
	.frame_bytes = sizeof(struct gy_work),
	.behaviour = { .ask_routes = asks, .event_routes = events },
	.mount = mount,
	.clean = clean,
	.strategy = GYRE_STRATEGY_STOP,
};

struct gy_port *gy_port_find(struct gy_island *island, uint32_t index)
{
	struct gyre_graph *graph = island->graph;
	struct gy_stage *stage = index < graph->count ? graph->stages[index] : NULL;

	return stage != NULL && stage->island == island && stage->ops->retry != NULL
		       ? (struct gy_port *)(void *)stage
		       : NULL;
}
