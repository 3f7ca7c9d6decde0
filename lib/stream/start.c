/*
 * Starting graphs. A graph that is complete goes to the actor of its first island, with the spawn;
 * who wants to hear of its end asks that actor before anything else can reach it.
 */
#include "stream/start.h"

#include <errno.h>

#include "base/sized.h"
#include "stream/channel_ends.h"

/* Spawns the actor of the first island. */
static int start(struct gyre_stack *stack, struct gyre_graph *graph,
		 const struct gyre_graph_options *options, size_t options_bytes,
		 struct gyre_address *ret_address)
{
	struct gyre_graph_options read = { 0 };
	struct gyre_spawn_options spawn = { 0 };
	struct gy_tap *taps;
	int r = GY_SIZED_READ(gyre_graph_options, &read, options, options_bytes, NULL);

	if (r == 0 && (read.place == GYRE_PLACE_PINNED || ret_address == NULL)) {
		r = -EINVAL;
	}
	if (graph == NULL) {
		return -ENOMEM;
	}
	r = r < 0 ? r : gy_graph_prepare(graph);
	r = r < 0 ? r : gy_taps_prepare(graph->taps, graph, gyre_system_of(stack));
	if (r < 0) {
		gyre_graph_destroy(graph);
		return r;
	}
	graph->timeout_ns = read.timeout_ns;
	spawn.place = read.place;
	spawn.loop = read.loop;
	spawn.detached = read.detached;
	taps = graph->taps;
	graph->taps = NULL; /* the graph may run elsewhere from now on, and they do not */
	r = gyre_spawn(
		stack, &gy_island_class,
		gyre_new(stack, gy_stream_argument, .graph = graph, .island = &graph->islands[0]),
		&spawn, ret_address);
	if (r < 0) {
		gy_taps_drop(taps);
	} else {
		gy_taps_connect(taps, *ret_address, stack);
	}
	return r;
}

int gyre_graph_start_sized(struct gyre_stack *stack, struct gyre_graph *graph,
			   const struct gyre_graph_options *options, size_t options_bytes,
			   struct gyre_address *ret_address)
{
	return start(stack, graph, options, options_bytes, ret_address);
}

int gyre_graph_run_sized(struct gyre_stack *stack, struct gyre_graph *graph,
			 const struct gyre_graph_options *options, size_t options_bytes,
			 struct gyre_future *ret_future)
{
	struct gyre_address address;
	int r;

	if (ret_future == NULL) {
		gyre_graph_destroy(graph);
		return -EINVAL;
	}
	if (graph != NULL) {
		graph->awaited = true;
	}
	r = start(stack, graph, options, options_bytes, &address);
	if (r < 0) {
		*ret_future = (struct gyre_future){ .error = r };
		return r;
	}
	r = gyre_ask(stack, address, gyre_new(stack, gy_stream_wait, 0), GYRE_FOREVER, ret_future);
	if (r < 0) {
		(void)gyre_stop(stack, address);
	}
	return r;
}
