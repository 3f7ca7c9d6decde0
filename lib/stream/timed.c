/*
 * Stages that know the time: batches, rates and ticks.
 */
#include <errno.h>

#include "base/memory/memory.h"
#include "base/sized.h"
#include "stream/island.h"

/* ---- batch ---- */

struct batcher {
	struct gy_stage stage;
	struct gyre_batch_options options;
	gyre_stream_batch_fn gather;
	void *arg;
	unsigned char *waiting;
	uint32_t count; /* of them */
	int32_t ended;	/* what the stream has ended with; 0 while it has not */
	bool is_due;	/* the time of the first has passed */
};

static int prepare_batcher(struct gy_stage *stage)
{
	struct batcher *batcher = (struct batcher *)(void *)stage;

	batcher->waiting = (unsigned char *)gy_memory_get(
		gy_elements_bytes(gy_stage_in_type(stage), batcher->options.count_max) + 1);
	return batcher->waiting == NULL ? -ENOMEM : 0;
}

/* Asks for what is missing: a number of elements, or what pull() returns. */
static int32_t fill(struct batcher *batcher)
{
	struct gy_stage *stage = &batcher->stage;
	const struct gyre_type *type = gy_stage_in_type(stage);
	uint32_t most = gy_block_elements(type);
	uint32_t room = batcher->options.count_max - batcher->count;
	int32_t pulled =
		gy_edge_pull(&stage->in[0], gy_element_at(type, batcher->waiting, batcher->count),
			     room < most ? room : most);

	if (pulled <= 0) {
		return pulled;
	}
	if (batcher->count == 0 && batcher->options.within_ns > 0 &&
	    gy_island_timer(stage, batcher->options.within_ns) < 0) {
		batcher->count = (uint32_t)pulled;
		return gy_stage_fail(stage, 0, -ENOMEM);
	}
	batcher->count += (uint32_t)pulled;
	return pulled;
}

static int32_t emit(struct batcher *batcher, void *out)
{
	struct gy_stage *stage = &batcher->stage;
	const struct gyre_type *type = gy_stage_in_type(stage);
	uint32_t count = batcher->count;
	int r;

	gy_assert(count > 0 && count <= batcher->options.count_max);
	gy_elements_clear(stage->type, out, 1);
	r = batcher->gather(batcher->arg, batcher->waiting, count, out);
	gy_elements_destroy(type, batcher->waiting, count);
	batcher->count = 0;
	batcher->is_due = false;
	if (batcher->options.within_ns > 0) {
		gy_island_timer_stop(stage);
	}
	return r == 0 ? 1 : gy_stage_fail(stage, 0, gy_errno_of(r));
}

static int32_t pull_batch(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct batcher *batcher = (struct batcher *)(void *)stage;
	int32_t pulled = 1;

	gy_assert(outlet == 0 && max > 0);
	if (batcher->ended == 0 && batcher->count < batcher->options.count_max &&
	    !batcher->is_due) {
		pulled = fill(batcher);
		batcher->ended = gy_pull_is_over(pulled) ? pulled : 0;
	}
	if (stage->pending != 0) {
		return stage->pending;
	}
	if (batcher->count > 0 && (batcher->count == batcher->options.count_max ||
				   batcher->is_due || batcher->ended != 0)) {
		return emit(batcher, out);
	}
	if (batcher->ended != 0) {
		return batcher->ended;
	}
	return pulled > 0 ? GY_PULL_AGAIN : pulled;
}

static void batch_is_due(struct gy_stage *stage)
{
	struct batcher *batcher = (struct batcher *)(void *)stage;

	batcher->is_due = batcher->count > 0;
}

static void drop_batch(struct batcher *batcher)
{
	if (batcher->waiting != NULL) {
		gy_elements_destroy(gy_stage_in_type(&batcher->stage), batcher->waiting,
				    batcher->count);
	}
	batcher->count = 0;
}

static void cancel_batch(struct gy_stage *stage, uint32_t outlet, int reason)
{
	drop_batch((struct batcher *)(void *)stage);
	gy_stage_cancel(stage, outlet, reason);
}

static void fini_batch(struct gy_stage *stage)
{
	struct batcher *batcher = (struct batcher *)(void *)stage;

	drop_batch(batcher);
	gy_memory_put(batcher->waiting);
}

static const struct gy_stage_ops batch_ops = {
	.name = "batch",
	.prepare = prepare_batcher,
	.pull = pull_batch,
	.cancel = cancel_batch,
	.timeout = batch_is_due,
	.fini = fini_batch,
};

struct gyre_stream gyre_stream_batch_sized(struct gyre_stream from, const struct gyre_type *type,
					   const struct gyre_batch_options *options,
					   size_t options_bytes, gyre_stream_batch_fn gather,
					   void *arg)
{
	struct batcher *batcher = (struct batcher *)gy_graph_add(from.graph, &batch_ops,
								 sizeof(*batcher), type, &from, 1);
	struct gyre_batch_options read = { 0 };
	int r = GY_SIZED_READ(gyre_batch_options, &read, options, options_bytes, NULL);

	if (r == 0 &&
	    (gather == NULL || read.count_max == 0 || read.count_max > GYRE_STREAM_BATCH_MAX)) {
		r = -EINVAL;
	}
	if (r < 0) {
		gy_graph_fail(from.graph, r);
	}
	if (batcher != NULL) {
		batcher->options = read;
		batcher->gather = gather;
		batcher->arg = arg;
	}
	return gy_graph_stream(from.graph, batcher, 0);
}

/* ---- throttle ---- */

struct throttle {
	struct gy_stage stage;
	struct gyre_throttle_options options;
	uint64_t tokens;
	uint64_t since_ns; /* up to when periods have been turned into tokens; 0 before the first */
	bool waits;	   /* for its timer */
};

/* The time that a number of tokens takes, rounded up. */
static uint64_t time_of(const struct throttle *throttle, uint64_t tokens)
{
	__uint128_t ns = (__uint128_t)tokens * throttle->options.period_ns;

	ns = (ns + throttle->options.count - 1) / throttle->options.count;
	return ns > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)ns;
}

static void refill(struct throttle *throttle)
{
	uint64_t now_ns = gy_island_now(&throttle->stage);
	__uint128_t earned;

	if (throttle->since_ns == 0) {
		throttle->since_ns = now_ns;
	}
	earned = (__uint128_t)(now_ns - throttle->since_ns) * throttle->options.count /
		 throttle->options.period_ns;
	if (earned + throttle->tokens >= throttle->options.burst) {
		throttle->tokens = throttle->options.burst;
		throttle->since_ns = now_ns;
	} else if (earned > 0) {
		throttle->tokens += (uint64_t)earned;
		throttle->since_ns += time_of(throttle, (uint64_t)earned);
	}
}

static int32_t pull_throttled(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct throttle *throttle = (struct throttle *)(void *)stage;
	int32_t pulled;

	gy_assert(outlet == 0);
	if (throttle->waits) {
		return GY_PULL_WAIT;
	}
	refill(throttle);
	if (throttle->tokens == 0) {
		uint64_t at_ns = throttle->since_ns + time_of(throttle, 1);
		uint64_t now_ns = gy_island_now(stage);

		if (gy_island_timer(stage, at_ns > now_ns ? at_ns - now_ns : 1) < 0) {
			return gy_stage_fail(stage, 0, -ENOMEM);
		}
		throttle->waits = true;
		return GY_PULL_WAIT;
	}
	pulled = gy_edge_pull(&stage->in[0], out,
			      max < throttle->tokens ? max : (uint32_t)throttle->tokens);
	if (pulled > 0) {
		throttle->tokens -= (uint32_t)pulled;
	}
	return pulled;
}

static void throttle_may_go_on(struct gy_stage *stage)
{
	((struct throttle *)(void *)stage)->waits = false;
}

static const struct gy_stage_ops throttle_ops = {
	.name = "throttle",
	.pull = pull_throttled,
	.cancel = gy_stage_cancel,
	.timeout = throttle_may_go_on,
	.fini = gy_stage_fini,
};

struct gyre_stream gyre_stream_throttle_sized(struct gyre_stream from,
					      const struct gyre_throttle_options *options,
					      size_t options_bytes)
{
	struct throttle *throttle = (struct throttle *)gy_graph_add(
		from.graph, &throttle_ops, sizeof(*throttle), gy_stream_type(&from), &from, 1);
	struct gyre_throttle_options read = { 0 };
	int r = GY_SIZED_READ(gyre_throttle_options, &read, options, options_bytes, NULL);

	if (r == 0 && (read.count == 0 || read.period_ns == 0)) {
		r = -EINVAL;
	}
	if (r < 0) {
		gy_graph_fail(from.graph, r);
	}
	if (throttle != NULL) {
		throttle->options = read;
		throttle->options.burst = read.burst == 0 ? read.count : read.burst;
		throttle->tokens = throttle->options.burst;
	}
	return gy_graph_stream(from.graph, throttle, 0);
}

/* ---- ticks ---- */

struct ticker {
	struct gy_stage stage;
	uint64_t period_ns;
	uint64_t begin_ns;
	uint64_t next; /* the first period of which nobody was told */
	bool waits;
};

static void start_ticker(struct gy_stage *stage)
{
	((struct ticker *)(void *)stage)->begin_ns = gy_island_now(stage);
}

static int32_t pull_tick(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct ticker *ticker = (struct ticker *)(void *)stage;
	uint64_t now_ns = gy_island_now(stage);
	uint64_t passed = (now_ns - ticker->begin_ns) / ticker->period_ns;

	gy_assert(outlet == 0 && max > 0);
	if (passed > ticker->next) {
		struct gyre_stream_tick tick = { passed - 1, passed - 1 - ticker->next };

		memcpy(out, &tick, sizeof(tick));
		ticker->next = passed;
		return 1;
	}
	if (!ticker->waits) {
		uint64_t left_ns =
			ticker->period_ns - (now_ns - ticker->begin_ns) % ticker->period_ns;

		if (gy_island_timer(stage, left_ns) < 0) {
			return gy_stage_fail(stage, 0, -ENOMEM);
		}
		ticker->waits = true;
	}
	return GY_PULL_WAIT;
}

static void tick_has_come(struct gy_stage *stage)
{
	((struct ticker *)(void *)stage)->waits = false;
}

static void cancel_ticker(struct gy_stage *stage, uint32_t outlet, int reason)
{
	(void)outlet;
	(void)reason;
	gy_island_timer_stop(stage);
}

static const struct gy_stage_ops ticker_ops = {
	.name = "ticks",
	.start = start_ticker,
	.pull = pull_tick,
	.cancel = cancel_ticker,
	.timeout = tick_has_come,
	.fini = gy_stage_fini,
};

struct gyre_stream gyre_stream_ticks(struct gyre_graph *graph, uint64_t period_ns)
{
	struct ticker *ticker = (struct ticker *)gy_graph_add(graph, &ticker_ops, sizeof(*ticker),
							      &gyre_type_gyre_stream_tick, NULL, 0);

	if (period_ns == 0) {
		gy_graph_fail(graph, -EINVAL);
	}
	if (ticker != NULL) {
		ticker->period_ns = period_ns;
	}
	return gy_graph_stream(graph, ticker, 0);
}
