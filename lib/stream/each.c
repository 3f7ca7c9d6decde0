/*
 * The sink that is a function: it takes a block at a time, and gives the function one element after
 * the other. Those behind one with which it has failed, or wants no more, are destroyed.
 */
#include <errno.h>

#include "stream/graph.h"

struct each {
	struct gy_stage stage;
	gyre_each_fn each;
	void *arg;
};

static enum gy_sink_state run_each(struct gy_stage *stage)
{
	struct each *each = (struct each *)(void *)stage;
	const struct gyre_type *type = gy_stage_in_type(stage);
	int32_t pulled = gy_edge_pull(&stage->in[0], stage->scratch, gy_block_elements(type));
	int32_t taken = 0;
	int r = 0;

	if (gy_pull_is_over(pulled)) {
		return gy_sink_end(stage, gy_pull_reason(pulled));
	}
	if (pulled <= 0) {
		return pulled == GY_PULL_AGAIN ? GY_SINK_MOVES : GY_SINK_WAITS;
	}
	while (each->each != NULL && taken < pulled && r == 0) {
		r = each->each(each->arg, gy_element_at(type, stage->scratch, (uint32_t)taken++));
	}
	gy_elements_destroy(type, stage->scratch, (uint32_t)pulled);
	stage->counted += (uint32_t)(each->each == NULL ? pulled : taken);
	if (r != 0) {
		stage->counted -= r != 1;
		return gy_sink_end(stage, r == 1 ? 0 : gy_errno_of(r));
	}
	return GY_SINK_MOVES;
}

static const struct gy_stage_ops each_ops = {
	.name = "each",
	.prepare = gy_stage_prepare_scratch,
	.run = run_each,
	.fini = gy_stage_fini,
};

void gyre_stream_each(struct gyre_stream from, gyre_each_fn each, void *arg)
{
	struct each *sink =
		(struct each *)gy_graph_add(from.graph, &each_ops, sizeof(*sink), NULL, &from, 1);

	if (sink != NULL) {
		sink->each = each;
		sink->arg = arg;
	}
}
