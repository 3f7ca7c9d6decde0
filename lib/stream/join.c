/*
 * Stages that take from several streams: merge and zip.
 */
#include <errno.h>

#include "base/memory/memory.h"
#include "stream/graph.h"

/* ---- merge ---- */

struct merge {
	struct gy_stage stage;
	uint32_t next; /* whose turn it is */
	uint32_t live; /* edges that are not over */
};

/* Only a failure ends the whole; of edges that wait or say so, the others may have elements. */
static int32_t pull_merged(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct merge *merge = (struct merge *)(void *)stage;
	bool again = false;

	gy_assert(outlet == 0);
	for (uint32_t i = 0; i < stage->in_count; i++) {
		struct gy_edge *edge = &stage->in[merge->next];
		int32_t pulled;

		merge->next = merge->next + 1 == stage->in_count ? 0 : merge->next + 1;
		if (edge->over) {
			continue;
		}
		pulled = gy_edge_pull(edge, out, max);
		if (pulled > 0) {
			return pulled;
		}
		again = again || pulled == GY_PULL_AGAIN;
		if (pulled == GY_PULL_END) {
			merge->live--;
			again = true; /* its end may have made room for another sink */
		} else if (gy_pull_is_over(pulled)) {
			return gy_stage_fail(stage, 0, pulled);
		}
	}
	return merge->live == 0 ? GY_PULL_END : again ? GY_PULL_AGAIN : GY_PULL_WAIT;
}

static const struct gy_stage_ops merge_ops = {
	.name = "merge",
	.pull = pull_merged,
	.cancel = gy_stage_cancel,
	.fini = gy_stage_fini,
};

struct gyre_stream gyre_stream_merge(const struct gyre_stream *from, uint32_t count)
{
	struct gyre_graph *graph = from == NULL || count == 0 ? NULL : from[0].graph;
	bool good = graph != NULL && count <= GYRE_STREAM_BRANCHES_MAX;
	const struct gyre_type *type = good ? gy_stream_type(&from[0]) : NULL;
	struct merge *merge;

	for (uint32_t i = 1; good && i < count; i++) {
		const struct gyre_type *other = gy_stream_type(&from[i]);

		good = from[i].graph == graph && other != NULL && type != NULL &&
		       other->id == type->id;
	}
	if (!good) {
		gy_graph_fail(graph, -EINVAL);
		return gy_graph_stream(graph, NULL, 0);
	}
	merge = (struct merge *)gy_graph_add(graph, &merge_ops, sizeof(*merge), type, from, count);
	if (merge != NULL) {
		merge->live = count;
	}
	return gy_graph_stream(graph, merge, 0);
}

/* ---- zip ---- */

/* Elements of the left stream wait for their partners; those of the right one do not. */
struct zipper {
	struct gy_stage stage; /* whose scratch has the left ones */
	gyre_zip_fn zip;
	void *arg;
	unsigned char *right;
	uint32_t first; /* of the left ones */
	uint32_t count;
};

static int prepare_zipper(struct gy_stage *stage)
{
	struct zipper *zipper = (struct zipper *)(void *)stage;
	const struct gyre_type *type = stage->in[1].from->type;

	zipper->right = (unsigned char *)gy_memory_get(
		gy_elements_bytes(type, gy_block_elements(type)) + 1);
	return zipper->right == NULL ? -ENOMEM : gy_stage_prepare_scratch(stage);
}

static void drop_left(struct zipper *zipper)
{
	const struct gyre_type *type = gy_stage_in_type(&zipper->stage);

	if (zipper->count > 0) {
		gy_elements_destroy(type, gy_element_at(type, zipper->stage.scratch, zipper->first),
				    zipper->count);
	}
	zipper->count = 0;
}

/* One stream has ended, so the other is not wanted any more. */
static int32_t end_both(struct zipper *zipper, int32_t ended)
{
	drop_left(zipper);
	gy_stage_cancel_inputs(&zipper->stage, gy_pull_reason(ended));
	return ended;
}

static int32_t pair(struct zipper *zipper, uint32_t count, void *out)
{
	struct gy_stage *stage = &zipper->stage;
	const struct gyre_type *left = gy_stage_in_type(stage);
	const struct gyre_type *right = stage->in[1].from->type;
	uint32_t made = 0;
	int r = 0;

	gy_elements_clear(stage->type, out, count);
	while (made < count && r == 0) {
		r = zipper->zip(zipper->arg,
				gy_element_at(left, stage->scratch, zipper->first + made),
				gy_element_at(right, zipper->right, made),
				gy_element_at(stage->type, out, made));
		made += r == 0;
	}
	gy_elements_destroy(left, gy_element_at(left, stage->scratch, zipper->first), count);
	gy_elements_destroy(right, zipper->right, count);
	zipper->first += count;
	zipper->count -= count;
	if (r != 0) {
		drop_left(zipper);
		return gy_stage_fail(stage, made, gy_errno_of(r));
	}
	return (int32_t)count;
}

static int32_t pull_zipped(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct zipper *zipper = (struct zipper *)(void *)stage;
	uint32_t most_right = gy_block_elements(stage->in[1].from->type);
	bool took_left = zipper->count == 0; /* which may have made room for another sink */
	int32_t pulled;

	gy_assert(outlet == 0);
	if (zipper->count == 0) {
		pulled = gy_stage_pull(stage, max);
		if (pulled <= 0) {
			return gy_pull_is_over(pulled) ? end_both(zipper, pulled) : pulled;
		}
		zipper->first = 0;
		zipper->count = (uint32_t)pulled;
	}
	max = max < zipper->count ? max : zipper->count;
	pulled = gy_edge_pull(&stage->in[1], zipper->right, max < most_right ? max : most_right);
	if (pulled <= 0) {
		return gy_pull_is_over(pulled)		     ? end_both(zipper, pulled)
		       : pulled == GY_PULL_WAIT && took_left ? GY_PULL_AGAIN
							     : pulled;
	}
	return pair(zipper, (uint32_t)pulled, out);
}

static void cancel_zip(struct gy_stage *stage, uint32_t outlet, int reason)
{
	drop_left((struct zipper *)(void *)stage);
	gy_stage_cancel(stage, outlet, reason);
}

static void fini_zip(struct gy_stage *stage)
{
	struct zipper *zipper = (struct zipper *)(void *)stage;

	drop_left(zipper);
	gy_memory_put(zipper->right);
	gy_stage_fini(stage);
}

static const struct gy_stage_ops zip_ops = {
	.name = "zip",
	.prepare = prepare_zipper,
	.pull = pull_zipped,
	.cancel = cancel_zip,
	.fini = fini_zip,
};

struct gyre_stream gyre_stream_zip(struct gyre_stream left, struct gyre_stream right,
				   const struct gyre_type *type, gyre_zip_fn zip, void *arg)
{
	const struct gyre_stream both[2] = { left, right };
	struct zipper *zipper =
		(struct zipper *)gy_graph_add(left.graph, &zip_ops, sizeof(*zipper), type, both, 2);

	if (zip == NULL) {
		gy_graph_fail(left.graph, -EINVAL);
	}
	if (right.graph != left.graph) {
		gy_graph_fail(right.graph, -EINVAL);
	}
	if (zipper != NULL) {
		zipper->zip = zip;
		zipper->arg = arg;
	}
	return gy_graph_stream(left.graph, zipper, 0);
}
