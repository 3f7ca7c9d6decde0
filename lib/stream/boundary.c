/*
 * A boundary is an outlet above and an inlet below, of which each knows the other's place in the
 * graph. Islands are what hangs together by edges: they are found by joining sets.
 *
 * The first island is one that ends a stream. A stream may leave an island and come back to it by
 * way of others, or at once: a boundary may have one island on both sides.
 */
#include "stream/boundary.h"

#include <errno.h>

#include "base/memory/memory.h"
#include "base/sized.h"
#include "stream/port.h"

struct gyre_stream gyre_stream_boundary_sized(struct gyre_stream from,
					      const struct gyre_boundary_options *options,
					      size_t options_bytes)
{
	const struct gyre_type *type = gy_stream_type(&from);
	struct gy_outlet *outlet = gy_outlet_add(&from, GY_PORT_INNER, true);
	struct gyre_boundary_options read = { 0 };
	int r = GY_SIZED_READ(gyre_boundary_options, &read, options, options_bytes, NULL);
	const struct gyre_window window = { read.elements_max, read.bytes_max, 0 };
	struct gy_inlet *inlet;

	if (r == 0 && read.place != GYRE_PLACE_HERE && read.place != GYRE_PLACE_LOOP &&
	    read.place != GYRE_PLACE_ROUND_ROBIN) {
		r = -EINVAL;
	}
	if (r < 0) {
		gy_graph_fail(from.graph, r);
	}
	inlet = gy_inlet_add(from.graph, type, GY_PORT_INNER, &window);
	if (outlet != NULL && inlet != NULL) {
		outlet->port.peer_port = inlet->port.stage.index;
		outlet->place = read.place;
		outlet->loop = read.loop;
		inlet->port.peer_port = outlet->port.stage.index;
	}
	return gy_graph_stream(from.graph, inlet, 0);
}

/* ---- islands ---- */

static uint32_t root_of(uint32_t *parents, uint32_t at)
{
	while (parents[at] != at) {
		parents[at] = parents[parents[at]];
		at = parents[at];
	}
	return at;
}

static void join_stages(const struct gyre_graph *graph, uint32_t *parents)
{
	for (uint32_t i = 0; i < graph->count; i++) {
		parents[i] = i;
	}
	for (uint32_t i = 0; i < graph->count; i++) {
		const struct gy_stage *stage = graph->stages[i];

		for (uint32_t j = 0; j < stage->in_count; j++) {
			parents[root_of(parents, stage->in[j].from->index)] = root_of(parents, i);
		}
	}
}

/* The root of an island that ends a stream, if possible of one without a boundary below it. @marks
 * has room for each stage, all zero before and after. */
static uint32_t find_first(const struct gyre_graph *graph, uint32_t *parents, uint32_t *marks)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < graph->count; i++) {
		marks[root_of(parents, i)] |= graph->stages[i]->is_inner;
	}
	for (uint32_t i = 0; i < graph->count; i++) {
		const struct gy_stage *stage = graph->stages[i];
		uint32_t root = root_of(parents, i);

		if (stage->ops->run != NULL && !stage->is_inner &&
		    (found == UINT32_MAX || marks[root] < marks[found])) {
			found = root;
		}
	}
	memset(marks, 0, graph->count * sizeof(*marks));
	gy_assert(found != UINT32_MAX);
	return found;
}

static void place_island(struct gy_island *island, const struct gy_stage *stage)
{
	if (stage->is_inner && island->place == GYRE_PLACE_HERE) {
		const struct gy_outlet *outlet = (const struct gy_outlet *)(const void *)stage;

		island->place = outlet->place;
		island->loop = outlet->loop;
	}
}

/* Gives each stage its island; @numbers has that of each root. */
static int fill_islands(struct gyre_graph *graph, uint32_t *parents, const uint32_t *numbers)
{
	for (uint32_t i = 0; i < graph->count; i++) {
		struct gy_stage *stage = graph->stages[i];
		struct gy_island *island = &graph->islands[numbers[root_of(parents, i)]];

		stage->island = island;
		island->sink_count += stage->ops->run != NULL;
		place_island(island, stage);
	}
	for (uint32_t i = 0; i < graph->island_count; i++) {
		struct gy_island *island = &graph->islands[i];

		island->graph = graph;
		island->index = i;
		island->sinks = (struct gy_stage **)gy_memory_get((island->sink_count + 1) *
								  sizeof(struct gy_stage *));
		if (island->sinks == NULL) {
			return -ENOMEM;
		}
	}
	for (uint32_t i = 0; i < graph->count; i++) {
		struct gy_island *island = graph->stages[i]->island;

		if (graph->stages[i]->ops->run != NULL) {
			island->sinks[island->live++] = graph->stages[i];
		}
	}
	return 0;
}

int gy_islands_make(struct gyre_graph *graph)
{
	uint32_t *parents = (uint32_t *)gy_memory_get((size_t)graph->count * 2 * sizeof(uint32_t));
	uint32_t *numbers = parents == NULL ? NULL : parents + graph->count;
	uint32_t first;
	int r = -ENOMEM;

	if (parents == NULL) {
		return -ENOMEM;
	}
	join_stages(graph, parents);
	first = find_first(graph, parents, numbers);
	graph->island_count = 1;
	for (uint32_t i = 0; i < graph->count; i++) {
		if (root_of(parents, i) == i && i != first) {
			numbers[i] = graph->island_count++;
		}
	}
	graph->islands =
		(struct gy_island *)gy_memory_get(graph->island_count * sizeof(struct gy_island));
	if (graph->islands != NULL) {
		r = fill_islands(graph, parents, numbers);
	}
	gy_memory_put(parents);
	return r;
}
