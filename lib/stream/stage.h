/*
 * Stages: what a graph is made of. Each has streams that it takes from, its edges, and outlets from
 * which others take.
 *
 * A stage is asked by pull() for up to @max elements, which it puts at @out; it asks those before
 * it in turn. What it does not have now it promises: the actor is woken when there is more, by a
 * timer, a message or the end of an operation, and asks again from the sinks. After an end or a
 * failure, or after cancel(), an outlet is not asked any more.
 */
#ifndef GY_STREAM_STAGE_H
#define GY_STREAM_STAGE_H

#include <errno.h>

#include <gyre/stream.h>

#include "stream/element.h"

struct gyre_graph;
struct gy_island;
struct gy_stage;

/* What pull() returns besides a number of elements, and the negative errno of a failure. */
enum {
	GY_PULL_WAIT = 0,	     /* none now */
	GY_PULL_AGAIN = INT32_MIN,   /* none now, but ask again: something has been done */
	GY_PULL_END = INT32_MIN + 1, /* no more */
	GY_PULL_ERRNO_MIN = -4095,
};

/* What the run of a sink says. */
enum gy_sink_state {
	GY_SINK_WAITS,
	GY_SINK_MOVES, /* there may be more to do */
	GY_SINK_DONE,
};

/* What a step of work says. */
enum gy_work_state {
	GY_WORK_DONE,
	GY_WORK_WAITS, /* for the future, and then for the next step */
};

/* The work of a stage that waits for something: the frame of its stack. */
struct gy_work {
	struct gyre_stack *stack;
	struct gyre_future future;
	struct gy_stage *stage;
	uint32_t step; /* for the stage, as the next; 0 at first */
	uint32_t slot;
};

static inline bool gy_pull_is_over(int32_t pulled)
{
	return pulled == GY_PULL_END || (pulled < 0 && pulled >= GY_PULL_ERRNO_MIN);
}

/* Why a stream that is over has ended. */
static inline int gy_pull_reason(int32_t pulled)
{
	return pulled == GY_PULL_END ? 0 : pulled;
}

/* The errno with which a function of the program has failed: it may have returned anything. */
static inline int gy_errno_of(int r)
{
	return r < 0 && r >= GY_PULL_ERRNO_MIN ? r : -EINVAL;
}

/* The reason that others give for an end: they may say anything. */
static inline int gy_reason_of(int reason)
{
	return reason > 0 || reason < GY_PULL_ERRNO_MIN ? -EPROTO : reason;
}

/* Where a stage takes from. */
struct gy_edge {
	struct gy_stage *from;
	uint32_t outlet;
	bool over; /* it has ended or was cancelled */
};

struct gy_stage_ops {
	const char *name;
	/* Gets the memory that it needs to run: -ENOMEM. Any thread; NULL for none. */
	int (*prepare)(struct gy_stage *stage);
	/* In its actor, before the first pull; or NULL. */
	void (*start)(struct gy_stage *stage);
	int32_t (*pull)(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max);
	/* Whether the next pull is sure to tell that it is over; NULL where that is not known. */
	bool (*is_dry)(const struct gy_stage *stage, uint32_t outlet);
	void (*cancel)(struct gy_stage *stage, uint32_t outlet, int reason);
	/* Of a sink: takes what there is, one block at a time. */
	enum gy_sink_state (*run)(struct gy_stage *stage);
	/* Its timer has fired; or NULL. */
	void (*timeout)(struct gy_stage *stage);
	/* The work that it has asked for, in a stack of its own, step by step; or NULL. */
	enum gy_work_state (*work)(struct gy_stage *stage, struct gy_work *work);
	/* What found no memory is tried again; or NULL. */
	void (*retry)(struct gy_stage *stage);
	/* Something is still to be told or done when all sinks have ended; or NULL: never. */
	bool (*is_open)(const struct gy_stage *stage);
	/* Destroys the elements that it has, and frees its memory, whatever it has got of it. */
	void (*fini)(struct gy_stage *stage);
};

struct gy_stage {
	const struct gy_stage_ops *ops;
	const struct gyre_type *type; /* of what comes out of it; NULL for a sink */
	struct gyre_graph *graph;
	struct gy_island *island; /* where it runs */
	struct gy_edge *in;
	uint32_t in_count;
	uint32_t outlets;
	uint32_t taken;	  /* how many outlets are */
	bool *claimed;	  /* which, where there are several; else NULL */
	uint32_t depth;	  /* how many stages are above it in its island, at most */
	uint32_t index;	  /* in the graph */
	int pending;	  /* a failure that the next pull tells; or 0 */
	int error;	  /* of a sink: how it has ended */
	bool is_done;	  /* a sink that has ended */
	bool is_inner;	  /* a sink that is no end of the graph */
	uint64_t counted; /* elements that a sink has taken */
	void *scratch;	  /* a block of what comes in, or NULL */
};

/* The next elements of an edge that is not over. */
static inline int32_t gy_edge_pull(struct gy_edge *edge, void *out, uint32_t max)
{
	struct gy_stage *from = edge->from;
	int32_t pulled;

	gy_assert(!edge->over && max > 0);
	pulled = gy_unlikely(from->pending != 0) ? from->pending
						 : from->ops->pull(from, edge->outlet, out, max);
	gy_assert(pulled <= (int32_t)max);
	if (gy_unlikely(gy_pull_is_over(pulled))) {
		edge->over = true;
	}
	return pulled;
}

/* The same from the first edge of a stage into its scratch, as many as that has room for. */
static inline int32_t gy_stage_pull(struct gy_stage *stage, uint32_t max)
{
	uint32_t most = gy_block_elements(stage->in[0].from->type);

	return gy_edge_pull(&stage->in[0], stage->scratch, max < most ? max : most);
}

/* Whether an edge that is not over is sure to be so with the next pull, which brings nothing then.
 */
static inline bool gy_edge_is_dry(const struct gy_edge *edge)
{
	const struct gy_stage *from = edge->from;

	return from->pending != 0 ||
	       (from->ops->is_dry != NULL && from->ops->is_dry(from, edge->outlet));
}

static inline void gy_edge_cancel(struct gy_edge *edge, int reason)
{
	if (!edge->over) {
		edge->over = true;
		edge->from->ops->cancel(edge->from, edge->outlet, reason);
	}
}

/* Cancels all that the stage takes from. */
void gy_stage_cancel_inputs(struct gy_stage *stage, int reason);
/* cancel() of a stage with one outlet that keeps nothing. */
void gy_stage_cancel(struct gy_stage *stage, uint32_t outlet, int reason);
/* is_dry() of a stage that passes on what comes by its first edge. */
bool gy_stage_is_dry(const struct gy_stage *stage, uint32_t outlet);
/* A function of the program has failed after @count elements: what pull() returns. */
int32_t gy_stage_fail(struct gy_stage *stage, uint32_t count, int error);
/* prepare() of a stage that needs a block of what comes in. */
int gy_stage_prepare_scratch(struct gy_stage *stage);
/* fini() of a stage that has at most a scratch without elements. */
void gy_stage_fini(struct gy_stage *stage);
/* The sink has ended, and cancels what it takes from if that has not. */
enum gy_sink_state gy_sink_end(struct gy_stage *stage, int error);

#endif
