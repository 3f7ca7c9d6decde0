/*
 * Running graphs by an actor on the first loop.
 */
#include "graph_rig.h"

#include "base/atomic.h"

static build_fn building;

struct run_frame {
	struct gyre_future done;
};

static int run_it(struct gyre_stack *stack)
{
	struct run_frame *frame = (struct run_frame *)gyre_frame(stack);
	struct gyre_graph *graph;

	GYRE_BEGIN(stack);
	graph = gyre_graph_create();
	building(graph);
	GYRE_AWAIT(stack, gyre_graph_run(stack, graph, NULL, &frame->done));
	note_end(&frame->done);
	return fixture_end(stack);
	GYRE_END(stack);
}

void run_graph(uint32_t loops, build_fn build)
{
	building = build;
	play(loops, run_it);
	cr_assert_eq(gy_load_relaxed(&owned_alive), 0);
}

static int refuse_it(struct gyre_stack *stack)
{
	struct gyre_graph *graph = gyre_graph_create();
	struct gyre_address address;

	building(graph);
	got.result = gyre_graph_start(stack, graph, NULL, &address);
	return fixture_end(stack);
}

int refuse_graph(build_fn build)
{
	building = build;
	play(1, refuse_it);
	return got.result;
}
