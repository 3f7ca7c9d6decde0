/*
 * Building graphs. All that can be known to be wrong before a graph runs is found here: types,
 * streams that nobody takes, and functions that are missing. Graphs have no circles, as a stage can
 * only take from those that were added before it.
 */
#include "stream/graph.h"

#include <errno.h>

#include "base/memory/memory.h"
#include "stream/boundary.h"
#include "stream/channel_ends.h"

struct gyre_graph *gyre_graph_create(void)
{
	return (struct gyre_graph *)gy_memory_get(sizeof(struct gyre_graph));
}

void gyre_graph_destroy(struct gyre_graph *graph)
{
	if (graph == NULL) {
		return;
	}
	gy_taps_drop(graph->taps);
	/* Those that take from others first: what they do last may need those. */
	for (uint32_t i = graph->count; i > 0; i--) {
		struct gy_stage *stage = graph->stages[i - 1];

		stage->ops->fini(stage);
		gy_memory_put(stage->claimed);
		gy_memory_put(stage->in);
		gy_memory_put(stage);
	}
	gy_memory_put(graph->stages);
	for (uint32_t i = 0; graph->islands != NULL && i < graph->island_count; i++) {
		gy_memory_put(graph->islands[i].sinks);
	}
	gy_memory_put(graph->islands);
	while (graph->owned != NULL) {
		struct gy_owned *owned = graph->owned;

		graph->owned = owned->next;
		owned->free_pointer(owned->pointer);
		gy_memory_put(owned);
	}
	gy_memory_put(graph);
}

void gy_graph_fail(struct gyre_graph *graph, int error)
{
	gy_assert(error < 0);
	if (graph != NULL && graph->error == 0) {
		graph->error = error;
	}
}

void gyre_graph_own(struct gyre_graph *graph, void *pointer, gyre_free_fn free_pointer)
{
	struct gy_owned *owned;

	if (free_pointer == NULL) {
		gy_graph_fail(graph, -EINVAL);
		return;
	}
	owned = graph == NULL ? NULL : (struct gy_owned *)gy_memory_get(sizeof(*owned));
	if (owned == NULL) {
		gy_graph_fail(graph, -ENOMEM);
		free_pointer(pointer);
		return;
	}
	*owned = (struct gy_owned){ graph->owned, pointer, free_pointer };
	graph->owned = owned;
}

static int make_room(struct gyre_graph *graph)
{
	uint32_t room = graph->room == 0 ? 8 : 2 * graph->room;
	struct gy_stage **stages;

	if (graph->count < graph->room) {
		return 0;
	}
	if (graph->count >= GY_GRAPH_STAGES_MAX) {
		return -EINVAL;
	}
	stages = (struct gy_stage **)gy_memory_get(room * sizeof(struct gy_stage *));
	if (stages == NULL) {
		return -ENOMEM;
	}
	if (graph->count > 0) {
		memcpy(stages, graph->stages, graph->count * sizeof(struct gy_stage *));
	}
	gy_memory_put(graph->stages);
	graph->stages = stages;
	graph->room = room;
	return 0;
}

static bool stream_is_good(const struct gyre_graph *graph, const struct gyre_stream *from)
{
	return from->graph == graph && from->stage < graph->count &&
	       from->outlet < graph->stages[from->stage]->outlets;
}

/* False if it was taken before. */
static bool claim(struct gy_stage *stage, uint32_t outlet)
{
	bool is_free = stage->claimed == NULL ? stage->taken == 0 : !stage->claimed[outlet];

	if (is_free && stage->claimed != NULL) {
		stage->claimed[outlet] = true;
	}
	stage->taken += is_free;
	return is_free;
}

/* A pull goes up through all stages above in one island, on one stack. */
static int connect_edges(struct gyre_graph *graph, struct gy_stage *stage,
			 const struct gyre_stream *from)
{
	for (uint32_t i = 0; i < stage->in_count; i++) {
		if (!stream_is_good(graph, &from[i]) ||
		    !claim(graph->stages[from[i].stage], from[i].outlet)) {
			return -EINVAL;
		}
		stage->in[i].from = graph->stages[from[i].stage];
		stage->in[i].outlet = from[i].outlet;
		if (stage->in[i].from->depth >= stage->depth) {
			stage->depth = stage->in[i].from->depth + 1;
		}
	}
	return stage->depth > GYRE_STREAM_DEPTH_MAX ? -EINVAL : 0;
}

static struct gy_stage *make_stage(size_t bytes, uint32_t in_count)
{
	struct gy_stage *stage = (struct gy_stage *)gy_memory_get(bytes);

	if (stage != NULL && in_count > 0) {
		stage->in = (struct gy_edge *)gy_memory_get(in_count * sizeof(*stage->in));
		if (stage->in == NULL) {
			gy_memory_put(stage);
			return NULL;
		}
	}
	return stage;
}

void *gy_graph_add(struct gyre_graph *graph, const struct gy_stage_ops *ops, size_t bytes,
		   const struct gyre_type *type, const struct gyre_stream *from, uint32_t in_count)
{
	struct gy_stage *stage;
	int r;

	gy_assert(bytes >= sizeof(*stage) && (from == NULL) == (in_count == 0));
	if (graph == NULL || graph->error != 0) {
		return NULL;
	}
	r = ops->run == NULL && !gy_element_type_is_good(type) ? -EINVAL : make_room(graph);
	stage = r < 0 ? NULL : make_stage(bytes, in_count);
	if (stage == NULL) {
		gy_graph_fail(graph, r < 0 ? r : -ENOMEM);
		return NULL;
	}
	stage->ops = ops;
	stage->type = type;
	stage->graph = graph;
	stage->in_count = in_count;
	stage->outlets = ops->run == NULL ? 1 : 0;
	stage->index = graph->count;
	r = connect_edges(graph, stage, from);
	if (r < 0) {
		gy_graph_fail(graph, r);
		gy_memory_put(stage->in);
		gy_memory_put(stage);
		return NULL;
	}
	graph->stages[graph->count++] = stage;
	return stage;
}

struct gyre_stream gy_graph_stream(struct gyre_graph *graph, const void *stage, uint32_t outlet)
{
	const struct gy_stage *made = (const struct gy_stage *)stage;

	return (struct gyre_stream){ graph, made == NULL ? 0 : made->index, outlet };
}

int gy_stage_branch(struct gy_stage *stage, uint32_t outlets)
{
	gy_assert(stage->taken == 0 && outlets > 0);
	stage->claimed = (bool *)gy_memory_get(outlets * sizeof(bool));
	if (stage->claimed == NULL) {
		gy_graph_fail(stage->graph, -ENOMEM);
		return -ENOMEM;
	}
	stage->outlets = outlets;
	return 0;
}

/* ---- completing ---- */

static int check_taken(const struct gyre_graph *graph)
{
	uint32_t sinks = 0;

	for (uint32_t i = 0; i < graph->count; i++) {
		const struct gy_stage *stage = graph->stages[i];

		sinks += stage->ops->run != NULL && !stage->is_inner;
		if (stage->taken != stage->outlets) {
			return -EINVAL;
		}
	}
	return sinks == 0 ? -EINVAL : 0;
}

int gy_graph_prepare(struct gyre_graph *graph)
{
	int r = graph->error != 0 ? graph->error : check_taken(graph);

	for (uint32_t i = 0; r == 0 && i < graph->count; i++) {
		struct gy_stage *stage = graph->stages[i];

		r = stage->ops->prepare == NULL ? 0 : stage->ops->prepare(stage);
	}
	return r < 0 ? r : gy_islands_make(graph);
}
