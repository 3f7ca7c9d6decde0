/*
 * Graphs: the stages of streams, which are added one after the other and know each other by
 * pointers; and how a graph falls into islands, the parts between boundaries, each of which has an
 * actor.
 *
 * While a graph is built it belongs to whoever builds it. Once it runs, each stage is touched by
 * the actor of its island alone; the actor of the first island, whose children the others are,
 * frees the graph after all have ended.
 */
#ifndef GY_STREAM_GRAPH_H
#define GY_STREAM_GRAPH_H

#include "stream/stage.h"

enum { GY_GRAPH_STAGES_MAX = 65536 };

struct gy_tap;

struct gy_owned {
	struct gy_owned *next;
	void *pointer;
	gyre_free_fn free_pointer;
};

/* A part of a graph, and the actor that runs it. */
struct gy_island {
	struct gyre_graph *graph;
	struct gyre_stack *stack;   /* of the handler that runs */
	struct gyre_system *system; /* once a port has needed it */
	struct gyre_address self;
	struct gy_stage **sinks; /* those that have not ended, first */
	uint32_t sink_count;
	uint32_t live; /* of these */
	uint32_t index;
	uint32_t working;  /* stacks that do work of stages, or are to */
	uint64_t elements; /* that sinks which have ended have taken */
	int result;	   /* the first failure of a sink */
	int fatal;	   /* why the actor cannot go on; or 0 */
	uint32_t loop;
	enum gyre_place place;
	bool turn_posted;
	bool retries;	 /* a timer runs, by which what found no memory is tried again */
	bool introduced; /* its ports know those of other islands */
	bool started;
	bool is_over;
};

struct gyre_graph {
	struct gy_stage **stages;
	uint32_t count;
	uint32_t room;
	int error; /* the first one */
	struct gy_owned *owned;
	struct gy_tap *taps; /* the channels that it reads from, until it starts */
	struct gy_island *islands;
	uint32_t island_count;
	uint32_t islands_live; /* the first island's */
	uint64_t timeout_ns;
	bool awaited; /* by gyre_graph_run(): an ask has come or will */
};

/* Remembers the first error. */
void gy_graph_fail(struct gyre_graph *graph, int error);
/*
 * Adds a stage of @bytes bytes, which begin with a struct gy_stage, with edges from @from. NULL if
 * the graph has failed before, or fails now: for memory, a stream that is of another graph or was
 * taken, or @type, which may be NULL for a sink only.
 */
void *gy_graph_add(struct gyre_graph *graph, const struct gy_stage_ops *ops, size_t bytes,
		   const struct gyre_type *type, const struct gyre_stream *from, uint32_t in_count);
/* Gives a stage that was just added several outlets. */
int gy_stage_branch(struct gy_stage *stage, uint32_t outlets);
/* The stream of an outlet of a stage, which may be NULL. */
struct gyre_stream gy_graph_stream(struct gyre_graph *graph, const void *stage, uint32_t outlet);
/* Looks whether it is complete, and prepares all stages and islands. */
int gy_graph_prepare(struct gyre_graph *graph);

/* The type of what comes by the first edge. */
static inline const struct gyre_type *gy_stage_in_type(const struct gy_stage *stage)
{
	return stage->in[0].from->type;
}

/* The type of a stream; NULL for one that could not be made. */
static inline const struct gyre_type *gy_stream_type(const struct gyre_stream *stream)
{
	const struct gyre_graph *graph = stream->graph;

	return graph == NULL || stream->stage >= graph->count ? NULL
							      : graph->stages[stream->stage]->type;
}

#endif
