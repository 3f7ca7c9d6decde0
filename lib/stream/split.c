/*
 * Stages from which several take: broadcast and balance.
 *
 * A broadcast asks for elements when one of its outlets has none left, and for no more than the
 * fullest of the others has room for. So what waits is what the fastest is ahead of the slowest.
 */
#include <errno.h>

#include "base/memory/memory.h"
#include "stream/graph.h"

enum { WAITING_DEFAULT = 128, WAITING_MAX = 1 << 20 };

/* What one outlet has not taken yet: a ring. */
struct branch {
	unsigned char *waiting;
	uint32_t first;
	uint32_t count;
	bool is_cancelled;
};

struct split {
	struct gy_stage stage;
	struct branch *branches;
	uint32_t live;
	uint32_t waiting_max;
	int32_t ended; /* what the stream has ended with; 0 while it has not */
};

static struct split *split_of(struct gy_stage *stage)
{
	return (struct split *)(void *)stage;
}

static void drop_waiting(struct split *split, struct branch *branch)
{
	const struct gyre_type *type = split->stage.type;

	while (branch->count > 0) {
		gy_elements_destroy(type, gy_element_at(type, branch->waiting, branch->first), 1);
		branch->first = branch->first + 1 == split->waiting_max ? 0 : branch->first + 1;
		branch->count--;
	}
}

static void cancel_split(struct gy_stage *stage, uint32_t outlet, int reason)
{
	struct split *split = split_of(stage);
	struct branch *branch = &split->branches[outlet];

	gy_assert(!branch->is_cancelled && split->live > 0);
	branch->is_cancelled = true;
	if (branch->waiting != NULL) {
		drop_waiting(split, branch);
	}
	if (--split->live == 0) {
		gy_stage_cancel_inputs(stage, reason);
	}
}

static void fini_split(struct gy_stage *stage)
{
	struct split *split = split_of(stage);

	for (uint32_t i = 0; split->branches != NULL && i < stage->outlets; i++) {
		if (split->branches[i].waiting != NULL) {
			drop_waiting(split, &split->branches[i]);
			gy_memory_put(split->branches[i].waiting);
		}
	}
	gy_memory_put(split->branches);
	gy_stage_fini(stage);
}

static struct split *add_split(const struct gy_stage_ops *ops, const struct gyre_stream *from,
			       uint32_t count, struct gyre_stream *ret_streams)
{
	struct split *split = (struct split *)gy_graph_add(from->graph, ops, sizeof(*split),
							   gy_stream_type(from), from, 1);
	bool good = count > 0 && count <= GYRE_STREAM_BRANCHES_MAX && ret_streams != NULL;

	for (uint32_t i = 0; ret_streams != NULL && i < count; i++) {
		ret_streams[i] = gy_graph_stream(from->graph, split, i);
	}
	if (!good) {
		gy_graph_fail(from->graph, -EINVAL);
		return NULL;
	}
	if (split != NULL && gy_stage_branch(&split->stage, count) == 0) {
		split->branches = (struct branch *)gy_memory_get(count * sizeof(struct branch));
		split->live = count;
		if (split->branches == NULL) {
			gy_graph_fail(from->graph, -ENOMEM);
		}
	}
	return split;
}

/* ---- broadcast ---- */

static int prepare_broadcast(struct gy_stage *stage)
{
	struct split *split = split_of(stage);

	for (uint32_t i = 0; i < stage->outlets; i++) {
		split->branches[i].waiting = (unsigned char *)gy_memory_get(
			gy_elements_bytes(stage->type, split->waiting_max) + 1);
		if (split->branches[i].waiting == NULL) {
			return -ENOMEM;
		}
	}
	return 0;
}

static uint32_t room_beside(const struct split *split, uint32_t outlet)
{
	uint32_t room = split->waiting_max;

	for (uint32_t i = 0; i < split->stage.outlets; i++) {
		const struct branch *branch = &split->branches[i];
		uint32_t left = split->waiting_max - branch->count;

		if (i != outlet && !branch->is_cancelled && left < room) {
			room = left;
		}
	}
	return room;
}

/* All or none. */
static int push(struct split *split, struct branch *branch, const void *elements, uint32_t count)
{
	const struct gyre_type *type = split->stage.type;
	uint32_t pushed = 0;

	gy_assert(branch->count + count <= split->waiting_max);
	while (pushed < count) {
		uint32_t at = (branch->first + branch->count) % split->waiting_max;

		if (gy_elements_copy(type, gy_element_at(type, branch->waiting, at),
				     (const unsigned char *)elements +
					     gy_elements_bytes(type, pushed),
				     1) < 0) {
			return -ENOMEM;
		}
		branch->count++;
		pushed++;
	}
	return 0;
}

static int32_t pop(struct split *split, struct branch *branch, void *out, uint32_t max)
{
	const struct gyre_type *type = split->stage.type;
	uint32_t straight = split->waiting_max - branch->first;
	uint32_t count = branch->count < max ? branch->count : max;

	count = count < straight ? count : straight;
	memcpy(out, gy_element_at(type, branch->waiting, branch->first),
	       gy_elements_bytes(type, count));
	branch->first = (branch->first + count) % split->waiting_max;
	branch->count -= count;
	return (int32_t)count;
}

static int32_t pull_broadcast(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct split *split = split_of(stage);
	struct branch *own = &split->branches[outlet];
	uint32_t room;
	int32_t pulled;

	gy_assert(!own->is_cancelled);
	if (own->count > 0) {
		return pop(split, own, out, max);
	}
	if (split->ended != 0) {
		return split->ended;
	}
	room = room_beside(split, outlet);
	if (room == 0) {
		return GY_PULL_WAIT; /* for the slowest, which is run in the same turns */
	}
	pulled = gy_edge_pull(&stage->in[0], out, max < room ? max : room);
	if (pulled <= 0) {
		split->ended = gy_pull_is_over(pulled) ? pulled : 0;
		return pulled;
	}
	for (uint32_t i = 0; i < stage->outlets; i++) {
		struct branch *branch = &split->branches[i];

		if (i != outlet && !branch->is_cancelled &&
		    push(split, branch, out, (uint32_t)pulled) < 0) {
			split->ended = -ENOMEM; /* for all: the others have had as much or less */
			gy_stage_cancel_inputs(stage, -ENOMEM);
		}
	}
	return pulled;
}

static const struct gy_stage_ops broadcast_ops = {
	.name = "broadcast",
	.prepare = prepare_broadcast,
	.pull = pull_broadcast,
	.cancel = cancel_split,
	.fini = fini_split,
};

void gyre_stream_broadcast(struct gyre_stream from, uint32_t count, uint32_t waiting_max,
			   struct gyre_stream *ret_streams)
{
	struct split *split = add_split(&broadcast_ops, &from, count, ret_streams);
	const struct gyre_type *type = split == NULL ? NULL : split->stage.type;

	if (waiting_max > WAITING_MAX || (type != NULL && type->destroy != NULL && count > 1 &&
					  gy_element_copier(type) == NULL)) {
		gy_graph_fail(from.graph, -EINVAL);
	}
	if (split != NULL) {
		split->waiting_max = waiting_max == 0 ? WAITING_DEFAULT : waiting_max;
	}
}

/* ---- balance ---- */

static int32_t pull_balance(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct split *split = split_of(stage);
	int32_t pulled;

	gy_assert(!split->branches[outlet].is_cancelled);
	if (split->ended != 0) {
		return split->ended;
	}
	pulled = gy_edge_pull(&stage->in[0], out, max);
	split->ended = gy_pull_is_over(pulled) ? pulled : 0;
	return pulled;
}

static const struct gy_stage_ops balance_ops = {
	.name = "balance",
	.pull = pull_balance,
	.cancel = cancel_split,
	.fini = fini_split,
};

void gyre_stream_balance(struct gyre_stream from, uint32_t count, struct gyre_stream *ret_streams)
{
	(void)add_split(&balance_ops, &from, count, ret_streams);
}
