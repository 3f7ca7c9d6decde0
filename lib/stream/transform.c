/*
 * Stages that make something else of elements, one by one: map, filter, scan, take, recover. None
 * of them keeps an element from one pull to the next.
 *
 * Where a function of the program fails in the middle of a block, the elements before it go on, and
 * the failure comes with the next pull. Those behind it are destroyed.
 */
#include <errno.h>

#include "base/memory/memory.h"
#include "stream/graph.h"

/* ---- map and scan ---- */

struct mapper {
	struct gy_stage stage;
	gyre_map_fn map;
	void *arg;
	void *value; /* of a scan: what it has added up; else NULL */
};

/* How many of @count elements were made; less if the function has failed, with @ret_error. */
static uint32_t map_block(struct mapper *mapper, void *in, uint32_t count, void *out,
			  int *ret_error)
{
	const struct gyre_type *from = gy_stage_in_type(&mapper->stage);
	const struct gyre_type *to = mapper->stage.type;
	void *arg = mapper->arg;
	gyre_map_fn map = mapper->map;

	gy_elements_clear(to, out, count);
	for (uint32_t i = 0; i < count; i++) {
		int r = map(arg, gy_element_at(from, in, i), gy_element_at(to, out, i));

		if (gy_unlikely(r != 0)) {
			*ret_error = gy_errno_of(r);
			return i;
		}
	}
	return count;
}

static int32_t pull_mapped(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct mapper *mapper = (struct mapper *)(void *)stage;
	int32_t pulled = gy_stage_pull(stage, max);
	uint32_t made;
	int error = 0;

	gy_assert(outlet == 0);
	if (pulled <= 0) {
		return pulled;
	}
	made = map_block(mapper, stage->scratch, (uint32_t)pulled, out, &error);
	gy_elements_destroy(gy_stage_in_type(stage), stage->scratch, (uint32_t)pulled);
	return error == 0 ? pulled : gy_stage_fail(stage, made, error);
}

static const struct gy_stage_ops map_ops = {
	.name = "map",
	.prepare = gy_stage_prepare_scratch,
	.pull = pull_mapped,
	.is_dry = gy_stage_is_dry,
	.cancel = gy_stage_cancel,
	.fini = gy_stage_fini,
};

static struct mapper *add_mapper(const struct gy_stage_ops *ops, const struct gyre_stream *from,
				 const struct gyre_type *type, gyre_map_fn map, void *arg)
{
	struct mapper *mapper =
		(struct mapper *)gy_graph_add(from->graph, ops, sizeof(*mapper), type, from, 1);

	if (map == NULL) {
		gy_graph_fail(from->graph, -EINVAL);
	}
	if (mapper != NULL) {
		mapper->map = map;
		mapper->arg = arg;
	}
	return mapper;
}

struct gyre_stream gyre_stream_map(struct gyre_stream from, const struct gyre_type *type,
				   gyre_map_fn map, void *arg)
{
	return gy_graph_stream(from.graph, add_mapper(&map_ops, &from, type, map, arg), 0);
}

static int32_t pull_scanned(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct mapper *scan = (struct mapper *)(void *)stage;
	const struct gyre_type *from = gy_stage_in_type(stage);
	int32_t pulled = gy_stage_pull(stage, max);
	int32_t made = 0;
	int r = 0;

	gy_assert(outlet == 0);
	while (made < pulled && r == 0) {
		r = scan->map(scan->arg, gy_element_at(from, stage->scratch, (uint32_t)made),
			      scan->value);
		if (r == 0) {
			memcpy(gy_element_at(stage->type, out, (uint32_t)made++), scan->value,
			       stage->type->bytes);
		}
	}
	if (pulled <= 0) {
		return pulled;
	}
	gy_elements_destroy(from, stage->scratch, (uint32_t)pulled);
	return r == 0 ? pulled : gy_stage_fail(stage, (uint32_t)made, gy_errno_of(r));
}

static void fini_scan(struct gy_stage *stage)
{
	gy_memory_put(((struct mapper *)(void *)stage)->value);
	gy_stage_fini(stage);
}

static const struct gy_stage_ops scan_ops = {
	.name = "scan",
	.prepare = gy_stage_prepare_scratch,
	.pull = pull_scanned,
	.is_dry = gy_stage_is_dry,
	.cancel = gy_stage_cancel,
	.fini = fini_scan,
};

struct gyre_stream gyre_stream_scan(struct gyre_stream from, const struct gyre_type *type,
				    const void *first, gyre_map_fn add, void *arg)
{
	struct mapper *scan = add_mapper(&scan_ops, &from, type, add, arg);

	if (type != NULL && type->destroy != NULL) {
		gy_graph_fail(from.graph, -EINVAL);
	}
	if (scan != NULL && type != NULL) {
		scan->value = gy_memory_get((size_t)type->bytes + 1);
		if (scan->value == NULL) {
			gy_graph_fail(from.graph, -ENOMEM);
		} else if (first != NULL) {
			memcpy(scan->value, first, type->bytes);
		}
	}
	return gy_graph_stream(from.graph, scan, 0);
}

/* ---- filter ---- */

struct filter {
	struct gy_stage stage;
	gyre_keep_fn keep;
	void *arg;
};

/* Moves those that are kept to the front. An error is in @ret_error; the rest is destroyed then. */
static uint32_t keep_some(struct filter *filter, void *elements, uint32_t count, int *ret_error)
{
	const struct gyre_type *type = filter->stage.type;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		void *element = gy_element_at(type, elements, i);
		int r = filter->keep(filter->arg, element);

		if (gy_unlikely(r != 0 && r != 1)) {
			gy_elements_destroy(type, element, count - i);
			*ret_error = gy_errno_of(r);
			return kept;
		}
		if (r == 0) {
			gy_elements_destroy(type, element, 1);
		} else if (kept++ < i) {
			memcpy(gy_element_at(type, elements, kept - 1), element, type->bytes);
		}
	}
	return kept;
}

static int32_t pull_filtered(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	int32_t pulled = gy_edge_pull(&stage->in[0], out, max);
	uint32_t kept;
	int error = 0;

	gy_assert(outlet == 0);
	if (pulled <= 0) {
		return pulled;
	}
	kept = keep_some((struct filter *)(void *)stage, out, (uint32_t)pulled, &error);
	if (error != 0) {
		return gy_stage_fail(stage, kept, error);
	}
	return kept == 0 ? GY_PULL_AGAIN : (int32_t)kept;
}

static const struct gy_stage_ops filter_ops = {
	.name = "filter",
	.pull = pull_filtered,
	.is_dry = gy_stage_is_dry,
	.cancel = gy_stage_cancel,
	.fini = gy_stage_fini,
};

struct gyre_stream gyre_stream_filter(struct gyre_stream from, gyre_keep_fn keep, void *arg)
{
	struct filter *filter = (struct filter *)gy_graph_add(
		from.graph, &filter_ops, sizeof(*filter), gy_stream_type(&from), &from, 1);

	if (keep == NULL) {
		gy_graph_fail(from.graph, -EINVAL);
	}
	if (filter != NULL) {
		filter->keep = keep;
		filter->arg = arg;
	}
	return gy_graph_stream(from.graph, filter, 0);
}

/* ---- take ---- */

struct taker {
	struct gy_stage stage;
	uint64_t left;
};

static int32_t pull_taken(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct taker *taker = (struct taker *)(void *)stage;
	int32_t pulled;

	gy_assert(outlet == 0);
	if (taker->left == 0) {
		gy_edge_cancel(&stage->in[0], 0);
		return GY_PULL_END;
	}
	pulled = gy_edge_pull(&stage->in[0], out, max < taker->left ? max : (uint32_t)taker->left);
	if (pulled > 0) {
		taker->left -= (uint32_t)pulled;
		if (taker->left == 0) {
			gy_edge_cancel(&stage->in[0], 0);
		}
	}
	return pulled;
}

static bool taker_is_dry(const struct gy_stage *stage, uint32_t outlet)
{
	return ((const struct taker *)(const void *)stage)->left == 0 ||
	       gy_stage_is_dry(stage, outlet);
}

static const struct gy_stage_ops take_ops = {
	.name = "take",
	.pull = pull_taken,
	.is_dry = taker_is_dry,
	.cancel = gy_stage_cancel,
	.fini = gy_stage_fini,
};

struct gyre_stream gyre_stream_take(struct gyre_stream from, uint64_t count)
{
	struct taker *taker = (struct taker *)gy_graph_add(from.graph, &take_ops, sizeof(*taker),
							   gy_stream_type(&from), &from, 1);

	if (taker != NULL) {
		taker->left = count;
	}
	return gy_graph_stream(from.graph, taker, 0);
}

/* ---- recover ---- */

struct recovery {
	struct gy_stage stage;
	gyre_recover_fn recover;
	void *arg;
};

static int32_t pull_recovered(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct recovery *recovery = (struct recovery *)(void *)stage;
	int32_t pulled = gy_edge_pull(&stage->in[0], out, max);
	int r;

	gy_assert(outlet == 0);
	if (!gy_pull_is_over(pulled) || pulled == GY_PULL_END) {
		return pulled;
	}
	memset(out, 0, stage->type->bytes);
	r = recovery->recover(recovery->arg, pulled, out);
	if (r == 1) {
		stage->pending = GY_PULL_END;
		return 1;
	}
	return r == 0 ? GY_PULL_END : gy_errno_of(r);
}

static const struct gy_stage_ops recover_ops = {
	.name = "recover",
	.pull = pull_recovered,
	.cancel = gy_stage_cancel,
	.fini = gy_stage_fini,
};

struct gyre_stream gyre_stream_recover(struct gyre_stream from, gyre_recover_fn recover, void *arg)
{
	struct recovery *recovery = (struct recovery *)gy_graph_add(
		from.graph, &recover_ops, sizeof(*recovery), gy_stream_type(&from), &from, 1);

	if (recover == NULL) {
		gy_graph_fail(from.graph, -EINVAL);
	}
	if (recovery != NULL) {
		recovery->recover = recover;
		recovery->arg = arg;
	}
	return gy_graph_stream(from.graph, recovery, 0);
}
